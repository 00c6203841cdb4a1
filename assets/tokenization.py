"""The tokenized stage of one dataset: its documents as packed sequences, shared by all mixtures."""

from collections.abc import Sequence

import dagster as dg

from assets.asset import lake_asset

SEQUENCE_LENGTH = 1024
"""Tokens of a packed sequence. All mixtures of one length share the same sequences."""
TOKENIZER = "smollm2"
"""The tokenizer of the small open model that a package carries; a path to any tokenizer.json works as well."""


def tokenized_assets(
    dataset: str,
    *,
    documents: Sequence[str],
    partitions_def: dg.PartitionsDefinition,
    duplicates: Sequence[str] | None = None,
) -> list[dg.AssetsDefinition]:
    """Return tokenized/<dataset>/sequences of the documents table with key `documents`, less those that `duplicates` names."""
    return [
        lake_asset(
            ("tokenized", dataset, "sequences"),
            task="sequences",
            description="Documents tokenized, shuffled and packed once, with explicit document boundaries.",
            deps=[documents] if duplicates is None else [documents, duplicates],
            partitions_def=partitions_def,
            parameters={
                "documents": "/".join(documents),
                "tokenizer": TOKENIZER,
                "sequence_length": SEQUENCE_LENGTH,
                "seed": 0,
                **({} if duplicates is None else {"duplicates": "/".join(duplicates)}),
            },
        )
    ]
