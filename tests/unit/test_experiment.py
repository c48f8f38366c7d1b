"""Experiments: the file and its complaints, the grid of runs, budgets, and numbers that say what they rest on."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

import tinygguf
from commandline import script_of
from fabula.app.experiment.cell import CellOutcome, read_cell
from fabula.app.experiment.dry import forecast
from fabula.app.experiment.grid import PERSONAS_FILE, read_experiment
from fabula.app.experiment.published import beside_papers
from fabula.app.experiment.reporting import as_page
from fabula.app.experiment.sharing import RunBudget, SharedModels, WholeBudget, WholeBudgetError
from fabula.app.experiment.spec import EXAMPLES, Spec
from fabula.app.experiment.tables import COLUMNS, as_csv, as_data, complete
from fabula.app.experiment.working import How, run_experiment
from fabula.base.errors import BudgetError, PausedError, ProjectError, UsageError
from fabula.base.files import held
from fabula.base.tomltext import parse
from fabula.engine.events import CallFinished
from fabula.measure.report import Report, Row
from fabula.models.adapters import Adapted
from fabula.models.base import Price, Usage
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.project.trust import Trust, acts_in
from fabula.stats.estimate import Estimate, Unscored
from small_experiment import BASE, STORY, SYSTEMS, small_experiment
from small_sets import small_sets

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.app.experiment.grid import Experiment
    from fabula.app.experiment.results import Results
    from fabula.engine.events import Event
    from fabula.models.base import OnText, Reply, Request


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with two briefs and a script."""
    return small_experiment(tmp_path)


def read(home: Path, text: str) -> Experiment:
    (home / "exp.toml").write_text(text, encoding="utf-8")
    return read_experiment(home / "exp.toml", {})


async def do(home: Path, text: str = BASE, **how: Any) -> Results:  # noqa: ANN401 - fields of `How`
    return await run_experiment(read(home, text), How(now=lambda: "now", **how))


# the file -------------------------------------------------------------------------------------------------------------


def test_every_run_has_its_folder(home: Path) -> None:
    found = read(
        home,
        'name = "Two"\nbriefs = ["briefs/l*.md"]\nseeds = [3, 5]\npreset = "faithful"\n'
        'systems = ["end-to-end", { system = "agents-room", label = "room", preset = "improved" }]\n'
        'models = ["scripted:script.toml", { model = "smollm2", label = "tiny" }]\n',
    )
    assert found.title == "Two"
    assert found.folder == home / "exp"
    assert [trial.id for trial in found.trials] == [
        "lamp/end-to-end-faithful-scripted-script-3",
        "lamp/room-improved-scripted-script-3",
        "lamp/end-to-end-faithful-scripted-script-5",
        "lamp/room-improved-scripted-script-5",
        "lamp/end-to-end-faithful-tiny-3",
        "lamp/room-improved-tiny-3",
        "lamp/end-to-end-faithful-tiny-5",
        "lamp/room-improved-tiny-5",
    ]
    assert found.trials[0].settings.model == f"scripted:{home / 'script.toml'}"
    assert found.project(found.trials[0]) == home / "exp" / "runs" / found.trials[0].id
    assert [measure.label for measure in found.measures] == ["surface"]


def test_a_baseline_on_every_model_is_added_unless_it_is_there_or_not_wanted(home: Path) -> None:
    room = BASE.replace("end-to-end", "agents-room").replace("]\n", "]\n")
    models = room.replace("models = [", 'models = ["smollm2", ')
    added = [c.label for c in read(home, models).contenders if c.baseline]
    assert added == ["end-to-end-improved-smollm2", "end-to-end-improved-small"]
    assert [c.label for c in read(home, room + "baseline = false\n").contenders] == ["agents-room-improved-small"]
    assert not any(c.baseline for c in read(home, BASE).contenders)


def test_settings_reach_runs_and_judges_and_files_in_them_are_found(home: Path) -> None:
    text = BASE + (
        'evaluators = [{ evaluator = "pairwise", model = "scripted:script.toml", config = { samples = 2 } }, "rouge"]\n'
        '[settings.prices."openai:x"]\ninput = 1.0\noutput = 2.0\n'
        '[settings.sampling]\ntemperature = 0.5\n[settings.roles.writer]\nmodel = "scripted:script.toml"\n'
    )
    found = read(home, text)
    (writer,) = {contender.settings.roles["writer"].model for contender in found.contenders}
    assert writer == f"scripted:{home / 'script.toml'}"
    assert found.trials[0].settings.sampling.temperature == 0.5
    judge = {measure.label: measure for measure in found.measures}["pairwise"]
    assert (judge.config.paper.samples, judge.settings.sampling.temperature) == (2, None)
    assert judge.settings.prices["openai:x"].output == 2.0
    assert [measure.label for measure in found.measures] == ["surface", "pairwise", "rouge"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("briefs = [\n", "exp.toml is not valid TOML: "),
        (SYSTEMS, 'exp.toml: `briefs` is missing. Write it like this: briefs = ["brief.md", "briefs/*.md"]'),
        ('briefs = "breifs"\n' + SYSTEMS, "breifs. Did you mean '"),
        ("briefs = 3\n" + SYSTEMS, "exp.toml: `briefs` must be a list, not 3."),
        ("briefs = []\n" + SYSTEMS, 'exp.toml: `briefs` must not be empty. Write it like this: briefs = ["brief.md"'),
        ('briefs = ["briefs"]\nsystems = "end-to-end"\n', "not 'end-to-end'. Write it like this: systems = ["),
        ('briefs = ["briefs"]\nsystms = []\n', "'systms'. Did you mean 'systems'?"),
        (
            'briefs = ["briefs"]\nsystems = [{ system = "end-to-end", pre = 1 }]\n',
            "exp.toml: There is no field 'pre' in `systems[1]`. Did you mean 'preset'?",
        ),
        (BASE + "[budget]\ntoken = 3\n", "exp.toml: There is no field 'token' in `budget`. Did you mean 'tokens'?"),
        (BASE + "[budget]\ntokens = -3\n", "exp.toml: `budget.tokens` must be 0 or more, not -3."),
        (BASE + 'preset = "best"\n', "exp.toml: `preset` must be 'faithful' or 'improved', not 'best'."),
        (BASE + "replicates = 2\nseeds = [1]\n", "exp.toml: replicates: `seeds` is also given"),
        (BASE + "seeds = [1, 1]\n", "exp.toml: seeds: a seed occurs twice."),
        (BASE + "workers = 0\n", "exp.toml: `workers` must be 1 or more, not 0. Write it like this: workers = 4"),
        ('briefs = ["no.md"]\n' + SYSTEMS, "exp.toml: briefs[1]: There is no brief "),
        ('briefs = ["briefs", "*.toml"]\n' + SYSTEMS, "exp.toml: briefs[2]: there is no brief in "),
        ('briefs = ["briefs"]\nsystems = ["end-to-and"]\n', "exp.toml: systems[1]: Unknown system 'end-to-and'. Did"),
        ('briefs = ["briefs"]\nmodels = ["smolm2"]\n' + SYSTEMS, "exp.toml: models[1]: Unknown model 'smolm2'. Did"),
        (
            'briefs = ["briefs"]\nsystems = [{ system = "end-to-end", config = { word = 3 } }]\n',
            "exp.toml: systems[1]: Unknown end-to-end setting 'word'. Did you mean 'words'?",
        ),
        ('briefs = ["briefs"]\nsystems = ["end-to-end", "end_to_end"]\n', "two of them are named 'end-to-end"),
        (
            'briefs = "briefs"\nmodels = ["smollm2", "embedded:smollm2"]\n' + SYSTEMS,
            "models: two of them are named 'smollm2'.",
        ),
        (BASE + 'evaluators = ["surfac"]\n', "exp.toml: evaluators[1]: Unknown evaluator 'surfac'. Did you mean"),
        (BASE + 'evaluators = ["pairwise"]\n', 'pairwise calls a model, but no model is specified. Add model = "'),
        (BASE + 'evaluators = ["rouge", "rouge"]\n', "exp.toml: evaluators: two of them are named 'rouge'. Remove"),
        (BASE + "[settings]\nsed = 1\n", "exp.toml: settings: There is no field 'sed'. Did you mean 'seed'?"),
        (BASE + "[settings]\nseed = 1\n", "exp.toml: settings.seed: an experiment has its own field for this."),
        (BASE + '[settings.roles.plotter]\nmodel = "smollm2"\n', "exp.toml: systems[1]: Unknown role 'plotter'."),
        (BASE + '[settings]\nprompts = "nowhere"\n', "exp.toml: systems[1]: settings.prompts: "),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_file_is_named_with_its_field(home: Path, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(home, text)
    assert expected in str(caught.value)
    assert "exp.toml" in str(caught.value)


def test_the_examples_in_messages_are_an_experiment() -> None:
    assert set(EXAMPLES) <= set(Spec.model_fields)
    Spec.model_validate(parse("\n".join(EXAMPLES.values())))


def test_another_file_is_no_experiment(home: Path) -> None:
    (home / "brief.md").write_text("# The Lamp\n\nMara keeps it.\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"brief\.md is not valid TOML: .*\. Give an experiment \(a TOML file\)\."):
        read_experiment(home / "brief.md", {})
    with pytest.raises(UsageError, match=r"is a folder\. Give an experiment \(a TOML file\)\."):
        read_experiment(home, {})


def test_briefs_of_one_name_are_a_clash(home: Path) -> None:
    (home / "more").mkdir()
    (home / "more" / "Lamp.md").write_text("Another lamp.", encoding="utf-8")
    with pytest.raises(UsageError, match=r"would both be named 'lamp'. Rename one of them"):
        read(home, BASE.replace('"briefs"]', '"briefs", "more"]'))


def test_a_file_that_is_not_there_is_named(home: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*none\.toml\. .* or give an experiment \(a TOML file\)\."):
        read_experiment(home / "none.toml", {})


# doing it -------------------------------------------------------------------------------------------------------------


async def test_an_experiment_writes_measures_and_says_what_it_rests_on(home: Path) -> None:
    heard: list[tuple[str, Event]] = []
    ended: list[tuple[str, str]] = []
    results = await do(
        home, BASE + "replicates = 2\n", hear=lambda *found: heard.append(found),
        ended=lambda trial, outcome: ended.append((trial.id, outcome.state)),
    )  # fmt: skip
    assert complete(results)
    assert len(results.of_state("done")) == 4
    assert ended == [(trial.id, "done") for trial in results.experiment.trials]
    project = ProjectFolder.open(results.runs[0].folder)
    assert project.settings == results.runs[0].trial.settings
    assert project.brief == results.runs[0].trial.brief
    (contender,) = results.experiment.contenders
    rows = {row.what: row.scored for row in results.rows(contender)}
    words = rows["words"]
    assert isinstance(words, Estimate)
    assert (words.n, words.value) == (2, results.runs[0].words)
    assert "2 groups" in words.method
    assert rows["US dollars"].as_data()["value"] == 0
    assert {where for where, _ in heard} == {*(trial.id for trial in results.experiment.trials), "surface"}
    surface = results.reports["surface"]
    assert {row.of for row in results.measured(surface)} == {contender.label}


async def test_a_second_session_asks_nobody_and_finds_the_same(home: Path) -> None:
    first = await do(home)
    heard: list[Event] = []
    again = await do(home, hear=lambda _, event: heard.append(event))
    assert not [event for event in heard if isinstance(event, CallFinished)]
    assert as_data(again) == as_data(first)


async def test_a_changed_brief_or_setting_is_noticed_before_anything_is_asked(home: Path) -> None:
    await do(home)
    what = r"\(sampling.top_k was not set, now 3\)"
    with pytest.raises(
        UsageError, match=rf"was started with other settings {what} than .*exp.toml has now. 1 more differs. Choose"
    ):
        await do(home, BASE + "[settings.sampling]\ntop_k = 3\n")
    (home / "briefs" / "lamp.md").write_text("Another one.", encoding="utf-8")
    with pytest.raises(UsageError, match="was started with another brief than"):
        await do(home)


REACHED = """\
[settings.models."scripted:script.toml"]
{}
[settings.prices."scripted:script.toml"]
input = {price}
output = {price}
[settings.budget]
tokens = {tokens}
"""


async def test_another_address_limit_or_price_is_no_other_experiment(home: Path) -> None:
    first = REACHED.format('base_url = "http://127.0.0.1:1"\nparallel = 2', price=1.0, tokens=90000)
    Trust().give(home / "exp.toml", acts_in({"models": {"x": {"base_url": "http://127.0.0.1:1"}}}, home))
    Trust().give(home / "exp.toml", acts_in({"models": {"x": {"base_url": "http://127.0.0.1:2"}}}, home))
    await do(home, BASE + first)
    more = REACHED.format('base_url = "http://127.0.0.1:2"\ntries = 9\ntimeout = 3', price=2.0, tokens=80000)
    heard: list[Event] = []
    again = await do(home, BASE + "replicates = 2\n" + more, hear=lambda _, event: heard.append(event))
    assert complete(again)
    assert len([event for event in heard if isinstance(event, CallFinished) and not event.replayed]) == 2
    with pytest.raises(
        UsageError, match=r"was started with other settings \(context.scripted:.* was not set, now 2000\)"
    ):
        await do(home, BASE + more.replace("tries", "context = 2000\ntries"))


async def test_a_run_that_goes_on_at_another_address_says_it_in_its_project(home: Path) -> None:
    text = BASE.replace('["briefs"]', '["briefs/lamp.md"]')
    table = '[settings.models."scripted:script.toml"]\ntries = {}\n'
    (trial,) = (run.trial for run in (await do(home, text + table.format(2))).runs)
    folder = home / "exp" / "runs" / trial.id
    (name,) = trial.settings.models
    assert ProjectFolder.open(folder).settings.models[name].tries == 2
    (folder / "run.json").unlink()
    await do(home, text + table.format(7))
    assert ProjectFolder.open(folder).settings.models[name].tries == 7


async def test_a_failed_run_is_a_record_and_is_tried_again_only_when_asked(home: Path) -> None:
    text = BASE.replace('["end-to-end"]', '["agents-room"]')  # the script has no reply for its roles
    results = await do(home, text)
    states = {run.trial.id: run.outcome.state for run in results.runs}
    assert states == {
        "clock/agents-room-improved-small-1": "failed", "clock/end-to-end-improved-small-1": "done",
        "lamp/agents-room-improved-small-1": "failed", "lamp/end-to-end-improved-small-1": "done",
    }  # fmt: skip
    failed = results.of_state("failed")[0]
    assert failed.outcome.kind == "ModelError"
    assert failed.outcome.error.startswith("The script has no reply for the role 'conflict'")
    record = json.loads((failed.folder / "run.json").read_text(encoding="utf-8"))
    assert record["error"] == failed.outcome.error
    assert complete(results)
    assert "2 runs failed." in as_page(results)
    heard: list[str] = []
    await do(home, text, hear=lambda where, _: heard.append(where))
    assert set(heard) == {"surface"}
    await do(home, text, retry=True, hear=lambda where, _: heard.append(where))
    assert {run.trial.id for run in results.of_state("failed")} < set(heard)


async def test_a_program_that_breaks_fails_its_run_and_no_other(home: Path) -> None:
    (home / "own.py").write_text("def speak(request):\n    return 1 / 0\n", encoding="utf-8")
    entry = '{ system = "end-to-end", label = "own", settings = { roles = { writer = { play = "own.py:speak" } } } }'
    Trust().give(home / "exp.toml", acts_in({"play": "own.py:speak"}, home))
    results = await do(home, BASE.replace('["end-to-end"]', f'[{entry}, "end-to-end"]'))
    assert [run.outcome.state for run in results.runs] == ["failed", "done", "failed", "done"]
    assert "which plays the role 'writer', failed: ZeroDivisionError: division by zero (own.py, line 2)." in (
        results.runs[0].outcome.error
    )


async def test_a_tuned_contender_is_compared_with_its_base(home: Path) -> None:
    base = tinygguf.write_model(home / "base.gguf", tinygguf.weights())
    tinygguf.write_room(home / "room", base, {"writer": 5})
    tuned = '{ system = "end-to-end", label = "tuned", settings = { adapters = { room = "room" } } }'
    text = f'briefs = ["briefs/lamp.md"]\nsystems = ["end-to-end", {tuned}]\nmodels = ["embedded:base.gguf"]\n'
    bare, better = (trial.settings for trial in read(home, text).trials)
    assert better.adapters == {"room": str(home / "room")}
    shared = SharedModels({})
    shared.expect([bare, better, better])
    one, two, three = (shared.cast(given).assignment("writer").performer for given in (bare, better, better))
    assert isinstance(two, Adapted)
    assert isinstance(three, Adapted)
    assert two.model is three.model is not one, "one engine for each set of adapters"
    assert two.identity == three.identity != one.identity
    await shared.close()


async def test_runs_side_by_side_share_one_model_that_is_closed_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Counting] = []

    def opening(*_: object) -> Counting:
        opened.append(Counting(lambda _: STORY))
        return opened[-1]

    monkeypatch.setattr("fabula.project.casting.open_model", opening)
    results = await do(home, BASE + "replicates = 3\nworkers = 4\n")
    assert len(results.of_state("done")) == 6
    used = [model for model in opened if model.asked]
    assert len(used) == 1
    assert used[0].closed == 1
    assert used[0].most > 1


class Counting(ScriptedModel):
    """Counts calls that run at once, and closings."""

    running = most = closed = 0

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await super().ask(request, on_text)
        finally:
            self.running -= 1

    async def close(self) -> None:
        self.closed += 1


async def test_a_model_is_closed_after_its_last_run() -> None:
    company = SharedModels({})
    with pytest.raises(UsageError, match="There is no file or folder x"):
        company.expect([Settings(model="scripted:x", system="end-to-end")])
    await company.close()


async def test_another_process_at_work_is_said_so(home: Path) -> None:
    message = r"The experiment in .*exp is in use by process"
    with held(home / "exp" / ".fabula", "The experiment"), pytest.raises(ProjectError, match=message):
        await do(home)
    assert complete(await do(home))


async def test_a_folder_that_cannot_be_made_is_named(home: Path) -> None:
    (home / "exp").write_text("a file", encoding="utf-8")
    with pytest.raises(ProjectError, match=r"Cannot make the folder .*exp.*Choose another one"):
        await do(home)


async def test_a_person_who_leaves_makes_a_run_wait_and_the_others_go_on(home: Path) -> None:
    entry = '{ system = "end-to-end", label = "mine", settings = { roles = { writer = { play = "me" } } } }'
    text = BASE.replace('["end-to-end"]', f'[{entry}, "end-to-end"]').replace('["briefs"]', '["briefs/lamp.md"]')
    said: list[str] = []

    async def answer(request: Request) -> str:
        if not said:
            raise PausedError("The role waits for your text.", path=request.path)
        return said[0]

    results = await do(home, text, person=answer)
    assert [run.outcome.state for run in results.runs] == ["unfinished", "done"]
    assert not results.reports
    said.append("I wrote this about the lamp myself.")
    whole = await do(home, text, person=answer)
    assert complete(whole)
    assert whole.runs[0].calls[0].performer == "person:me"


# budgets --------------------------------------------------------------------------------------------------------------


async def test_the_whole_budget_stops_everything_and_a_higher_one_goes_on(home: Path) -> None:
    text = BASE + "replicates = 2\n[settings.sampling]\nmax_tokens = 100\n"
    stopped = await do(home, text, budget_tokens=160)
    assert stopped.stopped.startswith("Stopped before the budget of 160 tokens is exceeded")
    assert "--budget-tokens" in stopped.stopped
    done, left = len(stopped.of_state("done")), len(stopped.of_state("unfinished"))
    assert done >= 1
    assert left == 4 - done
    assert not stopped.reports
    assert not complete(stopped)
    assert "Not complete." in as_page(stopped)
    # What was spent before counts: the same cap has no room for more.
    heard: list[Event] = []
    again = await do(home, text, budget_tokens=160, hear=lambda _, event: heard.append(event))
    assert len(again.of_state("done")) >= done
    whole = await do(home, text, hear=lambda _, event: heard.append(event))
    assert complete(whole)
    assert not [event for event in heard if isinstance(event, CallFinished) and event.replayed]


async def test_a_budget_that_does_not_reach_for_a_judge_stops_there(home: Path) -> None:
    twins = BASE.replace('["end-to-end"]', '["end-to-end", { system = "end-to-end", label = "twin" }]')
    done = await do(home, twins)
    spent = sum(run.tokens for run in done.runs)
    text = twins + 'evaluators = [{ evaluator = "pairwise", model = "scripted:script.toml" }]\n'
    results = await do(home, text, budget_tokens=spent + 100)
    assert results.stopped.startswith(f"The budget of the experiment ({spent + 100:,}) is not enough for pairwise.")
    assert not complete(results)
    assert "surface" in results.reports


async def test_the_budget_of_one_run_fails_that_run(home: Path) -> None:
    results = await do(home, BASE + "[budget]\nrun_tokens = 10\n")
    assert [run.outcome.kind for run in results.runs] == ["BudgetError"] * 2
    assert "Raise `run_tokens` or `run_usd` under [budget] and use --retry." in results.runs[0].outcome.error
    more = await do(home, BASE + "[budget]\nrun_tokens = 100000\n", retry=True)
    assert complete(more)


def test_a_purse_pays_both_bills_and_gives_both_back() -> None:
    whole = WholeBudget(tokens=100)
    one, other = RunBudget(80, whole=whole), RunBudget(80, whole=whole)
    held = one.reserve("a", "m", 10, 40, None)
    with pytest.raises(WholeBudgetError, match="Stopped before the budget of 100 tokens"):
        other.reserve("a", "m", 10, 45, None)
    assert (whole.held_tokens, other.held_tokens) == (50, 0)
    one.settle(held, Usage(prompt=10, reply=20))
    assert (one.spent_tokens, whole.spent_tokens, whole.held_tokens) == (30, 30, 0)
    released = other.reserve("a", "m", 10, 45, None)
    other.release(released)
    other.release(released)
    assert (whole.held_tokens, whole.spent_tokens) == (0, 30)
    with pytest.raises(BudgetError, match="This is the budget for one run"):
        other.reserve("a", "m", 10, 71, None)


@pytest.mark.parametrize("purse", [RunBudget(usd=1.0), RunBudget(whole=WholeBudget(usd=1.0))])
def test_a_budget_in_dollars_needs_prices(purse: RunBudget) -> None:
    with pytest.raises(UsageError, match=r"\[settings.prices.\"openai-chat:x\"\] input = 1.0"):
        purse.reserve("a", "openai-chat:x", 10, 10, None)
    assert purse.held_tokens == 0
    purse.reserve("a", "openai-chat:x", 10, 10, Price(1.0, 1.0))


# estimate -------------------------------------------------------------------------------------------------------------


async def test_more_systems_than_an_evaluator_takes_are_refused_before_anything_is_walked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = ", ".join(f'{{ system = "end-to-end", label = "s{n}" }}' for n in range(13))
    text = (
        BASE.replace(SYSTEMS, f"systems = [{many}]\nseeds = [1, 2]\n")
        + '[[evaluators]]\nevaluator = "rubric"\nmodel = "scripted:script.toml"\n'
    )
    monkeypatch.setattr("fabula.app.experiment.dry.dry_run", None)  # walking a story would fail
    for refused in (forecast(read(home, text), How()), do(home, text)):
        with pytest.raises(UsageError, match="stories by 13 systems,"):
            await refused
    assert not (home / "exp" / "runs").exists()


async def test_a_forecast_asks_nobody_writes_nothing_and_knows_what_is_done(home: Path) -> None:
    text = BASE + (
        'replicates = 2\nevaluators = [{ evaluator = "pairwise", model = "scripted:script.toml", '
        'config = { questions = "overall", samples = 1, verdicts = "written" } }]\n'
    )
    rooms = text.replace('["end-to-end"]', '["end-to-end", { system = "end-to-end", label = "twin" }]')
    found = await forecast(read(home, rooms), How())
    assert not (home / "exp").exists()
    assert [(line.of, line.runs, line.calls) for line in found.contenders] == [
        ("end-to-end-improved-small", 4, 4), ("twin-improved-small", 4, 4),
    ]  # fmt: skip
    pairwise = found.measures[1]
    assert (pairwise.of, pairwise.runs) == ("pairwise", 8)
    assert pairwise.calls == 2 * 2 * 2  # briefs, seeds, orders
    await do(home)
    after = await forecast(read(home, BASE), How())
    assert after.done == 2
    assert [line.calls for line in after.contenders] == [0]


# records and tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"state": "done"}', '{"state":"odd","kind":"","error":"","ended":""}']
)
def test_a_record_that_cannot_be_read_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    assert read_cell(tmp_path).outcome == CellOutcome("unfinished")


def test_a_run_without_its_story_is_not_done(tmp_path: Path) -> None:
    record = '{"state": "done", "kind": "", "error": "", "ended": ""}'
    (tmp_path / "run.json").write_text(record, encoding="utf-8")
    assert read_cell(tmp_path).outcome == CellOutcome("unfinished")
    (tmp_path / "fabula.toml").touch()  # opened as a project
    (tmp_path / "story.md").write_text("x", encoding="utf-8")
    assert read_cell(tmp_path).outcome == CellOutcome("done")


async def test_numbers_of_stories_become_means_of_contenders_and_what_is_missing_is_counted(home: Path) -> None:
    results = await do(home, BASE + "replicates = 2\n")
    first, second, third, fourth = (run.trial.id for run in results.runs)
    rows = (
        Row(first, "score", Estimate(1, 1, method="a score")), Row(second, "score", Estimate(3, 1, method="a score")),
        Row(third, "score", Unscored("no verdict")), Row(fourth, "score", Estimate(2, 1, method="a score")),
        Row(first, "odd", Unscored("never")), Row("all", "constant", Estimate(1, 1), baseline=True),
    )  # fmt: skip
    score, odd = results.measured(Report("e", rows=rows))
    assert isinstance(score.scored, Estimate)
    assert (score.scored.value, score.scored.n) == (2, 2)
    assert "1 not scored" in score.scored.method
    assert score.scored.method.endswith("each: a score")
    assert odd.scored == Unscored("never", 1)


async def test_the_csv_has_every_number_with_its_interval(home: Path) -> None:
    results = await do(home)
    lines = list(csv.DictReader(io.StringIO(as_csv(results))))
    assert tuple(lines[0]) == COLUMNS
    words = next(line for line in lines if line["what"] == "words" and not line["evaluator"])
    assert (words["system"], words["preset"], words["n"], words["value"]) == ("end-to-end", "improved", "2", "16.0")
    assert all(line["method"] or line["unscored"] for line in lines)
    assert {line["evaluator"] for line in lines} == {"", "surface"}


async def test_a_run_that_was_changed_by_hand_is_said_so(home: Path) -> None:
    results = await do(home)
    project = ProjectFolder.open(results.runs[0].folder)
    with project.lock(), project.journal as journal:
        project.edit(journal, "story", "Mine.")
    again = await do(home)
    assert again.runs[0].changed == ("story",)
    assert "was changed by a person (story)" in as_page(again)


async def test_an_evaluator_that_fails_is_recorded_and_goes_on_the_next_time(home: Path) -> None:
    text = BASE.replace('["end-to-end"]', '["end-to-end", { system = "end-to-end", label = "twin" }]') + (
        'evaluators = [{ evaluator = "pairwise", model = "scripted:judge.toml" }]\n'
    )
    (home / "judge.toml").write_text('[replies]\nnobody = "x"\n', encoding="utf-8")
    results = await do(home, text)
    assert "The script has no reply for the role 'judge'" in results.failures["pairwise"]
    assert not complete(results)
    assert "surface" in results.reports
    (home / "judge.toml").write_text('[replies]\njudge = "Both are alike.\\n\\nOverall: Same"\n', encoding="utf-8")
    mended = await do(home, text)
    assert complete(mended)
    assert "Every verdict (" in as_page(mended)


# briefs of data sets -------------------------------------------------------------------------------------------------


def of_briefs(text: str) -> str:
    return BASE.replace('briefs = ["briefs"]', f"briefs = {text}")


def test_briefs_are_the_prompts_of_a_set(home: Path) -> None:
    small_sets(home / "data")
    notice = "3 from tell-me-a-story: CC BY 4.0 (github.com/google-deepmind/tell_me_a_story)"
    (home / "exp.toml").write_text(of_briefs('"tell-me-a-story:test"'), encoding="utf-8")
    found = read_experiment(home / "exp.toml", {"FABULA_DATA": str(home / "data")})
    assert {trial.brief_id: trial.brief.text for trial in found.trials} == {
        f"tell-me-a-story-test-{n}": f"Write of {n}." for n in range(3)
    }
    assert found.data == (notice,)
    beside = read(home, of_briefs('["data/writing-prompts:test", "briefs/lamp.md"]'))
    assert [trial.brief.text for trial in beside.trials] == ["A lamp .", "A clock .", "Write of a lamp."]
    assert "none stated for the texts" in beside.data[0]
    drawn = [
        {trial.brief_id for trial in read(home, of_briefs(f'[{{ prompts = "{where}", limit = 2, seed = 1 }}]')).trials}
        for where in ("data/tell-me-a-story:test", "briefs")
    ]
    assert [len(ids) for ids in drawn] == [2, 2]


async def test_the_licence_of_a_set_stands_in_the_report(home: Path) -> None:
    small_sets(home / "data")
    results = await do(home, of_briefs('[{ prompts = "data/tell-me-a-story:test", limit = 1 }]'))
    assert as_data(results)["data"] == [
        "1 from tell-me-a-story: CC BY 4.0 (github.com/google-deepmind/tell_me_a_story)"
    ]
    assert "Briefs: 1 from tell-me-a-story: CC BY 4.0" in as_page(results)


# plan and personas of a brief ----------------------------------------------------------------------------------------

PEOPLE = """\
goal: The lamp burns until the last boat is home.
personas:
  - name: Mara
    description: Keeper of the lighthouse, who counts under her breath.
"""
SHARED = of_briefs('[{ prompts = "briefs/lamp.md", personas = "people.yaml" }, "briefs/clock.md"]')


async def test_all_systems_write_with_the_personas_of_a_brief(home: Path) -> None:
    (home / "people.yaml").write_text(PEOPLE, encoding="utf-8")
    twin = SHARED.replace('["end-to-end"]', '["end-to-end", { system = "end-to-end", label = "twin" }]')
    results = await do(home, twin)
    for run in results.runs:
        project = ProjectFolder.open(results.experiment.project(run.trial))
        with project.journal as journal:
            (call,) = journal.calls.find(prompts=True)
            told = "counts under her breath" in "\n".join(text for _, text in call.messages)
        assert told == (run.trial.brief_id == "lamp"), run.trial.id
    (home / "apart").mkdir()
    table = '[{ prompts = "../briefs/lamp.md", personas = "../people.yaml" }]'
    with_people, alone = [
        await forecast(read(home / "apart", of_briefs(briefs).replace("script.toml", "../script.toml")), How())
        for briefs in (table, '["../briefs/lamp.md"]')
    ]
    assert with_people.contenders[0].prompt > alone.contenders[0].prompt, "an estimate counts with what is given"


async def test_other_personas_under_a_run_are_noticed_and_an_edit_in_the_run_is_its_own(home: Path) -> None:
    (home / "people.yaml").write_text(PEOPLE, encoding="utf-8")
    results = await do(home, SHARED)
    lamp = next(run.trial for run in results.runs if run.trial.brief_id == "lamp")
    own = ProjectFolder.open(results.experiment.project(lamp)).folder / "plan/personas.yaml"
    own.write_text(PEOPLE.replace("Keeper", "Warden"), encoding="utf-8")
    await do(home, SHARED)
    without = SHARED.replace(', personas = "people.yaml"', "")
    (home / "people.yaml").write_text(PEOPLE + "setting: A bare cape.\n", encoding="utf-8")
    for changed in (SHARED, without):
        with pytest.raises(UsageError, match=r"was started with another plan/personas.yaml than .*exp.toml has now"):
            await do(home, changed)


@pytest.mark.parametrize(
    ("table", "system", "message"),
    [
        ('personas = "no.yaml"', "end-to-end", r"briefs\[1\]: .*no.yaml"),
        ('plan = "people.yaml"', "end-to-end", r"briefs\[1\]: .*people.yaml"),
        ('personas = "people.yaml"', "vanilla", r"briefs\[1\]: personas: `vanilla` does not use personas"),
    ],
)
def test_shared_texts_that_cannot_be_used_are_refused(home: Path, table: str, system: str, message: str) -> None:
    (home / "people.yaml").write_text(PEOPLE, encoding="utf-8")
    text = of_briefs(f'[{{ prompts = "briefs/lamp.md", {table} }}]').replace('"end-to-end"', f'"{system}"')
    with pytest.raises(UsageError, match=message):
        read(home, text + "baseline = false\n")


def test_plans_and_personas_are_files_by_the_ids_of_briefs(home: Path) -> None:
    for name in ("lamp", "clock"):
        (home / f"{name}.people.yaml").write_text(PEOPLE.replace("Mara", name.title()), encoding="utf-8")
    found = read(home, of_briefs('[{ prompts = "briefs", personas = "{id}.people.yaml" }]'))
    assert {
        trial.brief_id: name
        for trial in found.trials
        for name in ("Lamp", "Clock")
        if name in trial.given[PERSONAS_FILE]
    } == {"lamp": "Lamp", "clock": "Clock"}
    with pytest.raises(UsageError, match=r"briefs\[1\]: .*clock.plan.yaml"):
        read(home, of_briefs('[{ prompts = "briefs", plan = "{id}.plan.yaml" }]'))


MARA = {"name": "Mara", "gender": "female", "age": 70, "role": "protagonist", "setup": "Keeps the lamp.",
        "speech": "Few words.", "goal": "To keep it burning.", "group": False}  # fmt: skip
SCENE = {"name": "The letter", "outline": ["Mara reads the letter."], "element": "exposition", "importance": 4,
         "place": "The lamp room", "characters": [{"name": "Mara", "goal": "to be alone"}]}  # fmt: skip
PLANNED = {
    "planner:extract_characters": json.dumps({"characters": [MARA]}),
    "planner:extract_scenes": json.dumps({"scenes": [SCENE]}),
    "planner:extract_conflict": "Mara wants to keep the lamp.",
    "planner:extract_setting": "A cape.",
}
PLAN_FROM = of_briefs(
    '[{ prompts = "data/tell-me-a-story:test", limit = 2, people = "references", plan_from = "scripted:teacher.toml" }]'
)


async def test_plans_are_read_off_peoples_stories_once_and_every_system_writes_from_them(home: Path) -> None:
    small_sets(home / "data")
    (home / "teacher.toml").write_text(script_of({"planner": "no"}), encoding="utf-8")
    text = PLAN_FROM + 'preset = "faithful"\n'
    expected = await forecast(read(home, text), How())
    assert [(line.of, line.runs, line.calls) for line in expected.measures if line.of == "plans"] == [("plans", 2, 8)]
    failed = await do(home, text)
    assert failed.stopped.startswith("The plan for tell-me-a-story-test-0 could not be made: ")
    assert {run.outcome.state for run in failed.runs} == {"unfinished"}
    (home / "teacher.toml").write_text(script_of(PLANNED), encoding="utf-8")
    results = await do(home, text)
    assert complete(results)
    for run in results.runs:
        project = ProjectFolder.open(results.experiment.project(run.trial))
        with project.journal as journal:
            (call,) = journal.calls.find(prompts=True)
        assert "Mara reads the letter." in "\n".join(text for _, text in call.messages)
    (home / "teacher.toml").write_text(script_of({"planner": "no"}), encoding="utf-8")
    assert complete(await do(home, text, retry=True)), "nothing is read off a story again"
    assert not read(home, text).plans_missing()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAN_FROM.replace('people = "references", ', ""), "`plan_from` requires `people`"),
        (
            PLAN_FROM.replace("plan_from", 'plan = "x.yaml", plan_from'),
            "plan and plan_from: a brief can have only one plan",
        ),
        (PLAN_FROM.replace('"end-to-end"', '"vanilla"') + "baseline = false\n", "`vanilla` does not write from a plan"),
        (PLAN_FROM.replace("scripted:teacher.toml", "scriptd:x"), r"briefs\[1\]: "),
    ],
)
def test_a_plan_that_cannot_be_read_off_a_story_is_refused(home: Path, text: str, message: str) -> None:
    small_sets(home / "data")
    with pytest.raises(UsageError, match=message):
        read(home, text)


# stories that are there ----------------------------------------------------------------------------------------------

ROUGE = 'evaluators = ["rouge"]\n'


async def test_peoples_stories_of_a_set_are_a_contender_and_the_references_of_the_others(home: Path) -> None:
    small_sets(home / "data")
    table = '[{ prompts = "data/tell-me-a-story:test", people = true }]'
    found = read(home, of_briefs(table) + ROUGE)
    assert [(item.id, item.system, item.story.text) for item in found.given] == [
        (f"tell-me-a-story-test-{n}/people", "people", f"Story {n}.") for n in range(3)
    ]
    assert found.labels == ("end-to-end-improved-small", "people")
    results = await do(home, of_briefs(table) + ROUGE)
    words = {row.of: row.scored for row in results.measured(results.reports["surface"]) if row.what == "mean/words"}
    assert isinstance(words["people"], Estimate)
    assert (words["people"].value, words["people"].n) == (2, 3)
    rouge = results.reports["rouge"]
    assert isinstance(rouge.row("end-to-end-improved-small", "mean/rougeL").scored, Estimate)
    assert isinstance(rouge.row("people", "mean/rougeL").scored, Unscored)  # nobody is compared with themselves
    lines = [line for line in csv.DictReader(io.StringIO(as_csv(results))) if line["what"] == "mean/words"]
    assert [line["of"] for line in lines].count("people") == 1
    alone = read(home, of_briefs(table.replace("true", '"references"')) + ROUGE)
    assert alone.given == ()
    assert len(alone.references) == 3


async def test_stories_of_others_are_contenders_and_evaluators_work_without_a_system(home: Path) -> None:
    for system, text in (("Novelist", "The lamp burned all night."), ("Poet", "A lamp. A clock. A lamp.")):
        (home / "others" / system).mkdir(parents=True)
        (home / "others" / system / "lamp.md").write_text(text, encoding="utf-8")
    text = 'briefs = "briefs"\nstories = ["others"]\n'
    results = await do(home, text)
    assert not results.runs
    assert complete(results)
    assert {row.of for row in results.measured(results.reports["surface"])} == {"novelist", "poet"}
    assert "novelist" in as_page(results)
    (cost,) = (await forecast(read(home, text), How())).measures
    assert cost.runs == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'briefs = "briefs"\n',
            r"exp.toml: no system is named, and there are no existing `stories` to measure\. Write it like this",
        ),
        ('briefs = "briefs"\nstories = ["script.toml"]\n', "exp.toml: stories: "),
        ('briefs = "briefs"\nstories = ["boat.md"]\n', "exp.toml: stories: none of them is for one of the briefs"),
        (of_briefs('[{ prompts = "briefs", people = true }]'), "people: briefs is not a data set. Name the one"),
        (of_briefs('[{ prompts = "briefs", stories = "x" }]'), "`stories` requires `people`"),
        (of_briefs('[{ prompts = "briefs", people = true, stories = "{id}.md" }]'), r"(lamp|clock)\.md"),
        (of_briefs('[{ prompts = "briefs", narratives = true }]'), "narratives and characters apply only to data sets"),
    ],
)
def test_stories_that_cannot_be_had_are_named(home: Path, text: str, message: str) -> None:
    (home / "boat.md").write_text("A boat.", encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read(home, text)


def test_prompts_that_were_chosen_from_a_set_have_its_stories(home: Path) -> None:
    small_sets(home / "data")
    put = {"id": "tell-me-a-story-test-1", "prompt": "Write of 1."}  # as `fabula data choose` writes it
    (home / "few.jsonl").write_text(json.dumps(put) + "\n", encoding="utf-8")
    table = '[{ prompts = "few.jsonl", people = true, stories = "data/tell-me-a-story:test" }]'
    (item,) = read(home, of_briefs(table)).given
    assert (item.prompt, item.story.text) == ("tell-me-a-story-test-1", "Story 1.")


def test_the_texts_of_a_set_are_narratives_of_the_length_that_is_asked(home: Path) -> None:
    small_sets(home / "data")
    table = '[{ prompts = "data/wikiplots", narratives = true, characters = [1, 10] }]'
    (trial,) = read(home, of_briefs(table)).trials
    assert (trial.brief_id, trial.brief.title, trial.brief.text) == ("wikiplots-2", "Clock", "It ticks.")


def test_a_list_of_judges_is_a_panel(home: Path) -> None:
    judges = '[[evaluators]]\nevaluator = "pairwise"\nmodel = ["scripted:script.toml", "smollm2"]\n'
    found = {measure.label: measure.settings.model for measure in read(home, BASE + judges).measures}
    assert found == {
        "surface": "embedded:smollm2",
        "pairwise-scripted-script": f"scripted:{home / 'script.toml'}",
        "pairwise-smollm2": "embedded:smollm2",
    }
    with pytest.raises(UsageError, match=r"pairwise calls a model, but no model is specified"):
        read(home, BASE + '[[evaluators]]\nevaluator = "pairwise"\nmodel = ""\n')
    with pytest.raises(UsageError, match=r"evaluators\[1\]: a panel needs at least one judge"):
        read(home, BASE + '[[evaluators]]\nevaluator = "pairwise"\nmodel = []\n')


# beside a paper ------------------------------------------------------------------------------------------------------

PRINTED = """
[[published]]
table = "A paper, Table 2"
evaluator = "surface"
measures = ["words", "paragraphs"]
values = { end-to-end = [1207, nan] }
"""


async def test_printed_numbers_stand_beside_ours_with_the_difference_and_its_interval(home: Path) -> None:
    results = await do(home, BASE + PRINTED)
    (line,) = beside_papers(results)
    words = len(STORY.split())
    assert isinstance(line.here, Estimate)
    assert (line.of, line.what, line.printed, line.here.value) == ("end-to-end-improved-small", "words", 1207, words)
    assert as_data(results)["published"][0]["difference"]["value"] == words - 1207
    other = line._replace(here=Estimate(1300, 55, 1250, 1360, "mean over stories")).difference
    assert other == Estimate(93, 55, 43, 153, "mean over stories; minus the printed number")
    assert "Compared with published values" in as_page(results)
    lost = await do(home, BASE + PRINTED.replace('"surface"', '""').replace('"words"', '"pages"'))
    assert beside_papers(lost)[0].here == Unscored("it was not measured")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (PRINTED.replace("end-to-end", "end-to-ed"), r"published\[1\]: Unknown system 'end-to-ed'. Did you mean"),
        (PRINTED.replace('"surface"', '"surfac"'), r"published\[1\]: Unknown evaluator 'surfac'. Did you mean"),
        (PRINTED.replace(", nan", ""), r"published\[1\]: values.end-to-end: there are 1 numbers for 2 measures"),
        (PRINTED.replace("table", "tabel"), r"There is no field 'tabel' in `published\[1\]`. Did you mean 'table'"),
    ],
)
def test_printed_numbers_that_fit_nothing_are_refused(home: Path, wrong: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(home, BASE + wrong)


def test_briefs_are_lines_of_a_file(home: Path) -> None:
    lines = [{"id": "b 1", "prompt": "Write of a boat."}, {"inputs": "Write of a sea.", "targets": "A story."}]
    (home / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert {trial.brief_id: trial.brief.text for trial in read(home, of_briefs('["own.jsonl"]')).trials} == {
        "b-1": "Write of a boat.",
        "own-2": "Write of a sea.",
    }


@pytest.mark.parametrize(
    ("briefs", "message"),
    [
        ('["data/wikiplots"]', r"briefs\[1\]: wikiplots contains texts without prompts. Use a set with prompts"),
        ('["tell-me-a-stroy:test"]', r"Unknown data set 'tell-me-a-stroy'. Did you mean 'tell-me-a-story'"),
        ('[{ prompts = "briefs", limit = 0 }]', r"`briefs\[1\].limit` must be 1 or more, not 0"),
        (
            '[{ prompts = "briefs", limt = 2 }]',
            r"There is no field 'limt' in `briefs\[1\]`. Did you mean 'limit'",
        ),
        ('["bad.jsonl"]', r"bad.jsonl, line 1: none of the fields brief, prompt"),
        ('["twice.jsonl"]', r"Two prompts are called 'a'. Rename one of the files, or change an id."),
    ],
)
def test_what_is_wrong_with_briefs_is_said(home: Path, briefs: str, message: str) -> None:
    small_sets(home / "data")
    (home / "bad.jsonl").write_text('{"prompt": 3}\n', encoding="utf-8")
    (home / "twice.jsonl").write_text('{"id": "a", "prompt": "X"}\n{"id": "A", "prompt": "Y"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read(home, of_briefs(briefs))
