"""What every evaluator must do, over every evaluator that is found and every case of its script."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import FabulaError
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.evaluators import evaluators
from fabula.measure.ratings import parse_ratings, write_ratings
from fabula.models.scripted import ScriptedModel
from harness import Dying, Measurement, measure_case, measurements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.models.base import Message, OnText, Reply, Request

CASES = measurements()
ASKING = [case for case in CASES if case.evaluator.roles]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
each_asking = pytest.mark.parametrize("case", ASKING, ids=lambda case: case.id)


class Silent(ScriptedModel):
    """A model whose replies hold no verdict."""

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        return await ScriptedModel(lambda _: "I would rather talk about the weather.").ask(request, on_text)


class Listening(Prompts):
    """Prompts that note which were rendered."""

    used: set[str]

    def render(self, name: str, fields: Mapping[str, Any], chat: Sequence[Message] = ()) -> tuple[Message, ...]:
        self.used.add(name)
        return super().render(name, fields, chat)


@each_case
async def test_reports_numbers_with_their_n_and_method(case: Measurement) -> None:
    with Journal() as journal:
        report = await measure_case(case, case.model(), journal)
    assert report.evaluator == case.evaluator.name
    assert report.rows
    for row in report.rows:
        data = row.scored.as_data()
        assert data["n"] >= 0
        assert data.get("unscored") or data["method"], row
    json.dumps(report.as_data(), allow_nan=False)
    assert parse_ratings(write_ratings(report.ratings)) == report.ratings


@each_asking
async def test_replays_from_a_frozen_journal_without_asking(case: Measurement) -> None:
    model = case.model()
    with Journal() as journal:
        report = await measure_case(case, model, journal)
        calls = len(model.asked)
        again = await measure_case(case, model, journal, mode="frozen")
        assert again == report
        assert len(model.asked) == calls == journal.count()


@each_asking
async def test_killed_at_every_call_and_resumed_gives_the_same_report_with_no_call_repeated(case: Measurement) -> None:
    model = case.model()
    with Journal() as journal:
        whole = await measure_case(case, model, journal)
    calls = len(model.asked)
    for dies_at in range(calls):
        with Journal() as journal:
            dying = Dying(case.script, dies_at)
            with pytest.raises((FabulaError, ExceptionGroup)):
                await measure_case(case, dying, journal)
            going_on = case.model()
            assert await measure_case(case, going_on, journal) == whole
            assert len(dying.asked) + len(going_on.asked) == calls


@each_asking
async def test_a_reply_without_a_verdict_is_counted_and_never_a_number(case: Measurement) -> None:
    with Journal() as journal:
        report = await measure_case(case, Silent({}), journal)
    assert report.ratings
    assert all(rating.unscored and rating.answer is None for rating in report.ratings)
    assert report.as_data()["unscored"] == len(report.ratings)


@each_asking
async def test_a_dry_run_asks_nobody_and_counts_the_calls(case: Measurement) -> None:
    model = case.model()
    with Journal() as journal:
        await measure_case(case, model, journal)
    with Journal() as journal:
        rehearsing = case.model()
        await measure_case(case, rehearsing, journal, mode="dry")
        assert not rehearsing.asked
        assert journal.count() == 0


@pytest.mark.parametrize("name", [name for name, found in evaluators().items() if found.roles])
async def test_every_prompt_is_used(name: str) -> None:
    used: set[str] = set()
    for case in (case for case in CASES if case.evaluator.name == name):
        prompts = Listening(case.evaluator.prompts)
        prompts.used = used
        with Journal() as journal:
            await measure_case(case, case.model(), journal, prompts=prompts)
    assert used == set(Prompts(evaluators()[name].prompts).names)
