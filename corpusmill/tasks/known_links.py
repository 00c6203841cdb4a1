"""What a resolution leaves for the next one: the links of every snapshot and what it counted, as objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.dedup.links import Effort
from corpusmill.lake.damage import damage_named
from corpusmill.lake.names import report_directory
from corpusmill.lake.pages import open_parquet
from corpusmill.lake.store import Store
from corpusmill.lake.tables import Attempt


@dataclass(frozen=True, kw_only=True)
class Known:
    """Links that were found, and what they were found in."""

    version: str = ""
    """Name of the code and the parameters that found them."""
    removals: str = ""
    """Content hash of the removals that they obey."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """Content hash of each snapshot's signatures."""
    effort: Effort = field(default_factory=Effort)
    objects: Mapping[str, str] = field(default_factory=dict)
    """Key of the object with the LINKS of each snapshot."""
    ledger: str = ""
    """Key of the object with the LEDGER of all of them."""

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Known":
        """Return what a committed resolution's state tells; nothing where it tells nothing."""
        if "known" not in state or "ledger" not in state["objects"]:
            return cls()
        told = state["known"]
        objects = {name: state["objects"][f"links/{name}"] for name in told["signatures"]}
        return cls(
            **{**told, "effort": Effort.from_json(told["effort"]), "objects": objects},
            ledger=state["objects"]["ledger"],
        )

    def to_state(self) -> dict[str, Any]:
        """Return the parts of a committed state."""
        told = {"version": self.version, "removals": self.removals, "signatures": dict(self.signatures)}
        return {
            "known": {**told, "effort": self.effort.to_json()},
            "objects": {"ledger": self.ledger, **{f"links/{name}": key for name, key in self.objects.items()}},
        }

    def is_extended_by(self, other: "Known", snapshots: Sequence[str]) -> bool:
        """Say whether `other` adds only snapshots that come last in `snapshots`, and changes nothing else."""
        names = list(snapshots)[: len(self.signatures)]
        return (
            bool(self.version)
            and (self.version, self.removals) == (other.version, other.removals)
            and {name: other.signatures[name] for name in names} == self.signatures
        )


def read_links(store: Store, known: Known) -> dict[str, pa.Table]:
    """Return the LINKS of every known snapshot; raises ValueError that says what to do where an object is gone."""
    return {name: _read(store, key) for name, key in known.objects.items()}


def read_ledger(store: Store, known: Known) -> pa.Table:
    """Return the LEDGER of all known snapshots; raises ValueError that says what to do where it is gone."""
    return _read(store, known.ledger)


def write_links(store: Store, attempt: Attempt, links: Mapping[str, pa.Table]) -> dict[str, str]:
    """Write the links of some snapshots; return the keys of the objects."""
    keys = {}
    for number, (name, table) in enumerate(sorted(links.items())):
        key = f"{report_directory(attempt.table, attempt.partition)}/{attempt.attempt}-links-{number:06d}.parquet"
        _write(store, key, table.sort_by([("ordinal", "ascending"), ("better", "ascending")]))
        keys[name] = key
    return keys


def write_ledger(store: Store, attempt: Attempt, ledger: pa.Table) -> str:
    """Write the LEDGER of all snapshots; return the key of the object."""
    key = f"{report_directory(attempt.table, attempt.partition)}/{attempt.attempt}-ledger.parquet"
    _write(store, key, ledger)
    return key


def _read(store: Store, key: str) -> pa.Table:
    remedy = "make the resolution from the signatures alone: corpusmill materialize --again"
    with damage_named(store, key, remedy=remedy), store.open_input(key) as source, open_parquet(source) as file:
        return file.read()


def _write(store: Store, key: str, table: pa.Table) -> None:
    with store.open_output(key) as out:
        pq.write_table(table, out, compression="zstd", write_page_checksum=True)
