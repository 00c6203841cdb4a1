"""What to ask: every chosen seed, cut into chunks, becomes requests: one row a chunk, the primary input of one program.

A request's id is that of the first thing that the recipe's generator asks about it (see `ask_ids`). So a changed row,
prompt, model or temperature asks again exactly what changed, and a changed verifier asks nothing. Two seeds with the
same prompt share one answer. Prompts are not stored: they are made anew, and refused when the seed changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import REQUESTS
from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.ask_ids import Answerer, Tools, ask_id
from corpusmill.synthesize.asking import Ask, Material, Program, Question, Waiting, advance
from corpusmill.synthesize.chunk import Span, chunk_spans, num_sentences
from corpusmill.synthesize.masking import Masked, mask, protected_spans
from corpusmill.synthesize.prompt import prompt_hash, seed_metadata
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.second import Pool, shown_part
from corpusmill.synthesize.seeds import check_columns, choose_pool, choose_seeds

MIXED_CHARACTERS = 1 << 27
"""Characters of seeds that are asked in one mixed order, and held in memory for it."""
_BATCH_ROWS = 256
NO_TOOLS: Tools = {}


@dataclass(frozen=True, kw_only=True)
class Opened:
    """One request with what it refers to: the chunk as the seed has it, and what the generator is given."""

    request: Mapping[str, Any]
    seed: Mapping[str, Any]
    chunk: str
    masked: Masked
    material: Material
    seconds: Sequence[Mapping[str, Any]] = ()
    """The documents that stand beside the seed."""

    def id_of(self, ask: Ask, tools: Tools) -> str:
        """Return the id of something that the generator asks about this primary input."""
        model, revision = self.request["model"], self.request["model_revision"]
        return ask_id(ask, model=model, revision=revision, tools=tools)


def build_requests(documents: pa.Table, *, recipe: Recipe, identity: Answerer, tools: Tools = NO_TOOLS) -> pa.Table:
    """Choose the seeds among all documents of a partition and return their REQUESTS; see `choose_seeds` and `ask`."""
    pool = choose_pool(lambda: [documents], recipe)
    chosen = choose_seeds([documents], recipe, pool=pool)
    return ask(documents, doc_ids=chosen.doc_ids, recipe=recipe, identity=identity, tools=tools, pool=pool)


def ask(
    documents: pa.Table,
    *,
    doc_ids: tuple[str, ...],
    recipe: Recipe,
    identity: Answerer,
    tools: Tools = NO_TOOLS,
    pool: Pool | None = None,
) -> pa.Table:
    """Return the REQUESTS for those of `documents` that are in `doc_ids`, in the order of the documents.

    `documents` are DOCUMENTS with the column `text_file`, the file that each row was read from; so are those of `pool`,
    which second documents come from.
    """
    check_columns(recipe, documents.schema.names)
    if "text_file" not in documents.schema.names:
        raise ValueError("requests name the file of their seed: the documents need a column text_file")
    seeds = documents.filter(pc.is_in(documents["doc_id"], value_set=pa.array(doc_ids, documents["doc_id"].type)))
    rows = [
        _request(_placed(seed, span, (number, len(spans)), recipe, identity), [seed, *seconds], recipe, tools)
        for seed in seed_rows(seeds)
        for seconds in [() if pool is None else pool.beside(seed)]
        for spans in [seed_spans(seed["text"], recipe)]
        for number, span in enumerate(spans)
    ]
    return pa.Table.from_pylist(rows, schema=REQUESTS)


def render(requests: pa.Table, documents: pa.Table, recipe: Recipe, tools: Tools = NO_TOOLS) -> list[dict[str, Any]]:
    """Return `{request_id, messages, schema, sampling}` for each question that is asked first, in order, each id once."""
    questions = {
        opened.id_of(first, tools): {
            "messages": list(first.messages),
            "schema": first.schema,
            "sampling": first.sampling.to_json(),
        }
        for opened in open_requests(requests, documents, recipe, tools)
        for first in first_asks(recipe.generator.program(opened.material))
        if isinstance(first, Question)
    }
    return [{"request_id": request_id, **shown} for request_id, shown in questions.items()]


def asking_order(requests: pa.Table, *, mixed_characters: int = MIXED_CHARACTERS) -> pa.Table:
    """Return REQUESTS in the order of their documents' ids, over so many files in a row as hold `mixed_characters`.

    Ids are hashes, so any seeds may come next to one another: where seeds are uneven, early ones are as uneven as late
    ones, and who judges chunk after chunk sees a change of the generator alone. Whoever reads the seeds holds those of
    the files that are mixed, which is why a large partition is asked in groups of files; a larger file is one alone.
    """
    sizes = requests.group_by(["seed_file", "doc_id"], use_threads=False).aggregate([("end", "max")])
    files = sizes.group_by("seed_file", use_threads=False).aggregate([("end_max", "sum")])
    groups: list[int] = []
    filled = 0
    for size in files["end_max_sum"].to_pylist():
        is_new = bool(groups) and filled + size > mixed_characters
        filled = size if is_new else filled + size
        groups.append(groups[-1] + is_new if groups else 0)
    places = pc.index_in(requests["seed_file"], value_set=files["seed_file"])
    keys = requests.select(["doc_id", "chunk"]).append_column("group", pc.take(pa.array(groups, pa.int64()), places))
    return requests.take(
        pc.sort_indices(keys, [("group", "ascending"), ("doc_id", "ascending"), ("chunk", "ascending")])
    )


def open_requests(requests: pa.Table, documents: pa.Table, recipe: Recipe, tools: Tools = NO_TOOLS) -> Iterator[Opened]:
    """Yield each request with its seed; raise ValueError when the seed is gone or gives another prompt."""
    check_columns(recipe, documents.schema.names)
    rows = requests.to_pylist()
    ids = sorted({doc_id for request in rows for doc_id in _named(request)})
    wanted = documents.filter(pc.is_in(documents["doc_id"], value_set=pa.array(ids, documents["doc_id"].type)))
    known = {seed["doc_id"]: seed for seed in seed_rows(wanted)}
    for request in rows:
        if missing := [doc_id for doc_id in _named(request) if doc_id not in known]:
            raise ValueError(
                f"request {request['request_id']} asks about document {missing[0]}, which is not among the "
                f"{documents.num_rows} documents given; build the requests again from these documents"
            )
        opened = _open(request, [known[doc_id] for doc_id in _named(request)], recipe)
        if _asked_hash(opened, recipe, tools) != request["prompt_hash"]:
            raise ValueError(
                f"document {request['doc_id']} or recipe {recipe.name!r} gives another prompt than request "
                f"{request['request_id']} was built from; build the requests again"
            )
        yield opened


def first_asks(program: Program) -> tuple[Ask, ...]:
    """Return what a fresh program asks first; nothing where it ends without asking."""
    end = advance(program, lambda ask: None)
    return end.asks if isinstance(end, Waiting) else ()


def seed_spans(text: str, recipe: Recipe) -> list[Span]:
    """Return the spans of the chunks that the recipe cuts a seed into; a chunk of nothing but blanks is left out."""
    protected = [(start, end) for start, end, _ in protected_spans(text, recipe.primary.mask)]
    spans = chunk_spans(text, max_characters=recipe.primary.max_characters, protected=protected)
    filled = [(start, end) for start, end in spans if text[start:end].strip()]
    limit = recipe.primary.max_chunks
    if limit is None or recipe.primary.prefer == "first":
        return filled[:limit]
    return sorted(sorted(filled, key=lambda span: -num_sentences(text[slice(*span)]))[:limit])


def seed_rows(documents: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield documents as rows, a few at a time."""
    for batch in documents.to_batches(max_chunksize=_BATCH_ROWS):
        yield from batch.to_pylist()


def _placed(
    seed: Mapping[str, Any], span: Span, place: tuple[int, int], recipe: Recipe, identity: Answerer
) -> dict[str, Any]:
    """Return the columns of a request that say what it refers to."""
    return {
        "doc_id": seed["doc_id"],
        "snapshot": seed["snapshot"],
        "seed_file": seed["text_file"],
        "chunk": place[0],
        "num_chunks": place[1],
        "start": span[0],
        "end": span[1],
        "recipe": recipe.name,
        "recipe_version": recipe.version,
        "model": identity.model,
        "model_revision": identity.revision,
    }


def _named(request: Mapping[str, Any]) -> list[str]:
    """Return the ids of the seed and of the documents beside it."""
    return [request["doc_id"], *(request.get("second_ids") or ())]


def _request(
    placed: dict[str, Any], documents: Sequence[Mapping[str, Any]], recipe: Recipe, tools: Tools
) -> dict[str, Any]:
    """Return the request for a seed, the first of `documents`, with the others beside it."""
    opened = _open(placed, documents, recipe)
    asks = first_asks(recipe.generator.program(opened.material))
    shown = [message["content"] for item in asks if isinstance(item, Question) for message in item.messages]
    seconds = {"second_ids": [row["doc_id"] for row in opened.seconds]} if opened.seconds else {}
    files = {"second_files": [row["text_file"] for row in opened.seconds]} if opened.seconds else {}
    return {
        **placed,
        **seconds,
        **files,
        "request_id": opened.id_of(asks[0], tools) if asks else _material_hash(opened),
        "prompt_hash": _hash(opened, asks, tools),
        "prompt_characters": sum(map(len, shown)),
    }


def _asked_hash(opened: Opened, recipe: Recipe, tools: Tools) -> str:
    return _hash(opened, first_asks(recipe.generator.program(opened.material)), tools)


def _hash(opened: Opened, asks: tuple[Ask, ...], tools: Tools) -> str:
    """Return what a request and its seed must agree on: the first prompt, or all that is asked first, or the input."""
    if not asks:
        return _material_hash(opened)
    if len(asks) == 1 and isinstance(asks[0], Question):
        return prompt_hash(asks[0].messages)
    return fingerprint([opened.id_of(ask, tools) for ask in asks])


def _material_hash(opened: Opened) -> str:
    material = opened.material
    given = {"text": material.text, "metadata": dict(material.metadata), "words": dict(material.words)}
    return fingerprint({**given, "seconds": list(material.seconds)} if material.seconds else given)


def _open(request: Mapping[str, Any], documents: Sequence[Mapping[str, Any]], recipe: Recipe) -> Opened:
    seed, *seconds = documents
    second = recipe.secondary.documents
    if len(seconds) != (0 if second is None else second.count):
        raise ValueError(
            f"recipe {recipe.name!r} shows {0 if second is None else second.count} documents beside {seed['doc_id']}, "
            f"but its request names {len(seconds)}; build the requests again"
        )
    chunk = seed["text"][request["start"] : request["end"]]
    masked = mask(chunk, recipe.primary.mask)
    material = Material(
        text=masked.text,
        metadata=seed_metadata(recipe.metadata, seed),
        words=recipe.secondary.words,
        exemplars=tuple((exemplar.document, exemplar.answer) for exemplar in recipe.secondary.exemplars),
        seconds=() if second is None else tuple(shown_part(row["text"], second) for row in seconds),
        language=seed["language"],
        output_language=recipe.output.language,
    )
    return Opened(request=request, seed=seed, chunk=chunk, masked=masked, material=material, seconds=seconds)
