"""The verifiers by name, and the order in which one case goes through them: the first reason decides."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from corpusmill.synthesize.verify.behaviour import behaves_as_before
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.compiles import compiles
from corpusmill.synthesize.verify.copying import not_copied
from corpusmill.synthesize.verify.doctests import same_doctests
from corpusmill.synthesize.verify.documented import documented
from corpusmill.synthesize.verify.entities import entities_preserved
from corpusmill.synthesize.verify.fact_list import fact_list
from corpusmill.synthesize.verify.faq import faq
from corpusmill.synthesize.verify.formulas import formulas_preserved
from corpusmill.synthesize.verify.grounding import grounded
from corpusmill.synthesize.verify.impersonal import impersonal
from corpusmill.synthesize.verify.interface import same_interface
from corpusmill.synthesize.verify.language import target_language
from corpusmill.synthesize.verify.length import length_ratio
from corpusmill.synthesize.verify.lints import lints
from corpusmill.synthesize.verify.near_seed import near_seed
from corpusmill.synthesize.verify.numbers import numbers_preserved
from corpusmill.synthesize.verify.parameter_values import wanted_instead
from corpusmill.synthesize.verify.personal_data import no_pii_added
from corpusmill.synthesize.verify.program import same_program
from corpusmill.synthesize.verify.question_answer import question_answer
from corpusmill.synthesize.verify.repetition import not_repetitive
from corpusmill.synthesize.verify.table_form import table_form
from corpusmill.synthesize.verify.talk import no_assistant_talk
from corpusmill.synthesize.verify.tutorial_steps import tutorial_steps
from corpusmill.synthesize.verify.units import units_preserved

VERIFIERS: dict[str, Callable[..., str | None]] = {
    verifier.__name__: verifier
    for verifier in (
        behaves_as_before,
        compiles,
        documented,
        units_preserved,
        tutorial_steps,
        table_form,
        no_pii_added,
        lints,
        impersonal,
        faq,
        fact_list,
        entities_preserved,
        formulas_preserved,
        grounded,
        length_ratio,
        near_seed,
        no_assistant_talk,
        not_copied,
        not_repetitive,
        numbers_preserved,
        question_answer,
        same_doctests,
        same_interface,
        same_program,
        target_language,
    )
}

EXECUTES = behaves_as_before.__name__
"""The one verifier that runs code: the caller brings the sandbox, and all documents go to it at once."""


def check_parameters(verifier: str, parameters: Mapping[str, Any], *, scope: str) -> None:
    """Raise ValueError when there is no such verifier, or it does not take these parameters, values or this scope."""
    if verifier not in VERIFIERS:
        raise ValueError(f"there is no verifier {verifier!r}; there are: {', '.join(sorted(VERIFIERS))}")
    if scope not in ("chunk", "document") or (verifier == EXECUTES and scope != "document"):
        raise ValueError(f"verifier {verifier!r} cannot run with scope {scope!r}")
    taken = taken_parameters(verifier)
    _check_names(verifier, parameters, taken)
    for name, value in parameters.items():
        if wanted := wanted_instead(name, value, taken[name].annotation):
            raise ValueError(f"verifier {verifier!r} takes {name} as {wanted}, got {value!r:.200}")


def taken_parameters(verifier: str) -> dict[str, inspect.Parameter]:
    """Return what a verifier takes besides the case, by name."""
    taken = inspect.signature(VERIFIERS[verifier]).parameters
    return {name: item for name, item in taken.items() if name != "case"}


def _check_names(verifier: str, parameters: Mapping[str, Any], taken: Mapping[str, inspect.Parameter]) -> None:
    unknown = sorted(set(parameters) - set(taken))
    missing = sorted(name for name, item in taken.items() if item.default is item.empty and name not in parameters)
    if unknown or missing:
        raise ValueError(
            f"verifier {verifier!r} takes {', '.join(taken) or 'no parameters'}; "
            f"unknown here: {', '.join(unknown) or 'none'}, missing: {', '.join(missing) or 'none'}"
        )


def refusal(case: Case, checks: Iterable[tuple[str, Mapping[str, Any]]]) -> str | None:
    """Return the first reason why the output is refused, or None when every verifier lets it pass."""
    for verifier, parameters in checks:
        reason = VERIFIERS[verifier](case, **parameters)
        if reason is not None:
            return reason
    return None
