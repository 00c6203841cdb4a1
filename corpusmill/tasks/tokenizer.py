"""Which tokenizer file a name means: the packaged small model's, or a path to any tokenizer.json."""

from pathlib import Path

from corpusmill.engines.model import prepare_model

PACKAGED = "smollm2"


def tokenizer_file(name: str, state_folder: str) -> str:
    """Return the path of a tokenizer.json; raises ValueError when there is none at `name`."""
    if name == PACKAGED:
        return str(Path(prepare_model(models_folder(state_folder)).path) / "tokenizer.json")
    if not Path(name).is_file():
        raise ValueError(f"the tokenizer must be {PACKAGED!r} or the path of a tokenizer.json, got {name!r}")
    return name


def models_folder(state_folder: str) -> Path:
    """Return where models that packages carry are unpacked."""
    return Path(state_folder) / "models"
