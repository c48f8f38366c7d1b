"""Running a system in a project: write, dry_run, update. The command line and notebooks call these functions."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from fabula.app.bills import Bill, Billed, BudgetSpent, UsageData, amount, dollars, usage_data
from fabula.app.plan_cards import PLAN, PlanPart, plan_cards
from fabula.app.remarks import SETTINGS_FILE, remarks_on
from fabula.app.standing import shortfalls
from fabula.base.errors import (
    BudgetError,
    FabulaError,
    JournalError,
    PausedError,
    PlanError,
    ReplyError,
    UsageError,
    WrittenBeforeError,
)
from fabula.base.html import Html, bullets, html_table, joined, paragraph
from fabula.craft import CHAPTERS, PROMPTS
from fabula.craft.continuing import continuer
from fabula.craft.length import asked_range
from fabula.craft.revising import reviser
from fabula.craft.suggesting import Cursor, Wanted, rewrite_passage, suggestions
from fabula.engine.dry_run import DryRun, Temper
from fabula.engine.event_log import heard_by
from fabula.engine.events import SHEET, AnswersAwaited, CallRetried, Event, Kept, Listener, RunFinished, RunStarted
from fabula.engine.journal import Journal, spent_by_role
from fabula.engine.lines import with_code
from fabula.engine.making import DRAFTS, add_fits
from fabula.engine.methods import Method, settings_of
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies import fault_of
from fabula.engine.run import Mode, Run, RunContext, RunPlace
from fabula.models.base import NOTHING_USED, Model, Usage
from fabula.models.budget import Budget, estimate_tokens
from fabula.models.prices import priced
from fabula.project.casting import Environment, open_cast
from fabula.project.folder import BRIEF, REACHED, FileChange, ProjectFolder
from fabula.project.settings import Settings, carried_over, difference
from fabula.project.telling import imported_from
from fabula.story import Brief, Scene, Story, slug
from fabula.story.codex import Codex, codex_in, parse_codex
from fabula.story.language import language_of_brief
from fabula.systems import System, find, system_of

if TYPE_CHECKING:
    from fabula.app.rewriting import Passage
    from fabula.engine.announced import Announced
    from fabula.engine.roles import Answer, Cast
    from fabula.models.servers import SharedTurns


T = TypeVar("T")
AtCursor: TypeAlias = "Callable[[Run, str, Cursor], Awaitable[T]]"
"""Asks a role for something at a place of a text."""

_LEAST_WORDS = 3
_FOLDER = re.compile(r'\b(embedded|replay|scripted|seq2seq):[^"]*/')  # of a model that is a file, which may be moved
_CODEX = (
    "This is set down for the story, and holds wherever you write of it. Bring in only what this place of the story "
    "needs. People know, say and act on only what they can know, and a secret stays one unless its hour has come."
)
_SHORT = 50_000  # tokens of replies; in longer walks terse and generous ones make up for each other


@dataclass(frozen=True)
class Options:
    """The options of a run in addition to the project's settings.

    Attributes:
        budget_tokens: cap on prompt and reply tokens of this run.
        budget_usd: cap on the cost of this run in US dollars.
        whole: a budget for this run and others, in which its calls count, too.
        listeners: called with every event.
        approve: see `RunContext.approve`.
        announced: the announced size of this run, and whom it asks before it exceeds that size; by default nothing.
        person: answers for roles played by a person.
        environ: variables with keys and folders.
        models: models supplied by a program, by their names in the settings.
        frozen: whether to replay only; a call that is not recorded is an error.
        turns: deals turns at servers that other processes use, too.
        fit: paths of artefacts whose old texts are revised to fit what has changed, instead of being rewritten.
    """

    budget_tokens: int | None = None
    budget_usd: float | None = None
    whole: Budget | None = None
    listeners: Sequence[Listener] = ()
    approve: Callable[[Kept], Awaitable[str]] | None = None
    announced: Announced | None = None
    person: Answer | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    frozen: bool = False
    turns: SharedTurns | None = None
    fit: Sequence[str] = ()

    def emit(self, event: Event) -> None:
        """Pass an event to every listener."""
        for listener in heard_by(self.listeners):
            listener(event)


@dataclass(frozen=True)
class Supplied:
    """A cast that outlives a run, and optionally a budget and prompts that do; whoever opened them closes them."""

    cast: Cast
    budget: Budget | None = None
    prompts: SystemPrompts | None = None


@dataclass(frozen=True)
class WriteOutcome:
    """A written story, and the budget with this run's usage by role."""

    story: Story
    budget: Budget


@dataclass(frozen=True)
class PreparedMethod:
    """A method with its configuration, prompts and cast, ready to run; by default the system named in the settings."""

    settings: Settings
    options: Options
    other: Method | None = None
    voice: str = ""
    codex: Codex = field(default_factory=Codex)

    @classmethod
    def in_(
        cls, project: ProjectFolder, settings: Settings, options: Options, pending: Mapping[str, str] | None = None
    ) -> PreparedMethod:
        """The system of a project, whose prompts for prose contain the author's style sheet and what the codex has.

        The prompts of a paper stay as they are. `pending` are unsaved texts, by artefact.

        Raises:
            PlanError: the codex has problems.
            UsageError: the style sheet or the codex cannot be read.
        """
        if settings.preset == "faithful":
            return cls(settings, options)
        unsaved = (pending or {}).get("codex")
        codex = codex_in(project.folder) if unsaved is None else parse_codex(unsaved or "{}")
        return cls(settings, options, voice=project.style, codex=codex)

    @cached_property  # finding one reads every `paper.toml`
    def method(self) -> Method:
        """The method to run."""
        return self.other or system_of(self.settings)

    @property
    def prompts(self) -> SystemPrompts:
        """The method's prompts, including those that the author replaced."""
        overrides = Path(self.settings.prompts) if self.settings.prompts else None
        return SystemPrompts(self.method.prompt_folders(self.settings.preset), overrides, PROMPTS)

    @asynccontextmanager
    async def opened(
        self, journal: Journal, *, dry: bool = False, supplied: Supplied | None = None
    ) -> AsyncIterator[RunContext]:
        """The context of one run; its cast is closed at the end unless it is `supplied`.

        Raises:
            BudgetError: the work is done, but one of its calls has exceeded a cap.
        """
        cast = supplied.cast if supplied else self.cast()
        try:
            prompts = supplied.prompts if supplied and supplied.prompts else self.prompts
            context = self._context(
                journal, "dry" if dry else "frozen" if self.options.frozen else "live", cast, prompts
            )
            if supplied and supplied.budget is not None:
                context.budget = supplied.budget
            yield context
            if said := context.budget.passed:
                context.budget.passed = ""
                raise BudgetError(said)
        finally:
            if not supplied:
                await cast.close()

    def _context(self, journal: Journal, mode: Mode, cast: Cast, prompts: SystemPrompts) -> RunContext:
        return RunContext(
            journal=journal,
            prompts=prompts,
            cast=cast,
            seed=self.settings.seed,
            aids=self.settings.aids_in_force,
            chosen=self._chosen,
            mode=mode,
            listeners=heard_by(self.options.listeners) if mode != "dry" else (),
            budget=Budget(
                self.options.budget_tokens,
                self.options.budget_usd,
                project_budget(self.settings, journal, self.options.whole),
            ),
            prices={**cast.prices, **self.settings.known_prices},
            voice=self.voice,
            codex=partial(given_of, self.codex) if self.codex.entries else None,
        )

    @property
    def _chosen(self) -> tuple[str, ...]:
        """The settings that were given and do not switch something off."""
        if self.other is not None:
            return ()
        whole = self.method.config(self.settings.preset, self.settings.config)
        tables = self.settings.config.items()
        given = {name for group, value in tables for name in (value if isinstance(value, dict) else (group,))}
        return tuple(setting.name for setting in settings_of(whole) if setting.value and setting.name in given)

    def cast(self) -> Cast:
        """The cast of the method's roles, newly opened.

        Raises:
            FabulaError: a model, a role or an adapter is unknown or not available.
        """

        def retried(model: str, attempt: int, wait: float, reason: str) -> None:
            self.options.emit(CallRetried(model, attempt, wait, reason))

        def waits(folder: str, files: tuple[str, ...]) -> None:
            self.options.emit(AnswersAwaited(folder, files))

        options = self.options
        environment = Environment(
            options.environ, time.monotonic, retried, options.person, waits, options.models, options.turns
        )
        return open_cast(self.settings, self.method.roles, environment, self.method.open_role)

    def inputs(self, brief: Brief, context: RunContext) -> str | None:
        """A digest of everything that a run depends on except decisions; `None` for a frozen run, which is a proof."""
        if context.mode == "frozen":
            return None
        roles = (*self.method.roles, *context.cast.roles)
        parts = [context.cast.assignment(role) for role in dict.fromkeys(roles)]
        return with_code(
            self.method.name,
            self.settings.model_dump_json(),
            context.prompts.digest,
            brief.write(),
            *([self.voice] if self.voice else []),
            *([repr(self.codex.entries)] if self.codex.entries else []),
            *(f"{p.performer.identity} {_abilities(p.performer)}{p.adapter or ''}" for p in parts),
        )

    async def write(self, brief: Brief, context: RunContext) -> Story:
        """The story; if several errors occur at the same time, fabula's first one is raised.

        Raises:
            UsageError: the chapters are those of a manuscript, which the preset faithful does not continue.
        """
        system = self.method
        if not isinstance(system, System):
            raise TypeError(f"{system.name} writes no story.")
        config = system.config(self.settings.preset, self.settings.config)
        if self.settings.preset == "faithful" and system.takes_manuscript and context.override(CHAPTERS):
            raise UsageError(
                f"plan/{CHAPTERS}.md lists the chapters of a manuscript. The preset faithful follows the paper alone "
                "and would write another story. Use the preset improved."
            )
        answer_in_language_of(_manuscript(context.journal) or brief.text, context, self.settings)
        begun = bool(imported_from(context.journal))  # its author goes on writing it
        context.revise, context.go_on = reviser(brief.titled), continuer(brief.titled, unfinished=begun)
        if self.settings.preset != "faithful":  # what a paper does is not done by halves to keep a cap
            context.rehearse = lambda other: self.write(brief, other)
            context.dry_run.reached.add("codex")
        try:
            return await system.write(brief, Run(context), config)
        except BaseExceptionGroup as group:  # calls side by side failed; the first of ours says enough
            raise first_error(group) from group


def given_of(codex: Codex, at: str, prompt: str, told: Mapping[str, tuple[str, str]], most: int) -> str:
    """What a codex has for a prompt for prose; who is present in the part at `at`, the plan in `told` says."""
    name = next((one for one in at.split("/") if one != DRAFTS), "")
    texts = {path: told[path][1] for path in (CHAPTERS, PLAN) if path in told}
    plan = plan_cards(dict([*texts.items()][:1]), [PlanPart(name)])
    cards = (card for card in plan.of(name) if plan.plan is None or name in map(slug, (card.title, card.scene.element)))
    present = [who for card in cards for who in (*card.scene.present, card.viewpoint) if who]
    said = codex.told_to_writer(prompt, present, most, estimate_tokens)
    return "\n".join((_CODEX, "", *(f"- {one}" for one in said))) if said else ""


def answer_in_language_of(text: str, context: RunContext, settings: Settings) -> None:
    """Have all roles answer in the language of a brief or a story, or in the one that the settings name.

    The prompts of a paper stay as they are.
    """
    tag = settings.author.language or language_of_brief(text)
    context.language = "" if tag.partition("-")[0] == "en" or settings.preset == "faithful" else tag


def _manuscript(journal: Journal) -> str:
    """The text of a manuscript that was begun elsewhere; empty for a story that is written from a brief."""
    if not imported_from(journal):
        return ""
    parts = [path for path, file in journal.artefacts.places().items() if file.startswith("story/")]
    return "\n\n".join(journal.artefacts.newest(path) or "" for path in parts)


def _abilities(performer: Model) -> str:
    """The abilities of a performer, as text. Adapters loaded by its engine do not change them for a role."""
    return json.dumps(asdict(performer.capabilities) | {"adapters": ()}, default=sorted)


def project_budget(settings: Settings, journal: Journal, whole: Budget | None = None) -> Budget | None:
    """The budget for all runs of a project with the amount spent, as part of `whole`; `whole` if there are no caps."""
    caps = settings.budget
    if caps.tokens is None and caps.usd is None:
        return whole
    tokens, usd = (f"`{name} = {{}}` or higher under [budget] in fabula.toml" for name in ("tokens", "usd"))
    budget = Budget(caps.tokens, caps.usd, whole, " of the project", (tokens, usd))
    for usage in payments(journal, settings):
        budget.charge(usage)
    return budget


def payments(journal: Journal, settings: Settings) -> list[Usage]:
    """The usage of each call of a project; calls without a cost get today's price."""
    prices = settings.known_prices
    return [priced(one.usage, one.performer, prices) for one in journal.calls.payments()]


def paid_in(journal: Journal, settings: Settings) -> Usage:
    """The total usage of a project; its cost is `None` if a price is not known."""
    return sum(payments(journal, settings), NOTHING_USED)


def check_prices(expected: DryRun, settings: Settings, cap: float | None) -> None:
    """Refuse a cap in dollars before anything is paid if a planned call has no known price.

    Raises:
        UsageError: there is such a call; the error names it and says how to set the price.
    """
    caps = [one for one in (cap, settings.budget.usd) if one is not None]
    unpriced = [call for call in expected.planned if call.cost is None]
    if caps and unpriced:
        raise Budget().unpriced(unpriced[0].role, unpriced[0].performer, min(caps))


def too_little(expected: DryRun, budget: Budget) -> str:
    """The smallest cap that would be enough, in a sentence; empty if the caps leave room for the expected calls.

    A call is allowed if there is room for its expected usage, so a run needs the expected usage of all its calls.
    """
    for one in budget.levels():
        tokens, usd = one.spent_tokens + expected.tokens, one.spent_usd + (expected.cost or 0.0)
        if one.tokens is not None and tokens > one.tokens:
            need = f"{one.spent_tokens + expected.range[1]:,} tokens"
            return f"The budget of {one.tokens:,} tokens{one.of} would end this early. {_at_least(need)}"
        if one.usd is not None and usd > one.usd:
            need = f"${ceil(usd * 10_000) / 10_000:,.4f}"
            return f"The budget of {dollars(one.usd)}{one.of} would end this early. {_at_least(need)}"
    return ""


def _at_least(amount: str) -> str:
    return f"By this estimate, the run needs a cap of at least {amount}. Finished work is kept."


async def write_in(
    project: ProjectFolder, settings: Settings, options: Options, supplied: Supplied | None = None
) -> WriteOutcome:
    """Write the project's story and replay what is recorded; edits found in its files are applied first.

    Raises:
        FabulaError: an error of any kind; all finished calls are kept, and the same command continues from there.
    """
    prepared, brief = PreparedMethod.in_(project, settings, options), project.brief
    with project.recorded() as journal:
        _decide_to_fit(journal, options.fit)
        project.begin(journal)
        async with prepared.opened(journal, supplied=supplied) as context:
            context.inputs = prepared.inputs(brief, context)
            context.as_before = _as_before(prepared, journal, project)
            context.on_kept = lambda kept: project.write_kept(journal, kept)
            context.approve, context.announced = options.approve, options.announced
            project.trust(settings.typed)  # the next run does the same without its being typed
            with recorded_run(prepared, context, in_the_project(project)):
                story = await prepared.write(brief, context)
                whole = project.write_story(journal, story)
                again = f"fabula write {shlex.quote(str(project.folder))} --seed {settings.seed + 1} --anew"
                check_story(story, brief, again)
    return WriteOutcome(whole, context.budget)


def check_story(story: Story, brief: Brief, again: str) -> None:
    """Refuse a result that is not a story: very few words, only a heading, or the brief again. It stays in the project.

    Raises:
        ReplyError: the result is not a story; the error says why, and that the command `again` continues.
    """
    text = "\n\n".join(scene.text for scene in story.scenes)
    if fault := fault_of(text, brief.text, (), least=_LEAST_WORDS, before=[brief.text]):
        raise ReplyError(
            f"The result is not a story. {fault} The text is in story.md. `{again}` writes another story. A "
            "stronger model may also help (--model). `fabula show --prompts` shows the prompts and replies.",
            reply=text,
        )


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of fabula's own errors in a group of errors, at any depth; otherwise the first error."""
    ours, _ = group.split(FabulaError)
    first = (ours or group).exceptions[0]
    return first_error(first) if isinstance(first, BaseExceptionGroup) else first


@contextmanager
def recorded_run(
    prepared: PreparedMethod, context: RunContext, beside: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Record a run from its start to its end, however it ends, with its settings and the values in `beside`.

    A frozen run is not recorded. At its end, the record gets unmet requests and the place for which the run waits.
    """
    settings, options, journal = prepared.settings, prepared.options, context.journal
    recorded = context.mode == "live"
    if recorded:
        recorded_settings = settings.as_tables
        recorded_settings |= {"prompts_digest": context.prompts.digest, **(beside or {})}
        journal.start_run(prepared.method.name, recorded_settings)
    options.emit(RunStarted(prepared.method.name, prepared.method.roles))
    found: dict[str, Any] = {"lengths": context.lengths, "shortfalls": context.shortfalls}
    error = "stopped"
    try:
        with context.recording_failures():
            yield
        error = ""
        if context.inputs is not None:  # the whole story was gone over
            found[REACHED] = sorted(context.dry_run.reached)
    except FabulaError as problem:
        error = str(problem)
        if isinstance(problem, PausedError):
            found["waits"] = problem.path
        raise
    finally:
        if recorded:
            with suppress(JournalError) if error else nullcontext():  # a broken journal has been reported already
                journal.end_run(error, found)
        options.emit(RunFinished(prepared.method.name, error))


def _decide_to_fit(journal: Journal, paths: Sequence[str]) -> None:
    """Record that texts must be revised to fit, unless that is already recorded for the same texts."""
    decided = {(decision.path, decision.text) for decision in journal.decisions.find() if decision.kind == "fit"}
    wanted = [path for path in paths if (path, journal.artefacts.newest(path)) not in decided]
    if wanted:
        add_fits(journal, wanted)


_LENGTH = "brief_asks"
_BESIDE = ("prompts_digest", BRIEF, REACHED, "lengths", "shortfalls", "waits")  # what a run records beside its settings


def in_the_project(project: ProjectFolder) -> dict[str, Any]:
    """The contents of fabula.toml and the brief, recorded with a run so that its other options can be found later."""
    return {
        SETTINGS_FILE: project.settings.as_tables,
        _LENGTH: str(asked_range(project.brief) or ""),
        BRIEF: project.brief_digest,
    }


def settings_as_last_time(project: ProjectFolder, system: str = "") -> Settings:
    """`fabula.toml` with the other options of the last run; the author's later changes in the file take precedence.

    A given length ends when the brief asks for another one. If `system` is not that of the last run, only settings and
    roles that the new system has are kept.

    Raises:
        FabulaError: the settings or the brief cannot be read.
    """
    stored = project.settings
    with project.journal as journal:
        used = journal.last_settings(SETTINGS_FILE)
    if used is None:  # nothing was written, or by a fabula that did not record it; a conversation does not count
        return stored
    then, now = used.pop(SETTINGS_FILE), stored.as_tables
    if used.pop(_LENGTH) != str(asked_range(project.brief) or ""):
        used.get("config", {}).pop("words", None)
        then.get("config", {}).pop("words", None)
    tables = carried_over({name: value for name, value in used.items() if name not in _BESIDE}, then, now)
    chosen = system or tables.get("system", stored.system)
    if chosen != used.get("system", Settings().system):
        said = Settings(system=chosen).said_by(project.settings_file)
        _keep_what_fits(tables, now, find(system) if system else system_of(said))
    return Settings.of(tables, "the last run").said_by(project.settings_file)  # the record may be somebody else's, too


def _keep_what_fits(tables: dict[str, Any], now: dict[str, Any], system: Method) -> None:
    """Remove from `tables` the settings and roles that are not in fabula.toml `now` and that the system lacks."""
    known = {setting.name for setting in settings_of(system.config())}
    for table, names in (("config", known), ("roles", set(system.roles))):
        if table in tables:
            stored = now.get(table, {})
            tables[table] = {name: value for name, value in tables[table].items() if name in names or name in stored}


async def dry_run_in(
    project: ProjectFolder,
    settings: Settings,
    options: Options,
    supplied: Supplied | None = None,
    pending: Mapping[str, str] | None = None,
) -> tuple[DryRun, list[FileChange]]:
    """The calls and cost of a run now, and the changed files that it would apply. Calls no model and writes nothing.

    `pending` are unsaved texts, by artefact, that count as the author's.
    """
    prepared = PreparedMethod.in_(project, settings, options, pending)
    with project.journal as journal:
        project.check_journal(journal)
        changes = project.changes(journal)
        counted = {change.path: change.text for change in changes} | dict(pending or {})
        as_before = _as_before(prepared, journal, project)
        dry = await _dry_run(prepared, journal, project.brief, counted, supplied, options.fit, as_before=as_before)
        dry.of_files = remarks_on(project, journal, changes, None if dry.guessed else dry.reached)
    return dry, changes


def _as_before(prepared: PreparedMethod, journal: Journal, project: ProjectFolder) -> bool:
    """Whether brief and settings are those of the last finished run; a longer story needs more calls for each text."""
    finished = (run["settings"] for run in reversed(journal.runs()) if run["ended"] and not run["error"])
    used = next((settings for settings in finished if SETTINGS_FILE in settings), None)
    if used is None or used.get(BRIEF) != project.brief_digest:
        return False
    return not _others(prepared, _before(used), used.get("prompts_digest"))


def _before(used: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a run recorded."""
    return {name: value for name, value in used.items() if name not in (SETTINGS_FILE, _LENGTH, *_BESIDE)}


@dataclass(frozen=True, slots=True)
class Anew:
    """A run that would rewrite existing texts because the settings have changed.

    Attributes:
        sentence: what would be written again, why, and the calls and cost.
        whole: whether the story is finished.
        files: the files of these texts.
    """

    sentence: str
    whole: bool
    files: tuple[str, ...]


async def anew(
    project: ProjectFolder, settings: Settings, options: Options, expected: DryRun | None = None
) -> Anew | None:
    """What a run would write again only because of these settings; `None` if there is nothing.

    Texts that are stale because of the author's own edits and retakes do not count. `expected` is the result of a dry
    run, if there was one.
    """
    with project.journal as journal:
        runs, used, known, places = (
            journal.runs(),
            journal.last_settings(SETTINGS_FILE),
            journal.artefacts.paths(),
            journal.artefacts.places(),
        )
    if used is None or not known:
        return None
    before = _before(used)
    others = _others(PreparedMethod(settings, options), before, used.get("prompts_digest"))
    if not others:
        return None
    if expected is None:
        expected, _ = await dry_run_in(project, settings, options)
    stale = set(expected.stale).intersection(known).difference(options.fit)
    with suppress(FabulaError):  # a model of that time may be gone
        of_the_author, _ = await dry_run_in(project, Settings.of(before, "the last run"), options)
        stale -= set(of_the_author.stale)
    files = sorted({places.get(path, path) for path in stale})
    if not files and "system" in others and project.story_file.exists():
        files = [project.story_file.name]
    if not files or not expected.planned:
        return None
    last = next(run for run in reversed(runs) if SETTINGS_FILE in run["settings"])
    whole = last["ended"] and not last["error"] and project.story_file.exists()
    texts = files[0] if len(files) == 1 else f"{len(files)} existing texts"
    return Anew(
        f"{'The story is finished' if whole else 'Part of the story has been written'}. With other settings "
        f"({', '.join(others)}), {texts} would be rewritten: {amount(expected)}.",
        bool(whole),
        tuple(files),
    )


def _others(prepared: PreparedMethod, before: dict[str, Any], prompts_before: str | None) -> list[str]:
    """The changed settings by their names in fabula.toml; if there are none, the prompts, if they have changed."""
    now, then = (
        json.loads(_FOLDER.sub(r"\1:", json.dumps(tables, default=str)))
        for tables in (prepared.settings.as_tables, before)
    )
    changed = difference(now, then)
    found = [f"{name}.{', '.join(one)}" if isinstance(one, dict) else name for name, one in changed.items()]
    return found or ["the prompts of this version of fabula"] * (prompts_before != prepared.prompts.digest)


async def refuse_anew(project: ProjectFolder, settings: Settings, options: Options, how: str) -> None:
    """Refuse a run that would rewrite existing texts because settings have changed; `how` says what to do.

    Raises:
        WrittenBeforeError: the run would rewrite texts.
    """
    if (found := await anew(project, settings, options)) is not None:
        raise WrittenBeforeError(f"{found.sentence} {how}")


def fitting(journal: Journal, dry: DryRun) -> list[str]:
    """The texts that a run would write again and that can be revised to fit instead: existing prose."""
    asked = [call.path for call in dry.planned]
    return [
        path
        for path, file in journal.artefacts.places().items()
        if file.endswith(".md")
        and not file.startswith(("role-play/", "so-far/"))
        and journal.artefacts.newest(path)
        and any(one.startswith(f"{path}/") for one in asked)
        and journal.decisions.override(path) is None
    ]


def old_texts(project: ProjectFolder, dry: DryRun, changes: Sequence[FileChange]) -> list[str]:
    """Texts that can be revised to fit instead of being rewritten, without the author's own changes."""
    changed = {change.path for change in changes}
    with project.journal as journal:
        return [path for path in fitting(journal, dry) if path not in changed]


def chosen_to_fit(project: ProjectFolder, old: Sequence[str], only: Sequence[str]) -> list[str]:
    """The named texts among those that can be revised to fit; all of them if none is named.

    Raises:
        UsageError: a named text cannot be revised to fit.
        UnknownNameError: there is no such artefact.
    """
    with project.journal as journal:
        named = [project.artefact(journal, name) for name in only]
        for path in named:
            if path not in old:
                override = journal.decisions.override(path)
                why = f"it is {override[1]}, so it stays as it is" if override else "it would not be rewritten"
                raise UsageError(
                    f"{path} cannot be revised to fit: {why}. To specify the revision yourself, run `fabula "
                    f"text retake {path} --note TEXT`."
                )
    return [path for path in old if not named or path in named]


async def check_edit(project: ProjectFolder, journal: Journal, options: Options, path: str, text: str) -> None:
    """Refuse a new text of a file with a form, such as `plan.yaml`, if the story could not be written from it.

    Other obstacles to a run are not checked. Calls no model.

    Raises:
        PlanError: the text has problems; the error lists them all.
    """
    file = journal.artefacts.places()[path]
    if not file.endswith(f".{SHEET}") or not text:
        return
    try:
        prepared = PreparedMethod.in_(project, project.settings, options, {path: text})
        await _dry_run(prepared, journal, project.brief, {path: text})
    except PlanError as problem:
        if Path(file).name in str(problem):
            raise
    except FabulaError:
        return


async def at_cursor_in(
    project: ProjectFolder,
    settings: Settings,
    options: Options,
    place: Passage,
    ask: AtCursor[T],
    take: int = 0,
) -> T:
    """What is made for a place of an artefact's text (`rewritten`, `suggested`); it is not saved.

    The project is not locked meanwhile: only calls are recorded, and the author goes on writing.

    Raises:
        FabulaError: an error of any kind; a finished call is kept and is used when the same request is repeated.
    """
    prepared = PreparedMethod.in_(project, settings, options)
    with project.journal as journal:  # edits were applied when the place was looked for
        async with prepared.opened(journal) as context:
            answer_in_language_of(place.text, context, settings)
            with context.recording_failures():
                return await _at_cursor(project, journal, context, place, ask, take)


async def dry_run_at_cursor_in(
    project: ProjectFolder, settings: Settings, options: Options, place: Passage, ask: AtCursor[T]
) -> DryRun:
    """The calls and cost of `at_cursor_in` now. Calls no model and writes nothing."""
    prepared = PreparedMethod.in_(project, settings, options)
    with project.journal as journal:
        async with prepared.opened(journal, dry=True) as context:
            answer_in_language_of(place.text, context, settings)
            await _at_cursor(project, journal, context, place, ask)
        return context.dry_run


async def _at_cursor(
    project: ProjectFolder,
    journal: Journal,
    context: RunContext,
    place: Passage,
    ask: AtCursor[T],
    take: int = 0,
) -> T:
    path = place.path
    context.told |= {path: ("plan", text) for path in (PLAN, CHAPTERS) if (text := journal.artefacts.newest(path))}
    cursor = Cursor(project.brief.titled, place.text, place.span, _around(journal, path))
    return await ask(Run(context, RunPlace(take=take)).scope(*path.split("/")), context.writer_of(path), cursor)


def rewritten(note: str) -> AtCursor[str]:
    """What rewrites the passage as `note` asks, and returns the whole text."""
    return lambda run, role, cursor: rewrite_passage(run.scope("rewrite"), role, cursor, note)


def suggested(wanted: Wanted) -> AtCursor[list[str]]:
    """What makes suggestions for the place."""
    return lambda run, role, cursor: suggestions(run.scope("suggest"), role, cursor, wanted)


def _around(journal: Journal, path: str) -> tuple[Iterator[str], Iterator[str]]:
    """The texts of the story before and after a part of it, the nearest first; none for a text that is not a part."""
    parts = [part for part, file in journal.artefacts.places().items() if file.startswith("story/")]
    at = parts.index(path) if path in parts else len(parts)
    before, after = parts[:at][::-1] if at < len(parts) else [], parts[at + 1 :]
    return (journal.artefacts.newest(one) or "" for one in before), (
        journal.artefacts.newest(one) or "" for one in after
    )


async def dry_run(
    brief: Brief, settings: Settings, options: Options, pending: Mapping[str, str] | None = None
) -> DryRun:
    """The calls and cost of writing a new story for `brief`; `pending` are the author's texts, by artefact."""
    with Journal() as journal:
        return await _dry_run(PreparedMethod(settings, options), journal, brief, pending or {})


async def _dry_run(
    prepared: PreparedMethod,
    journal: Journal,
    brief: Brief,
    pending: Mapping[str, str],
    supplied: Supplied | None = None,
    fit: Sequence[str] = (),
    *,
    as_before: bool = True,
) -> DryRun:
    async with prepared.opened(journal, dry=True, supplied=supplied) as context:
        context.as_before = as_before
        context.pending = pending
        context.to_fit = {path: journal.artefacts.newest(path) or "" for path in fit}
        context.inputs = prepared.inputs(brief, context)
        return await rehearsed(context, lambda one: prepared.write(brief, one))


async def rehearsed(context: RunContext, write: Callable[[RunContext], Awaitable[Story]]) -> DryRun:
    """The calls of `write`; also with a terse and a generous model, if the usual length of a story is not known."""

    async def walked(temper: Temper) -> DryRun:
        found = DryRun(temper=temper)
        walk = context.walked(found)
        await write(walk)
        found.shortfalls = list(dict.fromkeys(walk.shortfalls))
        return found

    mixed = await walked("mixed")
    if not mixed.tempered or sum(call.reply for call in mixed.planned) > _SHORT:
        return mixed
    found = await walked("even")
    found.others = await walked("terse"), await walked("generous")
    return found


# what a caller gets ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SceneWords:
    """A part of a story and its length."""

    label: str
    words: int


@dataclass(frozen=True, slots=True)
class WrittenStory(Billed):
    """A story that was written or updated, and its cost.

    Attributes:
        project: its project folder.
        story: its file.
        files: the files of its artefacts, by name.
        not_as_asked: requests that were not met, in sentences.
        total: the usage of all roles.
        paid: the usage of each model.
        budget: the budget of the project, and what all its runs have spent.
        project_bill: the usage of each role, in all runs.
    """

    project: str
    story: str
    title: str
    words: int
    scenes: list[SceneWords]
    files: dict[str, str]
    not_as_asked: list[str]
    total: UsageData
    paid: dict[str, UsageData]
    budget: BudgetSpent
    project_bill: dict[str, UsageData]

    @classmethod
    def in_(cls, project: ProjectFolder, settings: Settings, story: Story, bill: Bill) -> WrittenStory:
        """The story in a project after a run with the given bill."""
        with project.journal as journal:
            spent = spent_by_role(journal.calls)
            return cls(
                **bill.as_data(),
                project=str(project.folder),
                story=str(project.story_file),
                title=story.title,
                words=story.words,
                scenes=[SceneWords(scene.label, scene.words) for scene in story.scenes],
                files=dict(journal.artefacts.places()),
                not_as_asked=shortfalls(journal, project.brief, settings, story.words),
                total=usage_data(bill.total),
                paid={who: usage_data(usage) for who, usage in bill.paid.items()},
                budget=BudgetSpent.of(paid_in(journal, settings), settings.budget),
                project_bill={role: usage_data(usage) for role, usage in spent.items()},
            )

    def _repr_html_(self) -> Html:
        scenes = html_table(("scene", "words"), [(one.label, f"{one.words:,}") for one in self.scenes], right=(1,))
        said = paragraph(f"{self.words:,} words in {self.story}", faint=True)
        return joined(paragraph(self.title), scenes, said, bullets(self.not_as_asked))


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes:
        project: its project, with plan, journal and editable texts.
        model: the model of every role without a model of its own.
        why: the reason for that model if none was named, such as "which you used last"; otherwise empty.
        bill: the run's cost by role and by model.
    """

    project: ProjectFolder
    model: str
    why: str
    bill: Bill


@dataclass(frozen=True)
class Written(Outcome):
    """A written story with its cost.

    Attributes:
        story: the story in the project.
        data: everything that `fabula write --json` prints.
    """

    story: Story
    data: WrittenStory = field(repr=False)

    @classmethod
    def in_(cls, project: ProjectFolder, settings: Settings, story: Story, bill: Bill, why: str = "") -> Written:
        """The story in a project after a run with the given bill."""
        return cls(project, settings.model, why, bill, story, WrittenStory.in_(project, settings, story, bill))

    @property
    def not_as_asked(self) -> tuple[str, ...]:
        """Requests that were not met, in sentences."""
        return tuple(self.data.not_as_asked)

    @property
    def title(self) -> str:
        """The story's title, or empty."""
        return self.story.title

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """Its scenes, in the order of telling."""
        return self.story.scenes

    @property
    def text(self) -> str:
        """The text as readers see it."""
        return self.story.text

    @property
    def words(self) -> int:
        """Number of words."""
        return self.story.words

    def to_dict(self) -> dict[str, Any]:
        """The result in the format of `fabula write --json`."""
        return asdict(self.data)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return joined(self.story._repr_html_(), paragraph(f"{self.words:,} words, {self.model}", faint=True))
