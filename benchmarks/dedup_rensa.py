"""Deduplication with rensa as a script of a page; started with the python of rensa's own environment.

    python dedup_rensa.py whole FOLDER out.parquet     from FOLDER/*.parquet to a table of duplicates, two processes
    python dedup_rensa.py sign texts.parquet           full-set R-MinHash of texts in memory, one core

Word 5-grams, 112 permutations, 14 bands. Two processes make the sketches; rensa's own index, which checks candidates on
the sketches, takes them in order. The last line of output is JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"

import pyarrow as pa
import pyarrow.parquet as pq
from rensa import RMinHash, RMinHashDeduplicator

WORKERS = 2
PERMUTATIONS, BANDS, THRESHOLD, SEED = 112, 14, 0.7, 1


def shingles(text: str) -> list[str]:
    """Return the word 5-grams by the fastest split that Python has: punctuation stays with its word."""
    words = text.lower().split()
    return [" ".join(gram) for gram in zip(words, words[1:], words[2:], words[3:], words[4:], strict=False)]


def sketches(file: Path) -> tuple[list[str], list[RMinHash]]:
    """Return ids and sketches of a file's documents."""
    table = pq.read_table(file, columns=["doc_id", "text"])
    sets = (shingles(text) for text in table["text"].to_pylist())
    return table["doc_id"].to_pylist(), RMinHash.from_token_sets(sets, PERMUTATIONS, SEED)


def find(pool: ProcessPoolExecutor, folder: Path, out: str) -> int:
    """Write doc_id and duplicate_of of every duplicate; return how many."""
    index = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=PERMUTATIONS, use_lsh=True, num_bands=BANDS, seed=SEED)
    removed, partners = [], []
    for doc_ids, found in pool.map(sketches, sorted(folder.glob("*.parquet"))):
        is_new = index.add_pairs(list(zip(doc_ids, found, strict=True)))
        old = [place for place, new in enumerate(is_new) if not new]
        removed += [doc_ids[place] for place in old]
        partners += [min(names) for names in index.get_duplicate_sets([found[place] for place in old])]
    pq.write_table(pa.table({"doc_id": removed, "duplicate_of": partners}), out)
    return len(removed)


def whole(folder: str, out: str) -> dict[str, float]:
    """Find the duplicates; the seconds are those after the workers have started."""
    with ProcessPoolExecutor(WORKERS) as pool:
        list(pool.map(shingles, ["one two three four five six"] * WORKERS))
        started = time.perf_counter()
        removed = find(pool, Path(folder), out)
        return {"seconds": time.perf_counter() - started, "removed": removed}


def sign(file: str) -> dict[str, float]:
    """Return CPU seconds for all texts: from text to sketch, and of that the sketching of ready shingles."""
    texts = pq.read_table(file)["text"].to_pylist()
    RMinHash.digest_matrix_from_token_sets(map(shingles, texts[:10]), PERMUTATIONS, SEED)
    started = time.process_time()
    RMinHash.digest_matrix_from_token_sets(map(shingles, texts), PERMUTATIONS, SEED)
    seconds = time.process_time() - started
    ready = [shingles(text) for text in texts]
    started = time.process_time()
    RMinHash.digest_matrix_from_token_sets(ready, PERMUTATIONS, SEED)
    return {"seconds": seconds, "sketching_seconds": time.process_time() - started}


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    commands: dict[str, Callable[..., dict[str, float]]] = {"whole": whole, "sign": sign}
    print(json.dumps(commands[command](*rest)))
