"""What programs of several steps put into prompts, and what they refuse to: the words of models and tools made inert.

A text that comes back from a model or a tool goes into the next prompt, so it is treated as documents are: it stands
between delimiters that it does not contain (`prompt.delimited`), and its control tokens are broken up or refuse the step.
"""

from string import Template

from corpusmill.synthesize.asking import Answer, Material
from corpusmill.synthesize.prompt import CONTROL_TOKENS, given_names

CUT_OFF = "cut_off"
EMPTY = "empty_answer"
CONTROLS = "control_tokens"


def filled(prompt: str, material: Material, **own: str) -> str:
    """Return one prompt with everything that it names put in once."""
    return Template(prompt).substitute({**given_names(material), **own})


def refuse_exemplars(material: Material, *, kind: str) -> None:
    """Raise ValueError when the recipe gives worked examples to a kind of generator that cannot show them."""
    if material.exemplars:
        raise ValueError(
            f"a generator of kind {kind!r} shows no exemplars, got {len(material.exemplars)}; "
            "put the example into its prompts"
        )


def inert(text: str) -> str:
    """Return the text with a blank inside each spelling of a control token, which no tokenizer then takes for one."""
    return CONTROL_TOKENS.sub(lambda match: f"{match.group()[0]} {match.group()[1:]}", text)


def clipped(text: str, *, max_characters: int) -> str:
    """Return the text, or its first and last part around a line that says how much was left out."""
    if len(text) <= max_characters:
        return text
    head, tail = max_characters - max_characters // 2, max_characters // 2
    end = text[-tail:] if tail else ""
    return f"{text[:head]}\n[{len(text) - head - tail} characters left out]\n{end}"


def refusal(answer: Answer) -> str | None:
    """Return why a program cannot go on with this answer of a model, or None."""
    if answer.finish_reason == "length":
        return CUT_OFF
    if not answer.text.strip():
        return EMPTY
    return CONTROLS if CONTROL_TOKENS.search(answer.text) else None
