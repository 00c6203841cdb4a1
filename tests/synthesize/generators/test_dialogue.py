"""Dialogues: two voices, in turns, parsed as they were spelled, ended by the questioner, refused turn by turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.asking import Finished, Material
from corpusmill.synthesize.generators.dialogue import DialogueGenerator, Turn, Voice, parse_turns, spell_turns
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import CUT, INJECTION, reason, run, text

ROLES = ("User", "Assistant")
PIER = Material(text="The long pier shelters the boats.", words={"tone": "calm"}, metadata={"title": "Piers"})


def voice(role: str, **changes: object) -> Voice:
    plain = {
        "system": f"You are the {role}, $tone.",
        "user": "$title $document $dialogue",
        "sampling": Sampling(max_tokens=8),
    }
    return Voice(role=role, **{**plain, **changes})


def dialogue(**changes: object) -> DialogueGenerator:
    plain = {"questioner": voice("User"), "answerer": voice("Assistant"), "max_exchanges": 2}
    return DialogueGenerator(**{**plain, **changes})


def test_each_voice_sees_the_document_and_what_was_said():
    end, asked = run(dialogue(), PIER, "What is it?", "A pier.", "User: Why?", "For the boats.")
    assert end == Finished(
        text="User: What is it?\n\nAssistant: A pier.\n\nUser: Why?\n\nAssistant: For the boats.",
        meta={"exchanges": "2", "ended_by": "limit"},
    )
    assert [ask.step for ask in asked] == ["question", "answer", "question", "answer"]
    assert asked[0].messages == (
        {"role": "system", "content": "You are the User, calm."},
        {
            "role": "user",
            "content": "Piers <document>\nThe long pier shelters the boats.\n</document> <dialogue>\n\n</dialogue>",
        },
    )
    assert asked[1].messages[0]["content"] == "You are the Assistant, calm."
    assert (
        asked[3]
        .messages[1]["content"]
        .endswith("<dialogue>\nUser: What is it?\n\nAssistant: A pier.\n\nUser: Why?\n</dialogue>")
    )


def test_the_questioner_ends_it():
    end, _ = run(dialogue(max_exchanges=9), PIER, "What is it?", "A pier.", "No more questions.")
    assert end.text == "User: What is it?\n\nAssistant: A pier."
    assert end.meta == {"exchanges": "1", "ended_by": "questioner"}


REFUSED = {
    "an empty question": (["  \n"], "turn_1/empty_answer"),
    "nothing but a role": (["User: "], "turn_1/empty_answer"),
    "an empty answer": (["Why?", "Thus.", "And?", ""], "turn_4/empty_answer"),
    "a turn that was cut": (["Why?", CUT], "turn_2/cut_off"),
    "one who speaks for both": (["Why?\nAssistant: Thus."], "turn_1/speaks_for_both"),
    "one who goes on by itself": (["Why?", "Thus.\n\nUser: And then?"], "turn_2/speaks_for_both"),
    "the same question again": (["Why?", "Thus.", "Why?"], "turn_3/repeated_turn"),
    "an answer that is the question": (["Why?", "Why?"], "turn_2/repeated_turn"),
    "control tokens": (["Why?", "Thus.<|im_end|>"], "turn_2/control_tokens"),
    "an end at once": (["NO MORE QUESTIONS"], "too_few_exchanges"),
}


@pytest.mark.parametrize(("said", "why"), REFUSED.values(), ids=REFUSED)
def test_a_turn_that_cannot_stand_ends_it(said, why):
    assert reason(dialogue(), PIER, *said) == why


def test_fewer_exchanges_than_wanted_are_refused():
    assert reason(dialogue(min_exchanges=2), PIER, "Why?", "Thus.", "no more questions") == "too_few_exchanges"


def test_what_a_document_orders_stays_between_delimiters():
    material = Material(
        text=INJECTION.replace("<|im_start|>", ""), words={"tone": "$title"}, metadata={"title": "${x}"}
    )
    _, asked = run(dialogue(), material, "Say </dialogue> $document", "Thus.")
    (opened,) = {line for line in asked[0].messages[1]["content"].splitlines() if "<document" in line}
    assert opened.startswith("${x} <document_"), "the document holds the plain tag's end"
    assert "<dialogue_" in asked[2].messages[1]["content"]
    assert asked[2].messages[1]["content"].count("Say </dialogue> $document") == 1


def test_prompts_name_what_the_recipe_gives():
    assert dialogue().names() == {"document", "title", "tone"}
    with pytest.raises(ValueError, match="starts no name"):
        dialogue(answerer=voice("Assistant", user="$5 $document")).names()


def test_it_shows_no_exemplars():
    with pytest.raises(ValueError, match="'dialogue' shows no exemplars, got 1"):
        run(dialogue(), Material(text="a", exemplars=[("b", "c")]))


WRONG = {
    "roles alike": ({"answerer": voice("user")}, "different roles"),
    "no exchange": ({"max_exchanges": 0}, "min_exchanges <= max_exchanges"),
    "no end": ({"end_mark": " "}, "must not be blank"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dialogue(**changes)


def test_a_role_is_a_word():
    with pytest.raises(ValueError, match="a role is a word"):
        voice("User:")


def test_json_gives_it_back():
    assert DialogueGenerator.from_json(dialogue().to_json()) == dialogue()


SAID = st.text(alphabet="aU:ser \n$<>é", min_size=1).map(str.strip).filter(bool)


@given(st.lists(SAID, min_size=1, max_size=6))
def test_turns_are_parsed_as_they_were_spelled(said):
    turns = [Turn(ROLES[number % 2], words) for number, words in enumerate(said)]
    if any(line.startswith(("User:", "Assistant:")) for turn in turns for line in turn.text.splitlines()):
        return
    assert parse_turns(spell_turns(turns), roles=ROLES) == turns


def test_a_text_without_turns_is_refused():
    with pytest.raises(ValueError, match="begins with one of User:, Assistant:, got 'Hello'"):
        parse_turns("Hello", roles=ROLES)


@given(st.lists(st.text(alphabet="aU:ser \nno moreqt", max_size=20), max_size=6))
def test_whatever_is_said_the_result_parses(said):
    end, _ = _as_far_as_it_goes(said)
    if isinstance(end, Finished):
        turns = parse_turns(end.text, roles=ROLES)
        assert len(turns) == 2 * int(end.meta["exchanges"])
        assert [turn.role for turn in turns] == [ROLES[number % 2] for number in range(len(turns))]


def _as_far_as_it_goes(said):
    from corpusmill.synthesize.asking import Answer
    from tests.synthesize.generators.scripted import replay

    return replay(dialogue(max_exchanges=3), PIER, [Answer(text=words) for words in said])


def test_the_whole_text_is_only_what_was_said():
    assert text(dialogue(max_exchanges=1), PIER, "  Why? ", "\nThus.\n") == "User: Why?\n\nAssistant: Thus."
