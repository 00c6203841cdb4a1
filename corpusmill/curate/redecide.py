"""Deciding again: changed thresholds applied to a stored verdict table. No text is read.

What a rule changes in a text, or how a text is measured, cannot be decided again: `needs_text` names those rules. Costs a
few comparisons a row: a million rows of web verdicts take well under a second.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate import code, stem, web
from corpusmill.curate.decisions import drop_reasons
from corpusmill.curate.quality import TIER
from corpusmill.curate.quality_rules import classifier_names
from corpusmill.meant import check_known, did_you_mean

JUDGES = {"web": web, "code": code, "stem": stem}
"""By kind of text; parameters name one under `judge`. Each has `rules`, `checks`, `judge`, `verdict_schema`, and the
constants `DECISIVE` (columns that checks look at), `MEASURED_WITH` (rules that change texts or measures) and `MEASURED`
(a column that is null where a text was too long to be measured)."""


def judge_of(parameters: Mapping[str, Any]) -> ModuleType:
    """Return the judge that parameters name; raises ValueError for one that does not exist, and for other parameters."""
    check_known(parameters, ("judge", "rules", "classifiers"), what="parameters of a judge")
    name = parameters.get("judge")
    if name not in JUDGES:
        raise ValueError(f"a judge is one of {', '.join(JUDGES)}, got {name!r}{did_you_mean(name, JUDGES)}")
    return JUDGES[name]


def redecide(verdicts: pa.Table, parameters: Mapping[str, Any]) -> pa.Array:
    """Return the drop reason of each verdict under the rules of `parameters`, null where it is kept.

    Exactly what the judge would give. Needs `decisive_columns`; raises ValueError for verdicts whose text was not
    measured because it was too long under the old rules and is not under these.
    """
    judge = judge_of(parameters)
    rules = judge.rules(parameters)
    is_short = pc.less_equal(verdicts["characters"], rules.max_characters)
    unmeasured = pc.sum(pc.and_(is_short, pc.is_null(verdicts[judge.MEASURED]))).as_py()
    if unmeasured:
        raise ValueError(
            f"{unmeasured} texts of at most {rules.max_characters} characters were too long to be measured when they were "
            "judged; materialize their verdicts with the larger max_characters"
        )
    return drop_reasons(len(verdicts), judge.checks(verdicts, rules))


def decisive_columns(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of a verdict table that decide."""
    judge = judge_of(parameters)
    tier = [TIER] if classifier_names(parameters) else []
    return tuple(dict.fromkeys((*judge.DECISIVE, judge.MEASURED, "characters", *tier)))


def needs_text(judged_with: Mapping[str, Any], parameters: Mapping[str, Any]) -> list[str]:
    """Return the rules that differ and cannot be decided again: they change the text or what is measured of it.

    `judge` and `classifiers` are named where these differ.
    """
    judge = judge_of(parameters)
    if judged_with["judge"] != parameters["judge"]:
        return ["judge"]
    old, new = judge.rules(judged_with), judge.rules(parameters)
    models = [] if classifier_names(judged_with) == classifier_names(parameters) else ["classifiers"]
    return [*models, *(name for name in judge.MEASURED_WITH if _values(old, name) != _values(new, name))]


def changes(before: pa.Array, after: pa.Array) -> pa.Table:
    """Return how many verdicts move from one drop reason to another: `before`, `after` (null is kept), `documents`.

    The most frequent change comes first; verdicts that stay as they are do not count.
    """
    table = pa.table({"before": before.cast(pa.string()), "after": after.cast(pa.string())})
    same = pc.equal(pc.fill_null(table["before"], ""), pc.fill_null(table["after"], ""))
    counted = table.filter(pc.invert(same)).group_by(["before", "after"]).aggregate([([], "count_all")])
    renamed = counted.rename_columns({"count_all": "documents"}).select(["before", "after", "documents"])
    return renamed.sort_by([("documents", "descending"), ("before", "ascending"), ("after", "ascending")])


def _values(rules: Any, name: str) -> dict[str | None, Any]:
    """Return what a rule says for every language that has its own, and for all others."""
    special = {language: own[name] for language, own in getattr(rules, "by_language", {}).items() if name in own}
    return {None: getattr(rules, name), **{language: _plain(value) for language, value in special.items()}}


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
