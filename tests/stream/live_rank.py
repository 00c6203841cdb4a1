"""A rank that decides and is killed before its first batch: python live_rank.py FOLDER. Says what it decided."""

import sys
from pathlib import Path

from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.stream.loader import MixtureStream


def main(folder: Path) -> None:
    stream = MixtureStream(LakeSettings(store=StoreSettings(root=str(folder))), "demo")
    first = next(iter(stream))
    print(first.position, stream.plan.num_positions, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
