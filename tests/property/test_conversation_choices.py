"""Sessions whose answers are drawn anew, chosen among and taken back in any order: the log says all of it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fabula.craft.conversation import Log

HEAD = {"format": 1, "player": "Tobias", "others": ["Mara"], "freedom": "guided"}
MOVES = st.lists(st.sampled_from(["turn", "retry", "choose first", "choose last", "undo"]), max_size=30)


def record(kind: str, take: int, text: str) -> dict[str, Any]:
    """A record of a turn in which Mara says `text`."""
    turn = {"cell": 1, "step": 0, "said": "Go on.", "line": ["Mara", "", text], "ends": [False, False]}
    turn |= {"next": [0, 0, False, [], False], "present": ["Mara"], "plan": [], "memories": {}}
    return {"do": kind, "take": take, "turn": turn}


@given(MOVES)
def test_a_log_gives_back_what_was_drawn_and_what_was_chosen(moves: list[str]) -> None:
    records: list[dict[str, Any]] = [HEAD]
    turns: list[tuple[list[str], int]] = []  # of each turn all answers, and which of them stands
    for number, move in enumerate(moves):
        if move == "turn":
            records.append(record("turn", 0, f"{number}"))
            turns.append(([f"{number}"], 0))
        elif turns and move == "undo":
            records.append({"do": "undo"})
            turns.pop()
        elif turns:
            drawn, _ = turns[-1]
            chosen = {"retry": len(drawn), "choose first": 0, "choose last": len(drawn) - 1}[move]
            drawn = [*drawn, f"{number}"] if move == "retry" else drawn
            records.append(record("retry", chosen, drawn[chosen]))
            turns[-1] = drawn, chosen
    log = Log(records)
    found, stands = log.answers
    assert [str(turn) for turn in found] == (turns[-1][0] if turns else [])
    assert stands == (turns[-1][1] + 1 if turns else 0)
    assert [str(turn) for turn in log.state.turns] == [drawn[chosen] for drawn, chosen in turns]
    assert len(log.kept) == len(turns)
