"""Best of n: what is compared with what, and which draft is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Reply, Usage
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.models.base import Request

SYSTEM = find("best-of-n")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def side_of(request: Request, ordinal: str) -> str:
    before = request.messages[-1].content.partition("Story B:")[0]
    return "A" if f"the {ordinal} draft" in before else "B"


async def written(judge: Callable[[Request], str], **config: Any) -> tuple[str, list[str]]:  # noqa: ANN401 - fields of Config
    def said(request: Request) -> Reply:
        if request.role == "judge":
            return Reply(judge(request), usage=Usage(prompt=900, reply=100), model="fake")
        n = int(request.path.split("/")[1].removeprefix("draft-"))
        return Reply(f"This is the {ORDINALS[n - 1]} draft of it.", usage=Usage(prompt=600, reply=400), model="fake")

    model = ScriptedModel(said)
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model))
        story = await SYSTEM.write(Brief("Mara."), Run(context), SYSTEM.config("improved", config))
    return story.text, [request.path for request in model.asked]


@pytest.mark.parametrize("best", ORDINALS[:4])
async def test_the_draft_that_wins_in_both_orders_is_kept(best: str) -> None:
    def judge(request: Request) -> str:
        shown = request.messages[-1].content
        return side_of(request, best) if f"the {best} draft" in shown else "Same"

    text, asked = await written(judge)
    assert text == f"This is the {best} draft of it."
    assert sorted(asked) == sorted(
        [
            *(f"drafts/draft-{n}/draft" for n in range(1, 5)),
            *(f"compare/{n}/{o}/compare" for n in (2, 3, 4) for o in (1, 2)),
        ]
    )


@pytest.mark.parametrize("always", ["A", "B", "Same"])
async def test_a_judge_that_goes_by_the_order_of_showing_changes_nothing(always: str) -> None:
    text, _ = await written(lambda _: always)
    assert text == "This is the first draft of it."


async def test_one_verdict_for_the_newer_draft_is_enough_where_the_other_is_a_tie() -> None:
    text, _ = await written(lambda request: "A" if request.path == "compare/2/1/compare" else "Same")
    assert text == "This is the second draft of it."


@pytest.mark.parametrize(("tokens", "drafts"), [(1000, 1), (4000, 2), (10_000, 4), (11_400, 4), (11_600, 5)])
async def test_as_many_drafts_are_written_as_the_tokens_are_enough_for(tokens: int, drafts: int) -> None:
    _, asked = await written(lambda _: "Same", tokens=tokens)
    assert sum(path.startswith("drafts/") for path in asked) == drafts
