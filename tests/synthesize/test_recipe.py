"""A recipe says everything, survives JSON, and refuses at once what cannot work."""

import json
from dataclasses import replace

import pytest

from assets.synthesized import code_rephrased, stem_translated, web_rephrased
from corpusmill.synthesize.check import Check, check
from corpusmill.synthesize.recipe import (
    Exemplar,
    OutputRule,
    PrimaryInput,
    Recipe,
    SecondaryInputs,
    SeedRule,
)
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.rows import generator, recipe

FULL = recipe(
    seeds=SeedRule(
        languages=("en", "de"), min_characters=5, max_characters=900, max_documents=3, quality_tiers=(5, 19)
    ),
    primary=PrimaryInput(max_characters=100, max_chunks=2, prefer="prose", mask=("formula",), separator=None),
    metadata=("title", "meta.author"),
    secondary=SecondaryInputs(exemplars=(Exemplar(document="a", answer="b"),), words={"style": "a tutorial"}),
    generator=generator(
        user="$title by $meta_author as $style: $document", sampling=Sampling(max_tokens=9, stop=("#",))
    ),
    verifiers=(check("length_ratio", minimum=0.5, maximum=2, scope="chunk"), check("not_copied", max_share=0.5)),
    output=OutputRule(form="code_block", language="de", content_type="text/x-python"),
)
SHIPPED = [*web_rephrased.RECIPES.values(), *code_rephrased.RECIPES.values(), *stem_translated.RECIPES.values()]


@pytest.mark.parametrize("one", [recipe(), FULL, *SHIPPED], ids=lambda one: one.name)
def test_json_and_back_is_the_same_recipe(one):
    again = Recipe.from_json(json.loads(json.dumps(one.to_json())))
    assert again == one
    assert (again.version, again.prompt_version) == (one.version, one.prompt_version)


CHANGES = {
    "seeds": (SeedRule(max_characters=9_999), False),
    "verifiers": ((check("compiles"),), False),
    "output": (OutputRule(language="fr"), False),
    "primary": (PrimaryInput(max_characters=50), True),
    "secondary": (SecondaryInputs(exemplars=(Exemplar(document="a", answer="b"),)), True),
    "generator": (generator(system="Rewrite well."), True),
}


def test_a_recipe_that_says_nothing_new_is_spelled_as_it_always_was():
    assert recipe().version == "610eae66290c9feb49ab703c543c2afc"
    assert replace(recipe(), seeds=SeedRule(max_characters=10_000, quality_tiers=(0, 19))).version != recipe().version


@pytest.mark.parametrize(("part", "value", "moves_the_prompt"), [(k, *v) for k, v in CHANGES.items()], ids=CHANGES)
def test_every_change_makes_a_version_and_only_prompts_make_a_prompt_version(part, value, moves_the_prompt):
    changed = replace(recipe(), **{part: value})
    assert changed.version != recipe().version
    assert (changed.prompt_version != recipe().prompt_version) == moves_the_prompt


def test_seeds_may_be_of_any_language_that_a_source_may_name():
    assert len(SeedRule(max_characters=8, languages=("EN", "nb", "python", "C", "R", "COBOL", "qya")).languages) == 7


def test_a_whole_number_and_its_float_are_one_sampling():
    assert recipe(generator=generator(sampling=Sampling(max_tokens=9, temperature=0))).version == (
        recipe(generator=generator(sampling=Sampling(max_tokens=9, temperature=0.0))).version
    )


REFUSED = {
    "a name that is not given": (
        lambda: recipe(generator=generator(user="$titel $document")),
        r"\$titel.*only \$document",
    ),
    "a prompt without the document": (lambda: recipe(generator=generator(user="hello")), r"never shows .* \$document"),
    "a lone dollar": (lambda: recipe(generator=generator(user="$document for 5 $ only")), r"write \$\$ for a dollar"),
    "an unknown verifier": (lambda: check("is_good"), "no verifier 'is_good'; there are: behaves_as_before, compiles"),
    "a parameter it does not take": (
        lambda: check("compiles", strict=True),
        "takes no parameters; unknown here: strict",
    ),
    "a parameter it needs": (lambda: check("length_ratio", minimum=1), "missing: maximum"),
    "a text for a number": (
        lambda: check("not_copied", max_share="a lot"),
        "'not_copied' takes max_share as a number, got 'a lot'",
    ),
    "a flag for a number": (lambda: check("fact_list", min_facts=True), "min_facts as a whole number, got True"),
    "a number for a flag": (lambda: check("same_interface", compare_annotations=1), "as True or False, got 1"),
    "a share above 1": (lambda: check("not_copied", max_share=7), "max_share as a share from 0 to 1, got 7"),
    "a share that is no number": (lambda: check("not_copied", max_share=float("nan")), "from 0 to 1, got nan"),
    "fewer than none": (lambda: check("fact_list", min_facts=-3), "min_facts as a number that is at least 0, got -3"),
    "half a fact": (lambda: check("fact_list", min_facts=2.5), "min_facts as a whole number, got 2.5"),
    "no column's name": (lambda: check("behaves_as_before", tests=3), "tests as a text or None, got 3"),
    "a language that no sandbox runs": (
        lambda: check("behaves_as_before", language="pyton"),
        "language as one of python, javascript, java, cpp, rust, go, got 'pyton'",
    ),
    "a verifier by name alone": (
        lambda: recipe(verifiers=("not_copied",)),
        r"verifiers of recipe '.*' takes a tuple of Check.*got \('not_copied',\)",
    ),
    "one verifier without its tuple": (
        lambda: recipe(verifiers=check("compiles")),
        r"takes a tuple of Check, as \(one,\)",
    ),
    "one language without its tuple": (
        lambda: SeedRule(max_characters=8, languages="en"),
        "languages takes a tuple of str.*got 'en'",
    ),
    "one column without its tuple": (
        lambda: recipe(metadata="title"),
        "metadata of recipe .* tuple of str.*got 'title'",
    ),
    "one mask without its tuple": (lambda: PrimaryInput(mask="formula"), "mask takes a tuple of str.*got 'formula'"),
    "one exemplar without its tuple": (
        lambda: SecondaryInputs(exemplars=Exemplar(document="a", answer="b")),
        "exemplars takes a tuple of Exemplar",
    ),
    "a generator by name": (
        lambda: recipe(generator="prompt"),
        r"needs a generator, such as PromptGenerator\(\.\.\.\), got",
    ),
    "a word in the document's place": (
        lambda: recipe(secondary=SecondaryInputs(words={"document": "x"})),
        r"gives \$document more than once",
    ),
    "a word and a column of one name": (
        lambda: recipe(metadata=("title",), secondary=SecondaryInputs(words={"title": "x"})),
        r"gives \$title more than once",
    ),
    "code run on a chunk": (lambda: Check(verifier="behaves_as_before", scope="chunk"), "scope 'chunk'"),
    "an unknown mask": (lambda: PrimaryInput(mask=("names",)), "cannot mask names; there are: code, formula"),
    "an unknown form": (lambda: OutputRule(form="xml"), "'xml'; there are: text, code_block"),
    "another name of a language": (lambda: OutputRule(language="no"), "did you mean 'nb'"),
    "seeds of a language by name": (
        lambda: SeedRule(max_characters=8, languages=("english",)),
        "no seed is of the language 'english'; did you mean 'en'",
    ),
    "seeds of a misspelled language": (
        lambda: SeedRule(max_characters=8, languages=("pyton",)),
        "did you mean 'Python'",
    ),
    "an unknown preference": (lambda: PrimaryInput(prefer="best"), "first, prose, got 'best'"),
    "no room for a seed": (lambda: SeedRule(min_characters=9, max_characters=8), "got 9 and 8"),
    "no seeds": (lambda: SeedRule(max_characters=8, max_documents=0), "max_documents must be at least 1"),
    "a tier too high": (
        lambda: SeedRule(max_characters=8, quality_tiers=(5, 20)),
        r"first <= last <= 19, got \(5, 20\)",
    ),
    "tiers turned round": (lambda: SeedRule(max_characters=8, quality_tiers=(5, 4)), "0 <= first <= last"),
    "no room for an answer": (lambda: Sampling(max_tokens=0), "max_tokens >= 1"),
    "an empty chunk": (lambda: PrimaryInput(max_chunks=0), "max_chunks must be at least 1"),
}


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_at_once(build, message):
    with pytest.raises(ValueError, match=message):
        build()
