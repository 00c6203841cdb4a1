"""What judges do with quality tiers: which texts heuristic rules spare, and which are dropped for a low tier.

Tiers come from stored statistics, so that both can be decided again without reading a text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from corpusmill.curate.decisions import Check, numbers
from corpusmill.curate.quality import TIER, Classifier
from corpusmill.curate.quality_tiers import NUM_TIERS, is_spared


def classifier_names(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the classifiers that a judge's parameters name; raises ValueError where they are no list of names."""
    names = parameters.get("classifiers", ())
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"classifiers must be a list of names, such as ['lessons'], got {names!r}")
    return tuple(names)


def check_tiers(**tiers: int | None) -> None:
    """Raise ValueError for a rule whose tier is not one of the NUM_TIERS; None sets no rule."""
    for rule, tier in tiers.items():
        if tier is not None and tier not in range(NUM_TIERS):
            raise ValueError(f"{rule} must be a tier, a whole number from 0 to {NUM_TIERS - 1}, or None; got {tier!r}")


def check_tiers_are_known(rules: Any, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError where `rules` look at tiers and the parameters name no classifier that gives them."""
    has_rules = rules.spared_tiers_from is not None or rules.min_quality_tier is not None
    if has_rules and not classifier_names(parameters):
        raise ValueError(
            "spared_tiers_from and min_quality_tier need tiers: name trained classifiers in the judge's parameters, such "
            "as classifiers: ['lessons']"
        )


def check_classifiers(classifiers: Sequence[Classifier], parameters: Mapping[str, Any]) -> None:
    """Raise ValueError where a judge is not given the classifiers that its parameters name, in their order."""
    given = tuple(classifier.name for classifier in classifiers)
    if given != classifier_names(parameters):
        raise ValueError(f"the parameters name the classifiers {classifier_names(parameters)}, got {given}: pass those")


def spare_best_tiers(checks: Sequence[Check], measured: pa.Table, from_tier: int | None) -> list[Check]:
    """Return checks that texts of the tiers from `from_tier` up do not break; None spares none."""
    if from_tier is None:
        return list(checks)
    is_held = ~is_spared(numbers(measured, TIER), from_tier=from_tier)
    return [Check(reason=check.reason, is_broken=check.is_broken & is_held) for check in checks]


def tier_checks(measured: pa.Table, min_tier: int | None) -> list[Check]:
    """Return the check that drops texts below a tier; no check for None."""
    if min_tier is None:
        return []
    return [Check(reason="low_quality_tier", is_broken=numbers(measured, TIER) < min_tier)]
