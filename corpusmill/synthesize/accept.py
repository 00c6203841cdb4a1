"""The verdict: completions become documents. One row per seed asked, with the reason where it is not accepted.

A seed's chunks are parsed, get their formulas back, pass the verifiers of a chunk, are stitched, and pass those of a
document. in = accepted + rejected(reason) + failed(reason), always: a seed with a chunk that has no answer is failed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.document import SYNTHESIZED, document_id, text_hash
from corpusmill.synthesize.answer import parse_answer
from corpusmill.synthesize.chunk import stitch
from corpusmill.synthesize.masking import unmask
from corpusmill.synthesize.recipe import Recipe, Scope
from corpusmill.synthesize.requests import Generator, Prompt, open_prompts
from corpusmill.synthesize.verify.case import Case, DetectLanguage
from corpusmill.synthesize.verify.language import detect
from corpusmill.synthesize.verify.registry import EXECUTES, refusal

FAILED = "failed/"
"""What stands before the reason of a row for which the engine gave no answer."""
NOT_ANSWERED = "not_answered"

CheckCode = Callable[[list[str], list[str]], list[str | None]]
"""From programs before and after to the reason why each does not behave as before; it runs them in a sandbox."""


@dataclass(frozen=True, kw_only=True)
class Instruments:
    """What verifiers need from outside."""

    check_code: CheckCode | None = None
    detect_language: DetectLanguage = detect


@dataclass(frozen=True, kw_only=True)
class _Output:
    """One seed with its answers put together, on its way through the verifiers."""

    prompts: Sequence[Prompt]
    text: str
    reason: str | None = field(default=None)

    @property
    def seed_text(self) -> str:
        """The part of the seed that was asked about."""
        return "".join(prompt.chunk for prompt in self.prompts)


def accept(
    requests: pa.Table,
    completions: pa.Table,
    documents: pa.Table,
    *,
    recipe: Recipe,
    identity: Generator,
    instruments: Instruments = Instruments(),
) -> pa.Table:
    """Return SYNTHESIZED for every seed of `requests`, in their order; the chunks of a seed must be there together.

    Raises ValueError when a seed is missing or has changed, or when the recipe runs code and there is no `check_code`.
    """
    if instruments.check_code is None and any(item.verifier == EXECUTES for item in recipe.verifiers):
        raise ValueError(f"recipe {recipe.name!r} has the verifier {EXECUTES}, which needs check_code; none was given")
    answers = {row["request_id"]: row for row in completions.to_pylist()}
    prompts = open_prompts(requests, documents, recipe)
    outputs = [
        _judged(_collected(list(group), answers, recipe, instruments), recipe, instruments)
        for _, group in groupby(prompts, key=lambda prompt: prompt.request["doc_id"])
    ]
    outputs = _executed(outputs, recipe, instruments)
    rows = [_row(output, recipe, identity) for output in outputs]
    return pa.Table.from_pylist(rows, schema=SYNTHESIZED)


def acceptance_counts(synthesized: pa.Table) -> Counts:
    """Count SYNTHESIZED rows: kept are the accepted, dropped the rejected by reason, failed those without an answer."""
    reasons = Counter(synthesized["reject_reason"].to_pylist())
    failed = {reason.removeprefix(FAILED): n for reason, n in reasons.items() if reason and reason.startswith(FAILED)}
    dropped = {reason: n for reason, n in reasons.items() if reason and not reason.startswith(FAILED)}
    return Counts(rows_in=synthesized.num_rows, kept=reasons[None], dropped=dropped, failed=failed)


def _collected(
    prompts: Sequence[Prompt], answers: dict[str, dict[str, Any]], recipe: Recipe, instruments: Instruments
) -> _Output:
    """Parse, restore and stitch the answers to one seed's chunks; the first chunk with a reason decides."""
    _check_complete(prompts)
    failure = next((reason for prompt in prompts if (reason := _failure(prompt, answers))), None)
    if failure is not None:
        return _Output(prompts=prompts, text="", reason=f"{FAILED}{failure}")
    parts = [_part(prompt, answers[prompt.request["request_id"]], recipe, instruments) for prompt in prompts]
    text = stitch(
        [text for text, _ in parts],
        text=str(prompts[0].seed["text"]),
        spans=[(prompt.request["start"], prompt.request["end"]) for prompt in prompts],
        separator=recipe.primary.separator,
    )
    return _Output(prompts=prompts, text=text, reason=next((reason for _, reason in parts if reason), None))


def _check_complete(prompts: Sequence[Prompt]) -> None:
    places = [prompt.request["chunk"] for prompt in prompts]
    if places != list(range(prompts[0].request["num_chunks"])):
        raise ValueError(
            f"the {prompts[0].request['num_chunks']} chunks of document {prompts[0].seed['doc_id']} must stand "
            f"together and in order among the requests, got chunks {places}"
        )


def _failure(prompt: Prompt, answers: dict[str, dict[str, Any]]) -> str | None:
    answer = answers.get(prompt.request["request_id"])
    return NOT_ANSWERED if answer is None else answer["failure"]


def _part(prompt: Prompt, answer: dict[str, Any], recipe: Recipe, instruments: Instruments) -> tuple[str, str | None]:
    text, reason = parse_answer(answer["answer"], finish_reason=answer["finish_reason"], form=recipe.output.form)
    if recipe.primary.mask:
        text, lost = unmask(text, prompt.masked.originals)
        reason = reason or lost
    case = _case(prompt, seed=prompt.chunk, output=text, recipe=recipe, instruments=instruments)
    return text, reason or refusal(case, _checks(recipe, "chunk"))


def _judged(output: _Output, recipe: Recipe, instruments: Instruments) -> _Output:
    if output.reason is not None:
        return output
    case = _case(output.prompts[0], seed=output.seed_text, output=output.text, recipe=recipe, instruments=instruments)
    return _Output(prompts=output.prompts, text=output.text, reason=refusal(case, _checks(recipe, "document")))


def _executed(outputs: list[_Output], recipe: Recipe, instruments: Instruments) -> list[_Output]:
    """Run what every other verifier let pass, all of it at once."""
    if instruments.check_code is None or not any(item.verifier == EXECUTES for item in recipe.verifiers):
        return outputs
    passed = [output for output in outputs if output.reason is None]
    reasons = instruments.check_code([output.seed_text for output in passed], [output.text for output in passed])
    found = iter([_Output(prompts=o.prompts, text=o.text, reason=r) for o, r in zip(passed, reasons, strict=True)])
    return [next(found) if output.reason is None else output for output in outputs]


def _checks(recipe: Recipe, scope: Scope) -> Iterator[tuple[str, Any]]:
    for item in recipe.verifiers:
        if item.scope == scope and item.verifier != EXECUTES:
            yield item.verifier, item.parameters


def _case(prompt: Prompt, *, seed: str, output: str, recipe: Recipe, instruments: Instruments) -> Case:
    return Case(
        seed=seed,
        output=output,
        seed_language=prompt.seed["language"],
        language=recipe.output.language or prompt.seed["language"],
        detect_language=instruments.detect_language,
    )


def _row(output: _Output, recipe: Recipe, identity: Generator) -> dict[str, Any]:
    seed, request = output.prompts[0].seed, output.prompts[0].request
    return {
        "doc_id": document_id(recipe.name, recipe.prompt_version, seed["doc_id"]),
        "source": recipe.name,
        "snapshot": seed["snapshot"],
        "url": seed.get("url"),
        "title": seed.get("title"),
        "content_type": recipe.output.content_type,
        "language": recipe.output.language or seed["language"],
        "license": seed.get("license"),
        "text": output.text,
        "text_hash": text_hash(output.text),
        "meta": [("num_chunks", str(len(output.prompts)))],
        "parent_ids": [seed["doc_id"]],
        "recipe": recipe.name,
        "recipe_version": recipe.version,
        "generator": f"{request['model']}@{request['model_revision']}",
        "generator_license": identity.license,
        "reject_reason": output.reason,
    }
