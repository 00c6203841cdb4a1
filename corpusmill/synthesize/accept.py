"""The verdict: completions become documents. One row per seed asked, with the reason where it is not accepted.

The recipe's program is replayed on each chunk of a seed from the answers that there are. What it ends with is parsed,
gets its formulas back, passes the verifiers of a chunk, is stitched, and passes those of a document. A program that gave
up rejects its seed. in = accepted + rejected(reason) + failed(reason), always: a seed with a chunk that has no answer is
failed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.document import SYNTHESIZED, document_id, text_hash
from corpusmill.synthesize.answer import parse_answer
from corpusmill.synthesize.ask_ids import Answerer, Tools
from corpusmill.synthesize.asking import Answer, Ask, Failed, Finished, GivenUp, Waiting, advance
from corpusmill.synthesize.check import Scope
from corpusmill.synthesize.chunk import stitch
from corpusmill.synthesize.generators.fill_in_middle import FillInMiddleGenerator
from corpusmill.synthesize.generators.function import FunctionGenerator
from corpusmill.synthesize.generators.registry import simpler_program, writer_of
from corpusmill.synthesize.masking import unmask
from corpusmill.synthesize.prompt import DOCUMENT, SECOND, column_value
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.requests import NO_TOOLS, Opened, open_requests
from corpusmill.synthesize.second import joint_license
from corpusmill.synthesize.store import AnswerStore, Spent
from corpusmill.synthesize.supervise.course import DEMOTED
from corpusmill.synthesize.verify.case import Case, DetectLanguage
from corpusmill.synthesize.verify.language import detect
from corpusmill.synthesize.verify.registry import EXECUTES, refusal

FAILED = "failed/"
"""What stands before the reason of a row for which the engine gave no answer."""
NOT_ANSWERED = "not_answered"

CheckCode = Callable[..., list[str | None]]
"""From lists of programs before and after to the reason why each does not behave as before; it runs them in a sandbox.

It is given the parameters of the verifier by name, `tests` as the seeds' tests (None where a seed has none).
"""


@dataclass(frozen=True, kw_only=True)
class Instruments:
    """What programs and verifiers need from outside."""

    check_code: CheckCode | None = None
    detect_language: DetectLanguage = detect
    tools: Tools = field(default_factory=lambda: NO_TOOLS)
    """What recipes may call. Here only their versions matter: nothing is called again."""


@dataclass(frozen=True, kw_only=True)
class JudgedOutput:
    """One seed with its answers put together, on its way through the verifiers."""

    inputs: Sequence[Opened]
    text: str
    meta: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    spent: Spent = field(default_factory=Spent)

    @property
    def seed_text(self) -> str:
        """The part of the seed that was asked about."""
        return "".join(opened.chunk for opened in self.inputs)


def accept(
    requests: pa.Table,
    completions: pa.Table | AnswerStore,
    documents: pa.Table,
    *,
    recipe: Recipe,
    identity: Answerer,
    instruments: Instruments = Instruments(),
) -> pa.Table:
    """Return SYNTHESIZED for every seed of `requests`, in their order; the chunks of a seed must be there together.

    Raises ValueError when a seed is missing or has changed, or when the recipe runs code and there is no `check_code`.
    """
    if instruments.check_code is None and any(item.verifier == EXECUTES for item in recipe.verifiers):
        raise ValueError(f"recipe {recipe.name!r} has the verifier {EXECUTES}, which needs check_code; none was given")
    answers = completions if isinstance(completions, AnswerStore) else AnswerStore([completions])
    inputs = open_requests(requests, documents, recipe, instruments.tools)
    outputs = judge_answers(inputs, answers, recipe, instruments)
    outputs = _executed(outputs, recipe, instruments)
    rows = [_row(output, recipe, identity) for output in outputs]
    return pa.Table.from_pylist(rows, schema=SYNTHESIZED)


def judge_answers(
    inputs: Iterable[Opened], answers: AnswerStore, recipe: Recipe, instruments: Instruments
) -> list[JudgedOutput]:
    """Return what every verifier but those that run code says, for every seed; its chunks stand together and in order."""
    return [
        _judged(_collected(list(group), answers, recipe, instruments), recipe, instruments)
        for _, group in groupby(inputs, key=lambda opened: opened.request["doc_id"])
    ]


def acceptance_counts(synthesized: pa.Table) -> Counts:
    """Count SYNTHESIZED rows: kept are the accepted, dropped the rejected by reason, failed those without an answer."""
    reasons = Counter(synthesized["reject_reason"].to_pylist())
    failed = {reason.removeprefix(FAILED): n for reason, n in reasons.items() if reason and reason.startswith(FAILED)}
    dropped = {reason: n for reason, n in reasons.items() if reason and not reason.startswith(FAILED)}
    return Counts(rows_in=synthesized.num_rows, kept=reasons[None], dropped=dropped, failed=failed)


def _collected(
    inputs: Sequence[Opened], answers: AnswerStore, recipe: Recipe, instruments: Instruments
) -> JudgedOutput:
    """Parse, restore and stitch what came of one seed's chunks; the first chunk with a reason decides."""
    _check_complete(inputs)
    asked: set[str] = set()
    ends = [_end(opened, answers, recipe, tools=instruments.tools, asked=asked) for opened in inputs]
    spent = answers.spent(asked)
    failure = next((end.reason for end in ends if isinstance(end, Failed)), None)
    if failure is not None:
        return JudgedOutput(inputs=inputs, text="", reason=f"{FAILED}{failure}", spent=spent)
    reached = [end for end in ends if not isinstance(end, Failed)]
    parts = [_part(opened, end, recipe, instruments) for opened, end in zip(inputs, reached, strict=True)]
    text = stitch(
        [text for text, _ in parts],
        text=str(inputs[0].seed["text"]),
        spans=[(opened.request["start"], opened.request["end"]) for opened in inputs],
        separator=recipe.primary.separator,
    )
    reason = next((reason for _, reason in parts if reason), None)
    return JudgedOutput(inputs=inputs, text=text, meta=_meta(reached), reason=reason, spent=spent)


def _check_complete(inputs: Sequence[Opened]) -> None:
    places = [opened.request["chunk"] for opened in inputs]
    if places != list(range(inputs[0].request["num_chunks"])):
        raise ValueError(
            f"the {inputs[0].request['num_chunks']} chunks of document {inputs[0].seed['doc_id']} must stand "
            f"together and in order among the requests, got chunks {places}"
        )


def _end(
    opened: Opened, answers: AnswerStore, recipe: Recipe, *, tools: Tools, asked: set[str]
) -> Finished | GivenUp | Failed:
    """Replay the program to its end; the ids that it asks are added to `asked`."""

    def known(ask: Ask) -> Answer | Failed | None:
        request_id = opened.id_of(ask, tools)
        asked.add(request_id)
        return answers.find(request_id)

    end = advance(recipe.generator.program(opened.material), known)
    if isinstance(end, Failed) and end.reason == DEMOTED:
        simpler = simpler_program(recipe.generator, opened.material)
        end = end if simpler is None else advance(simpler, known)
    return Failed(reason=NOT_ANSWERED) if isinstance(end, Waiting) else end


def _part(opened: Opened, end: Finished | GivenUp, recipe: Recipe, instruments: Instruments) -> tuple[str, str | None]:
    if isinstance(end, GivenUp):
        return unmask(end.text, opened.masked.originals)[0], end.reason
    tags = (DOCUMENT, SECOND) if opened.seconds else (DOCUMENT,)
    text, reason = parse_answer(end.text, finish_reason=end.finish_reason, form=recipe.output.form, tags=tags)
    if recipe.primary.mask:
        text, lost = unmask(text, opened.masked.originals)
        reason = reason or lost
    case = _case(opened, seed=opened.chunk, output=text, recipe=recipe, instruments=instruments)
    return text, reason or refusal(case, _checks(recipe, "chunk"))


def _meta(ends: Sequence[Finished | GivenUp]) -> dict[str, str]:
    """Return what the programs say about themselves; where chunks differ, all of it in their order, with commas."""
    said = [end.meta for end in ends]
    values = {key: [meta[key] for meta in said if key in meta] for key in dict.fromkeys(key for m in said for key in m)}
    return {key: given[0] if len(set(given)) == 1 else ",".join(given) for key, given in values.items()}


def _judged(output: JudgedOutput, recipe: Recipe, instruments: Instruments) -> JudgedOutput:
    if output.reason is not None:
        return output
    case = _case(output.inputs[0], seed=output.seed_text, output=output.text, recipe=recipe, instruments=instruments)
    return replace(output, reason=refusal(case, _checks(recipe, "document")))


def _executed(outputs: list[JudgedOutput], recipe: Recipe, instruments: Instruments) -> list[JudgedOutput]:
    """Run what every other verifier let pass, all of it at once."""
    wanted = next((item for item in recipe.verifiers if item.verifier == EXECUTES), None)
    if instruments.check_code is None or wanted is None:
        return outputs
    passed = [output for output in outputs if output.reason is None]
    given = dict(wanted.parameters)
    if column := given.pop("tests", None):
        given["tests"] = [column_value(output.inputs[0].seed, column) for output in passed]
    before, after = [output.seed_text for output in passed], [output.text for output in passed]
    reasons = instruments.check_code(before, after, **given)
    found = iter([replace(output, reason=reason) for output, reason in zip(passed, reasons, strict=True)])
    return [next(found) if output.reason is None else output for output in outputs]


def _checks(recipe: Recipe, scope: Scope) -> Iterator[tuple[str, Any]]:
    for item in recipe.verifiers:
        if item.scope == scope and item.verifier != EXECUTES:
            yield item.verifier, item.parameters


def _case(opened: Opened, *, seed: str, output: str, recipe: Recipe, instruments: Instruments) -> Case:
    """Return an output beside what the model was shown: the seed, and the documents beside it."""
    return Case(
        seed="\n\n".join((seed, *opened.material.seconds)),
        output=output,
        seed_language=opened.seed["language"],
        language=recipe.output.language or opened.seed["language"],
        detect_language=instruments.detect_language,
    )


def _row(output: JudgedOutput, recipe: Recipe, identity: Answerer) -> dict[str, Any]:
    seed, seconds = output.inputs[0].seed, output.inputs[0].seconds
    generator, generator_license = _generator(output, recipe, identity)
    return {
        "doc_id": document_id(recipe.name, recipe.prompt_version, seed["doc_id"]),
        "source": recipe.name,
        "snapshot": seed["snapshot"],
        "url": seed.get("url"),
        "title": seed.get("title"),
        "content_type": recipe.output.content_type,
        "language": recipe.output.language or seed["language"],
        "license": joint_license([row.get("license") for row in (seed, *seconds)]),
        "text": output.text,
        "text_hash": text_hash(output.text),
        "meta": [("num_chunks", str(len(output.inputs))), *output.meta.items()],
        "parent_ids": [row["doc_id"] for row in (seed, *seconds)],
        "recipe": recipe.name,
        "recipe_version": recipe.version,
        "generator": generator,
        "generator_license": generator_license,
        "reject_reason": output.reason,
        "completion_tokens": output.spent.completion_tokens,
        "device_seconds": output.spent.device_seconds,
    }


def _generator(output: JudgedOutput, recipe: Recipe, identity: Answerer) -> tuple[str, str | None]:
    """Return who wrote the text and the licence that comes with it; a plain function adds none."""
    writer = writer_of(recipe.generator)
    if isinstance(writer, FunctionGenerator):
        return f"{writer.function}@{writer.version}", None
    if isinstance(writer, FillInMiddleGenerator):
        return f"{writer.kind}@{recipe.version}", None
    request = output.inputs[0].request
    return f"{request['model']}@{request['model_revision']}", identity.license
