"""Self-revision: what each version is shown, and that it ends where what is allowed is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ConfigError, UsageError
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
    from fabula.models.base import Request
    from fabula.story import Story

SYSTEM = find("self-revision")
BRIEF = Brief("Tell it in letters.", "The Lamp")


def version(request: Request) -> Reply:
    """A version named by its place, which took a thousand tokens."""
    return Reply(f"Version at {request.path} of it.", usage=Usage(prompt=600, reply=400), model="fake")


async def written(
    brief: Brief = BRIEF,
    journal: Journal | None = None,
    named: str = "scripted",
    **config: Any,  # noqa: ANN401 - fields of Config
) -> tuple[Story, list[Request]]:
    model = ScriptedModel(version, name=named)
    with journal or Journal() as open_journal:
        context = RunContext(open_journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model))
        return await SYSTEM.write(brief, Run(context), SYSTEM.config("improved", config)), model.asked


async def test_each_version_is_shown_the_task_and_the_version_before_it() -> None:
    story, asked = await written(revisions=2)
    assert [one.path for one in asked] == [
        "drafts/version-1/draft",
        "drafts/version-2/revise",
        "drafts/version-3/revise",
    ]
    first, second = (one.messages[-1].content for one in asked[1:])
    assert first.startswith("Tell it in letters.")
    assert "Version at drafts/version-1/draft of it." in first
    assert "What most holds it back?" in first
    assert "This is revision 1 of 2." in first
    assert "once already" not in first
    assert "Version at drafts/version-2/revise of it." in second
    assert "Version at drafts/version-1" not in second
    assert "revised it once already" in second
    assert story.text == "Version at drafts/version-3/revise of it."


@pytest.mark.parametrize(
    ("tokens", "calls"), [(1, 1), (1400, 1), (1600, 2), (5000, 5), (5400, 5), (5600, 6), (20_100, 20)]
)
async def test_it_goes_on_until_the_tokens_are_used_as_nearly_as_whole_calls_can(tokens: int, calls: int) -> None:
    _, asked = await written(tokens=tokens)
    assert len(asked) == calls
    assert abs(1000 * calls - tokens) <= 500 or calls == 1
    assert all("This is revision" not in one.messages[-1].content or " of 0" not in str(one) for one in asked)


async def test_calls_may_be_what_is_allowed() -> None:
    _, asked = await written(calls=7)
    assert len(asked) == 7


async def test_what_is_recorded_counts_as_when_it_was_made(tmp_path: Any) -> None:  # noqa: ANN401 - a path
    first, asked = await written(journal=Journal(tmp_path / "journal.db"), tokens=4000)
    again, more = await written(journal=Journal(tmp_path / "journal.db"), tokens=4000)
    assert (len(asked), len(more)) == (4, 0)
    assert again == first


async def test_an_amount_in_dollars_needs_a_price() -> None:
    with pytest.raises(UsageError, match="The price of a model is not known"):
        await written(named="openrouter:nobody/none", usd=1.0)


def test_one_amount_alone_says_what_a_story_takes() -> None:
    with pytest.raises(ConfigError, match="Only one of tokens, calls and usd"):
        SYSTEM.config("improved", {"tokens": 1000, "calls": 3})


async def test_a_story_that_is_no_single_reply_is_refused() -> None:
    with pytest.raises(UsageError, match=r"A story of self-revision writes one reply of at most 5,000 words"):
        await written(words="6000")


async def test_a_dry_run_counts_what_the_calls_would_take() -> None:
    model = ScriptedModel(version)
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model), mode="dry")
        brief = Brief("Tell it in 400 words.", "The Lamp")
        await SYSTEM.write(brief, Run(context), SYSTEM.config("improved", {"tokens": 10_000}))
    assert context.dry_run.tokens == pytest.approx(10_000, rel=0.15)
    assert not model.asked
