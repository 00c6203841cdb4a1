"""Programs carried on in waves: full waves, nothing asked twice, and the same table whatever was interrupted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.asking import Answer, Failed, Finished
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.waves import Run, ordered, plan_waves
from tests.synthesize.programs import World, id_of, question, shown


def chain(name, length):
    """A program that asks one thing after the other, each made of the answer before."""

    def program():
        text = name
        for number in range(length):
            [answer] = yield [question(text, step=f"step{number}")]
            text = answer.text
        return Finished(text=text)

    return program


def fan(name, width):
    """A program that asks several things at once."""

    def program():
        answers = yield [question(f"{name}{number}", step="part") for number in range(width)]
        return Finished(text="".join(answer.text for answer in answers))

    return program


def longer(ask):
    return f"{shown(ask)}'"


def test_waves_are_filled_from_the_next_programs_while_older_ones_go_on():
    world = World(longer)
    world.run([chain("a", 3), chain("b", 1), chain("c", 2), chain("d", 1)], size=2)
    assert world.waves == [["a", "b"], ["a'", "c"], ["a''", "c'"], ["d"]]


def test_asks_of_one_program_are_in_one_wave_and_two_programs_share_an_ask():
    world = World(longer)
    steps = world.run([fan("a", 3), chain("a1", 1), chain("z", 1)], size=2)
    assert world.waves == [["a0", "a1", "a2"], ["z"]]
    assert [(name == id_of(question(text))) for name, text in zip(steps, ["a0", "a1", "a2", "z"], strict=True)] == [
        True
    ] * 4
    assert list(steps.values()) == ["part", "part", "part", "step0"]


PROGRAMS = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 4)), min_size=1, max_size=8)


@given(
    PROGRAMS, st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), max_size=4), st.sampled_from(["", "a'", "c"])
)
def test_case_20_killed_anywhere_no_answer_is_asked_again_and_nothing_shows_it(lengths, deaths, broken):
    def answer(ask):
        return Failed(reason="prompt_too_long") if shown(ask) == broken else longer(ask)

    starts = [chain(name, length) for name, length in lengths]
    whole, killed = World(answer), World(answer)
    expected = whole.run(starts, size=3)
    for num_waves, size in deaths:
        killed.run(starts, size=size, stop_after=len(killed.waves) + num_waves)
    assert list(killed.run(starts, size=3).items()) == list(expected.items())
    asked = [text for wave in killed.waves for text in wave]
    assert len(asked) == len(set(asked))
    assert killed.known == whole.known


@given(PROGRAMS, st.integers(1, 6), st.integers(1, 4), st.randoms(use_true_random=False))
def test_waves_that_overlap_ask_the_same_and_never_more_than_a_chunk_at_once(lengths, size, lanes, chance):
    starts = [chain(name, length) for name, length in lengths]
    one, many = World(longer), World(longer)
    expected = one.run(starts, size=3)
    waves = plan_waves((Run(start=start, id_of=id_of) for start in starts), find=many.known.get, size=size, lanes=lanes)
    under_way, most = [], 0
    try:
        while True:
            if wave := next(waves):
                under_way.append(wave)
            most = max(most, sum(map(len, under_way)))
            if not wave or chance.random() < 0.3:
                for name, ask in under_way.pop(chance.randrange(len(under_way))).items():
                    assert name not in many.known
                    many.known[name] = Answer(text=longer(ask))
    except StopIteration as stop:
        steps = stop.value
    assert list(steps.items()) == list(expected.items()) and many.known == one.known
    assert most <= size


def test_with_two_lanes_the_next_wave_does_not_wait_for_the_last_answer():
    known = {}
    starts = [chain(name, 1) for name in "abcdef"]
    waves = plan_waves((Run(start=start, id_of=id_of) for start in starts), find=known.get, size=4, lanes=2)
    first, second = next(waves), next(waves)
    assert [[shown(ask) for ask in wave.values()] for wave in (first, second)] == [["a", "b"], ["c", "d"]]
    assert next(waves) == {}, "four are under way"
    known.update({name: Answer(text="x") for name in second})
    assert [shown(ask) for ask in next(waves).values()] == ["e", "f"]
    known.update({name: Answer(text="x") for name in first})
    assert next(waves) == {}, "no program is left, and two asks are under way"


def test_a_failed_ask_ends_its_program_alone():
    world = World(lambda ask: Failed(reason="engine_error") if shown(ask) == "a'" else longer(ask))
    steps = world.run([chain("a", 3), chain("b", 3)], size=8)
    assert world.waves == [["a", "b"], ["a'", "b'"], ["b''"]]
    assert list(steps.values()) == ["step0", "step1", "step0", "step1", "step2"]


def test_a_program_that_asks_nothing_is_in_no_wave():
    def silent():
        yield from ()
        return Finished(text="done")

    assert World(longer).run([silent, silent], size=2) == {}


def test_prompts_with_shared_beginnings_are_asked_together_and_samplings_apart():
    warm = Sampling(max_tokens=9, temperature=0.5)
    asked = [
        question("b", system="Plan."),
        question("a", system="Write.", sampling=warm),
        question("a", system="Plan."),
        question("c", system="Revise."),
        question("b", system="Write.", sampling=Sampling(max_tokens=9, temperature=0.5)),
    ]
    groups = ordered({str(number): one for number, one in enumerate(asked)})
    assert groups == [(asked[0].sampling, ["2", "0", "3"]), (warm, ["1", "4"])]


def test_a_wave_holds_something():
    with pytest.raises(ValueError, match="at least one ask, got size 0"):
        next(plan_waves([], find=lambda name: None, size=0))
