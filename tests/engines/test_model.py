"""Models are folders, named by their content."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from corpusmill.engines.model import Model, open_model, prepare_model

ROOT = Path(__file__).parents[2]


def write_model(folder: Path, *, weights: bytes = b"weights", window: int | None = 64) -> Path:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": window}))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    return folder


def opened(folder: Path) -> Model:
    return open_model(folder, license="MIT", cache_dir=folder.parent / "cache")


def test_a_folder_is_a_model(tmp_path):
    model = opened(write_model(tmp_path / "small"))
    assert (model.name, model.license, model.max_model_len, len(model.revision)) == ("small", "MIT", 64, 32)
    assert Model.from_json(model.to_json()) == model
    assert model.identity("vllm 1").to_json() == {
        "model": "small",
        "revision": model.revision,
        "license": "MIT",
        "name": "vllm 1",
    }


def test_the_revision_is_the_content_and_nothing_else(tmp_path):
    here, there = write_model(tmp_path / "here"), write_model(tmp_path / "there")
    other = write_model(tmp_path / "other", weights=b"Weights")
    assert opened(here).revision == opened(there).revision != opened(other).revision
    (there / "chat_template.jinja").write_text("{{ messages }} ")
    assert opened(here).revision != opened(there).revision


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("model.safetensors", r"\*.safetensors"),
        ("config.json", "config.json"),
        ("tokenizer.json", "tokenizer.json"),
        ("chat_template.jinja", "chat template"),
    ],
)
def test_a_missing_part_is_named(tmp_path, part, told):
    folder = write_model(tmp_path / "m")
    (folder / part).unlink()
    with pytest.raises(ValueError, match=f"m has no {told}. Download"):
        opened(folder)


def test_a_chat_template_may_stand_in_the_tokenizer_configuration(tmp_path):
    folder = write_model(tmp_path / "m")
    (folder / "chat_template.jinja").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    assert opened(folder).max_model_len == 64


def test_an_unknown_window_is_refused(tmp_path):
    with pytest.raises(ValueError, match="max_position_embeddings"):
        opened(write_model(tmp_path / "m", window=None))


@pytest.mark.slow
@pytest.mark.vllm
def test_two_who_want_the_packaged_model_convert_it_once(tmp_path):
    call = (
        "import sys; from pathlib import Path; from corpusmill.engines.model import prepare_model\n"
        "print(prepare_model(Path(sys.argv[1])).revision)"
    )
    command = [sys.executable, "-c", call, str(tmp_path)]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    revisions = {process.communicate()[0].strip() for process in both}
    model = prepare_model(tmp_path)
    assert revisions == {model.revision}
    assert (model.license, model.max_model_len) == ("Apache-2.0", 8192)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [model.path.name, "revisions"]
