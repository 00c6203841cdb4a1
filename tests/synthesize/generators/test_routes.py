"""Routes: which queue a document enters, where it goes by what comes of it, and plans that cannot work."""

import pytest

from corpusmill.synthesize.asking import Answer, Failed, Finished, GivenUp, Material, advance
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.prompt import PromptGenerator
from corpusmill.synthesize.generators.registry import entered_queue, has_simpler, priorities, queue_of, simpler_program
from corpusmill.synthesize.generators.routes import Entry, Queue, RoutesGenerator
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import run, text
from tests.synthesize.rows import recipe

PIER = Material(text="The pier shelters the boats.", language="en", metadata={"meta_tier": "high"})


def queue(name, **changes):
    asks = PromptGenerator(system=name, user="$document", sampling=Sampling(max_tokens=64))
    return Queue(**{"name": name, "generator": asks, **changes})


def routes(*queues):
    return RoutesGenerator(queues=queues)


HARD = queue("hard", checks=(check("no_assistant_talk"),), next="polish", simpler="easy", too_hard=("cut_off", "lost"))
EASY = queue("easy", is_open=False, next="polish")
POLISH = queue("polish", is_open=False, checks=(check("no_assistant_talk"),))
ROUTES = routes(HARD, EASY, POLISH)


def failing(reason):
    """Return what is known where the hard queue's question failed and all others are answered."""
    return lambda ask: Failed(reason=reason) if ask.step.startswith("hard/") else Answer(text="Boats lie here.")


def test_an_accepted_text_is_the_next_queues_document():
    end, asked = run(ROUTES, PIER, "Sure:\nBoats are safe.", "Boats are safe here.")
    assert end == Finished(text="Boats are safe here.", meta={"route": "hard>polish"})
    assert [ask.step for ask in asked] == ["hard/answer", "polish/answer"]
    assert asked[1].messages[-1]["content"] == "<document>\nBoats are safe.\n</document>"


def test_what_is_too_hard_goes_to_the_simpler_queue_and_other_refusals_end():
    end, _ = run(ROUTES, PIER, Answer(text="Boa", finish_reason="length"), "Boats.", "Boats!")
    assert end.meta == {"route": "hard>easy>polish"}
    sorry = "I'm sorry, but I cannot."
    refused = GivenUp(reason="hard/assistant_talk", text=sorry, meta={"route": "hard"})
    assert run(ROUTES, PIER, sorry)[0] == refused
    refused = GivenUp(reason="polish/assistant_talk", text=sorry, meta={"route": "hard>polish"})
    assert run(ROUTES, PIER, "Boats.", sorry)[0] == refused


def test_a_failure_is_borne_only_where_it_says_that_a_queue_is_too_hard():
    assert advance(ROUTES.program(PIER), failing("lost")).meta == {"route": "hard>easy>polish"}
    assert advance(ROUTES.program(PIER), failing("server_error")) == Failed(reason="server_error")


@pytest.mark.parametrize(
    ("entry", "entered"),
    [
        (Entry(languages=("EN",)), "hard"),
        (Entry(languages=("fr",)), "other"),
        (Entry(min_characters=28, max_characters=28), "hard"),
        (Entry(max_characters=27), "other"),
        (Entry(min_characters=29), "other"),
        (Entry(metadata={"meta_tier": ("high", "middle")}), "hard"),
        (Entry(metadata={"meta_tier": ("low",)}), "other"),
    ],
)
def test_the_highest_priority_that_admits_a_document_takes_it(entry, entered):
    made = routes(queue("other"), queue("hard", entry=entry, priority=1))
    assert entered_queue(made, PIER).name == entered
    assert text(made, PIER, "Boats.") == "Boats."
    assert priorities(made) == [1, 0]


def test_a_document_that_no_queue_admits_is_refused_by_name():
    narrow = Entry(max_characters=1)
    assert run(routes(queue("a", entry=narrow)), PIER)[0] == GivenUp(reason="not_admitted")
    way = routes(queue("a", next="b"), queue("b", entry=narrow, is_open=False))
    refused = GivenUp(reason="b/not_admitted", text="Boats.", meta={"route": "a"})
    assert run(way, PIER, "Boats.")[0] == refused
    down = routes(
        queue("a", next="b"),
        queue("b", entry=narrow, is_open=False, simpler="c", too_hard=("cut_off",)),
        queue("c", is_open=False),
    )
    assert run(down, PIER, "Boats.", "Boats!")[0].meta == {"route": "a>c"}


def test_queues_of_one_priority_share_documents_by_their_rates_the_same_way_always():
    made = routes(queue("often", rate=3), queue("seldom"))
    pages = [Material(text=f"Page {number}.") for number in range(400)]
    entered = [entered_queue(made, page).name for page in pages]
    assert 270 < entered.count("often") < 330
    assert entered == [entered_queue(made, page).name for page in pages]


def test_a_demoted_route_begins_with_the_simpler_queue():
    assert has_simpler(ROUTES) and not has_simpler(routes(queue("a")))
    end = advance(simpler_program(ROUTES, PIER), failing("server_error"))
    assert end.meta == {"route": "easy>polish"}
    assert simpler_program(routes(queue("a")), PIER) is None


def test_steps_name_their_queue_and_a_recipe_knows_what_its_queues_ask_for():
    assert queue_of(ROUTES, "easy/answer") == "easy"
    assert queue_of(HARD.generator, "plan/x") == ""
    with pytest.raises(ValueError, match=r"asks for \$meta_tier"):
        recipe(generator=routes(queue("a", entry=Entry(metadata={"meta_tier": ("high",)}))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: routes(), "one of them open; got none"),
        (lambda: routes(EASY, POLISH), "one of them open; got easy, polish"),
        (lambda: routes(queue("a"), queue("a")), "different names"),
        (lambda: routes(EASY, queue("a")), "'easy' leads to 'polish'; there are: easy, a"),
        (lambda: routes(queue("a", next="b"), queue("b", next="a")), "circle: a > b > a"),
        (lambda: queue("a", rate=0), "rate above 0"),
        (lambda: queue("a", too_hard=("cut_off",)), "needs both a simpler queue and what is too hard"),
        (lambda: queue("a", simpler="b"), "needs both a simpler queue and what is too hard"),
        (lambda: queue("a/b"), "named like a variable"),
        (lambda: queue("a", checks=(check("behaves_as_before"),)), "runs whole documents"),
        (lambda: queue("a", checks=check("compiles")), r"checks of queue 'a' takes a tuple of Check, as \(one,\)"),
        (lambda: queue("a", simpler="b", too_hard="cut_off"), "too_hard of queue 'a' takes a tuple of str"),
        (lambda: Entry(min_characters=9, max_characters=3), "min_characters <= max_characters"),
    ],
)
def test_queues_that_cannot_work_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
