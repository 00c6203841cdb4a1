"""Counting the tokens of a chat as servers do: by the model's chat template and tokenizer, without the model.

The template is the model's own program in Jinja, run in Jinja's sandbox. Where it refuses the messages nothing is counted
here, and the server has the word.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

TEMPLATE, CONFIG = "chat_template.jinja", "tokenizer_config.json"
_GENERATION = re.compile(r"(\{%-?\s*)(end)?generation(\s*-?%\})")
"""Marks what the model wrote, for training. Jinja does not know it, and a prompt is the same without it."""
_NAMED = ("bos_token", "eos_token", "pad_token", "unk_token")
"""Tokens that templates name."""


class ChatTokens:
    """The tokenizer and chat template of a model folder."""

    def __init__(self, folder: Path) -> None:
        """Raises ValueError where the folder lacks one of them, or it cannot be read."""
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
            config = json.loads((folder / CONFIG).read_text()) if (folder / CONFIG).is_file() else {}
            self._template = _environment().from_string(_GENERATION.sub(_as_condition, _template(folder, config)))
        except Exception as error:  # tokenizers raises nothing narrower
            raise ValueError(
                f"{folder} must hold the model's tokenizer.json and its chat template ({TEMPLATE}, or chat_template in "
                f"{CONFIG}): {error}"
            ) from error
        self._named = {name: _spelled(config[name]) for name in _NAMED if config.get(name)}

    def count(self, messages: Sequence[Mapping[str, str]]) -> int | None:
        """Return the tokens of the prompt that these messages become; None where they become none."""
        try:
            prompt = self._template.render(
                messages=[dict(message) for message in messages], add_generation_prompt=True, **self._named
            )
            prompt.encode()  # tokenizers stop at a lone surrogate
        except (TemplateError, UnicodeEncodeError, TypeError):
            return None
        return len(self._tokenizer.encode(prompt, add_special_tokens=False))


def _environment() -> ImmutableSandboxedEnvironment:
    """Return Jinja as the templates of models expect it."""
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    made.filters["tojson"] = lambda value, **more: json.dumps(value, ensure_ascii=False, **more)
    made.globals["raise_exception"] = _refuse
    made.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return made


def _as_condition(mark: re.Match[str]) -> str:
    return f"{mark[1]}{'endif' if mark[2] else 'if true'}{mark[3]}"


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _template(folder: Path, config: Mapping[str, Any]) -> str:
    """Return the template for plain chats; a model may have others beside it."""
    if (folder / TEMPLATE).is_file():
        return (folder / TEMPLATE).read_text()
    found = config["chat_template"]
    return found if isinstance(found, str) else next(one["template"] for one in found if one["name"] == "default")


def _spelled(token: str | Mapping[str, Any]) -> str:
    return token if isinstance(token, str) else str(token["content"])
