"""What a run can do without is left out under a cap that the rest needs; that is recorded and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from fabula.app.writing import Options, write_in
from fabula.base.errors import NoRoomError, UsageError
from fabula.engine.dry_run import DryRun
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Reply, Request, Usage
from fabula.models.budget import Budget
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.systems import System, systems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = 100
TOKENS = 140  # of a reply, as the model counts it; a call takes 150 with its prompt
TITLE = "To keep within the budget, the tale has no motto."


class Room:
    """A work of three calls, of which the second can be left out, over one journal."""

    def __init__(self, journal: Journal, prompts: SystemPrompts) -> None:
        self.journal, self.prompts = journal, prompts
        self.model = ScriptedModel(self._reply, name="openai-chat:poet", capabilities=Capabilities())

    def _reply(self, request: Request) -> Reply:
        return Reply(" ".join(["word"] * WORDS), Usage(10, 0, TOKENS))

    async def work(self, context: RunContext) -> list[str]:
        """The paths of what was asked or replayed."""
        run, made = Run(context), []
        for name in ("first", "motto", "last"):
            try:
                place = run.optional("the tale has no motto") if name == "motto" else run
                await place.scope(name).ask("poet", "say", what=name, expect=WORDS)
                made.append(name)
            except NoRoomError:
                pass
        return made

    def context(self, **more: Any) -> RunContext:  # noqa: ANN401 - fields of a context
        return RunContext(self.journal, self.prompts, Cast.of(self.model), rehearse=self.work, **more)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    (tmp_path / "say.jinja").write_text("{% block user %}Say {{ what }}.{% endblock %}")
    with Journal() as journal:
        yield Room(journal, SystemPrompts(tmp_path))


async def test_where_a_cap_has_room_for_all_nothing_is_left_out(room: Room) -> None:
    context = room.context(budget=Budget(tokens=3 * (TOKENS + 10) + 20))
    assert await room.work(context) == ["first", "motto", "last"]
    assert context.shortfalls == []


async def test_where_the_rest_needs_the_room_it_is_left_out_and_said_once(room: Room) -> None:
    context = room.context(budget=Budget(tokens=2 * (TOKENS + 10) + 20))
    assert await room.work(context) == ["first", "last"]
    assert context.shortfalls == [TITLE]
    assert context.budget.spent_tokens <= 2 * (TOKENS + 10)


async def test_without_a_cap_nothing_is_rehearsed(room: Room) -> None:
    context = room.context()
    context.rehearse = None
    assert await room.work(context) == ["first", "motto", "last"]


async def test_what_was_left_out_stays_so_for_replays_and_estimates(room: Room) -> None:
    await room.work(room.context(budget=Budget(tokens=2 * (TOKENS + 10) + 20)))
    frozen = room.context(mode="frozen")
    assert await room.work(frozen) == ["first", "last"]
    assert frozen.shortfalls == [TITLE]
    dry = room.context(mode="dry", dry_run=DryRun())
    assert await room.work(dry) == ["first", "last"]
    assert dry.dry_run.planned == []
    again = room.context()
    assert await room.work(again) == ["first", "last"], "also where there is no cap any more"
    assert again.budget.spent_tokens == 0


async def test_an_estimate_counts_what_can_be_left_out(room: Room) -> None:
    dry = room.context(mode="dry", dry_run=DryRun())
    assert await room.work(dry) == ["first", "motto", "last"]
    assert len(dry.dry_run.planned) == 3
    bare = room.context(mode="dry", dry_run=DryRun(bare=True))
    assert await room.work(bare) == ["first", "last"]


async def test_caps_in_dollars_and_those_of_the_whole_count(room: Room) -> None:
    whole = Budget(tokens=2 * (TOKENS + 10) + 20, of=" of the project")
    assert await room.work(room.context(budget=Budget(whole=whole))) == ["first", "last"]


@pytest.mark.parametrize(("cap", "turns"), [(2.0, 10), (0.5, 5), (0.2, 3)])
async def test_turns_are_fewer_as_far_as_the_rest_falls_short(room: Room, cap: float, turns: int) -> None:
    """Two scenes of five turns, as usual: with half of what they take, neither has all and neither has none."""

    async def play(context: RunContext) -> list[int]:
        played = []
        for scene in range(2):
            run, had = Run(context).scope(scene), 0
            try:
                for had in range(5):
                    place = run.optional("scenes are shorter", part=had / 5) if had else run
                    await place.scope(had).ask("poet", "say", what=f"{scene} {had}", expect=WORDS)
                had = 5
            except NoRoomError:
                pass
            played.append(had)
        return played

    context = RunContext(
        room.journal, room.prompts, Cast.of(room.model), rehearse=play, budget=Budget(tokens=round(cap * 1500))
    )
    played = await play(context)
    assert sum(played) == pytest.approx(turns, abs=2)
    assert min(played) >= 1
    assert (context.shortfalls == []) == (cap > 1)


@pytest.mark.parametrize(("preset", "known"), [("improved", True), ("faithful", False)])
async def test_a_papers_own_method_leaves_nothing_out(preset: str, known: bool, tmp_path: Path) -> None:  # noqa: FBT001 - of a table
    script = f"scripted:{systems()['end-to-end'].folder / 'script.toml'}"
    project = ProjectFolder.create(tmp_path / "tale", Brief("Mara keeps a lamp."), {"model": script, "preset": preset})
    found = []

    async def write(_: System, __: Brief, run: Run, ___: object) -> None:
        found.append(run.context.rehearse is not None)
        raise UsageError("That is enough.")

    with mock.patch.object(System, "write", write), pytest.raises(UsageError, match="enough"):
        await write_in(project, project.settings, Options(budget_tokens=10**9))
    assert found == [known]
