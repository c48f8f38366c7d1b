"""What is given again and what is made anew: an artefact is made of what it has read (docs/design/0058)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.engine.journal import Journal
from fabula.engine.lines import apart, digest, side_by_side
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext, has_author_text, retaken, was_made
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from fabula.engine.context import Mode
    from fabula.engine.making import Revision


@pytest.fixture
def journal() -> Iterator[Journal]:
    with Journal() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("part.jinja").write_text("{% block user %}Write part {{ name }}.{% endblock %}", encoding="utf-8")


class Work:
    """A run whose texts say what they are called; `made` are those that were made."""

    def __init__(self, journal: Journal, mode: Mode = "live", inputs: str = "all that goes in") -> None:
        model = ScriptedModel(lambda request: f"What was asked at {request.path}.")
        self.context = RunContext(journal, SystemPrompts(Path()), Cast.of(model), mode=mode, inputs=inputs)
        self.run, self.made = Run(self.context), list[str]()

    async def keep(self, name: str, reads: Sequence[str] | None = None) -> str:
        async def make(own: Run) -> str:
            self.made.append(own.at)
            return await own.ask("writer", "part", name=name)

        return await self.run.keep(name, make, folder="story", reads=reads)


async def in_turn(work: Work) -> None:
    for name in "abc":
        await work.keep(name)


async def beside(work: Work) -> None:
    await side_by_side(work.keep(name) for name in "ab")
    await work.keep("c")


async def apart_from_it(work: Work) -> None:
    await apart(work.keep("a"))
    await work.keep("b")
    await work.keep("c")


async def of_a(work: Work) -> None:
    for name in "ab":
        await work.keep(name)
    await work.keep("c", ["a"])


async def of_both(work: Work) -> None:
    await side_by_side(work.keep(name) for name in "ab")
    await work.keep("c", ["a", "b"])


async def made(journal: Journal, steps: Callable[[Work], Awaitable[object]], inputs: str = "all that goes in") -> str:
    work = Work(journal, inputs=inputs)
    await steps(work)
    return "".join(work.made)


ALL = [in_turn, beside, apart_from_it, of_a, of_both]


@pytest.mark.parametrize("steps", ALL)
async def test_what_is_made_of_the_same_is_given_again(
    journal: Journal, steps: Callable[[Work], Awaitable[object]]
) -> None:
    assert sorted(await made(journal, steps)) == ["a", "b", "c"]
    assert await made(journal, steps) == ""


@pytest.mark.parametrize("steps", ALL)
async def test_what_is_made_with_other_inputs_is_made_anew(
    journal: Journal, steps: Callable[[Work], Awaitable[object]]
) -> None:
    await made(journal, steps)
    assert sorted(await made(journal, steps, "another brief")) == ["a", "b", "c"]
    assert await made(journal, steps) == ""


@pytest.mark.parametrize(
    ("steps", "edited", "again"),
    [
        (in_turn, "a", "bc"),
        (in_turn, "b", "c"),
        (beside, "a", "c"),
        (beside, "b", "c"),
        (apart_from_it, "a", ""),
        (of_a, "a", "bc"),
        (of_a, "b", ""),
        (of_both, "a", "c"),
        (of_both, "b", "c"),
    ],
)
async def test_behind_an_edit_is_made_anew_what_has_read_it_until_it_is_taken_back(
    journal: Journal, steps: Callable[[Work], Awaitable[object]], edited: str, again: str
) -> None:
    await made(journal, steps)
    journal.decisions.add(edited, "edit", "The author's.")
    assert await made(journal, steps) == again
    assert await made(journal, steps) == ""
    journal.decisions.add(edited, "undo", target=journal.decisions.find(edited)[-1].id)
    assert await made(journal, steps) == ""


@pytest.mark.parametrize(
    ("steps", "retaken", "stale"),
    [
        (in_turn, "b", "bc"),
        (beside, "a", "ac"),
        (beside, "b", "bc"),
        (apart_from_it, "a", "a"),
        (of_a, "b", "b"),
        (of_both, "a", "ac"),
        (of_both, "b", "bc"),
    ],
)
async def test_a_dry_run_does_not_know_what_has_read_what_is_to_be_made(
    journal: Journal, steps: Callable[[Work], Awaitable[object]], retaken: str, stale: str
) -> None:
    await made(journal, steps)
    journal.decisions.add(retaken, "retake")
    dry = Work(journal, "dry")
    await steps(dry)
    assert sorted(dry.context.dry_run.stale) == sorted(stale)
    assert await made(journal, steps) == retaken  # the same text came out, so what has read it is given again
    assert await made(journal, steps) == ""


async def test_a_reply_outside_of_all_texts_is_read_too(journal: Journal) -> None:
    def after(asked: str) -> Callable[[Work], Awaitable[None]]:
        async def steps(work: Work) -> None:
            await work.run.ask("writer", "part", name=asked)
            await work.keep("a")

        return steps

    assert [await made(journal, after(asked)) for asked in ("one", "one", "two", "one")] == ["a", "", "a", ""]


async def test_whether_a_text_is_the_authors_or_was_made_is_read_too(journal: Journal) -> None:
    async def looks(work: Work) -> None:
        has_author_text(work.run, "b")
        await work.keep("a")

    async def compares(work: Work) -> None:
        was_made(work.run, "b", "The author's.")
        await work.keep("c")

    assert [await made(journal, looks), await made(journal, compares)] == ["a", "c"]
    journal.decisions.add("b", "edit", "The author's.")
    assert [await made(journal, looks), await made(journal, compares)] == ["a", ""]
    journal.artefacts.keep("b", "The author's.", "made")
    assert [await made(journal, looks), await made(journal, compares)] == ["", "c"]


async def test_another_take_of_the_whole_is_another_take_of_its_parts(journal: Journal) -> None:
    async def steps(work: Work) -> None:
        work.run = retaken(work.run, "whole")
        await work.keep("a")

    assert [await made(journal, steps), await made(journal, steps)] == ["a", ""]
    journal.decisions.add("whole", "retake")
    assert [await made(journal, steps), await made(journal, steps)] == ["a", ""]


async def test_what_other_texts_are_made_inside_of_is_made_each_time(journal: Journal) -> None:
    async def steps(work: Work) -> None:
        async def make(own: Run) -> str:
            work.made.append("outer ")
            work.run = own
            return await work.keep("a")

        await work.run.keep("whole", make, folder="story")

    assert [await made(journal, steps), await made(journal, steps)] == ["outer whole/a", "outer "]


async def test_a_note_on_the_authors_own_text_is_announced_with_what_has_read_it(journal: Journal) -> None:
    async def revise(own: Run, _: Revision) -> str:
        return await own.ask("writer", "part", name="as noted")

    await made(journal, in_turn)
    journal.decisions.add("b", "edit", "The author's.")
    journal.decisions.add("b", "revise", "without the dog")
    dry = Work(journal, "dry")
    dry.context.revise = revise
    await in_turn(dry)
    assert dry.context.dry_run.stale == ["b", "c"]


async def test_an_approval_makes_nothing_anew(journal: Journal) -> None:
    await made(journal, in_turn)
    journal.decisions.add("a", "approve", journal.artefacts.newest("a"))
    assert await made(journal, in_turn) == ""


def test_where_one_text_ends_counts() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a", "") != digest("a")
