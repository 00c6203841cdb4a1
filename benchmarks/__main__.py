"""`python -m benchmarks NAME ...` runs the named benchmarks, without names all; exit code 1 when a bar does not hold."""

import argparse
import importlib
import sys
import time
from pathlib import Path

from benchmarks.harness import print_measures, write_results

NOT_BENCHMARKS = {"__init__", "__main__", "harness"}


def main() -> int:
    """Run benchmarks one after the other; each prints its measures and writes benchmarks/results/NAME.json."""
    known = benchmark_names(Path(__file__).parent)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known) or '(none yet)'}")
    names = parser.parse_args().names or known
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark is named {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    held = [run(name) for name in names]
    return 0 if all(held) else 1


def benchmark_names(folder: Path) -> list[str]:
    """Return the names of the benchmark modules in `folder`: those with a function `measure`."""
    files = sorted(file for file in folder.glob("*.py") if file.stem not in NOT_BENCHMARKS)
    return [file.stem.replace("_", "-") for file in files if "\ndef measure(" in file.read_text(encoding="utf-8")]


def run(name: str) -> bool:
    """Run one benchmark and return whether all its bars hold."""
    print(f"== {name}", flush=True)
    started = time.monotonic()
    measures = importlib.import_module(f"benchmarks.{name.replace('-', '_')}").measure()
    print_measures(measures)
    file = write_results(name, measures, seconds=time.monotonic() - started)
    print(f"in {time.monotonic() - started:.0f} s, kept in {file}", flush=True)
    return all(one.holds for one in measures)


if __name__ == "__main__":
    sys.exit(main())
