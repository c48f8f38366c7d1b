"""What is read: the dialogue log as it is, or the play retold as prose, which is ours and not the paper's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.final_reading import final_reading
from fabula.craft.packing import last_of
from fabula.craft.prose import Prose, write_prose
from fabula.story import Story, count_words, slug
from fabula.systems.ibsen.script import words_wanted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from fabula.engine.run import Draft, Run
    from fabula.story import Brief
    from fabula.systems.ibsen.log import Turn
    from fabula.systems.ibsen.memory import Play
    from fabula.systems.ibsen.script import SubAct

    Performed: TypeAlias = tuple[SubAct, Sequence[Turn], Sequence[str]]  # with the text of its objectives

_TAKEN: Final = frozenset(("plan", "stage"))  # names of other artefacts
_LABELS: Final = ("Writing task", "Story so far", "What was played", "Characters", "Place", "Narration", "Scene")
_STORY_TOKENS, _PLAYED_TOKENS = 700, 2000  # of a prompt for a model with aids
_SHARE: Final = 0.3  # of another's window, for each of the two
_BEFORE: Final = 3  # sections that a small model may echo


async def story_of(brief: Brief, play: Play, performed: Sequence[Performed], run: Run) -> Story:
    """The story of a performance, one scene for each sub-act.

    The dialogue log costs nothing; prose costs 1 call or more for each objective.
    """
    title, performed = play.script.title, sorted(performed, key=lambda one: one[0].told)
    story = Story.of(brief) if brief.title or not title else Story(title)
    left = sum(len(_sections(turns)) for _, turns, _ in performed)
    drafts: list[Draft] = []
    for at, (act, turns, goals) in enumerate(performed):
        coming = [goal for _, _, later in performed[at + 1 : at + 2] for goal in later[:1]]
        label = _label(act)
        if not play.config.ours.prose:

            async def log(own: Run, turns: Sequence[Turn] = turns) -> str:
                del own
                return "\n\n".join(map(str, turns))

            story = story.add(label, await run.keep(slug(label), log, folder="story"))
        elif turns:

            async def retell(
                own: Run,
                act: SubAct = act,
                turns: Sequence[Turn] = turns,
                goals: Sequence[str] = (*goals, *coming),
                before: Story = story,
                left: int = left,
            ) -> str:
                return await _retell(brief, play, (act, turns, goals), before, left, own)

            if play.config.ours.final_reading:
                drafts.append(await run.draft(slug(label), retell))
                story = story.add(label, drafts[-1].text)
            else:
                story = story.add(label, await run.keep(slug(label), retell, folder="story"))
            left -= len(_sections(turns))
    if not drafts:
        return story
    about, want = _for_editor(play), words_wanted(brief, play.config)
    texts = await final_reading(run, "writer", drafts, brief=brief.titled, plan=about, want=want)
    return Story(story.title, tuple(replace(s, text=text) for s, text in zip(story.scenes, texts, strict=True)))


def _for_editor(play: Play) -> str:
    """The script as text, for who reads the whole story."""
    script = play.script
    cast = "\n".join(f"- {actor.name}: {actor.whole}" for actor in script.actors)
    acts = "\n".join(f"{number}. {act.title}: {' '.join(act.goals)}" for number, act in enumerate(script.acts, 1))
    return "\n\n".join(filter(None, (script.background, script.conflict, "\n".join(script.telling), cast, acts)))


def _label(act: SubAct) -> str:
    title = act.title.replace("-->", "")
    return f"Scene {title}" if slug(title) in _TAKEN else title


def _sections(turns: Sequence[Turn]) -> list[tuple[Turn, ...]]:
    """The turns of each objective."""
    goals = dict.fromkeys(turn.goal for turn in turns)
    return [tuple(turn for turn in turns if turn.goal == goal) for goal in goals]


async def _retell(brief: Brief, play: Play, performed: Performed, before: Story, left: int, run: Run) -> str:
    """One sub-act as prose, objective by objective; `left` sections of the story are still to be written."""
    act, turns, goals = performed
    want, own_views = words_wanted(brief, play.config), play.config.ours.own_views
    here: list[str] = []
    for number, section in enumerate(_sections(turns), 1):
        texts = [*(scene.text for scene in before.scenes), *here]
        after = left - number
        fits = want and want.of_sections([1.0] * (after + 1), [count_words(text) for text in texts])
        labels, previous = (*_LABELS, *play.script.names), texts[-1] if texts else ""
        speaking = {turn.name for turn in section}
        fields: dict[str, Any] = {
            "brief": brief.text,
            "background": play.script.background,
            "conflict": play.script.conflict,
            "telling": play.script.telling,
            "act": act,
            "goal": goals[section[0].goal] if own_views and section[0].goal < len(goals) else "",
            "following": goals[section[0].goal + 1] if own_views and section[0].goal + 1 < len(goals) else "",
            "begins": number == 1,
            "people": [sheet.at(act) for sheet in play.script.actors if sheet.name in speaking],
            "played": last_of("\n\n".join(map(str, section)), run.prompt_tokens("writer", _PLAYED_TOKENS, _SHARE)),
            "story": last_of("\n\n".join(texts), run.prompt_tokens("writer", _STORY_TOKENS, _SHARE)),
            "last": after == 0,
        }
        prose = Prose(after == 0, fits, labels, play.config.ours.goal_words, previous)
        own = run.scope("part", number)
        here.append(await write_prose(own, "writer", "retell", prose, before=texts[-_BEFORE:], fields=fields))
    return "\n\n".join(here)
