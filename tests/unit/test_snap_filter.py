"""SNAP's planning filter: the table of scores, coherence by BERTScore, and weights learned from one's own plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.bertscore.embedders import Letters
from fabula.craft.bertscore.scoring import encoded, matched
from fabula.craft.conversation.lines import SubPlan
from fabula.engine.context import RunContext
from fabula.engine.events import Kept, Noted
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run
from fabula.models.scripted import ScriptedModel
from fabula.stats.estimate import Estimate
from fabula.systems import find
from fabula.systems.snap.algorithm import best_plan, by_words, coherences, open_talk
from fabula.systems.snap.config import PUBLISHED
from fabula.systems.snap.learning import SCALE, learn, rank_one
from fabula.systems.snap.scores import (
    CRITERIA,
    ScoreRow,
    headlines,
    min_max,
    read_scores,
    rounded,
    row_of,
    write_scores,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fabula.engine.context import Mode
    from fabula.engine.events import Event
    from fabula.models.base import Request

SYSTEM = find("snap")
SEGMENT = "Tobias brought Mara a letter. Mara read it twice. The lamp was to go dark."
PLANS = (
    (SubPlan("Tobias brings Mara a letter", "He has run."), SubPlan("Mara reads it, twice")),
    (SubPlan("A dragon burns towns"),),
    (SubPlan("Mara lights the lamp", "It was dark."),),
)
HEAD = ",".join(CRITERIA)
AT = "cell-1/plan"


@dataclass
class Room:
    """A place where plans are scored: plan 1 is rated 4, the others 2."""

    journal: Journal
    asked: list[Request] = field(default_factory=list)
    heard: list[Event] = field(default_factory=list)

    def run(self, mode: Mode = "live") -> Run:
        prompts, cast = SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(ScriptedModel(self._rate))
        context = RunContext(self.journal, prompts, cast, mode=mode, listeners=[self.heard.append])
        return Run(context).scope(*AT.split("/"))

    def _rate(self, request: Request) -> str:
        self.asked.append(request)
        return "4" if "a letter\n" in request.messages[-1].content else "2"

    async def best(self, plans: Sequence[tuple[SubPlan, ...]] = PLANS, mode: Mode = "live", **config: Any) -> int:  # noqa: ANN401 - fields of Config
        settings = SYSTEM.config("faithful", {"samples": 1} | config)
        return plans.index(await best_plan(self.run(mode), plans, SEGMENT, "Mara: stubborn.", settings.paper)) + 1

    @property
    def table(self) -> str:
        return self.journal.artefacts.newest(f"{AT}/scores") or ""

    @property
    def notes(self) -> list[str]:
        return [event.text for event in self.heard if isinstance(event, Noted)]


@pytest.fixture
def room() -> Iterator[Room]:
    with Journal() as journal:
        yield Room(journal)


# the table ----------------------------------------------------------------------------------------------------------


async def test_scores_are_kept_as_a_table_that_nobody_approves(room: Room) -> None:
    assert await room.best() == 1
    near = [by_words(plan, SEGMENT) for plan in PLANS]
    first, *lines = room.table.split("\n")
    assert first == "cell,plan,coherence,connectivity,personality,sum,chosen,steps"
    steps = '"#1. Tobias brings Mara a letter #2. Mara reads it, twice"'
    assert lines[0] == f"cell-1,1,{round(near[0], 6)},4,4,4.0151,yes,{steps}"
    assert lines[1] == "cell-1,2,0,2,2,0.0000,,#1. A dragon burns towns"
    (kept,) = [event for event in room.heard if isinstance(event, Kept)]
    assert (kept.folder, kept.suffix, kept.waits) == ("plan", "csv", False)
    assert room.journal.artefacts.paths() == [f"{AT}/scores"]


async def test_headlines_of_any_form_are_found_again(room: Room) -> None:
    odd = ((SubPlan('=A1+"x", y\u2028z'), SubPlan("")), (SubPlan("lamp " * 40_000),))
    for _ in range(2):
        assert await room.best(odd) in (1, 2)
    assert len(room.table) < 1000
    assert [row.steps[:4] for row in read_scores(room.table, "x")] == ["#1. ", "#1. "]


async def test_one_plan_is_not_scored_and_has_no_table(room: Room) -> None:
    assert await room.best(PLANS[:1]) == 1
    assert await room.best(plan_filter=False) == 1
    assert not room.table
    assert not room.asked


async def test_who_edits_a_score_changes_the_choice_and_nobody_is_asked(room: Room) -> None:
    await room.best()
    calls = len(room.asked)
    edited = room.table.replace("cell-1,2,0,2,2,0.0000", "cell-1,2,0.9,5,5,0.0000")
    room.journal.decisions.add(f"{AT}/scores", "edit", edited)
    assert await room.best() == 2
    assert room.notes[-1].startswith("Plan 2 of 3 was chosen (coherence 0.9000, connectivity 5.0000")
    assert len(room.asked) == calls


async def test_who_takes_a_line_out_leaves_its_plan_aside(room: Room) -> None:
    await room.best()
    head, _, *rest = room.table.split("\n")
    room.journal.decisions.add(f"{AT}/scores", "edit", "\n".join([head, *reversed(rest)]))
    assert await room.best() == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#1. A dragon", "#1. A wyvern"),
        ("cell-1,2,", "cell-1,4,"),
        ("cell-1,2,", "cell-1,1,"),
        ("cell-1,2,", "cell-1,,"),
    ],
)
async def test_a_table_of_other_plans_is_refused(room: Room, old: str, new: str) -> None:
    await room.best()
    room.journal.decisions.add(f"{AT}/scores", "edit", room.table.replace(old, new))
    message = r"plan/cell-1-plan-scores\.csv is not a table of the 3 plans.* `fabula text retake cell-1/plan/scores`"
    with pytest.raises(UsageError, match=message):
        await room.best()
    with pytest.raises(UsageError, match=message):
        await room.best(mode="dry")


async def test_a_dry_run_that_makes_plans_up_takes_an_edited_table_for_what_it_is(room: Room) -> None:
    await room.best()
    room.journal.decisions.add(f"{AT}/scores", "edit", room.table)
    made_up = ((SubPlan("x"),), (SubPlan("y"),))
    run = room.run("dry")
    await run.ask("planner", "connectivity", plan="another")
    assert await best_plan(run, made_up, SEGMENT, "", SYSTEM.config("faithful").paper) == made_up[0]


async def test_another_take_of_the_scores_is_another_draw_of_the_same_plans(room: Room) -> None:
    await room.best()
    before = list(room.asked)
    room.journal.decisions.add(f"{AT}/scores", "retake")
    await room.best()
    again = room.asked[len(before) :]
    assert sorted(r.path for r in again) == sorted(r.path for r in before)
    assert not {r.sampling.seed for r in again} & {r.sampling.seed for r in before}


def test_a_table_is_read_as_it_was_written() -> None:
    scores = rounded([(0.1234567, 3.05, 5.0), (0.0, 1.0, 1e-9), (1 / 3, 4.95, 2.0)])
    rows = read_scores(write_scores("cell-7", PLANS, scores, [1.0, 3.0, 3.0]), "x")
    assert [row.scores for row in rows] == [tuple(own) for own in scores.tolist()]
    assert [(row.cell, row.plan, row.chosen) for row in rows] == [
        ("cell-7", 1, False),
        ("cell-7", 2, True),
        ("cell-7", 3, False),
    ]
    assert [row.steps for row in rows] == [headlines(plan) for plan in PLANS]


def test_tables_of_ones_own_need_the_three_scores_alone() -> None:
    (row,) = read_scores(
        f"Personality, {HEAD.removesuffix(',personality')} ,story,cell\r\n\r\n5,0.5,4,ferry,2\r\n", "x"
    )
    assert (row.scores, row.cell, row.where) == ((0.5, 4.0, 5.0), "ferry/2", "x, line 3")
    row = row_of("y, line 2", {"coherence": 0.5, "connectivity": 4, "personality": "5", "cell": 2, "chosen": True})
    assert (row.scores, row.cell, row.where, row.chosen) == ((0.5, 4.0, 5.0), "2", "y, line 2", True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n", r"x is empty\. Give a table with a line coherence,connectivity,personality"),
        ("coherence,personality\n1,2", r"x has no column connectivity\. Give all of"),
        (f"{HEAD},cells\n1,2,3,4", r"Unknown column in x: 'cells'\. Did you mean 'cell'\?"),
        (f"{HEAD},coherence\n1,2,3,4", r"x has the column 'coherence' twice\. Remove one"),
        (f"{HEAD}\n1,2", r"x, line 2 has 2 cells under 3 columns\. Correct the line; quote its commas"),
        (f"{HEAD}\n1,2,-3", r"x, line 2: personality is '-3'\. Give a number of 0 or more"),
        (f"{HEAD}\n1,nan,3", r"x, line 2: connectivity is 'nan'\. Give a number of 0 or more"),
        (f"{HEAD}\n\n,2,3", r"x, line 3: coherence is ''\. Give a number of 0 or more"),
        (f"{HEAD},plan\n1,2,3,one", r"x, line 2: plan is 'one'\. Give the plan's number"),
        (f'{HEAD},steps\n1,2,3,"a"b', r"x, line 2: .* Correct the line; it is not valid CSV"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_by_line(text: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        read_scores(text, "x")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ([1], r"x, line 2: this is not a JSON object\. Give one with coherence, connectivity, personality"),
        ({"coherence": 1}, r"x, line 2 has no column connectivity, personality"),
        ({"coherence": True, "connectivity": 1, "personality": 1}, r"x, line 2: coherence is True"),
        ({"coherence": 1, "connectivity": None, "personality": 1}, r"x, line 2: connectivity is None"),
    ],
)
def test_a_json_line_that_cannot_be_read_is_named(line: object, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        row_of("x, line 2", line)


# coherence ----------------------------------------------------------------------------------------------------------


async def test_bertscore_is_the_f1_of_the_plan_against_its_segment(room: Room) -> None:
    config = SYSTEM.config("faithful", {"coherence": "bertscore", "coherence_embedder": "letters"})
    found = await coherences(PLANS, SEGMENT, room.run(), config.paper)
    letters = Letters()
    sides = [
        encoded(letters.tokens(text), letters, 50)
        for text in (SEGMENT, *(" ".join(step.text for step in plan) for plan in PLANS))
    ]
    assert found == pytest.approx([matched(sides[0], side).f for side in sides[1:]])
    assert found[0] > found[1]
    assert await coherences([(SubPlan(""),)], SEGMENT, room.run(), config.paper) == [0.0]
    assert await coherences(PLANS, SEGMENT, room.run(), SYSTEM.config("faithful").paper) == [
        by_words(plan, SEGMENT) for plan in PLANS
    ]


async def test_the_choice_is_by_bertscore(room: Room) -> None:
    await room.best(coherence="bertscore", coherence_embedder="letters")
    config = SYSTEM.config("improved", {"coherence": "bertscore", "coherence_embedder": "letters"})
    (near,) = await coherences(PLANS[1:2], SEGMENT, room.run(), config.paper)
    assert near == pytest.approx(read_scores(room.table, "x")[1].scores[0], abs=1e-6)
    assert near > by_words(PLANS[1], SEGMENT)


async def test_the_model_is_opened_once_off_the_loop_and_not_in_dry_runs(room: Room, tmp_path: Path) -> None:
    program = tmp_path / "own.py"
    program.write_text(
        "import threading\nfrom pathlib import Path\nfrom fabula.craft.bertscore.embedders import Letters\n"
        "def opened(model):\n"
        "    with Path(model).open('a') as file:\n"
        "        file.write(f'{threading.current_thread() is threading.main_thread()}\\n')\n"
        "    return Letters()\n",
        encoding="utf-8",
    )
    log = tmp_path / "opened"
    own: dict[str, Any] = {
        "coherence": "bertscore",
        "coherence_embedder": f"{program}:opened",
        "coherence_model": str(log),
    }
    config = SYSTEM.config("faithful", own)
    dry = room.run("dry")
    await dry.ask("planner", "connectivity", plan="another")
    assert await coherences(PLANS, SEGMENT, dry, config.paper) == [by_words(plan, SEGMENT) for plan in PLANS]
    assert not log.exists()
    for _ in range(2):
        await room.best(**own)
    assert log.read_text() == "False\n"


async def test_a_missing_model_is_told_before_anybody_is_asked(room: Room) -> None:
    for config, found in (
        ({"coherence_embedder": "gone.py:open"}, "'gone.py:open' does not name a Python function"),
        ({"coherence_model": "no/such/model"}, r"--set coherence_model=FOLDER|pip install .*\[bertscore\]'"),
    ):
        with pytest.raises(UsageError, match=found):
            await open_talk(SEGMENT, room.run(), SYSTEM.config("faithful", {"coherence": "bertscore"} | config))
    assert not room.asked


# learning -----------------------------------------------------------------------------------------------------------


def rows_of(table: np.ndarray[Any, np.dtype[np.float64]], cells: Sequence[object] = ()) -> list[ScoreRow]:
    named = cells or [""] * len(table)
    return [
        ScoreRow(f"x, line {n}", (float(a), float(b), float(c)), str(cell))
        for n, ((a, b, c), cell) in enumerate(zip(table, named, strict=True), 2)
    ]


def test_weights_and_what_they_explain_are_those_of_the_decomposition() -> None:
    table = np.random.default_rng(3).uniform(1, 5, (40, 3))
    learned = learn(rows_of(table))
    _, values, right = np.linalg.svd(min_max(table))
    first = np.abs(right[0]) / np.abs(right[0]).sum()
    assert [weight.value for weight in learned.weights.values()] == pytest.approx((first * sum(PUBLISHED)).tolist())
    assert learned.explained.value == pytest.approx(values[0] ** 2 / (values**2).sum())
    normal = min_max(table)
    assert learned.equal.value == pytest.approx((normal.sum(axis=1) ** 2).sum() / 3 / (normal**2).sum())
    assert learned.equal.value < learned.explained.value
    assert (learned.over, learned.plans, learned.cells, learned.few) == ("all", 40, 0, False)
    for number in (*learned.weights.values(), learned.explained):
        assert number.n == 40
        assert number.low is not None
        assert number.high is not None
        assert number.low < number.value < number.high
    assert "min-max over all plans, by 40 plans; jackknife over 40 units" in learned.explained.method


def test_a_table_of_rank_one_gives_the_published_constants_back() -> None:
    quality = np.linspace(0, 1, 30)[:, None]
    scores = np.repeat(quality, 3, axis=1)
    learned = learn(rows_of(scores))
    assert [weight.value for weight in learned.weights.values()] == pytest.approx([SCALE / 3] * 3)
    assert learned.explained.value == pytest.approx(1)
    # Min-max makes all columns alike in height; before it, the published component is what comes back.
    assert [SCALE * weight for weight in rank_one(quality * PUBLISHED)] == pytest.approx(list(PUBLISHED))


def test_within_cells_what_a_whole_cell_has_in_common_does_not_count() -> None:
    rng = np.random.default_rng(5)
    cells = np.repeat(np.arange(25), 3)
    table = rng.uniform(0, 1, (75, 3)) + 10 * cells[:, None] * (1, 0, 0)
    learned = learn(rows_of(table, cells.tolist()))
    shifted = learn(rows_of(table + cells[:, None], cells.tolist()))
    assert (learned.over, learned.cells, learned.plans) == ("cells", 25, 75)
    assert {n: w.value for n, w in learned.weights.items()} == pytest.approx(
        {n: w.value for n, w in shifted.weights.items()}
    )
    over_all = learn(rows_of(table, cells.tolist()), "all")
    assert over_all.weights["coherence"].value != pytest.approx(learned.weights["coherence"].value, abs=0.01)
    assert "by 25 cells" in over_all.explained.method


def test_plans_without_another_in_their_cell_are_left_out_and_counted() -> None:
    table = np.random.default_rng(1).uniform(1, 5, (7, 3))
    learned = learn(rows_of(table, ["a", "a", "a", "b", "c", "c", "c"]))
    assert (learned.plans, learned.cells, learned.lone, learned.few) == (6, 2, 1, True)
    assert learn(rows_of(table, list("abcdefg")), "all").plans == 7


def test_one_cell_has_no_interval() -> None:
    learned = learn(rows_of(np.random.default_rng(1).uniform(1, 5, (5, 3)), ["a"] * 5))
    assert isinstance(learned.explained, Estimate)
    assert learned.explained.low is None
    assert "no interval from fewer than 8 units" in learned.explained.method


@pytest.mark.parametrize(
    ("table", "cells", "over", "expected"),
    [
        ([], [], None, "Weights are learned from at least two plans, but there are 0"),
        ([(1, 2, 3)], [], None, "Weights are learned from at least two plans, but there is 1"),
        ([(1, 2, 3), (2, 2, 4)], [], None, "connectivity is the same in all plans, so it distinguishes none"),
        ([(1, 2, 3), (2, 3, 3), (3, 4, 5), (4, 5, 5)], ["a", "a", "b", "b"], None, "same in all plans of each cell"),
        ([(1, 2, 3), (2, 3, 4)], ["a", "b"], None, "None of the 2 cells has two plans to compare"),
        (
            [(1, 2, 3), (2, 3, 4)],
            ["a", ""],
            "cells",
            r"x, line 3 does not name a cell\. Add a column `cell` .* --over all",
        ),
    ],
)
def test_what_weights_cannot_be_learned_from_is_said(table: Any, cells: Any, over: Any, expected: str) -> None:  # noqa: ANN401 - a table of cases
    with pytest.raises(UsageError, match=expected):
        learn(rows_of(np.array(table, dtype=float).reshape(-1, 3), cells), over)


def test_an_unknown_field_is_an_unknown_name() -> None:
    with pytest.raises(UnknownNameError):
        row_of("x", {"coherance": 1})
