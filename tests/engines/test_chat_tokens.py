"""Counting a chat's tokens as a server does: by a template and a tokenizer in a folder."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from corpusmill.engines.chat_tokens import ChatTokens

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}\n"
    "{% if message.role == 'assistant' %}{{ raise_exception('no assistants') }}{% endif %}\n"
    " {{ message.role }} : {% generation %}{{ message.content }}{% endgeneration %} <end>\n"
    "{% endfor %}{% if add_generation_prompt %} assistant :{% endif %}"
)
"""By words: one to begin, three a message and its own, two to answer."""


def write_folder(folder: Path, *, template: str = TEMPLATE, in_config: bool = False) -> Path:
    folder.mkdir()
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "<end>": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.enable_truncation(4)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"bos_token": {"content": "<begin> "}, "eos_token": "<end>"}
    if in_config:
        config["chat_template"] = [{"name": "tools", "template": "x"}, {"name": "default", "template": template}]
    else:
        (folder / "chat_template.jinja").write_text(template)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def says(*texts: str, role: str = "user") -> list[dict[str, str]]:
    return [{"role": role, "content": text} for text in texts]


@pytest.mark.parametrize("in_config", [False, True])
def test_the_template_and_its_tokens_count(tmp_path, in_config):
    tokens = ChatTokens(write_folder(tmp_path / "m", in_config=in_config))
    assert tokens.count(says("one two three")) == 1 + 3 + 3 + 2
    assert tokens.count(says("one two three", "four")) == 1 + 6 + 4 + 2


def test_what_becomes_no_prompt_is_not_counted(tmp_path):
    tokens = ChatTokens(write_folder(tmp_path / "m"))
    assert tokens.count(says("mine", role="assistant")) is None
    assert tokens.count(says("half a pair \ud83d")) is None


def test_the_template_runs_in_a_sandbox(tmp_path):
    tokens = ChatTokens(write_folder(tmp_path / "m", template="{{ messages.__class__.__mro__ }}"))
    assert tokens.count(says("one")) is None


@pytest.mark.parametrize("part", ["tokenizer.json", "chat_template.jinja"])
def test_a_folder_that_lacks_something_is_refused_with_what_it_must_hold(tmp_path, part):
    folder = write_folder(tmp_path / "m")
    (folder / part).unlink()
    with pytest.raises(ValueError, match=r"must hold the model's tokenizer.json and its chat template"):
        ChatTokens(folder)
