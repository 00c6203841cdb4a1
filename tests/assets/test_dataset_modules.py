"""What people get wrong in a dataset's module is told when the project loads: in which line, and what would do."""

import pytest

import definitions
from assets.synthesis import synthesized_assets
from tests.synthesize.rows import recipe

WRONG = {
    "a value that cannot be": ("x = 1\n\nint('many')\n", "line 3: invalid literal for int.*'many'"),
    "a misspelled parameter": (
        "from corpusmill.synthesize.recipe import SeedRule\nSeedRule(max_docs=8)\n",
        "line 2: .*max_docs",
    ),
    "a misspelled module": (
        "import corpusmill.synthesize.chek\n",
        "line 1: ModuleNotFoundError: No module named .*chek",
    ),
    "no Python": ("RECIPES = [\n", "SyntaxError: '\\[' was never closed .*line 1"),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_a_module_that_does_not_load_is_told_with_its_line(tmp_path, monkeypatch, text, told):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_dataset.py").write_text(text)
    with pytest.raises(ValueError, match=f"{tmp_path}/broken_dataset.py.*{told}"):
        definitions.dataset_module("broken_dataset")


def test_seeds_that_nothing_makes_are_told_with_what_is_meant():
    made = synthesized_assets(
        "said_anew", seeds="wbe", dimension="style", recipes={"plain": recipe(name="said_anew/plain")}
    )
    message = (
        "said_anew/requests reads curated/wbe/documents, which no module makes; did you mean 'curated/web/documents'"
    )
    with pytest.raises(ValueError, match=message):
        definitions.check_reads([*definitions.all_assets(), *made])


def test_a_recipe_has_the_name_under_which_it_is_asked():
    with pytest.raises(
        ValueError, match="'short' of said_anew must have the name 'said_anew/short', got 'said_anew/plain'"
    ):
        synthesized_assets(
            "said_anew", seeds="web", dimension="style", recipes={"short": recipe(name="said_anew/plain")}
        )
