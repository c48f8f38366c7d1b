"""How an agent does its part: one prompt and one reply (appendix B), tidied and fitted in improved mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabula.craft.length import WordRange, parse_range, read_range
from fabula.craft.prose import Prose, write_prose
from fabula.engine.replies import clean_prose
from fabula.models.base import Sampling
from fabula.story import count_words
from fabula.systems.agents_room.agents import PLANNING, WRITING, is_last

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fabula.engine.run import Run
    from fabula.models.base import Reply
    from fabula.story import Brief
    from fabula.story.scratchpad import Scratchpad
    from fabula.systems.agents_room.agents import Agent
    from fabula.systems.agents_room.algorithm import Config

NOTE_TRIES = 3
NOTE_WORDS = 200  # for estimates: more than five sentences, or bullets for a few characters
SECTION_WORDS = 607  # for estimates: Table 2 has 3,034 words a story with five writing agents
LABELS = (*(agent.label for agent in (*PLANNING, *WRITING)), "Creative Writing Task", "Story", "Content Plan")


def perform(
    agent: Agent, scratchpad: Scratchpad, agents: tuple[Agent, ...], brief: Brief, config: Config
) -> Callable[[Run], Awaitable[str]]:
    """The making of `agent`'s text from the scratchpad, for `Run.keep`; one call, more where length is controlled."""
    if agent.kind == "planning":
        return lambda run: _plan(agent, scratchpad, config, run)
    last = is_last(agent, agents, scratchpad)
    want = _budget(agent, scratchpad, agents, brief, config)
    previous = next((entry.text for entry in reversed(scratchpad.of_kind("writing"))), "")
    prose = Prose(last, want, LABELS, SECTION_WORDS, "" if config.instruction_first else previous)
    return lambda run: _write(agent, scratchpad, prose, config, run)


async def _plan(agent: Agent, scratchpad: Scratchpad, config: Config, run: Run) -> str:
    """A planning agent's note (appendix B.2); drawn again, a bounded number of times, if nothing of it is of use."""
    text = ""
    for attempt in range(NOTE_TRIES if config.tidy else 1):
        reply = await (run.scope("again", attempt) if attempt else run).reply(
            agent.role,
            agent.prompt,
            sampling=Sampling(max_tokens=config.plan_tokens or config.max_tokens),
            expect=NOTE_WORDS,
            scratchpad=scratchpad,
            instruction_first=config.instruction_first,
        )
        text = _tidied(reply, scratchpad) if config.tidy else reply.text
        if text:
            break
    return text or reply.text


def _tidied(reply: Reply, scratchpad: Scratchpad) -> str:
    """A note without chatter, echoes and loops; possibly empty."""
    cleaned = clean_prose(
        reply.text,
        labels=LABELS,
        last=True,
        echo=[e.text for e in scratchpad.entries],
        finish=reply.finish,
        kind="notes",
    )
    return cleaned.text


async def _write(agent: Agent, scratchpad: Scratchpad, prose: Prose, config: Config, run: Run) -> str:
    """A writing agent's section (appendix B.3), or the finalizer's whole story."""
    fields: dict[str, Any] = {
        "scratchpad": scratchpad,
        "section": agent.label,
        "guide": "" if config.instruction_first else agent.guide,
        "last": prose.last,
        "instruction_first": config.instruction_first,
    }
    if not config.tidy:
        sampling = Sampling(max_tokens=config.max_tokens)
        return await run.ask(
            agent.role, agent.prompt, sampling=sampling, expect=SECTION_WORDS, words=None, lead="", **fields
        )
    before = [entry.text for entry in scratchpad.entries]
    return await write_prose(run, agent.role, agent.prompt, prose, config.max_tokens, before=before, fields=fields)


def _budget(
    agent: Agent, scratchpad: Scratchpad, agents: tuple[Agent, ...], brief: Brief, config: Config
) -> WordRange | None:
    """The words this section should have, from what the brief asks and what is written already."""
    if not config.length_control:
        return None
    whole = parse_range(config.words) if config.words else read_range(brief.text)
    if whole is None:
        return None
    left = [a for a in agents if a.kind == "writing" and not scratchpad.has(a.label) and a != agent]
    written = sum(count_words(entry.text) for entry in scratchpad.of_kind("writing"))
    return whole.of_sections([agent.weight, *(a.weight for a in left)], [written])
