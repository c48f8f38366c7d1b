"""What every system and every evaluator must keep to: rules, each a function that raises where one is broken.

`tests/contract` runs them over fabula's own methods, `python -m fabula.testing` over anybody's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from fabula.app.writing import first_error
from fabula.base.errors import FabulaError, JournalMissError, RefusalError, ReplyError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.methods import IMPROVED, Method, Preset, settings_of
from fabula.engine.papers import PAPER, Kind, problems_of
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import role_key
from fabula.evaluators import Evaluator
from fabula.measure.ratings import parse_ratings, write_ratings
from fabula.models.scripted import ScriptedModel
from fabula.systems import System
from fabula.testing.cases import (
    ODDITIES,
    SCRIPT,
    Case,
    FailingModel,
    Measurement,
    Odd,
    Oddity,
    Willing,
    cases_of,
    dry_run_case,
    dry_run_measure,
    measure_case,
    measurements_of,
    run_case,
)
from fabula.testing.narrowed import wrong_reads
from fabula.testing.traced import Trace

if TYPE_CHECKING:
    from fabula.models.base import Message, OnText, Reply, Request


_T = TypeVar("_T")
_CaseT = TypeVar("_CaseT", "Case", Measurement)
_FILES: Final = ("__init__.py", PAPER, "README.md", "config.py", "algorithm.py", SCRIPT)
_FEWEST: Final = 20  # words that make a story
_KILLS: Final = 6  # between the first call and the last


class BrokenRuleError(FabulaError):
    """A system or an evaluator does not keep to a rule; says what it did instead."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[_T]):
    """A rule.

    Attributes:
        name: what must be so.
        advice: where to look if it is not.
        check: raises where it is not.
        needed: nothing can be run where it is not.
    """

    name: str
    advice: str
    check: Callable[[_T], Awaitable[None] | None]
    needed: bool = False

    async def broken_by(self, subject: _T) -> str:
        """Why the rule does not hold; empty where it does."""
        try:
            done = self.check(subject)
            if isawaitable(done):
                await done
        except FabulaError as error:
            return str(error)
        except BaseExceptionGroup as group:
            if isinstance(first := first_error(group), FabulaError):
                return str(first)
            raise
        return ""


def expect(holds: object, otherwise: str) -> None:
    """Raises `otherwise` where something does not hold.

    Raises:
        BrokenRuleError: it does not.
    """
    if not holds:
        raise BrokenRuleError(otherwise)


# the folder -----------------------------------------------------------------------------------------------------------


def folder_is_whole(method: Method) -> None:
    """Its files are there."""
    missing = [name for name in _FILES if not (method.folder / name).is_file()]
    expect(not missing, f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing in {method.folder}.")
    prompts = [path.name for folder in method.prompt_folders(IMPROVED) for path in folder.glob("[!_]*.jinja")]
    expect(bool(prompts) == bool(method.roles), _prompts_or_roles(method, prompts))


def _prompts_or_roles(method: Method, prompts: Sequence[str]) -> str:
    if prompts:
        return f"There are prompts ({', '.join(prompts)}) and no [roles] in {PAPER} to be asked with them."
    return f"{PAPER} has [roles], and {method.prompts} no prompt (a .jinja file) that they are asked with."


def paper_is_told(method: Method) -> None:
    """`paper.toml` has its fields."""
    problems = list(problems_of(method.paper, _kind_of(method)))
    expect(not problems, f"{PAPER}: {' '.join(problems)}")


def _kind_of(method: Method) -> Kind:
    return "evaluator" if isinstance(method, Evaluator) else "system"


def settings_are_told(method: Method) -> None:
    """`Config` is frozen, has both presets, and says what each setting is for."""
    configs = [method.config("faithful"), method.config("improved")]
    for config in configs:
        frozen = is_dataclass(config) and getattr(type(config), "__dataclass_params__").frozen  # noqa: B009 - typeshed does not know it
        expect(frozen, "Config is no frozen dataclass. Write @dataclass(frozen=True, slots=True) above it.")
    untold = [setting.name for setting in settings_of(configs[0]) if not setting.about]
    expect(not untold, f"Config does not say what {', '.join(untold)} {'is' if len(untold) == 1 else 'are'} for.")


def script_is_there(method: Method) -> None:
    """`script.toml` has cases that can be read."""
    if isinstance(method, Evaluator):
        measurements_of(method)
    elif isinstance(method, System):
        cases_of(method)


def entry_is_there(method: Method) -> None:
    """`algorithm.py` has the function that is called, and `improved.py` where there is one."""
    entry, form = ("evaluate", "items") if _kind_of(method) == "evaluator" else ("write", "brief")
    for program in dict.fromkeys((method.algorithm, method.program(method.config(IMPROVED)))):
        there = iscoroutinefunction(getattr(program, entry, None))
        expect(there, f"{program.__name__.rpartition('.')[2]}.py has no `async def {entry}({form}, run, config)`.")


# systems --------------------------------------------------------------------------------------------------------------


async def writes_a_story(case: Case) -> None:
    """A story comes of it, by roles that `paper.toml` names."""
    model = case.model()
    with Journal() as journal:
        story = await run_case(case, model, journal)
    expect(story.words > _FEWEST, f"{case.id}: the story has {story.words} words; {_FEWEST + 1} are the fewest.")
    empty = [scene.label for scene in story.scenes if not scene.text]
    expect(not empty, f"{case.id}: there is no text in {', '.join(empty)}.")
    _check_roles(case.system, model, case.id)


def _check_roles(method: Method, model: ScriptedModel, where: str) -> None:
    """Only roles that `paper.toml` names are asked; with an open role others may be, since they are people.

    Raises:
        BrokenRuleError: another one is.
    """
    known = {role_key(role) for role in method.roles}
    asked = [] if method.open_role else sorted({one.role for one in model.asked if role_key(one.role) not in known})
    expect(not asked, f"{where}: {', '.join(asked)} is asked, and no role in {PAPER}.")


async def replays_frozen(case: Case) -> None:
    """A recorded run is replayed without a question: call by call, and where what was made is given again."""
    model = case.model()
    with Journal() as journal:
        story = await run_case(case, model, journal)
        calls = len(model.asked)
        again = await run_case(case, model, journal, mode="frozen")
        expect(again == story, f"{case.id}: the replay gives another story than the run.")
        expect(calls == len(journal.calls), f"{case.id}: {calls} calls were made, and {len(journal.calls)} recorded.")
        given = await run_case(case, model, journal)
        expect(given == story, f"{case.id}: with every text given as it was made, the story is another one.")
        expect(len(model.asked) == calls, f"{case.id}: the replay asked {len(model.asked) - calls} times.")


async def names_what_is_missing(case: Case) -> None:
    """A replay under another seed says which call is not recorded."""
    with Journal() as journal:
        await run_case(case, case.model(), journal)
        said = ""
        try:
            await run_case(case, case.model(), journal, mode="frozen", seed=2)
        except JournalMissError as error:
            said = str(error)
        whole = re.match(r"The journal holds no reply for .* ordinal 0", said)
        expect(whole, f"{case.id}: a frozen replay under another seed did not say which call is missing, but {said!r}.")


async def draws_by_the_seed(case: Case) -> None:
    """The same seed asks the same; another seed does not."""
    bodies = []
    for seed in (1, 1, 2):
        model = case.model()
        with Journal() as journal:
            await run_case(case, model, journal, seed=seed)
        bodies.append([request.body() for request in model.asked])
    expect(bodies[0] == bodies[1], f"{case.id}: two runs with one seed asked different questions.")
    expect(bodies[0] != bodies[2], f"{case.id}: another seed asked the very same.")


async def goes_on_after_a_kill(case: Case, *, everywhere: bool = False) -> None:
    """Killed at some calls (`everywhere`: at each) and resumed, it writes the same story, and repeats no call."""
    await _goes_on(case, run_case, "story", everywhere=everywhere)


def _places(case: _CaseT, total: int) -> list[int]:
    """Calls at which to kill: the first, the last, and some between, which are the same every time."""
    between: list[int] = Random(case.id).sample(range(1, total - 1), min(_KILLS, max(total - 2, 0)))  # noqa: S311 - no secrets
    return sorted({0, *between, total - 1})


async def _goes_on(
    case: _CaseT,
    run: Callable[[_CaseT, ScriptedModel, Journal], Awaitable[object]],
    made: str,
    *,
    everywhere: bool = False,
) -> None:
    """Killed and resumed, `run` makes the same of a case, and no call is repeated."""
    model = case.model()
    with Journal() as journal:
        whole = await run(case, model, journal)
    total = len(model.asked)
    for dies_at in range(total) if everywhere else _places(case, total):
        dying, resumed = FailingModel(case.script, dies_at), case.model()
        with Journal() as journal:
            await _killed(run(case, dying, journal), f"{case.id}: call {dies_at + 1}")
            again = await run(case, resumed, journal)
        calls = len(dying.asked) + len(resumed.asked)
        expect(again == whole, f"{case.id}: killed at call {dies_at + 1} of {total}, it continues to another {made}.")
        expect(
            calls == total, f"{case.id}: killed at call {dies_at + 1}, it made {calls} calls in all instead of {total}."
        )


async def _killed(work: Awaitable[object], what: str) -> None:
    """Do what must be killed.

    Raises:
        BrokenRuleError: it continued.
    """
    try:
        await work
    except (FabulaError, BaseExceptionGroup):
        return
    raise BrokenRuleError(f"{what} failed, and it continued as if nothing had happened. Let errors of models pass.")


async def hands_on_what_it_made(case: Case) -> None:
    """Each artefact in turn is pinned as it was made: no model is called then, and the story is the same.

    What later work needs and no artefact holds would be lost where an author's text stands and nothing is made.
    """
    model = case.model()
    with Journal() as journal:
        story = await run_case(case, model, journal)
        for path in [path for path in journal.artefacts.paths() if journal.decisions.override(path) is None]:
            asked = len(model.asked)
            journal.decisions.add(path, "pin", journal.artefacts.newest(path))
            again = await run_case(case, model, journal, anew=True)
            more = [request.path for request in model.asked[asked:]]
            expect(
                not more, f"{case.id}: with {path} pinned as it was made, {more[:1]} is asked differently from before."
            )
            expect(again == story, f"{case.id}: with {path} pinned as it was made, the story is another one.")
            journal.decisions.add(path, "undo", target=journal.decisions.find(path)[-1].id)


async def reads_what_it_declares(case: Case) -> None:
    """An artefact that names what it reads is made of nothing else."""
    wrong = await wrong_reads(case)
    expect(not wrong, wrong)


async def plans_a_new_story(case: Case) -> None:
    """A dry run of a new story plans calls, and calls no model."""
    model = case.model()
    with Journal() as journal:
        dry = (await dry_run_case(case, model, journal)).dry_run
        expect(not model.asked and len(journal.calls) == 0, f"{case.id}: the dry run asked or recorded something.")
    expect(dry.planned, f"{case.id}: the dry run found no call to make.")
    expect(dry.cost == 0.0, f"{case.id}: the dry run has a cost, with a model that has none.")
    sized = all(call.prompt > 0 and call.reply > 0 for call in dry.planned)
    expect(sized, f"{case.id}: the dry run has a call with no prompt or no reply.")


async def plans_nothing_more(case: Case) -> None:
    """A dry run of a finished story plans nothing."""
    model = case.model()
    with Journal() as journal:
        await run_case(case, model, journal)
        dry = (await dry_run_case(case, model, journal)).dry_run
        kept = set(journal.artefacts.paths())
    again = sorted(call.path for call in dry.planned)
    expect(not again, f"{case.id}: with everything recorded, a dry run still plans {', '.join(again)}.")
    expect(dry.replayed == len(model.asked), f"{case.id}: {dry.replayed} of {len(model.asked)} calls are replayed.")
    left = sorted(kept - dry.reached)  # else `fabula status` would say that a text is not used any more
    expect(not left, f"{case.id}: the dry run does not come to {', '.join(left)}, which the run kept.")
    expect(dry.stale == [], f"{case.id}: the dry run calls {', '.join(dry.stale)} stale, and nothing has changed.")


async def bears_odd_replies(system: System) -> None:
    """Free texts that are odd in any way make a story, or an error that says what the model did; no other one."""
    firsts = {case.preset: case for case in reversed(cases_of(system))}
    for _, case in sorted(firsts.items()):
        for oddity in ODDITIES:
            await _bears(case, oddity)


async def _bears(case: Case, oddity: Oddity, prompts: SystemPrompts | None = None, trace: Trace | None = None) -> None:
    where = f"{case.id}, with texts that are {oddity}"
    with Journal() as journal:
        try:
            story = await run_case(case, Odd(case.script, oddity), journal, prompts=prompts, trace=trace)
        except (ReplyError, RefusalError):
            return
        except FabulaError as error:
            raise BrokenRuleError(f"{where}: {type(error).__name__}: {error}") from error
    if case.preset == "faithful" and oddity == "empty":  # it takes what was said as it is
        return
    empty = [scene.label for scene in story.scenes if not scene.text.strip()]
    expect(not empty and story.scenes, f"{where}: there is no text in {', '.join(empty) or 'the story'}.")


class ListeningPrompts(SystemPrompts):
    """Prompts of a preset that note in `heard` the file that was rendered, and with which fields."""

    def __init__(self, method: Method, preset: Preset, heard: list[tuple[Path, frozenset[str]]]) -> None:
        super().__init__(method.prompt_folders(preset), common=PROMPTS)
        self._heard = heard

    def render(self, name: str, fields: Mapping[str, Any], chat: Sequence[Message] = ()) -> tuple[Message, ...]:
        """The prompt, noted."""
        places = (folder / f"{name}.jinja" for folder in (*self.own, PROMPTS))
        self._heard.append((next((file for file in places if file.is_file()), Path(name)), frozenset(fields)))
        return super().render(name, fields, chat)


def _own_prompts(method: Method) -> set[Path]:
    """The files that a method can ask with."""
    return {file for folder in method.prompt_folders(IMPROVED) for file in folder.glob("[!_]*.jinja")}


def _listed(files: Iterable[Path], folder: Path) -> str:
    """Prompt files as their method's folder calls them."""
    return ", ".join(sorted(str(file.relative_to(folder) if folder in file.parents else file) for file in files))


async def reads_its_settings(method: Method) -> None:
    """Each setting is read in some case, as it is or with what an author and a model may do in it."""
    trace = Trace()
    configs = (method.config("faithful"), method.config(IMPROVED))
    names = dict.fromkeys(setting.full_name for config in configs for setting in settings_of(config))
    if isinstance(method, Evaluator):
        for measurement in measurements_of(method):
            with Journal() as journal:
                await measure_case(measurement, measurement.model(), journal, trace=trace)
    elif isinstance(method, System):
        cases = cases_of(method)
        for case in cases:
            with Journal() as journal:
                await run_case(case, case.model(), journal, trace=trace)
        for case in cases:
            if not set(names) <= trace.settings:
                await _bears(case, "too long", trace=trace)
                await _goes_on_with_its_texts(case, trace)
    unread = [name for name in names if name not in trace.settings]
    expect(not unread, f"Nothing reads {', '.join(unread)} in any case of {SCRIPT}.")


async def _goes_on_with_its_texts(case: Case, trace: Trace) -> None:
    """The case with each of its artefacts in turn continued, as far as it can be."""
    model = Willing(case.script)
    with Journal() as journal:
        await run_case(case, model, journal)
        for path in [path for path in journal.artefacts.paths() if journal.decisions.override(path) is None]:
            journal.decisions.add(path, "continue", journal.artefacts.newest(path), _FEWEST)
            with suppress(FabulaError):
                await run_case(case, model, journal, trace=trace)
            journal.decisions.add(path, "undo", target=journal.decisions.find(path)[-1].id)


async def uses_its_prompts(system: System, but: Collection[str] = ()) -> None:
    """Some case uses each prompt (`but` for some), and each field that prompts are given is read by one of them."""
    heard: list[tuple[Path, frozenset[str]]] = []
    cases, own = cases_of(system), {file for file in _own_prompts(system) if file.stem not in but}
    for case in cases:
        with Journal() as journal:
            await run_case(case, case.model(), journal, prompts=ListeningPrompts(system, case.preset, heard))
    for case in cases:  # some are for texts of another length than was asked for
        if case.preset == IMPROVED and not own <= {file for file, _ in heard}:
            await _bears(case, "too long", ListeningPrompts(system, case.preset, heard))
    used = {file for file, _ in heard}
    unused, strange = own - used, {file for file in used if not file.is_file()}
    expect(not unused, f"No case of {SCRIPT} comes to {_listed(unused, system.prompts)} in {system.prompts}.")
    expect(
        not strange,
        f"{_listed(strange, system.prompts)} is asked with, and no prompt of the system's own or a shared one.",
    )
    given: dict[str, set[Path]] = {}
    for file, fields in heard:
        for name in fields:
            given.setdefault(name, set()).add(file)
    places = (*system.prompt_folders(IMPROVED), PROMPTS)
    parts = "".join(path.read_text(encoding="utf-8") for place in places for path in place.glob("_*.jinja"))
    for name, files in given.items():
        sources = parts + "".join(file.read_text(encoding="utf-8") for file in files)
        expect(re.search(rf"\b{name}\b", sources), f"No prompt that is given `{name}` reads it.")


# evaluators -----------------------------------------------------------------------------------------------------------


class Silent(ScriptedModel):
    """A model whose replies hold no verdict."""

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Something else."""
        return await ScriptedModel(lambda _: "I would rather talk about the weather.").ask(request, on_text)


async def reports_numbers(case: Measurement) -> None:
    """A report comes of it, whose numbers have their n and their method."""
    model = case.model()
    with Journal() as journal:
        report = await measure_case(case, model, journal)
    name = case.evaluator.name
    expect(report.evaluator == name, f"{case.id}: the report calls its evaluator {report.evaluator!r}, not {name!r}.")
    expect(report.rows, f"{case.id}: the report has no numbers.")
    for row in report.rows:
        data = row.scored.as_data()
        told = data["n"] >= 0 and (data.get("unscored") or data["method"])
        expect(told, f"{case.id}: {row.what} of {row.of} has no n or no method.")
    try:
        json.dumps(report.as_data(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BrokenRuleError(f"{case.id}: the report is not JSON data: {error}.") from error
    again = parse_ratings(write_ratings(report.ratings))
    expect(again == report.ratings, f"{case.id}: its ratings are not the same once they were written and read.")
    _check_roles(case.evaluator, model, case.id)


async def replays_its_report(case: Measurement) -> None:
    """A recorded report is made again without a question."""
    model = case.model()
    with Journal() as journal:
        report = await measure_case(case, model, journal)
        calls = len(model.asked)
        again = await measure_case(case, model, journal, mode="frozen")
        expect(again == report, f"{case.id}: the replay gives another report.")
        expect(calls == len(journal.calls), f"{case.id}: {calls} calls were made, and {len(journal.calls)} recorded.")
        expect(len(model.asked) == calls, f"{case.id}: the replay asked {len(model.asked) - calls} times.")


async def goes_on_measuring_after_a_kill(case: Measurement, *, everywhere: bool = False) -> None:
    """As `goes_on_after_a_kill`, of a report."""
    await _goes_on(case, measure_case, "report", everywhere=everywhere)


async def counts_what_is_no_verdict(case: Measurement) -> None:
    """A reply without a verdict is counted, and never a number."""
    with Journal() as journal:
        report = await measure_case(case, Silent({}), journal)
    expect(
        report.ratings, f"{case.id}: a judge who says nothing of use leaves no rating; it has to leave unscored ones."
    )
    scored = [one.question for one in report.ratings if not one.unscored or one.answer is not None]
    expect(not scored, f"{case.id}: {', '.join(scored[:3])} is scored, where the judge said nothing of use.")
    counted = report.as_data()["unscored"] == len(report.ratings)
    expect(counted, f"{case.id}: the report does not count all {len(report.ratings)} ratings as unscored.")


async def plans_its_questions(case: Measurement) -> None:
    """A dry run calls no model."""
    model = case.model()
    with Journal() as journal:
        await dry_run_measure(case, model, journal)
        expect(not model.asked and len(journal.calls) == 0, f"{case.id}: the dry run asked or recorded something.")


async def uses_all_prompts(evaluator: Evaluator) -> None:
    """Some case uses each prompt."""
    heard: list[tuple[Path, frozenset[str]]] = []
    for case in measurements_of(evaluator):
        with Journal() as journal:
            await measure_case(case, case.model(), journal, prompts=ListeningPrompts(evaluator, case.preset, heard))
    own, used = _own_prompts(evaluator), {file for file, _ in heard}
    unused, strange = _listed(own - used, evaluator.prompts), _listed(used - own, evaluator.prompts)
    expect(not unused, f"No case of {SCRIPT} comes to {unused} in {evaluator.prompts}.")
    expect(not strange, f"{strange} is asked with, and no prompt of the evaluator's own.")


_SEED_ADVICE: Final = (
    "Take chance from run.rng alone; order what comes from a set or a folder before you go through it."
)
_KEEP_ADVICE: Final = (
    "Ask through `run` alone, hold nothing between calls that is not in its replies, and give each call a path of its "
    "own (run.scope)."
)
_HAND_ON_ADVICE: Final = (
    "An author's text stands in for what its `make` gives, which is not called then. Keep what else `make` finds and "
    "later prompts show with run.keep(shape=...), or work it out from the text that run.keep gives."
)
_READS_ADVICE: Final = (
    "Name the artefact in `reads` too, or leave `reads` away: then everything that was kept before counts as read."
)
_DRY_ADVICE: Final = "Take no turn by what time it is or what lies on the disk; do independent work side_by_side."

FOLDER_RULES: Final[tuple[Rule[Any], ...]] = (
    Rule("the folder is whole", "`fabula new-system` shows what belongs there.", folder_is_whole),
    Rule("paper.toml says what it is", "docs/reference/paper-toml.md has all fields.", paper_is_told),
    Rule(
        "script.toml has cases to try it on",
        "`fabula new-system` makes a folder that shows how.",
        script_is_there,
        needed=True,
    ),
    Rule(
        "every setting says what it is for", "List it under `Attributes:` in its class's docstring.", settings_are_told
    ),
    Rule("there is the function that is called", "Write it; its algorithm begins there.", entry_is_there, needed=True),
)
SYSTEM_RULES: Final[tuple[Rule[Case], ...]] = (
    Rule(
        "writes a story from its script", "Look at [replies], and at what the algorithm makes of them.", writes_a_story
    ),
    Rule("replays what is recorded without asking", _KEEP_ADVICE, replays_frozen),
    Rule("a replay names the call that it lacks", "Let a JournalMissError pass.", names_what_is_missing),
    Rule("the same seed asks the same, another does not", _SEED_ADVICE, draws_by_the_seed),
    Rule("killed at a call, it continues to the same story", _KEEP_ADVICE, goes_on_after_a_kill),
    Rule("an artefact pinned as it was made changes nothing", _HAND_ON_ADVICE, hands_on_what_it_made),
    Rule("what names its reads is made of nothing else", _READS_ADVICE, reads_what_it_declares),
    Rule("a dry run of a new story plans its calls", _DRY_ADVICE, plans_a_new_story),
    Rule("a dry run of a finished story plans nothing", _DRY_ADVICE, plans_nothing_more),
)
EVALUATOR_RULES: Final[tuple[Rule[Measurement], ...]] = (
    Rule(
        "reports numbers with their n and method",
        "Make rows of Estimate(..., method=...) or Unscored.",
        reports_numbers,
    ),
)
ASKING_RULES: Final[tuple[Rule[Measurement], ...]] = (
    Rule("replays what is recorded without asking", _KEEP_ADVICE, replays_its_report),
    Rule("killed at a call, it continues to the same report", _KEEP_ADVICE, goes_on_measuring_after_a_kill),
    Rule(
        "a reply without a verdict is counted, never a number",
        "Make a Rating with `unscored` of it, and no answer.",
        counts_what_is_no_verdict,
    ),
    Rule("a dry run calls no model", _DRY_ADVICE, plans_its_questions),
)
SETTINGS: Final = Rule(
    "every setting is read",
    "Remove it, or add a case to the script in which it counts. It is read as a field (config.paper.turns), not with "
    "all others as a table.",
    reads_its_settings,
)
ODD_REPLIES: Final = Rule(
    "odd replies end in a story or in a word", "Give a shared prompt fields of its own names alone.", bears_odd_replies
)
SYSTEM_PROMPTS: Final = Rule("every prompt is used, every field read", "Add a case, or remove it.", uses_its_prompts)
EVALUATOR_PROMPTS: Final = Rule("every prompt is used", "Add a case to the script, or remove it.", uses_all_prompts)
