"""Digressions on the command line: systems and narratives from the options, their conversations, and their calls."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.beginning import check
from fabula.app.conversing import settings_for
from fabula.app.digressing import digress_in, dry_run_digressions
from fabula.app.writing import Options
from fabula.base.errors import BriefError, ProjectError, UnknownNameError, UsageError
from fabula.base.files import no_file, read_text, write_atomically
from fabula.cli.asked import adapter_of, changes_of, read_models
from fabula.cli.options import Choices, Performers
from fabula.cli.people import People
from fabula.cli.progress import ProgressDisplay, counted
from fabula.cli.session import near
from fabula.cli.stopping import stoppable
from fabula.craft import NARRATIVE_FILE
from fabula.craft.digressions import digressions_in, utterances_of
from fabula.engine.events import RunFinished, RunStarted
from fabula.engine.journal import Journal
from fabula.engine.methods import settings_of as method_settings
from fabula.project.casting import WHOLE_ROOM
from fabula.project.folder import MAX_FILE, ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Brief, Story, count_words, plain, slug
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.digressing import Simulation
    from fabula.cli.evaluation import Evaluating
    from fabula.craft.conversation import Conversation
    from fabula.engine.dry_run import DryRun
    from fabula.measure.items import Item

ASKED: Final = "digress.json"
ITEMS: Final = "dialogues.jsonl"


def narratives_of(paths: Sequence[str]) -> dict[str, str]:
    """Return the narratives in story files and projects, by the names used in reports.

    Raises:
        UsageError: a path does not exist, or two stories have the same name.
        BriefError: a story is empty.
    """
    found: dict[str, str] = {}
    for where in paths:
        path = Path(where)
        if not path.exists():
            raise UsageError(no_file(path, "Specify a story (a text file) or a project folder.", "file or folder"))
        name = slug(path.resolve().stem)
        if name in found:
            raise UsageError(f"Two stories would both be called {name!r}. Rename one of the files.")
        text = Story.parse(read_text(_story_file(path), MAX_FILE)).text
        if not count_words(text):
            raise BriefError(f"The story {where} is empty. Use a text with a plot.")
        found[name] = plain(text)
    return found


def _story_file(path: Path) -> Path:
    """The file with the narrative of a path."""
    if not path.is_dir():
        return path
    for file in (path / NARRATIVE_FILE, path / "story.md"):
        if file.is_file():
            return file
    raise UsageError(
        f"{path} has no {NARRATIVE_FILE} and no story.md yet. Specify a project with a story, or a text file."
    )


def settings_of(performers: Performers, systems: Sequence[str], environ: Mapping[str, str]) -> dict[str, Settings]:
    """Return the settings of every system. A value or role that only one system has applies to that system.

    Raises:
        UnknownNameError: no system has the setting or role.
        UsageError: a system does not support conversations, or an option is malformed.
    """
    bases = {(base := settings_for(Settings(), name)).system: base for name in systems}
    kinds = {name: {setting.name for setting in method_settings(find(name).config("improved"))} for name in bases}
    said = {value: value.partition("=")[0].strip().replace("-", "_") for value in performers.set_ or ()}
    for value, setting in said.items():
        if "=" in value and not any(setting in known for known in kinds.values()):
            raise UnknownNameError(f"{' and '.join(bases)} setting", setting, sorted(set().union(*kinds.values())))
    casting = {value: role for value in performers.model or () for role in read_models([value]).roles}
    casting |= {value: value.partition("=")[0].strip() for value in performers.play or ()}
    tuned = {value: adapter_of(value)[0] for value in performers.adapter or ()}
    casting |= {value: role for value, role in tuned.items() if role != WHOLE_ROOM}
    everybody = {role for name in bases for role in find(name).roles}
    for role in casting.values():
        if role not in everybody:
            raise UnknownNameError("role", role, sorted(everybody))
    found = {}
    for name, base in bases.items():
        own = replace(
            performers,
            set_=[value for value in performers.set_ or () if "=" not in value or said[value] in kinds[name]],
            model=[value for value in performers.model or () if casting.get(value, "npc") in find(name).roles],
            adapter=[value for value in tuned if casting.get(value, "npc") in find(name).roles],
            play=[value for value in performers.play or () if casting.get(value, "npc") in find(name).roles],
        )
        given = {field.name: getattr(own, field.name) for field in fields(Performers)}
        found[name] = base.with_(changes_of(Choices(**given, system=name), base))
        check(found[name], environ)
    return found


def same_as_before(folder: Path, asked: Mapping[str, Any]) -> None:
    """Check that a folder is empty or contains digressions with the same settings, so that results are never mixed.

    Raises:
        UsageError: the settings differ; the message lists the differences.
        ProjectError: the contents of the folder cannot be read.
    """
    file = folder / ASKED
    if not file.is_file():
        return
    try:
        before = json.loads(read_text(file, MAX_FILE))
    except ValueError as error:
        raise ProjectError(
            f"{near(file)} is not valid JSON. Remove it, or choose another folder with --out."
        ) from error
    plain_asked = json.loads(json.dumps(asked))
    before = before if isinstance(before, dict) else {}
    differ = [name for name in (*plain_asked, *before) if before.get(name) != plain_asked.get(name)]
    if differ:
        raise UsageError(
            f"{near(folder)} contains digressions with another {', '.join(dict.fromkeys(differ))}. Choose another "
            "folder with --out, or use the same options."
        )


@dataclass
class Digressing:
    """The conversations of every system about every narrative, each in its own project below the evaluation's folder.

    Attributes:
        evaluating: counts returns; its terminal, limits and bill also serve the conversations.
        wanted: the number of conversations for each narrative.
        settings: the settings of each system.
    """

    evaluating: Evaluating
    wanted: Sequence[Simulation]
    settings: Mapping[str, Settings]

    def __post_init__(self) -> None:
        self.terminal, self.folder = self.evaluating.terminal, self.evaluating.folder

    def dry_run(self) -> dict[tuple[str, str], DryRun]:
        """Return the calls that remain to be made, by narrative and system."""
        return {
            (one.id, system): asyncio.run(self._rehearsed(one, system))
            for one in self.wanted
            for system in self.settings
        }

    async def _rehearsed(self, one: Simulation, system: str) -> DryRun:
        there = self._place(one, system) / ".fabula" / "journal.db"
        options = Options(environ=self.terminal.environ, person=People(self.terminal, self.folder).answer)
        with Journal(there) if there.exists() else Journal() as journal:
            return await dry_run_digressions(self.settings[system], options, one, journal)

    def run(self, again: str) -> list[Item]:
        """Return all dialogues and write them to `dialogues.jsonl`; `again` is the command for continuing."""
        items: list[Item] = []
        expected = {} if self.terminal.quiet or self.evaluating.limits.frozen else self.dry_run()
        for one in self.wanted:
            for system in self.settings:
                planned = expected[one.id, system].planned if expected else ()
                made = asyncio.run(stoppable(self._made(one, system, planned), again))
                self._show_short(one, system, made)
                items += made
        write_atomically(self.folder / ITEMS, "".join(_line(item) for item in items))
        return items

    def _show_short(self, one: Simulation, system: str, made: Sequence[Item]) -> None:
        wanted = one.schedule.digressions
        short = [item for item in made if len(digressions_in(utterances_of(item.story.text))) < wanted]
        if short:
            several = counted(len(made), "conversation")
            self.terminal.advise(f"In {len(short)} of {several}, {system} ended its story before all digressions.")

    async def _made(self, one: Simulation, system: str, planned: Sequence[Any]) -> tuple[Item, ...]:
        settings, project = self.settings[system], self._project(one, system)
        progress = ProgressDisplay(self.terminal, time.monotonic, planned)
        self.terminal.aside = progress.aside
        left = f", about {counted(len(planned), 'call')} to make" if planned else ""
        self.terminal.advise(f"{system} on {one.id}: {counted(one.conversations, 'conversation')}{left}")
        options = Options(
            whole=self.evaluating.asking.budget,
            listeners=(progress, self.evaluating.bill),
            person=People(self.terminal, project.folder).answer,
            environ=self.terminal.environ,
            frozen=self.evaluating.limits.frozen,
        )

        def done(conversation: Conversation) -> None:
            conversation.log.write_transcript()
            self.terminal.advise(
                f"  {conversation.name}: {counted(len(conversation.turns), 'turn')}, {conversation.where.share:.0%}"
            )

        progress(RunStarted(system))
        try:
            return await digress_in(project, settings, options, one, done)
        finally:
            progress(RunFinished(system, ""))

    def _place(self, one: Simulation, system: str) -> Path:
        return self.folder / f"{one.id}-{system}"

    def _project(self, one: Simulation, system: str) -> ProjectFolder:
        folder = self._place(one, system)
        if (folder / "brief.md").exists():
            return ProjectFolder.open(folder)
        stored = self.settings[system].model_dump(mode="json", exclude_defaults=True)
        project = ProjectFolder.create(folder, Brief("Leave the story and see who leads back.", one.id), stored)
        project.write_given(NARRATIVE_FILE, one.narrative)
        return project


def _line(item: Item) -> str:
    shown = {"id": item.id, "system": item.system, "prompt": item.prompt, "narrative": item.narrative}
    return json.dumps(shown | {"text": item.story.text}, ensure_ascii=False) + "\n"
