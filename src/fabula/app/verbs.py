"""The Python API: write, plan, check, judge, rank, measure, chat, read.

Every verb waits for its result; `VERB_async` is the same for who has an event loop, as `await fabula.write_async(...)`.
All that is asked is kept, so that the same call again costs nothing. Nothing is printed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fabula.app.beginning import with_usual_system
from fabula.app.calling import Caller, table_in, waiting
from fabula.app.chatting import Chat, conversation_for, parties_for, project_for_talk
from fabula.app.checking import OUT, Checked, stories_to_check
from fabula.app.conversing import PLAYER, card_project, is_card, settings_for
from fabula.app.evaluating import Task, evaluate_in
from fabula.app.judging import Judged, two_stories
from fabula.app.measuring import (
    Measured,
    chosen_measures,
    measure_configs,
    measured_in,
    with_brief,
    with_references,
)
from fabula.app.planning import Planned, plan_in, planning_system, project_for_story
from fabula.app.ranking import Ranked
from fabula.app.sources import brief_of, folder_for, items_of, path_of, project_in, story_of
from fabula.app.standing import check_words
from fabula.app.writing import Expected, Prepared, Written, dry_run_in, refuse_anew, settings_as_last_time, write_in
from fabula.app.writing import dry_run as dry_run_of
from fabula.base.errors import UsageError
from fabula.craft.conversation import ConversationFiles
from fabula.craft.conversation.kept import system_of_log
from fabula.craft.narratives import check_people
from fabula.evaluators import find
from fabula.evaluators.pairwise.algorithm import pairs_of
from fabula.project.folder import Project
from fabula.project.settings import Settings
from fabula.story import Story, slug
from fabula.story.cards import read_card

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.calling import MethodSettings, OnEvent, Performers, SystemSettings
    from fabula.app.sources import BriefSource, StorySource
    from fabula.app.writing import Options
    from fabula.craft.conversation import Freedom
    from fabula.engine.methods import Preset
    from fabula.measure.items import Item
    from fabula.measure.report import Report
    from fabula.story.cards import Card


async def write_async(
    what: BriefSource,
    folder: str | Path | None = None,
    *,
    model: Performers | None = None,
    words: int | str | None = None,
    on_event: OnEvent | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    anew: bool = False,
    environ: Mapping[str, str] | None = None,
    **settings: Unpack[SystemSettings],
) -> Written:
    """A story: begun in a folder, or gone on with where it stopped; edits found in its files are taken over first.

    Args:
        what: a brief, its text or file, or a project.
        folder: of the project; by default called after the brief's file, title or first words.
        model: a name, an open model, an object with a method `reply(prompt)`, or a mapping from roles to these, in
            which "*" stands for all others. Without one: the project's, that of FABULA_MODEL, the one used last, or
            the best of fabula's own that is here; the result says which.
        words: how long the story is to be: 300, "250-350" or "~300".
        on_event: called with every event (`fabula.events`), for instance each piece of text as it comes.
        budget_tokens: most tokens that this run may use.
        budget_usd: most US dollars that this run may cost.
        anew: write again what stands, where other settings than before want that; without it that is refused.
        environ: variables that hold keys and folders; by default those of the process.
        **settings: fields of `fabula.toml`, for instance `system="dramatron"`, `seed=7`, `config={"revisions": 2}`;
            what the last run in the folder was given stays in force where nothing else is said.

    Raises:
        WrittenBeforeError: with other settings than before, what stands would be written again.
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
    """
    caller = Caller.of(model, on_event, environ, _with_words(settings, words))
    project, in_force, why = _begun(what, folder, caller)
    options = caller.options(budget_tokens, budget_usd)
    if not anew:
        how = "`anew=True` does it, and the old texts stay in its history; another `folder` has both stories."
        await refuse_anew(project, in_force, options, how)
    outcome = await write_in(project, in_force, options)
    return Written.in_(project, in_force, outcome.story, caller.finished(in_force), why)


async def dry_run_async(
    what: BriefSource,
    folder: str | Path | None = None,
    *,
    model: Performers | None = None,
    words: int | str | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Unpack[SystemSettings],
) -> Expected:
    """What `write` would ask and cost if it were called with the same. Asks nobody, makes nothing.

    Args:
        what: as of `write`.
        folder: as of `write`.
        model: as of `write`.
        words: as of `write`.
        environ: as of `write`.
        **settings: as of `write`.

    Raises:
        FabulaError: any of its kinds.
    """
    caller = Caller.of(model, None, environ, _with_words(settings, words))
    there = project_in(what)
    brief = None if there is not None else brief_of(what)
    where = folder_for(brief, what) if folder is None and brief is not None else Path(folder or ".")
    if brief is not None and not (where / "brief.md").exists():
        wanted = with_usual_system(caller.wanted(has_model=False)[0], brief)
        return Expected(await dry_run_of(brief, Settings().with_(wanted, "the call"), caller.options()))
    project, in_force, _ = _begun(what, folder, caller)
    dry, changes = await dry_run_in(project, in_force, caller.options())
    return Expected(dry, tuple(changes))


def _with_words(settings: SystemSettings, words: int | str | None) -> dict[str, Any]:
    config = dict(table_in(settings, "config")) | ({} if words is None else {"words": str(words)})
    return {**settings, **({"config": config} if config else {})}


def _begun(what: BriefSource, folder: str | Path | None, caller: Caller) -> tuple[Project, Settings, str]:
    """The project for what is to be written, made where it is not there yet, the settings in force, and why its model.

    Raises:
        UsageError: the folder is the project of another brief.
    """
    project = project_in(what)
    if project is not None:
        if folder is not None and Path(folder).resolve() != project.folder.resolve():
            raise UsageError(f"{project.folder} is a project, which is written where it is. Leave `folder` out.")
        return _gone_on(project, caller)
    brief = brief_of(what)
    where = folder_for(brief, what) if folder is None else Path(folder)
    if not (where / "brief.md").exists():
        changes, why = caller.wanted(has_model=False)
        changes = with_usual_system(changes, brief)
        wanted = Settings().with_(changes, "the call")
        check_words(wanted)
        Prepared(wanted, caller.options()).cast()  # says what is wrong before anything is made, and opens nothing
        project = Project.create(where, brief, changes)
        return project, settings_as_last_time(project).with_(changes, "the call"), why
    project = Project.open(where)
    if project.brief.text != brief.text:
        raise UsageError(f"The project {where} has another brief. Change its brief.md, or name another folder.")
    return _gone_on(project, caller)


def _gone_on(project: Project, caller: Caller) -> tuple[Project, Settings, str]:
    """A project that is there, the settings in force, and why its model where it names none and was never written."""
    before = settings_as_last_time(project, str(caller.changes.get("system", "")))
    with project.journal as journal:
        begun = journal.last_settings() is not None
    changes, why = caller.wanted(has_model=begun or "model" in before.model_fields_set)
    return project, before.with_(changes, "the call"), why


def _planned_story(story: Story, folder: str | Path | None, caller: Caller) -> tuple[Project, Settings, str]:
    """The project in which a plan is read off a story."""
    where = Path(slug(story.title or _first_words(story.text))) if folder is None else Path(folder)
    changes, why = caller.wanted(has_model=(where / "brief.md").exists())
    project = project_for_story(where, story.manuscript(), None, changes)
    return project, settings_as_last_time(project).with_(changes, "the call"), why


def _first_words(text: str) -> str:
    return " ".join(text.split()[:6])


async def plan_async(
    what: BriefSource | Story,
    folder: str | Path | None = None,
    *,
    model: Performers | None = None,
    words: int | str | None = None,
    on_event: OnEvent | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Unpack[SystemSettings],
) -> Planned:
    """A plan of scenes: made from a brief, or read off a finished story; `write` goes on from its project.

    Args:
        what: a brief, its text or file, a project, or a `Story` as `fabula.read` gives it.
        folder: as of `write`.
        model: as of `write`.
        words: as of `write`.
        on_event: as of `write`.
        budget_tokens: as of `write`.
        budget_usd: as of `write`.
        environ: as of `write`.
        **settings: as of `write`; where no system is named, one that writes from plans is taken.

    Raises:
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
    """
    there = None if isinstance(what, Story) else project_in(what)
    settings["system"] = planning_system(there, settings.get("system"))
    caller = Caller.of(model, on_event, environ, _with_words(settings, words))
    if isinstance(what, Story):
        project, in_force, why = _planned_story(what, folder, caller)
    else:
        project, in_force, why = _begun(what, folder, caller)
    made = await plan_in(project, in_force, caller.options(budget_tokens, budget_usd))
    return Planned(made, project, in_force.model, why, caller.finished(in_force))


# what was written -----------------------------------------------------------------------------------------------------


async def check_async(
    *stories: StorySource,
    folder: str | Path | None = None,
    model: Performers | None = None,
    on_event: OnEvent | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Unpack[MethodSettings],
) -> Checked:
    """Where stories contradict themselves: findings, each with both passages quoted.

    Args:
        *stories: files, folders, projects, texts, or what `write` and `read` gave.
        folder: of calls, report and page; by default `evaluation` in the project, for a single one, else here.
        model: as of `write`; by default that of the project, for a single one.
        on_event: as of `write`.
        budget_tokens: as of `write`.
        budget_usd: as of `write`.
        environ: as of `write`.
        **settings: how the evaluator works, for instance `config={"reading": "windows"}`.

    Raises:
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
    """
    caller = Caller.of(model, on_event, environ, settings)
    project = project_in(stories[0]) if len(stories) == 1 else None
    sources = stories if project is None else (project.folder,)
    items = stories_to_check(sources, caller.selection)
    where = Path(folder) if folder is not None else project.folder / OUT if project is not None else Path(OUT)
    report = await _evaluated("atlas", items, where, caller, caller.options(budget_tokens, budget_usd), project)
    return Checked.in_(where, report.as_data(), ["fabula", "check", *map(str, sources)], caller.bill)


async def judge_async(
    one: StorySource,
    other: StorySource,
    *,
    folder: str | Path | None = OUT,
    model: Performers | None = None,
    on_event: OnEvent | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Unpack[MethodSettings],
) -> Judged:
    """Which of two stories a judge prefers, question by question, in both orders.

    Args:
        one: a story: its file, project or text, or what `write` and `read` gave.
        other: another one.
        folder: of calls, verdicts and report; `None` keeps nothing.
        model: as of `write`.
        on_event: as of `write`.
        budget_tokens: as of `write`.
        budget_usd: as of `write`.
        environ: as of `write`.
        **settings: how the judge works, for instance `preset="faithful"` or `config={"samples": 3}`.

    Raises:
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
    """
    caller = Caller.of(model, on_event, environ, settings)
    items = two_stories(one, other, caller.selection)
    report = await _evaluated("pairwise", items, folder, caller, caller.options(budget_tokens, budget_usd))
    return Judged(*items, report, caller.bill)


async def rank_async(
    *stories: StorySource,
    folder: str | Path = OUT,
    model: Performers | None = None,
    on_event: OnEvent | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Unpack[MethodSettings],
) -> Ranked:
    """Systems or stories in order of how often a judge prefers them, with intervals.

    Args:
        *stories: folders (`SYSTEM/PROMPT.md`), files, projects, texts, or what `write` and `read` gave.
        folder: of calls, verdicts, report, page and pictures.
        model: as of `write`.
        on_event: as of `write`.
        budget_tokens: as of `write`.
        budget_usd: as of `write`.
        environ: as of `write`.
        **settings: as of `judge`.

    Raises:
        FabulaError: any of its kinds; finished calls are kept, and the same call goes on from there.
    """
    caller = Caller.of(model, on_event, environ, settings)
    items = items_of(stories, caller.selection)
    pairs_of(items)  # what is wrong with the stories is said before anything is made
    report = await _evaluated("pairwise", items, folder, caller, caller.options(budget_tokens, budget_usd))
    return Ranked.in_(Path(folder), report.evaluator, report, caller.bill)


async def measure_async(
    *stories: StorySource,
    reference: StorySource | None = None,
    brief: BriefSource | None = None,
    bertscore: bool = False,
    preset: Preset = "improved",
    config: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Measured:
    """What can be counted in stories: words, openings, repetition, dialogue; ROUGE with a reference. Asks no model.

    Args:
        *stories: files, folders, projects, data sets, texts, or what `write` and `read` gave.
        reference: a story that all are compared with, or a folder or file with one for each prompt.
        brief: that all the stories answer.
        bertscore: BERTScore too; it needs the extra `bertscore`.
        preset: the papers' measures ("faithful"), or ours too.
        config: settings, for instance `{"tokens": "words", "rouge.stemmer": True}`.
        environ: variables that hold folders; by default those of the process.

    Raises:
        FabulaError: any of its kinds.
    """
    caller = Caller.of(None, None, environ, {})
    items = items_of(stories, caller.selection)
    if brief is not None:
        items = with_brief(items, brief_of(brief), "`brief`")
    if reference is not None:
        items = with_references(items, items_of([reference], caller.selection), "`reference`")
    configs = measure_configs(
        preset,
        table_in({} if config is None else {"config": config}, "config"),
        chosen_measures(items, bertscore=bertscore),
    )
    return await measured_in(items, configs, caller.options())


async def _evaluated(
    name: str,
    items: Sequence[Item],
    folder: str | Path | None,
    caller: Caller,
    options: Options,
    project: Project | None = None,
) -> Report:
    """An evaluator's report, with the caller's model, else that of the project, else the default one."""
    evaluator = find(name)
    own = project.settings if project is not None else Settings()
    taken = "model" in own.model_fields_set and own.model not in own.models
    changes, _ = caller.wanted(has_model=taken)
    settings = Settings().with_({"model": own.model, **changes} if taken else changes, "the call")
    where = None if folder is None else Path(folder)
    if where is not None:
        settings = settings.with_costs_of(where / "fabula.toml")
    config = evaluator.config(settings.preset, settings.config)
    settings = settings.model_copy(update={"config": {}})
    found = await evaluate_in(Task(evaluator, items, config, where), settings, options)
    caller.finished(settings)
    return found.report


# talking --------------------------------------------------------------------------------------------------------------


async def chat_async(
    story: StorySource,
    character: str = "",
    *,
    player: str = "",
    session: str = "",
    new: bool = False,
    freedom: Freedom | None = None,
    folder: str | Path | None = None,
    model: Performers | None = None,
    on_event: OnEvent | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Unpack[SystemSettings],
) -> Chat:
    """A conversation with a character of a story: `chat.say("...")` gives the answer. It is kept in the project.

    Args:
        story: a project, a story's file or text, a character card, or what `write` and `read` gave.
        character: who answers; without one, those of the last conversation.
        player: who you are; by default whom the story names most beside the character, else a stranger to it.
        session: the name of the conversation; by default the one of these two, or a new one.
        new: begin a new conversation.
        freedom: how far you may lead away from the story: "rails", "guided" or "loose".
        folder: of the project for a story that is in none; by default called after its file, title or first words.
        model: as of `write`.
        on_event: as of `write`.
        budget_tokens: most tokens that this conversation may use.
        budget_usd: most US dollars that it may cost.
        environ: as of `write`.
        **settings: as of `write`; the system is SNAP where the project's own cannot be talked to.

    Raises:
        FabulaError: any of its kinds.
    """
    caller = Caller.of(model, on_event, environ, settings)
    path = path_of(story) if isinstance(story, str | Path) else None
    if path is not None and is_card(path):
        card = read_card(path)
        character, player = character or card.name, player or PLAYER
        project, in_force, why = _project_of_card(card, player, folder, caller)
    else:
        project, in_force, why = _talked_in(story, (character, player), folder, caller)
    parties = parties_for(project, (character,) if character else (), player)
    name, parties = conversation_for(project, session, parties, new=new)
    made = system_of_log(ConversationFiles.in_(project.folder, name).read())
    if made not in ("", in_force.system) and "system" not in settings:
        in_force = settings_for(in_force, made)
    chat = Chat(project, name, in_force, caller.options(budget_tokens, budget_usd), caller.bill, why)
    await chat.open(parties, freedom)
    return chat


def _project_of_card(
    card: Card, player: str, folder: str | Path | None, caller: Caller
) -> tuple[Project, Settings, str]:
    """The project in which one talks with a card's character, the settings in force, and why their model."""
    where = Path(slug(card.name)) if folder is None else Path(folder)
    changes, why = caller.wanted(has_model=(where / "brief.md").exists())
    project = card_project(card, where, player, changes, {})
    return project, _talking(project.settings, changes), why


def _talked_in(
    source: StorySource, names: Sequence[str], folder: str | Path | None, caller: Caller
) -> tuple[Project, Settings, str]:
    """The project that is talked in, made for a story where it is not there yet, its settings, and why their model."""
    project = project_in(source)
    if project is not None:
        stored = project.settings
        changes, why = caller.wanted(has_model="model" in stored.model_fields_set)
        return project, _talking(stored, changes), why
    story = story_of(source)
    check_people([name for name in names if name], story.text)
    path = path_of(source)
    name = path.stem if path is not None else slug(story.title or _first_words(story.text))
    where = Path(name) if folder is None else Path(folder)
    changes, why = caller.wanted(has_model=(where / "brief.md").exists())
    system = settings_for(Settings(), str(changes.get("system", ""))).system
    project = project_for_talk(where, story, name, {**changes, "system": system})
    return project, _talking(project.settings, changes), why


def _talking(stored: Settings, changes: Mapping[str, Any]) -> Settings:
    """A project's settings as far as they fit a system that can be talked to, with `changes` on top."""
    base = settings_for(stored, str(changes.get("system", "")))
    return base.with_({**changes, "system": base.system}, "the call")


write = waiting(write_async)
dry_run = waiting(dry_run_async)
plan = waiting(plan_async)
check = waiting(check_async)
judge = waiting(judge_async)
rank = waiting(rank_async)
measure = waiting(measure_async)
chat = waiting(chat_async)
