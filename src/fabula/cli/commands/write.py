"""`fabula write`."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.beginning import check, check_weights
from fabula.app.bills import Estimate, amount
from fabula.app.learned import with_learned
from fabula.app.standing import not_obeyed, too_weak
from fabula.app.writing import anew, check_prices
from fabula.base.errors import BudgetError, UnknownNameError, UsageError, WrittenBeforeError
from fabula.base.files import no_file, read_text
from fabula.cli.asked import changes_of, performing, say_default, settings_for
from fabula.cli.bill import calls_table
from fabula.cli.help import MORE
from fabula.cli.opening import STDIN, place_named, project_of, read_stdin, terminal_of
from fabula.cli.options import Choices, ProjectOptions, RunMemory, WritingLimits, bundled
from fabula.cli.progress import counted, duration
from fabula.cli.session import Session, near
from fabula.engine.journal import spent_by_role
from fabula.engine.roles import role_key
from fabula.models.base import NOTHING_USED
from fabula.project.folder import MAX_FILE, ProjectFolder, removed_if_unused
from fabula.project.settings import Settings, difference
from fabula.project.trust import Trust
from fabula.story import MAX_BRIEF_BYTES, Brief, plain
from fabula.story.personas import read_personas
from fabula.story.plan_file import read_plan
from fabula.systems import system_of, systems

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import DryRun
    from fabula.story.plan import Plan

_PLAN, _PERSONAS = "plan/plan.yaml", "plan/personas.yaml"


@dataclass(frozen=True, slots=True)
class WriteSources:
    """The source of the story, and where to save it."""

    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Project folder for a brief; default: a folder here, named after the brief.",
        ),
    ] = ""
    plan: Annotated[str, typer.Option(metavar="FILE", help="Write from this plan (see `fabula plan`).")] = ""
    personas: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Write with these personas, their goal and the state of their world.",
            rich_help_panel=MORE,
        ),
    ] = ""
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask again if the run needs more calls than announced.")
    ] = False
    anew: Annotated[
        bool, typer.Option("--anew", help="If settings have changed, rewrite existing texts without asking.")
    ] = False
    learned: Annotated[
        bool | None,
        typer.Option(
            "--learned/--no-learned",
            help="Use or ignore what `fabula learn` learned from you.",
            show_default="with, in a new project",
            rich_help_panel=MORE,
        ),
    ] = None
    save: Annotated[
        bool, typer.Option("--save", help="Store these settings in the project's fabula.toml.", rich_help_panel=MORE)
    ] = False


@bundled
def write(
    common: ProjectOptions,
    choices: Choices,
    limits: WritingLimits,
    sources: WriteSources,
    memory: RunMemory,
    where: Annotated[
        str,
        typer.Argument(help="Project folder or brief file; - reads a brief from stdin.", show_default="this folder"),
    ] = "",
) -> None:
    """Write a story from a brief or project, or continue it."""
    terminal = terminal_of(common)
    given = read_plan(Path(sources.plan)) if sources.plan else None
    personas = read_personas(Path(sources.personas))[1] if sources.personas else ""
    new = _New(choices, terminal, given, personas, memory.forget, sources.learned)
    asked = _asked(new, common, sources, where)
    if limits.dry_run:
        _dry_run(new, common, sources, limits, where, asked)
        return
    with nullcontext() if asked is None else removed_if_unused(asked.folder):
        _written(new, common, sources, limits, where, asked)


def _written(
    new: _New, common: ProjectOptions, sources: WriteSources, limits: WritingLimits, where: str, asked: _Asked | None
) -> None:
    """Write the story, and report it; a project that does not exist yet is created."""
    terminal = new.terminal
    project, settings = _project(new, common, where, asked)
    _put_given(project, new, sources)
    session = Session(terminal, project, settings, limits)
    expected = None if common.quiet or limits.frozen else session.dry_run()[0]
    if not (sources.anew or limits.frozen or _agreed(session, expected)):
        return
    if expected is not None:
        check_weights(settings, terminal.environ, expected)
    if sources.save:
        project.save_settings(difference(settings.as_tables, project.settings.as_tables))
    announced = None
    if expected is not None and not common.json:
        terminal.message(_opening(project, settings, expected))
        for sentence in (
            *expected.of_files,
            *expected.notices,
            *not_obeyed(expected, project.brief, settings),
            *too_weak(expected, settings),
        ):
            terminal.advise(sentence)
        if texts := session.written_again(expected):
            terminal.advise(texts)
        if not sources.yes:
            announced = partial(session.announced, expected, f"`fabula write {near(project.folder)} --yes`")
    session.report(session.run(expected, announced))


def _agreed(session: Session, expected: DryRun | None) -> bool:
    """Whether existing texts may be rewritten because of other settings, if any would be; asks the person.

    Raises:
        WrittenBeforeError: texts would be rewritten, and there is no terminal.
    """
    terminal, folder = session.terminal, near(session.project.folder)
    found = asyncio.run(anew(session.project, session.settings, session.looking, expected))
    if found is None:
        return True
    how = (
        "To do so, add --anew (you can still see the current texts with `fabula show --versions NAME`). To write a "
        f"second story next to this one, run `fabula write {folder}/brief.md --out OTHER`. "
        + (
            "To rewrite a single text, run `fabula text retake NAME`."
            if found.whole
            else "To keep the current texts and use these settings only for the rest, run `fabula text pin --all`."
        )
    )
    if terminal.json or not terminal.interactive:
        raise WrittenBeforeError(f"{found.sentence} {how}")
    terminal.message(f"{found.sentence} {how}")
    if asyncio.run(terminal.choice("Write it again? [y]es or [n]o: ", "yn")) == "y":
        return True
    terminal.message("No model was called, and your files are unchanged.")
    return False


@dataclass(frozen=True, slots=True)
class _Asked:
    """A brief to write from, and the folder of its project, which may exist."""

    brief: Brief
    folder: Path
    of_plan: bool = False


def _asked(new: _New, common: ProjectOptions, sources: WriteSources, where: str) -> _Asked | None:
    """The brief that the command line names; `None` if it names a project."""
    file = Path(where) if where else None
    if where == STDIN:
        if not (out := place_named(common, sources.out, "--out")):
            raise UsageError("A brief from standard input has no name. Specify the project's folder with --out DIR.")
        return _Asked(Brief.parse(read_stdin(MAX_BRIEF_BYTES), name="on standard input"), Path(out))
    if file is not None and file.is_file():
        return _Asked(Brief.read(file), Path(place_named(common, sources.out, "--out") or file.stem))
    if new.plan is not None and not where and not common.folder:
        folder = Path(sources.out or Path(sources.plan).stem)
        return _Asked(Brief.parse(new.plan.as_brief()), folder, of_plan=True)
    if file is not None and not file.exists():
        if " " in where and not file.suffix[1:].isalnum():  # a brief itself was typed
            raise UsageError(
                "There is no file or folder with that name. To write from words instead of a file, use `echo WORDS | "
                "fabula write - --out DIR`."
            )
        raise UsageError(no_file(file, "Specify a brief (a text file) or a project folder.", "file or folder"))
    if sources.out:
        raise UsageError("--out requires a brief file, because a project is written in its own folder.")
    return None


def _project(new: _New, common: ProjectOptions, where: str, asked: _Asked | None) -> tuple[ProjectFolder, Settings]:
    """The project to write, created if necessary, and the settings in force."""
    if asked is not None:
        return new.project(asked.brief, asked.folder, of_plan=asked.of_plan)
    project = project_of(common, where)
    return project, new.settings_over(project)


def _dry_run(
    new: _New, common: ProjectOptions, sources: WriteSources, limits: WritingLimits, where: str, asked: _Asked | None
) -> None:
    """Show which calls writing would make; a project that does not exist yet is created in a temporary folder."""
    if sources.save:
        raise UsageError("--save stores settings, but --dry-run does not change anything. Leave one of them out.")
    if asked is not None and not (asked.folder / "brief.md").exists():
        with TemporaryDirectory(prefix="fabula-") as spare:
            project, settings = new.project(asked.brief, Path(spare) / (asked.folder.name or "project"))
            _put_given(project, new, sources)
            _forecast(Session(new.terminal, project, settings, limits))
            Trust().forget(project.settings_file)
        return
    if sources.plan or sources.personas:
        raise UsageError("--plan and --personas change an existing project, but --dry-run does not change anything.")
    project, settings = _project(new, common, where, asked)
    _forecast(Session(new.terminal, project, settings, limits))


def _forecast(session: Session) -> None:
    """Show the calls and cost of writing without making a call.

    Raises:
        BudgetError: a cap leaves too little for it.
    """
    terminal, project = session.terminal, session.project
    found, changes = session.dry_run()
    with project.journal as journal:
        spent = sum(spent_by_role(journal.calls).values(), NOTHING_USED)
    pace = spent.seconds / spent.reply if spent.reply and spent.seconds else None
    seconds = None if pace is None else pace * sum(call.reply for call in found.planned)
    terminal.say(calls_table(found))
    if found.replayed:
        terminal.say(f"Already in the journal, at no cost: {counted(found.replayed, 'call')}.")
    if seconds:
        terminal.say(f"About {duration(seconds)} of model time, at the average pace of this project.")
    settings = session.settings
    missed = not_obeyed(found, project.brief, settings)
    for sentence in (*found.of_files, *found.notices, *missed, *too_weak(found, settings)):
        terminal.advise(sentence)
    if found.planned:
        terminal.advise(
            f"In total, {amount(found)}. This is an estimate, because the number of scenes and the length of replies "
            "are not known yet. In tests with models that write 85 % or 115 % of the requested words, most estimates "
            "were within a quarter of the actual cost."
        )
    check_prices(found, settings, session.limits.budget_usd)
    if said := session.too_little(found):
        raise BudgetError(said)
    terminal.document(Estimate.of(found, changes=changes, seconds=seconds))


@dataclass(frozen=True, slots=True)
class _New:
    """What the options ask of a project; all of it is checked before anything is created."""

    choices: Choices
    terminal: Terminal
    plan: Plan | None
    personas: str = ""
    forget: bool = False
    learned: bool | None = None

    def project(self, brief: Brief, folder: Path, *, of_plan: bool = False) -> tuple[ProjectFolder, Settings]:
        """Return a new project for a brief, or the existing project if it has the same brief.

        With `of_plan`, the brief changes with the plan, so any existing project that has a plan is used.
        """
        if not (folder / "brief.md").exists():
            alone = self.plan is None and not self.personas
            changes = changes_of(self.choices, Settings(), brief if alone else None)
            settings = Settings.of(changes, "the command line")
            self._check(settings)
            say_default(self.terminal, self.choices, changes)
            return ProjectFolder.create(folder, brief, changes), self._with_learned(settings, begun=False)
        project = ProjectFolder.open(folder)
        if project.brief != brief and not (of_plan and (folder / _PLAN).exists()):
            raise UsageError(
                f"{near(folder)} is the project of another brief. Choose another folder with --out DIR. To change the "
                f"brief of that project instead, edit {near(project.brief_file)} and run `fabula update "
                f"{near(folder)}`."
            )
        return project, self.settings_over(project)

    def settings_over(self, project: ProjectFolder) -> Settings:
        """Return the settings in force, overridden by the options; print those that are not in `fabula.toml`."""
        settings = settings_for(project, self.choices, self.terminal, forget=self.forget)
        with project.journal as journal:
            begun = journal.last_settings() is not None
        settings = self._with_learned(settings, begun=begun)
        self._check(settings)
        return settings

    def _with_learned(self, settings: Settings, *, begun: bool) -> Settings:
        """The settings with what was learned from the author; unasked, only when a project begins."""
        settings, learned = with_learned(settings, self.terminal.environ, begun=begun, wanted=self.learned)
        if learned is not None:
            self.terminal.advise(
                f"fabula writes with what it learned from you ({counted(learned.pairs, 'pair')}, {learned.made}); "
                "`--no-learned` turns it off, `fabula learn --forget` removes it."
            )
        return settings

    def _check(self, settings: Settings) -> None:
        check(settings, self.terminal.environ)
        system = system_of(settings)
        if self.personas and not system.takes_personas:
            able = ", ".join(name for name, system in systems().items() if system.takes_personas)
            raise UsageError(f"`{settings.system}` does not use personas. These systems do: {able}.")
        if self.plan is None:
            return
        if not system.takes_plan:
            able = ", ".join(name for name, system in systems().items() if system.takes_plan)
            raise UsageError(f"`{settings.system}` does not write from a plan. These systems do: {able}.")
        people = {role_key(character.name) for character in self.plan.characters}
        for role in settings.roles:
            if role not in system.roles and role not in people:
                raise UnknownNameError("character", role, [*people, *system.roles])


def _put_given(project: ProjectFolder, new: _New, sources: WriteSources) -> None:
    """Add the given plan and personas to the project as its author's."""
    if sources.plan:
        _put_file(project, _PLAN, read_text(Path(sources.plan), MAX_FILE), sources.plan, new.terminal)
    if new.personas:
        _put_file(project, _PERSONAS, new.personas, sources.personas, new.terminal)


def _put_file(project: ProjectFolder, name: str, text: str, given: str, terminal: Terminal) -> None:
    """Add the text of a file to the project, and record the text it replaces."""
    file = project.folder / name
    before = read_text(file, MAX_FILE) if file.exists() else ""
    if plain(before) == plain(text):
        return
    with project.recorded():
        project.write_given(name, text)
    if plain(before):
        terminal.advise(
            f"{near(file)} is now {given}. To see the earlier text, run `fabula show --versions {file.stem} -C "
            f"{near(project.folder)}`."
        )


def _opening(project: ProjectFolder, settings: Settings, expected: DryRun) -> str:
    kept = f", {counted(expected.replayed, 'call')} in the journal" if expected.replayed else ""
    aided = ", with help for small models" if any(call.aids for call in expected.planned) else ""
    where = near(project.folder)
    return f"{settings.system} ({settings.preset}), {performing(settings)}{aided}, in {where}: {amount(expected)}{kept}"
