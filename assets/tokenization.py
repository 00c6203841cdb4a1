"""The tokenized stage of one dataset: its documents as packed sequences, shared by all mixtures."""

from collections.abc import Sequence
from dataclasses import asdict

import dagster as dg

from assets.asset import lake_asset
from corpusmill.mix.tokenize import FillInMiddle

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
    longer_lengths: Sequence[int] = (),
    fill_in_middle: FillInMiddle | None = None,
) -> list[dg.AssetsDefinition]:
    """Return tokenized/<dataset>/sequences of the documents table with key `documents`, less those that `duplicates` names.

    `longer_lengths` and `fill_in_middle` are those of `Tokenization`.
    """
    options = {
        "duplicates": "/".join(duplicates or ()),
        "longer_lengths": list(longer_lengths),
        "fill_in_middle": asdict(fill_in_middle) if fill_in_middle else None,
    }
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
                **{name: value for name, value in options.items() if value},
            },
        )
    ]
