"""The specification of a synthesis: one frozen value of six components, and its spelling in JSON.

Prompts and thresholds are policy and stand with the asset that chose them (`assets/synthesized/`); here is only what a
recipe can say. A recipe refuses at once what cannot work: a prompt that asks for something it is not given, a verifier
that does not exist or does not take that parameter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from string import Template
from typing import Any, Literal, get_args

from corpusmill.curate.code_languages import check_code_languages, is_code_language
from corpusmill.curate.language_names import check_languages, meant_language
from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.masking import MASKS
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.verify.registry import check_parameters

MaskKind = Literal["formula", "code"]
AnswerForm = Literal["text", "code_block"]
Preference = Literal["first", "prose"]
Scope = Literal["chunk", "document"]


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

    def __post_init__(self) -> None:
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
class SecondaryInputs:
    """What a prompt holds besides the seed: worked examples and fixed words such as a style or a target language."""

    exemplars: tuple[Exemplar, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PromptGenerator:
    """One prompt, one answer. `$document` is the primary input between delimiters, the other `$names` fill as given.

    Exemplars are rendered with the same `user` prompt; where one has no metadata of its own, the word `unknown` stands.
    """

    system: str
    user: str
    sampling: Sampling

    def names(self) -> set[str]:
        """Return every `$name` that the two prompts use; raise ValueError for a `$` that is neither name nor `$$`."""
        found: set[str] = set()
        for which, prompt in (("system", self.system), ("user", self.user)):
            template = Template(prompt)
            if not template.is_valid():
                raise ValueError(
                    f"the {which} prompt holds a $ that starts no name; write $$ for a dollar: {prompt!r:.200}"
                )
            found.update(template.get_identifiers())
        return found


@dataclass(frozen=True, kw_only=True)
class OutputRule:
    """What the answer is: the form in which the model gives it, and the columns of the document that comes of it."""

    form: AnswerForm = "text"
    language: str | None = None
    """None keeps the seed's."""
    content_type: str = "text/plain"

    def __post_init__(self) -> None:
        if self.form not in get_args(AnswerForm):
            raise ValueError(f"unknown answer form {self.form!r}; there are: {', '.join(get_args(AnswerForm))}")
        if self.language is not None:
            check_languages([self.language], are_declared=True)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One verifier by name with its parameters, run on each chunk or on the stitched document."""

    verifier: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    scope: Scope = "document"

    def __post_init__(self) -> None:
        check_parameters(self.verifier, self.parameters, scope=self.scope)


def check(verifier: str, *, scope: Scope = "document", **parameters: Any) -> Check:
    """Return `Check` in fewer words: `check("length_ratio", minimum=0.5, maximum=1.5)`."""
    return Check(verifier=verifier, parameters=parameters, scope=scope)


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
    generator: PromptGenerator
    verifiers: tuple[Check, ...]
    """Cheap ones first: the first reason decides and the rest does not run."""
    output: OutputRule = OutputRule()

    def __post_init__(self) -> None:
        given = {"document", *map(prompt_name, self.metadata), *self.secondary.words}
        asked = self.generator.names()
        if unknown := sorted(asked - given):
            raise ValueError(
                f"recipe {self.name!r} asks for {_names(unknown)} in its prompt, but is given only "
                f"{_names(sorted(given))}; add the column to `metadata` or the word to `secondary.words`"
            )
        if "document" not in asked:
            raise ValueError(f"recipe {self.name!r} never shows the model its $document")

    @property
    def version(self) -> str:
        """The fingerprint of everything the recipe says."""
        return fingerprint(self.to_json())

    @property
    def prompt_version(self) -> str:
        """The fingerprint of what decides the answers: a change of seeds or verifiers does not move it."""
        value = self.to_json()
        return fingerprint({key: value[key] for key in ("primary", "metadata", "secondary", "generator")})

    def to_json(self) -> dict[str, Any]:
        value = _plain(asdict(self))
        value["generator"]["sampling"] = self.generator.sampling.to_json()
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Recipe":
        """Read what `to_json` wrote; the result equals the original and has its version."""
        secondary, generator = value["secondary"], value["generator"]
        return cls(
            name=value["name"],
            seeds=SeedRule(**_tuples(value["seeds"])),
            primary=PrimaryInput(**_tuples(value["primary"])),
            metadata=tuple(value["metadata"]),
            secondary=SecondaryInputs(
                exemplars=tuple(Exemplar(**exemplar) for exemplar in secondary["exemplars"]),
                words=dict(secondary["words"]),
            ),
            generator=PromptGenerator(**{**generator, "sampling": Sampling(**_tuples(generator["sampling"]))}),
            verifiers=tuple(
                Check(**{**item, "parameters": _tuples(item["parameters"])}) for item in value["verifiers"]
            ),
            output=OutputRule(**value["output"]),
        )


def prompt_name(column: str) -> str:
    """Return the `$name` under which a prompt finds a metadata column."""
    return column.replace(".", "_")


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"${name}" for name in names)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _tuples(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(item) if isinstance(item, list) else item for key, item in value.items()}
