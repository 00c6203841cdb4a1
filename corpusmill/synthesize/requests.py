"""What to ask: every chosen seed, cut into chunks, becomes requests that are named by all that decides their answer.

A request's id is the fingerprint of model, revision, rendered prompt and sampling, and of nothing else. So a changed
row, prompt, model or temperature asks again exactly what changed, and a changed verifier asks nothing. Two seeds with
the same prompt share one answer. Prompts are not stored: `render` makes them anew, and refuses when the seed changed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import REQUESTS
from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.chunk import Span, chunk_spans, num_sentences
from corpusmill.synthesize.masking import Masked, mask, protected_spans
from corpusmill.synthesize.prompt import Message, prompt_hash, render_messages, seed_metadata
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.seeds import check_columns, choose_seeds

_BATCH_ROWS = 256


class Generator(Protocol):
    """Who answers. `revision` names the model's weights, tokenizer and chat template together."""

    @property
    def model(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def license(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One request with what it refers to: the chunk as the seed has it, and as the model sees it."""

    request: Mapping[str, Any]
    seed: Mapping[str, Any]
    chunk: str
    masked: Masked
    messages: list[Message]


def build_requests(documents: pa.Table, *, recipe: Recipe, identity: Generator) -> pa.Table:
    """Choose the seeds among all documents of a partition and return their REQUESTS; see `choose_seeds` and `ask`."""
    chosen = choose_seeds([documents], recipe)
    return ask(documents, doc_ids=chosen.doc_ids, recipe=recipe, identity=identity)


def ask(documents: pa.Table, *, doc_ids: tuple[str, ...], recipe: Recipe, identity: Generator) -> pa.Table:
    """Return the REQUESTS for those of `documents` that are in `doc_ids`, in the order of the documents.

    `documents` are DOCUMENTS with the column `text_file`, the file that each row was read from.
    """
    check_columns(recipe, documents.schema.names)
    if "text_file" not in documents.schema.names:
        raise ValueError("requests name the file of their seed: the documents need a column text_file")
    seeds = documents.filter(pc.is_in(documents["doc_id"], value_set=pa.array(doc_ids, documents["doc_id"].type)))
    rows = [
        _request(seed, span=span, place=(number, len(spans)), recipe=recipe, identity=identity)
        for seed in seed_rows(seeds)
        for spans in [seed_spans(seed["text"], recipe)]
        for number, span in enumerate(spans)
    ]
    return pa.Table.from_pylist(rows, schema=REQUESTS)


def render(requests: pa.Table, documents: pa.Table, recipe: Recipe) -> list[dict[str, Any]]:
    """Return `{request_id, messages}` for each request, in order, each id once."""
    prompts = {prompt.request["request_id"]: prompt.messages for prompt in open_prompts(requests, documents, recipe)}
    return [{"request_id": request_id, "messages": messages} for request_id, messages in prompts.items()]


def open_prompts(requests: pa.Table, documents: pa.Table, recipe: Recipe) -> Iterator[Prompt]:
    """Yield each request with its seed and prompt; raise ValueError when the seed is gone or gives another prompt."""
    check_columns(recipe, documents.schema.names)
    wanted = documents.filter(pc.is_in(documents["doc_id"], value_set=requests["doc_id"].combine_chunks().unique()))
    seeds = {seed["doc_id"]: seed for seed in seed_rows(wanted)}
    for request in requests.to_pylist():
        if request["doc_id"] not in seeds:
            raise ValueError(
                f"request {request['request_id']} asks about document {request['doc_id']}, which is not among the "
                f"{documents.num_rows} documents given; build the requests again from these documents"
            )
        seed = seeds[request["doc_id"]]
        prompt = _prompt(request, seed, recipe)
        if prompt_hash(prompt.messages) != request["prompt_hash"]:
            raise ValueError(
                f"document {seed['doc_id']} or recipe {recipe.name!r} gives another prompt than request "
                f"{request['request_id']} was built from; build the requests again"
            )
        yield prompt


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


def _request(
    seed: Mapping[str, Any], *, span: Span, place: tuple[int, int], recipe: Recipe, identity: Generator
) -> dict[str, Any]:
    chunk, num_chunks = place
    messages = _prompt({"start": span[0], "end": span[1]}, seed, recipe).messages
    hashed = prompt_hash(messages)
    return {
        "request_id": request_id(identity, prompt=hashed, sampling=recipe.generator.sampling.to_json()),
        "doc_id": seed["doc_id"],
        "snapshot": seed["snapshot"],
        "seed_file": seed["text_file"],
        "chunk": chunk,
        "num_chunks": num_chunks,
        "start": span[0],
        "end": span[1],
        "recipe": recipe.name,
        "recipe_version": recipe.version,
        "model": identity.model,
        "model_revision": identity.revision,
        "prompt_hash": hashed,
        "prompt_characters": sum(len(message["content"]) for message in messages),
    }


def request_id(identity: Generator, *, prompt: str, sampling: Mapping[str, Any]) -> str:
    """Return the fingerprint of all that decides an answer."""
    return fingerprint(
        {"model": identity.model, "revision": identity.revision, "prompt": prompt, "sampling": dict(sampling)}
    )


def _prompt(request: Mapping[str, Any], seed: Mapping[str, Any], recipe: Recipe) -> Prompt:
    chunk = seed["text"][request["start"] : request["end"]]
    masked = mask(chunk, recipe.primary.mask)
    messages = render_messages(recipe, metadata=seed_metadata(recipe, seed), text=masked.text)
    return Prompt(request=request, seed=seed, chunk=chunk, masked=masked, messages=messages)
