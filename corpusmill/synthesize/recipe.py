"""The specification of a synthesis: one frozen value of six components, and its spelling in JSON.

Prompts and thresholds are policy and stand with the asset that chose them (`assets/synthesized/`); here is only what a
recipe can say. A recipe refuses at once what cannot work: a prompt that asks for something it is not given, a verifier
that does not exist or does not take that parameter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, get_args

from corpusmill.curate.code_languages import check_code_languages, is_code_language
from corpusmill.curate.language_names import check_languages, meant_language
from corpusmill.curate.quality_tiers import NUM_TIERS
from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.answer import AnswerForm, check_form
from corpusmill.synthesize.check import Check
from corpusmill.synthesize.generators.registry import KINDS, Generator, generator_from_json, generator_to_json
from corpusmill.synthesize.masking import MASKS
from corpusmill.synthesize.prompt import DOCUMENT, SECOND, prompt_name
from corpusmill.synthesize.shares import EVERYTHING, Share, check_share
from corpusmill.synthesize.spelling import plain, tuple_of, tuples

MaskKind = Literal["formula", "code"]
Preference = Literal["first", "prose"]


@dataclass(frozen=True, kw_only=True)
class SeedRule:
    """Which documents a recipe starts from."""

    languages: tuple[str, ...] = ()
    """Accepted values of the column `language`, in any case; empty accepts all."""
    min_characters: int = 1
    max_characters: int
    """A longer document is no seed; cutting it into prompts is the primary input's part."""
    max_documents: int | None = None
    """At most so many seeds of a partition, the ones whose hash with the recipe's name is smallest."""
    quality_tiers: tuple[int, int] | None = None
    """From the first tier of quality to the last, both included, as curation's classifiers gave them (0 to 19); None
    accepts all."""
    share: Share = EVERYTHING
    """Which part of all documents: recipes of one dataset whose shares stand `side_by_side` never start from the same."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "languages", tuple_of(str, self.languages, where="languages"))
        check_share(self.share)
        _check_tiers(self.quality_tiers)
        if not 1 <= self.min_characters <= self.max_characters:
            raise ValueError(
                f"seeds need 1 <= min_characters <= max_characters, got {self.min_characters} and {self.max_characters}"
            )
        if self.max_documents is not None and self.max_documents < 1:
            raise ValueError(f"max_documents must be at least 1 or None for all, got {self.max_documents}")
        for name in self.languages:
            if not is_code_language(name) and (code := meant_language(name)) not in (None, name.lower()):
                raise ValueError(f"no seed is of the language {name!r}; did you mean {code!r}?")
        check_code_languages(name for name in self.languages if meant_language(name) is None)


@dataclass(frozen=True, kw_only=True)
class PrimaryInput:
    """Which part of a seed one prompt holds."""

    max_characters: int | None = None
    """Cut the text on its structure into chunks of at most so many characters; None gives it whole."""
    max_chunks: int | None = None
    """Ask about so many chunks and leave the rest of the seed out; None asks about all."""
    prefer: Preference = "first"
    """Which chunks `max_chunks` keeps: the first ones, or those with the most sentences (not tables, lists or code)."""
    mask: tuple[MaskKind, ...] = ()
    """What the model sees only as placeholders like ⟦F1⟧, put back into its answer unchanged."""
    separator: str | None = "\n\n"
    """What stands between the answers of two chunks; None takes the blanks that the seed has there."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mask", tuple_of(str, self.mask, where="mask"))
        for limit in ("max_characters", "max_chunks"):
            if (value := getattr(self, limit)) is not None and value < 1:
                raise ValueError(f"{limit} must be at least 1 or None for no limit, got {value}")
        if self.prefer not in get_args(Preference):
            raise ValueError(f"prefer must be one of {', '.join(get_args(Preference))}, got {self.prefer!r}")
        unknown = sorted(set(self.mask) - set(MASKS))
        if unknown:
            raise ValueError(f"cannot mask {', '.join(unknown)}; there are: {', '.join(MASKS)}")


@dataclass(frozen=True, kw_only=True)
class Exemplar:
    """One worked example, given to the model as an earlier turn of the conversation."""

    document: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class SecondDocuments:
    """Other documents of the partition that the prompt shows beside the seed as `$second`; they are parents, too."""

    rule: SeedRule
    """Which documents; its `max_documents` says how many of them are held in memory to choose from."""
    same: str | None = None
    """A column that must have the seed's value, such as `language` or `meta.subject`; null is like nothing."""
    count: int = 1
    """So many for each seed; a seed that finds fewer is none (`no_second_document`)."""
    max_characters: int = 2_000
    """So much of each is shown: its beginning, cut on its structure."""

    def __post_init__(self) -> None:
        if self.count < 1 or self.max_characters < 1:
            raise ValueError(
                f"second documents need count >= 1 and max_characters >= 1, got {self.count} and {self.max_characters}"
            )
        if self.rule.max_documents is None or self.rule.max_documents <= self.count:
            raise ValueError(
                f"second documents are chosen from some that are held in memory: their rule needs a max_documents above "
                f"{self.count}, such as 1,000; got {self.rule.max_documents}"
            )


@dataclass(frozen=True, kw_only=True)
class SecondaryInputs:
    """What a prompt holds besides the seed: worked examples, fixed words such as a style, other documents."""

    exemplars: tuple[Exemplar, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    documents: SecondDocuments | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "exemplars", tuple_of(Exemplar, self.exemplars, where="exemplars"))
        if self.documents is not None and self.exemplars:
            raise ValueError("worked examples have no second document: put the example into the prompt")


@dataclass(frozen=True, kw_only=True)
class OutputRule:
    """What the answer is: the form in which the model gives it, and the columns of the document that comes of it."""

    form: AnswerForm = "text"
    language: str | None = None
    """None keeps the seed's."""
    content_type: str = "text/plain"

    def __post_init__(self) -> None:
        check_form(self.form)
        if self.language is not None and not is_code_language(self.language):
            check_languages([self.language], are_declared=True)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How documents become synthetic documents."""

    name: str
    """Dataset and variant, as `web_rephrased/distilled`; it becomes the documents' `source` and `recipe`."""
    seeds: SeedRule
    primary: PrimaryInput = PrimaryInput()
    metadata: tuple[str, ...] = ()
    """Columns of the seed that the prompt may name; `meta.author` is the key `author` of `meta`, `$meta_author`."""
    secondary: SecondaryInputs = SecondaryInputs()
    generator: Generator
    """Of any kind in `corpusmill.synthesize.generators`."""
    verifiers: tuple[Check, ...]
    """Cheap ones first: the first reason decides and the rest does not run."""
    output: OutputRule = OutputRule()

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", tuple_of(str, self.metadata, where=f"metadata of recipe {self.name!r}"))
        object.__setattr__(
            self, "verifiers", tuple_of(Check, self.verifiers, where=f"verifiers of recipe {self.name!r}")
        )
        if not isinstance(self.generator, tuple(KINDS.values())):
            raise ValueError(
                f"recipe {self.name!r} needs a generator, such as PromptGenerator(...), got {self.generator!r:.200}"
            )
        self._check_names()

    def _check_names(self) -> None:
        """Refuse a prompt that names what nobody gives, and a `$name` that is given twice."""
        has_second = self.secondary.documents is not None
        second = [SECOND] if has_second else []
        names = [DOCUMENT, *second, *map(prompt_name, self.metadata), *self.secondary.words]
        given = set(names)
        if twice := sorted(name for name in given if names.count(name) > 1):
            raise ValueError(
                f"recipe {self.name!r} gives {_names(twice)} more than once: the document, each column of `metadata` and "
                "each of `secondary.words` need a name of their own"
            )
        asked = self.generator.names()
        if unknown := sorted(asked - given):
            raise ValueError(
                f"recipe {self.name!r} asks for {_names(unknown)} in its prompt, but is given only "
                f"{_names(sorted(given))}; add the column to `metadata` or the word to `secondary.words`"
            )
        if DOCUMENT not in asked:
            raise ValueError(f"recipe {self.name!r} never shows the model its $document")
        if has_second and SECOND not in asked:
            raise ValueError(f"recipe {self.name!r} chooses second documents, but never shows the model $second")

    @cached_property
    def version(self) -> str:
        """The fingerprint of everything the recipe says."""
        return fingerprint(self.to_json())

    @cached_property
    def prompt_version(self) -> str:
        """The fingerprint of what decides the answers: a change of seeds or verifiers does not move it."""
        value = self.to_json()
        return fingerprint({key: value[key] for key in ("primary", "metadata", "secondary", "generator")})

    def to_json(self) -> dict[str, Any]:
        value = {part.name: plain(getattr(self, part.name)) for part in fields(self) if part.name != "generator"}
        for part, name in _ADDED:
            if value[part][name] is None:
                del value[part][name]
        return {**value, "generator": generator_to_json(self.generator)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Recipe":
        """Read what `to_json` wrote; the result equals the original and has its version."""
        secondary = value["secondary"]
        return cls(
            name=value["name"],
            seeds=SeedRule(**tuples(value["seeds"])),
            primary=PrimaryInput(**tuples(value["primary"])),
            metadata=tuple(value["metadata"]),
            secondary=SecondaryInputs(
                exemplars=tuple(Exemplar(**exemplar) for exemplar in secondary["exemplars"]),
                words=dict(secondary["words"]),
                documents=_second_from_json(secondary.get("documents")),
            ),
            generator=generator_from_json(value["generator"]),
            verifiers=tuple(map(Check.from_json, value["verifiers"])),
            output=OutputRule(**value["output"]),
        )


_ADDED = (("seeds", "quality_tiers"), ("secondary", "documents"))
"""What recipes can say since there are documents of theirs: unsaid, it is not spelled, so that their versions stay."""


def _second_from_json(value: Mapping[str, Any] | None) -> SecondDocuments | None:
    return None if value is None else SecondDocuments(**{**value, "rule": SeedRule(**tuples(value["rule"]))})


def _check_tiers(tiers: tuple[int, int] | None) -> None:
    if tiers is not None and (len(tiers) != 2 or not 0 <= tiers[0] <= tiers[1] < NUM_TIERS):
        raise ValueError(
            f"quality_tiers are the first and the last tier, 0 <= first <= last <= {NUM_TIERS - 1}, got {tiers}"
        )


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"${name}" for name in names)
