from __future__ import annotations

import pytest

from fabula.engine.replies import ReplyProblem
from fabula.engine.replies.dialogue import first_sentences, read_plan, read_said, with_names


@pytest.mark.parametrize(
    ("text", "action", "message", "ended"),
    [
        ("[Mara: (sighs) It is late.]", "sighs", "It is late.", False),
        ("Mara: (sighs) It is late.\nEOD", "sighs", "It is late.", True),
        ("[Mara: (sighs) It is late. EOD]", "sighs", "It is late.", True),
        ('**Mara**: (sighs) "It is late."', "sighs", "It is late.", False),
        ("(sighs) It is late.", "sighs", "It is late.", False),
        ("sighs) It is late.]", "sighs", "It is late.", False),
        ("It is late.", "", "It is late.", False),
        ("*sighs* It is late.", "sighs", "It is late.", False),
        ("[Mara: (sighs)]", "sighs", "", False),
        ("[Mara: (looks at the (old) lamp) It is late.]", "looks at the (old) lamp", "It is late.", False),
        ("[Mara: (sighs) It is late.]\n[Tobias: (nods) Yes.]", "sighs", "It is late.", False),
        ("[Tobias: (nods) Yes.]\n[Mara: (sighs) It is late.]", "sighs", "It is late.", False),
        ("Tobias: Yes.", "", "", False),
        ("Mara Quist: Good.", "", "Good.", False),
        ("[Mara: (Mara) It is late.]", "", "It is late.", False),
        ('[Mara: (sighs) "It is late', "sighs", "It is late", False),
        ("EOD", "", "", True),
        ("[EOD]", "", "", True),
        ("**EOD**", "", "", True),
        ("E.O.D.", "", "", True),
        ("", "", "", False),
        ("<think>What now?</think>[Mara: (sighs) It is late.]", "sighs", "It is late.", False),
        ("[Mara: (sighs and turns to the wind", "sighs and turns to the wind", "", False),
        ("[Mara: (nods) Meet me at noon: bring bread.]", "nods", "Meet me at noon: bring bread.", False),
        ("Mara: You know the rule.\nListen: nobody leaves.", "", "You know the rule. Listen: nobody leaves.", False),
        ("He wrote [sic] that he is ill.", "", "He wrote [sic] that he is ill.", False),
        ("[Mara: He wrote [sic] that.] [Tobias: No.]", "", "He wrote [sic] that.", False),
        ("Mara: (nods) The word EOD is not known to me.", "nods", "The word EOD is not known to me.", False),
    ],
)
def test_a_turn_is_read(text: str, action: str, message: str, ended: bool) -> None:  # noqa: FBT001 - a column of the table
    said = read_said(text, "Mara", ("Mara", "Tobias"))
    assert (said.action, said.message, said.ended) == (action, message, ended)
    assert said.text == " ".join(part for part in (f"({action})" if action else "", message) if part)


def test_a_name_of_several_words_may_be_shortened() -> None:
    assert read_said("Squidward: Hm.", "Squidward Tentacles").message == "Hm."


def test_the_first_sentences_of_a_message() -> None:
    assert first_sentences("It is late. Go home. Now.", 1) == "It is late."
    assert first_sentences("Oh, Jonas! I see what it is. Go home.", 1) == "Oh, Jonas! I see what it is."
    assert first_sentences("No. No! No? No.", 1) == "No. No! No?"


PLAN = (("Mara finds the letter", "It lies on the table."), ("She reads it", ""))


@pytest.mark.parametrize(
    "text",
    [
        "#1. Mara finds the letter\n- It lies on the table.\n#2. She reads it",
        "Here is the plan:\n\n**#1. Mara finds the letter**\n- It lies on the table.\n\n**#2. She reads it**",
        "1. Mara finds the letter\n   - It lies on the table.\n2) She reads it",
        "Plan 1: Mara finds the letter\nIt lies on the table.\nPlan 2: She reads it",
        "#1. Mara finds the letter\n- It lies on the table.\n#2. She reads it\n#3. She reads it",
    ],
)
def test_a_plan_is_read(text: str) -> None:
    assert read_plan(text) == PLAN


def test_numbers_within_a_point_are_details() -> None:
    assert read_plan("#1. Mara reads\n1. quickly\n2. twice\n#2. She waits") == (
        ("Mara reads", "1. quickly 2. twice"),
        ("She waits", ""),
    )


@pytest.mark.parametrize(
    "text",
    ["- Mara reads.\n- She waits.", "Mara reads.\n\nShe waits.", "Mara reads. She waits."],
)
def test_a_plan_without_numbers_is_read_too(text: str) -> None:
    assert read_plan(text) == (("Mara reads.", ""), ("She waits.", ""))


@pytest.mark.parametrize("text", ["", " \n", "#1.\n#2.", "---"])
def test_a_reply_without_a_word_is_no_plan(text: str) -> None:
    with pytest.raises(ReplyProblem, match=r"It holds no plan\. Write numbered points"):
        read_plan(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("#Person1# asks #Person2#'s goose.", "Jonas asks Elin's goose."),
        ("# Person 2 # laughs at #person1#.", "Elin laughs at Jonas."),
        (
            "#Person3# and #Person0# wait; Person1 stays, #1 too.",
            "#Person3# and #Person0# wait; Person1 stays, #1 too.",
        ),
    ],
)
def test_tags_of_a_summary_get_their_names_back(text: str, named: str) -> None:
    assert with_names(text, ("Jonas", "Elin")) == named


def test_a_plan_that_repeats_its_form_is_what_it_says_besides() -> None:
    first = "#1. Headline of the first point\n- Mara reads the letter."
    text = f"{first}\n#2. headline of the second point\n- its details\n#3. Mara waits"
    assert read_plan(text) == (("Mara reads the letter.", ""), ("Mara waits", ""))
    with pytest.raises(ReplyProblem, match="It holds no plan"):
        read_plan("#1. Headline of the first point\n- its details")
