"""The kinds of generators besides prompt and chain, their spelling, and programs side by side."""

import json
from dataclasses import replace

import pytest

from corpusmill.fingerprint import code_version
from corpusmill.synthesize.asking import Answer, Failed, Finished, GivenUp, advance
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.chain import ChainGenerator, Step
from corpusmill.synthesize.generators.fallback import FallbackGenerator
from corpusmill.synthesize.generators.function import FunctionGenerator
from corpusmill.synthesize.generators.registry import KINDS, generator_from_json, generator_to_json, tools_of
from corpusmill.synthesize.recipe import PrimaryInput, Recipe
from corpusmill.synthesize.together import together
from tests.synthesize.programs import SAMPLING, material, play, question, shown
from tests.synthesize.rows import generator, recipe

SHORTEN = FunctionGenerator(function="tests.synthesize.toy_functions:shorten")
HARD, EASY = generator(user="All at once: $document"), generator(user="One part: $document")
FALLBACK = FallbackGenerator(first=HARD, second=EASY, checks=(check("no_assistant_talk"),), max_characters=25)
CHAIN = ChainGenerator(steps=(Step(name="draft", user="$document", sampling=SAMPLING),))
EVERY = [generator(), CHAIN, FALLBACK, replace(FALLBACK, first=CHAIN, second=SHORTEN), SHORTEN]
TEXT = "First part is here.\n\nSecond part is there."


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.kind)
def test_every_kind_of_recipe_survives_json(one):
    asked = recipe(generator=one)
    again = Recipe.from_json(json.loads(json.dumps(asked.to_json())))
    assert again == asked
    assert again.version == asked.version


def test_every_kind_is_tried():
    assert {one.kind for one in EVERY} >= {"chain", "fallback", "function", "prompt"}
    assert all(KINDS[one.kind] is type(one) for one in EVERY)


def test_one_prompt_is_spelled_as_it_always_was():
    assert set(generator_to_json(generator())) == {"system", "user", "sampling"}
    assert recipe().prompt_version == "a39092f11bdc0aac5446d1487efc116c"


def test_a_kind_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"no generator of kind 'magic'; there are: .*chain, .*prompt"):
        generator_from_json({"kind": "magic"})


def test_only_kinds_with_tools_have_some():
    assert [tools_of(one) for one in EVERY] == [()] * len(EVERY)


def test_a_function_makes_a_text_or_refuses_it():
    assert play(SHORTEN.program(material("One. Two.")), shown) == Finished(text="One.")
    assert play(SHORTEN.program(material("No end")), shown) == GivenUp(reason="function/refused")


def test_a_function_is_named_with_the_version_of_its_code():
    assert SHORTEN.version == code_version("tests.synthesize.toy_functions")
    with pytest.raises(ValueError, match="but the recipe was written for 0000; load the project again"):
        FunctionGenerator.from_json({**SHORTEN.to_json(), "version": "0000"})


@pytest.mark.parametrize("name", ["json", "no_such_module:f", "tests.synthesize.toy_functions:NOT_A_FUNCTION"])
def test_a_function_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match=name.partition(":")[0]):
        FunctionGenerator(function=name)


def ended(answer):
    asked = []

    def remembered(ask):
        asked.append(shown(ask))
        return answer(shown(ask))

    return play(FALLBACK.program(material(TEXT)), remembered), asked


def test_what_the_first_generator_can_do_is_left_to_it():
    end, asked = ended(lambda words: "Both parts.")
    assert end == Finished(text="Both parts.", meta={"generator_used": "first"})
    assert len(asked) == 1


TOO_HARD = {
    "refused": "I'm sorry.",
    "empty": " ",
    "cut off": Answer(text="First part", finish_reason="length"),
}


@pytest.mark.parametrize("answer", TOO_HARD.values(), ids=TOO_HARD)
def test_what_is_too_hard_is_cut_into_parts(answer):
    end, asked = ended(lambda words: answer if words.startswith("All") else words.split("\n")[1].split()[0])
    assert asked[1:] == [
        "One part: <document>\nFirst part is here.\n</document>",
        "One part: <document>\nSecond part is there.\n</document>",
    ]
    assert end == Finished(text="First\n\nSecond", meta={"generator_used": "second", "num_parts": "2"})


def known_by(failures):
    """Return what is known where asks that begin with these words failed and all others are answered."""

    def known(ask):
        failure = next((reason for words, reason in failures.items() if shown(ask).startswith(words)), None)
        return Answer(text="Done.") if failure is None else Failed(reason=failure)

    return known


@pytest.mark.parametrize("failure", ["prompt_too_long", "empty_answer"])
def test_what_the_model_cannot_hold_or_say_is_cut_into_parts_too(failure):
    end = advance(FALLBACK.program(material(TEXT)), known_by({"All": failure}))
    assert end == Finished(text="Done.\n\nDone.", meta={"generator_used": "second", "num_parts": "2"})
    assert advance(FALLBACK.program(material(TEXT)), known_by({"": failure})) == Failed(reason=failure)


def test_of_two_fallbacks_the_inner_one_goes_first():
    outer = FallbackGenerator(first=FALLBACK, second=generator(user="In one word: $document"))
    end = advance(outer.program(material(TEXT)), known_by({"All": "prompt_too_long"}))
    assert (end.text, end.meta["generator_used"]) == ("Done.\n\nDone.", "first")
    end = advance(outer.program(material(TEXT)), known_by({"All": "prompt_too_long", "One part": "empty_answer"}))
    assert (end.text, end.meta["generator_used"]) == ("Done.", "second")


def test_an_engines_own_failure_is_no_reason_for_an_easier_task():
    assert advance(FALLBACK.program(material(TEXT)), known_by({"All": "server_error"})) == Failed(reason="server_error")


def test_a_part_that_is_cut_off_is_told():
    end, _ = ended(lambda words: Answer(text="x", finish_reason="length"))
    assert (end.finish_reason, end.meta["generator_used"]) == ("length", "second")


def test_a_first_generator_that_gives_up_is_followed_and_a_second_ends_it():
    given_up = replace(FALLBACK, first=SHORTEN, second=SHORTEN, max_characters=None)
    assert play(given_up.program(material("No end")), shown) == GivenUp(reason="function/refused")
    assert play(replace(given_up, second=EASY).program(material("No end")), lambda ask: "Done.") == Finished(
        text="Done.", meta={"generator_used": "second", "num_parts": "1"}
    )


def test_parts_do_not_cut_a_masked_formula():
    text = "Let it be ⟦F1⟧ ⟦F2⟧ here."
    parts = [part.text for part in replace(FALLBACK, max_characters=12)._parts(material(text))]
    assert "".join(parts) == text
    assert all(part.count("⟦") == part.count("⟧") for part in parts)


def test_fallbacks_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="max_characters must be at least 1"):
        replace(FALLBACK, max_characters=0)
    with pytest.raises(ValueError, match="a fallback has the verifier behaves_as_before"):
        replace(FALLBACK, checks=(check("behaves_as_before"),))
    with pytest.raises(ValueError, match=r"asks for \$style"):
        recipe(generator=replace(FALLBACK, second=generator(user="$style $document")), primary=PrimaryInput())


def test_programs_side_by_side_ask_at_the_same_time():
    def counting(name, length):
        for number in range(length):
            yield [question(f"{name}{number}")]
        return Finished(text=name)

    program = together([counting("a", 2), counting("b", 0), counting("c", 1)])
    waves = [[shown(ask) for ask in next(program)]]
    waves.append([shown(ask) for ask in program.send([Answer(text="x"), Answer(text="y")])])
    with pytest.raises(StopIteration) as stop:
        program.send([Answer(text="z")])
    assert waves == [["a0", "c0"], ["a1"]]
    assert [end.text for end in stop.value.value] == ["a", "b", "c"]
