"""One character's turn out of a reply."""

from __future__ import annotations

import pytest

from fabula.engine.replies.turns import leaves_part, read_turn, repeats_earlier

NAMES = ("Mara Quill", "Tobias", "Narration")


@pytest.mark.parametrize(
    ("reply", "turn"),
    [
        ("Put it there.", "Put it there."),
        ("**Mara Quill:** Put it there.", "Put it there."),
        ("MARA (dryly): Put it there.", "Put it there."),
        ("- Mara:\n\nPut it there.\nAnd go.", "Put it there."),
        ("\n\n  Put it there.\nTobias: No.", "Put it there."),
        ("Tobias: No.\nMara: Yes.", ""),
        ("***", ""),
        ("", ""),
        ("The boy said: no.", "The boy said: no."),
    ],
)
def test_a_turn_is_the_first_line_of_the_one_who_speaks(reply: str, turn: str) -> None:
    assert read_turn(reply, "Mara Quill", NAMES) == turn


@pytest.mark.parametrize(
    ("reply", "turn"),
    [
        ("**Mara Quill:** Put it there.\n\n- bread\n- oil\nAnd go.", "Put it there.\n\n- bread\n- oil\nAnd go."),
        ("Put it there.\nMara: And go.\nTobias: No.\nMara: Yes.", "Put it there.\nAnd go."),
        (
            "Mara: Put it there.\n\nNo. Not there.\n(She waits.)\n\nTobias: Here?\nMara: There.",
            "Put it there.\n\nNo. Not there.\n(She waits.)",
        ),
        ("Tobias: No.\nMara: Yes.", ""),
        ("***\n\n", ""),
    ],
)
def test_a_whole_turn_goes_on_until_somebody_else_speaks(reply: str, turn: str) -> None:
    assert read_turn(reply, "Mara Quill", NAMES, whole=True) == turn


@pytest.mark.parametrize(
    ("said", "leaves"),
    [
        ("As an AI language model, I cannot drink.", True),
        ("I'm sorry for the confusion, let me try again.", True),
        ("I will follow the director's instructions now.", True),
        ("I'm sorry about your boat.", False),
        ("Apologies, Tobias. The bread is stale.", False),
        ("The director of the port was here.", False),
        ("Read me the first lines of the letter.", False),
    ],
)
def test_a_turn_that_speaks_as_a_model_or_of_the_play_leaves_its_part(said: str, *, leaves: bool) -> None:
    assert leaves_part(said) is leaves


def test_a_turn_repeats_what_is_more_alike_than_the_threshold() -> None:
    messages = ["The boats are home.", "Put it there."]
    assert repeats_earlier("the boats are home!", messages, 0.9)
    assert not repeats_earlier("Eleven went out at six.", messages, 0.6)
    assert not repeats_earlier("x", [], 0.0)
