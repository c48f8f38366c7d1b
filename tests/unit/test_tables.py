"""Tables of the terminal: as wide as the screen at most, one line a row in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.cli import terminal
from fabula.cli.reports import differences_table
from fabula.cli.terminal import table
from fabula.measure.report import Row
from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = ("system", "strength", "95 % interval", *(f"measure {n}" for n in range(6)))
ROWS = [HEAD, ("a system with a long name", "0.3509", "-0.3694 to 1.071", *["0.52 [0.35, 0.69]"] * 6)]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def of(columns: int) -> None:
        monkeypatch.setattr(terminal, "_is_tty", lambda _: True)
        monkeypatch.setenv("COLUMNS", str(columns))

    return of


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_no_line_is_wider_than_the_screen(columns: int, screen: Callable[[int], None]) -> None:
    screen(columns)
    shown = table(ROWS, right=(1,))
    assert max(map(len, shown.splitlines())) <= columns
    for word in (*HEAD[0].split(), "-0.3694 to 1.071", "[0.35, 0.69]", "long"):
        assert word in shown, "an interval stays in one piece"


def test_what_has_no_room_follows_below_the_same_first_column(screen: Callable[[int], None]) -> None:
    screen(40)
    blocks = table([("name", *("0123456789",) * 5), ("x", *("1",) * 5)], right=range(1, 6)).split("\n\n")
    assert len(blocks) == 2
    assert all(block.startswith("name") for block in blocks)


def test_in_a_pipe_each_row_is_one_line() -> None:
    assert len(table(ROWS).splitlines()) == 2
    assert not table([])


def test_shown_differences_stand_first_and_the_rest_is_counted() -> None:
    rows = [Row("a - b", f"difference/{n}", Estimate(1.0, 9, -1, 3, "m", p=0.5)) for n in range(20)]
    rows[13] = Row("a - b", "difference/13", Estimate(2.0, 9, 1, 3, "m", p=0.0004))
    rows[14] = Row("a - b", "difference/14", Unscored("no prompt has both"))
    shown = differences_table([*rows, Row("a", "words", Estimate(1, 1))]).splitlines()
    assert shown[0].split() == ["difference", "of", "value", "95", "%,", "all", "at", "once", "n", "p,", "corrected"]
    assert shown[1].split() == ["a", "-", "b", "13", "2", "1", "to", "3", "9", "<", ".001"]
    assert shown[-1] == "... and 8 more without a significant difference"
    assert len(shown) == 14
    assert not differences_table([Row("a", "words", Estimate(1, 1))])
