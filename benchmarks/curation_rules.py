"""All heuristic rules (Gopher quality and repetition, C4, FineWeb) beside datatrove's four filters: speed and agreement.

Both are timed inside their process, start-up excluded, on real documents, in CPU seconds: each has one core, and a busy
neighbour is nobody's merit. Spark and the bare rules beside it are timed by the clock. Also: thresholds decided again from
verdicts, and rules for code.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.code_texts import code_table
from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.rules_agreement import DATATROVE, FILTERS, agreement, first_reasons_alike, our_answers, their_answers
from benchmarks.spark_judging import extracted_rows, judging_on_spark
from benchmarks.texts import LANGUAGES, Sample, joined_texts, real_samples, worse_samples
from corpusmill.curate import code, web
from corpusmill.curate.decisions import drop_reasons
from corpusmill.curate.edit_columns import edits_column
from corpusmill.curate.redecide import decisive_columns, redecide

NUM_VERDICTS = 1_000_000
_RULES = web.WebRules()
_RUNS = 5
_PAIRS = 3
_MAX_CHARACTERS = 30_000
"""Longer documents take no part in the comparison of decisions: datatrove would need minutes for them."""
_TIMED_EVERY = 20


def measures() -> list[Measure]:
    """Measure the rules; all speeds are in MB of UTF-8 a second."""
    samples = real_samples()
    texts = [sample.text for sample in samples]
    compared = [sample for sample in samples if len(sample.text) <= _MAX_CHARACTERS]
    compared += worse_samples(compared[::2])
    theirs, their_speed = _their_decisions(compared)
    languages = [sample.language for sample in samples]
    mixed = rules_megabytes_per_second(texts, languages)
    large = joined_texts(texts, 1_000_000)
    name = f"{DATATROVE[0].replace('==', ' ')}, its four filters"
    return [
        Measure(measure="rules, mixed documents, one core (MB/s)", ours=mixed, bar=at_least(60)),
        Measure(
            measure="rules, documents of 1 MB, one core (MB/s)",
            ours=rules_megabytes_per_second(large, ["en"] * len(large)),
            bar=at_least(35),
        ),
        Measure(
            measure="rules, the documents compared, one core (MB/s)",
            ours=rules_megabytes_per_second([one.text for one in compared], [one.language for one in compared]),
            other=their_speed,
            other_name=name,
            bar=at_least(100, of="ratio"),
        ),
        *_agreements(compared, theirs),
        *_other_scripts(),
        Measure(
            measure="1,000,000 verdicts decided again (s)", ours=_redecide_seconds(texts, languages), bar=at_most(2)
        ),
        Measure(measure="code rules, syntax included, one core (MB/s)", ours=_code_megabytes_per_second()),
        _through_spark(texts, languages),
    ]


def rules_megabytes_per_second(texts: list[str], languages: list[str]) -> float:
    """Time all rules on texts that are in Arrow, to their drop reasons and edits; the median of several runs."""
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    return _megabytes(texts) / _median_seconds(lambda: judge_texts(column, languages), clock=time.process_time)


def clock_megabytes_per_second(texts: list[str], languages: list[str]) -> float:
    """Time the same by the clock."""
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    return _megabytes(texts) / _median_seconds(lambda: judge_texts(column, languages))


def judge_texts(column: pa.ChunkedArray, languages: list[str]) -> pa.Array:
    """Return the drop reasons of texts, by the web rules without language and PII."""
    measured = web.measure(column, _RULES, languages)
    edits = edits_column(measured.cuts, [()] * len(column))
    table = pa.table({"language": languages, "edits": edits, **measured.statistics})
    return drop_reasons(len(table), web.heuristic_checks(table, _RULES))


def _their_decisions(samples: list[Sample]) -> tuple[list[list[str | None]], float]:
    timed = [place % _TIMED_EVERY == 0 for place in range(len(samples))]
    answers, seconds = their_answers(samples, timed=timed)
    return answers, _megabytes([sample.text for sample in samples[::_TIMED_EVERY]]) / seconds


def _agreements(samples: list[Sample], theirs: list[list[str | None]]) -> list[Measure]:
    ours = our_answers(samples)
    num_real = sum(not sample.source.startswith("worse") for sample in samples)
    lines = []
    for place, name in enumerate(FILTERS):
        found = agreement(ours, theirs, place)
        where = f"{found['texts']:,.0f} texts, {found['kept']:.0%} kept"
        lines.append(Measure(measure=f"agreement, {name} ({where})", ours=found["agreement"], bar=at_least(0.99)))
    share = first_reasons_alike(ours, theirs)
    text = f"agreement, first reason ({num_real:,} real texts and {len(samples) - num_real:,} made worse)"
    return [*lines, Measure(measure=text, ours=share, bar=at_least(0.97))]


def _other_scripts() -> list[Measure]:
    """Report Chinese and Japanese, whose words datatrove finds in dictionaries and ours are characters."""
    samples = real_samples(("zh", "ja"))
    if not samples:
        print("no Chinese and Japanese texts at hand (../shared/data): not compared", flush=True)
        return []
    theirs, _ = their_answers(samples, timed=[False] * len(samples))
    ours = our_answers(samples)
    return [
        Measure(measure=f"agreement, {name}, Chinese and Japanese", ours=agreement(ours, theirs, place)["agreement"])
        for place, name in enumerate(FILTERS)
    ]


def _redecide_seconds(texts: list[str], languages: list[str]) -> float:
    """Time a changed threshold on NUM_VERDICTS real verdicts, from their Parquet file to the drop reasons."""
    judged = web.judge(extracted_rows(texts, languages, prefix="v"), {"judge": "web"})
    verdicts = judged.take(pa.array(np.arange(NUM_VERDICTS) % len(judged)))
    parameters = {"judge": "web", "rules": {"languages": list(LANGUAGES), "min_words": 40}}
    columns = list(decisive_columns(parameters))
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        pq.write_table(verdicts, file.name)
        return _median_seconds(lambda: redecide(pq.read_table(file.name, columns=columns), parameters))


def _code_megabytes_per_second() -> float:
    table = code_table()
    return _megabytes(table["text"].to_pylist()) / _median_seconds(lambda: code.judge(table, {}))


def _through_spark(texts: list[str], languages: list[str]) -> Measure:
    """Time Spark and the bare rules in turn, so that both have the same neighbours; of the pairs, take the median ratio."""
    with ProcessPoolExecutor(2) as pool:

        def bare() -> float:
            return sum(pool.map(clock_megabytes_per_second, [texts] * 2, [languages] * 2))

        bare()  # the pool forks here, before there is a client of Spark
        with judging_on_spark(texts, languages) as judge:
            pairs = sorted(((judge(), bare()) for _ in range(_PAIRS)), key=lambda pair: pair[0] / pair[1])
    ours, other = pairs[_PAIRS // 2]
    return Measure(
        measure="rules through Spark local[2], Parquet to verdicts (MB/s)",
        ours=ours,
        other=other,
        other_name="the bare rules on two cores",
        bar=at_least(0.6, of="ratio"),
    )


def _megabytes(texts: list[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def _median_seconds(work: Callable[[], object], *, clock: Callable[[], float] = time.perf_counter) -> float:
    work()
    seconds = []
    for _ in range(_RUNS):
        started = clock()
        work()
        seconds.append(clock() - started)
    return statistics.median(seconds)


if __name__ == "__main__":
    print_measures(measures())
