"""The row on its way: Arrow schemas of every table, and how documents get their ids.

Only schemas and ids belong here. What a stage measures beyond them (verdict statistics) is declared by the stage. Every
table in the lake has one more column in front, `partition_key`, which the lake's writer adds.
"""

import hashlib

import pyarrow as pa

PLACE = {"place": "true"}
"""Metadata of a column that says where something lies, not what it is: no part of a content hash."""

MEASURED = PLACE
"""Metadata of a column that says how long something took: no part of a content hash either."""

PACKED = {"packed": "true"}
"""Metadata of an integer column that is sorted, or small: files hold the differences in as few bits as they take."""

LOOKED_UP = {"looked_up": "true"}
"""Metadata of a string column of which single values are read: files hold it in small pages (see `corpusmill.lake.pages`)."""

UNCOMPRESSED = {"uncompressed": "true"}
"""Metadata of a column that is read much faster than written: files hold it by dictionary and no further packed."""

RECORDS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("locator", pa.string(), nullable=False),
        pa.field("file", pa.string(), nullable=False, metadata=PLACE),
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("url", pa.string()),
        pa.field("content_type", pa.string()),
        pa.field("declared_language", pa.string()),
        pa.field("declared_license", pa.string()),
        pa.field("meta", pa.map_(pa.string(), pa.string())),
        pa.field("failure", pa.string()),
    ]
)
"""Where each record of a snapshot lies. `failure` names why a record could not be read; such a row has no payload."""

EXTRACTED = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("locator", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("title", pa.string()),
        pa.field("content_type", pa.string()),
        pa.field("declared_language", pa.string()),
        pa.field("license", pa.string()),
        pa.field("text", pa.large_string(), metadata=LOOKED_UP),
        pa.field("text_hash", pa.string()),
        pa.field("meta", pa.map_(pa.string(), pa.string())),
        pa.field("failure", pa.string()),
    ]
)
"""The text, once. A row whose payload gave no text has `text` null and `failure` set."""

EDIT = pa.struct(
    [
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("replacement", pa.string()),
    ]
)
"""One change to a text: half-open span in Unicode characters of the extracted text, and what stands there instead."""

VERDICT_KEYS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("text_file", pa.string(), nullable=False, metadata=PLACE),
        pa.field("drop_reason", pa.string()),
        pa.field("language", pa.string()),
        pa.field("language_score", pa.float64()),
        pa.field("edits", pa.list_(EDIT)),
    ]
)
"""What every verdict row has; the judge of a dataset appends its statistics as float64 columns."""

SIGNATURES = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("text_file", pa.string(), nullable=False, metadata=PLACE),
        pa.field("text_hash", pa.string(), nullable=False),
        pa.field("num_shingles", pa.int32(), nullable=False),
        pa.field("signature", pa.binary()),
        pa.field("sample_key", pa.int64()),
        pa.field("quality", pa.float64()),
    ]
)
"""MinHash signatures of the documents that no rule dropped: little-endian uint32 minima, null below the shingle width.

`sample_key` is the minimum of one further permutation, in no band: two documents share it with the probability of their
Jaccard (see `corpusmill.dedup.estimates`). `quality` is the statistic that the ranking asks for, if any.
"""

BANDS = pa.schema(
    [
        pa.field("band", pa.int32(), nullable=False),
        pa.field("key", pa.int64(), nullable=False, metadata=PACKED),
        pa.field("ordinal", pa.int64(), nullable=False, metadata=PACKED),
        pa.field("further", pa.int64(), nullable=False),
    ]
)
"""Where the documents of a snapshot can meet others, sorted by band, key and ordinal (see `corpusmill.dedup.band_table`).

`further` splits a bucket that is too large. Ordinal n is the n-th document, by rank, of the snapshot's signatures.
"""

MEMBERS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("text_file", pa.string(), nullable=False),
        pa.field("text_hash", pa.string(), nullable=False),
        pa.field("num_shingles", pa.int32(), nullable=False),
        pa.field("quality", pa.float64()),
        pa.field("source", pa.string()),
    ]
)
"""The signed documents of a snapshot by ordinal; kept beside its band table."""

REMOVALS = pa.schema(
    [
        pa.field("doc_id", pa.string()),
        pa.field("text_hash", pa.string()),
        pa.field("url_hash", pa.string()),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
"""What must not come back, and why: a document by its id, every document of a text by its hash, or whatever a URL gives.

`url_hash` is the text_hash of the canonical URL: a list of what is forgotten does not name it.
"""

RESOLUTION = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("duplicate_of", pa.string(), nullable=False),
        pa.field("duplicate_of_snapshot", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("jaccard", pa.float64(), nullable=False),
        pa.field("cluster", pa.string(), nullable=False),
        pa.field("num_duplicates", pa.int64(), nullable=False),
    ]
)
"""One row per removed document: the kept document that it duplicates, why, and their exact Jaccard.

`kind` is `exact`, `near`, or `validation`: a training document that resembles one of the validation split.
`cluster` is the smallest doc_id of the connected component over verified edges: a statistic, never a reason.
`num_duplicates` is how many documents `duplicate_of` stands for besides itself: its popularity, for upsampling.
"""

DUPLICATES = pa.schema([field for field in RESOLUTION if field.name not in ("cluster", "num_duplicates")])
"""The decisions about one snapshot. Clusters and counts grow with later snapshots, so they stay in the resolution."""

DOCUMENTS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("url", pa.string()),
        pa.field("title", pa.string()),
        pa.field("content_type", pa.string()),
        pa.field("language", pa.string()),
        pa.field("license", pa.string()),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("text_hash", pa.string(), nullable=False),
        pa.field("meta", pa.map_(pa.string(), pa.string())),
        pa.field("parent_ids", pa.list_(pa.string())),
        pa.field("recipe", pa.string()),
        pa.field("recipe_version", pa.string()),
        pa.field("generator", pa.string()),
        pa.field("generator_license", pa.string()),
    ]
)
"""Curated and synthesized documents alike. Curated ones have no parents, recipe or generator."""

REQUESTS = pa.schema(
    [
        pa.field("request_id", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("seed_file", pa.string(), nullable=False, metadata=PLACE),
        pa.field("chunk", pa.int32(), nullable=False),
        pa.field("num_chunks", pa.int32(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("recipe", pa.string(), nullable=False),
        pa.field("recipe_version", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("model_revision", pa.string(), nullable=False),
        pa.field("prompt_hash", pa.string(), nullable=False),
        pa.field("prompt_characters", pa.int32(), nullable=False),
        pa.field("second_ids", pa.list_(pa.string())),
        pa.field("second_files", pa.list_(pa.string()), metadata=PLACE),
    ]
)
"""What to ask, by reference: seed document, its half-open character span, recipe version. Prompts are not stored.

Second documents, where the recipe shows any, are named with the file that each lies in.

`request_id` is the fingerprint of all that decides the answer (see `corpusmill.synthesize.requests`).
"""

COMPLETIONS = pa.schema(
    [
        pa.field("request_id", pa.string(), nullable=False),
        pa.field("answer", pa.large_string()),
        pa.field("finish_reason", pa.string()),
        pa.field("failure", pa.string()),
        pa.field("prompt_tokens", pa.int32()),
        pa.field("completion_tokens", pa.int32()),
        pa.field("engine", pa.string(), nullable=False),
        pa.field("step", pa.string()),
        pa.field("device_seconds", pa.float64(), metadata=MEASURED),
    ]
)
"""What came back, once per ask. `failure` names why there is no answer; `step` is the recipe's step that asked.

`device_seconds` is its share of the time that the engines took, by its tokens among those answered meanwhile.

A tool's answer has no tokens, and names the tool and its version as its engine.
"""

SYNTHESIZED = pa.schema(
    [
        *DOCUMENTS,
        pa.field("reject_reason", pa.string()),
        pa.field("completion_tokens", pa.int64()),
        pa.field("device_seconds", pa.float64(), metadata=MEASURED),
    ]
)
"""One row per output: accepted ones have no `reject_reason`; rejected ones stay with theirs and are never read as documents.

The last two are what its answers took, of all steps; answers that several outputs share count for each.
"""

DECISIONS = pa.schema(
    [
        pa.field("recipe", pa.string(), nullable=False),
        pa.field("recipe_version", pa.string(), nullable=False),
        pa.field("chunk", pa.int32()),
        pa.field("num_seeds", pa.int32(), nullable=False),
        pa.field("action", pa.string(), nullable=False),
        pa.field("rule", pa.string()),
        pa.field("share", pa.float64(), nullable=False),
        pa.field("from_seed", pa.int64()),
        pa.field("followed", pa.string(), nullable=False),
        pa.field("outputs", pa.int64()),
        pa.field("accepted", pa.int64()),
        pa.field("p_value", pa.float64()),
        pa.field("numbers", pa.large_string(), nullable=False),
    ]
)
"""What the supervisor decided after each chunk of a recipe's seeds: by which rule, from which numbers (JSON), what followed.

`outputs` and `accepted` are those of the chunk; `rule` and `p_value` are null where no rule acted. `from_seed` is the
first seed, in the order of asking, that the decision holds for.

A budget that was spent is a row, too: `rule` is `budget_` and the limit, `num_seeds` the documents that were begun, and what
belongs to a chunk is null. Of a queue, `recipe` is the recipe's name and the queue's.
"""

SEQUENCES = pa.schema(
    [
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("tokens", pa.list_(pa.int32()), nullable=False, metadata=UNCOMPRESSED),
        pa.field("doc_ids", pa.list_(pa.string()), nullable=False),
        pa.field("lengths", pa.list_(pa.int32()), nullable=False),
        pa.field("starts", pa.list_(pa.int64()), nullable=False),
    ]
)
"""Packed sequences. Piece i of a sequence is `lengths[i]` tokens of `doc_ids[i]`, from that document's token `starts[i]`.

`tokens` holds the pieces one after the other, without padding: sum(lengths) == len(tokens) <= sequence length. A piece that
was rearranged to fill in the middle begins with a sentinel and has three of them more than its document.
"""


def document_id(source: str, snapshot: str, locator: str) -> str:
    """Return the id of the record at `locator` (32 hex digits); the same record always gets the same id."""
    spelled = "\x00".join((source, snapshot, locator))
    return hashlib.sha256(spelled.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def text_hash(text: str | memoryview) -> str:
    """Return the content hash of a text, or of its UTF-8 (32 hex digits of SHA-256)."""
    return hashlib.sha256(text.encode("utf-8") if isinstance(text, str) else text).hexdigest()[:32]


TUNING = pa.schema(
    [
        pa.field("trial", pa.string(), nullable=False),
        pa.field("candidate", pa.string(), nullable=False),
        pa.field("settings", pa.string(), nullable=False),
        pa.field("tier", pa.int32(), nullable=False),
        pa.field("repeat", pa.int32(), nullable=False),
        pa.field("requests", pa.int32(), nullable=False),
        pa.field("answered", pa.int32(), nullable=False),
        pa.field("prompt_tokens", pa.int64(), nullable=False),
        pa.field("output_tokens", pa.int64(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
        pa.field("start_seconds", pa.float64(), nullable=False),
        pa.field("tokens_per_second", pa.float64(), nullable=False),
        pa.field("agreement", pa.float64()),
        pa.field("failure", pa.string()),
        pa.field("message", pa.string()),
        pa.field("beginnings", pa.list_(pa.string())),
        pa.field("device", pa.string(), nullable=False),
        pa.field("engine", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("model_revision", pa.string(), nullable=False),
    ]
)
"""One trial of engine settings (see `corpusmill.tune.trial`). `trial` is the fingerprint of all that it measured."""
