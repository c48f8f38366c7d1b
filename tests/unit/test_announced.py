"""A run is held to what was announced of it."""

from __future__ import annotations

import asyncio

import pytest

from fabula.app.writing import too_little
from fabula.base.errors import MoreThanAnnouncedError
from fabula.engine.announced import Announced
from fabula.engine.dry_run import DryRun, PlannedCall
from fabula.models.budget import Budget


def announced_of(*paths: str, cost: float | None = 0.01) -> DryRun:
    return DryRun([PlannedCall(path, "writer", "m", 100, 20, cost) for path in paths])


async def test_a_run_that_asks_what_was_announced_is_not_stopped() -> None:
    held = Announced(announced_of("a", "b", "c"), exact=True)
    for path in ("c", "a", "b"):
        await held.allow(path, 0.0)
    assert held.made == 3


def test_a_text_comes_back_by_itself_only_where_nothing_has_to_be_asked() -> None:
    assert DryRun(differing=["a"]).restored == ["a"]
    assert DryRun(announced_of("b").planned, differing=["a"]).restored == []


async def test_a_text_that_stands_and_was_not_named_stops_an_update() -> None:
    expected = announced_of("a/draft", "b/turn/1")
    expected.reached, expected.stale = {"a", "b", "c", "d"}, ["a", "b", "d"]
    held = Announced(expected, exact=True, again="`fabula update tale --yes`")
    for path in ("b/turn/1", "b/turn/2", "d/draft", "new/draft"):
        await held.allow(path, 0.0)
    with pytest.raises(MoreThanAnnouncedError) as stopped:
        await held.allow("c/draft", 0.0)
    assert str(stopped.value) == (
        "Stopped before exceeding what was announced: at most 8 calls were announced, 4 have been made, and more "
        "are to come. The next call would be c/draft. All finished work is kept. To continue, use `fabula update tale "
        "--yes`."
    )


@pytest.mark.parametrize(("planned", "most"), [(0, 0), (1, 5), (4, 12), (100, 140), (10_000, 10_400)])
async def test_an_update_makes_no_more_calls_than_it_said_at_most(planned: int, most: int) -> None:
    held = Announced(announced_of(*(f"a/turn/{n}" for n in range(planned))), exact=True)
    assert held.expected.most == most
    for number in range(most):
        await held.allow(f"a/turn/{number}", 0.0)
    with pytest.raises(MoreThanAnnouncedError, match=f"at most {most:,} calls were announced, {most:,} have been made"):
        await held.allow("a/turn/0", 0.0)


async def test_an_estimate_may_be_passed_by_a_fifth() -> None:
    held = Announced(announced_of(*"abcdefghij"))
    for number in range(12):
        await held.allow(f"other/{number}", 0.0)
    with pytest.raises(MoreThanAnnouncedError, match="10 calls were announced, 12 have been made"):
        await held.allow("other/13", 0.0)


async def test_dollars_count_too_where_they_are_known() -> None:
    held = Announced(announced_of(*"abcdefghij"))
    await held.allow("a", 0.119)
    with pytest.raises(MoreThanAnnouncedError):
        await held.allow("b", 0.121)
    await Announced(announced_of("a", "b", cost=None)).allow("a", 99.0)


async def test_who_agrees_is_asked_once_also_by_calls_side_by_side() -> None:
    asked: list[int] = []

    async def go_on(held: Announced) -> bool:
        asked.append(held.made)
        await asyncio.sleep(0)
        return True

    held = Announced(announced_of("a"), exact=True, go_on=go_on)
    await asyncio.gather(*(held.allow(path, 0.0) for path in "abcdef"))
    assert len(asked) == 1
    assert held.made == 6


async def test_a_new_announcement_takes_the_place_of_the_old_one_and_is_an_estimate() -> None:
    asked: list[str] = []

    async def go_on(held: Announced) -> bool:
        asked.append(held.sentence)
        held.renew(announced_of("b", "c", "d", "e", "f"))
        return True

    held = Announced(announced_of("a"), exact=True, go_on=go_on)
    for path in ("a", "a/2", "a/3", "a/4", "a/5", "b", "x", "y", "z", "d", "e"):
        await held.allow(path, 0.0)
    assert len(asked) == 1, "five were announced then, and six may be made"
    await held.allow("f", 0.0)
    assert asked[1].startswith("5 calls were announced, 6 have been made")


def test_a_guess_is_announced_with_a_margin_and_with_its_range() -> None:
    known = announced_of("a", "a/extend/1")
    assert (known.tokens, known.range, known.calls) == (240, (240, 240), (2, 2)), "what is known has none"
    guess = announced_of("a", "a/extend/1")
    guess.others = (announced_of("a"),)
    assert (guess.tokens, guess.range, guess.calls) == (276, (120, 276), (1, 2))
    assert guess.cost == pytest.approx(1.15 * sum(call.cost or 0.0 for call in guess.planned))


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        (
            {"tokens": 239},
            "The budget of 239 tokens would end this early. By this estimate, the run needs a cap of at least 240",
        ),
        (
            {"usd": 0.019},
            r"The budget of $0.0190 would end this early. By this estimate, the run needs a cap of at least $0.0200",
        ),
        ({"tokens": 240, "usd": 0.02}, ""),
        ({}, ""),
    ],
)
def test_a_cap_below_what_is_announced_is_said_with_the_one_that_is_needed(caps: dict[str, float], said: str) -> None:
    expected = announced_of("a", "a/extend/1")
    assert expected.cost == pytest.approx(0.02)
    found = too_little(expected, Budget(**caps))  # type: ignore[arg-type] # tokens or dollars
    assert found.startswith(said) if said else found == ""
    held = Budget(whole=Budget(**caps, of=" of the project"))  # type: ignore[arg-type] # tokens or dollars
    assert bool(too_little(expected, held)) == bool(said)
