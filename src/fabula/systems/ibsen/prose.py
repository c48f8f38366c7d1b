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
    from fabula.systems.ibsen.script import ActorSheet, SubAct

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
    story = replace(Story.of(brief) if brief.title or not title else Story(title), breaks=play.config.ours.prose)
    weights = [weight for act, turns, _ in performed for weight in _weights(act, turns)]
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
                weights: Sequence[float] = tuple(weights),
            ) -> str:
                return await _retell(brief, play, (act, turns, goals), before, weights, own)

            if play.config.ours.final_reading:
                drafts.append(await run.draft(slug(label), retell))
                story = story.add(label, drafts[-1].text)
            else:
                story = story.add(label, await run.keep(slug(label), retell, folder="story"))
            weights = weights[len(_sections(turns)) :]
    if not drafts:
        return story
    about, want = _for_editor(play), words_wanted(brief, play.config)
    texts = await final_reading(run, "writer", drafts, brief=play.brief, plan=about, want=want)
    return story.with_texts(texts)


def _for_editor(play: Play) -> str:
    """The script as text, scenes in the order of telling, for who reads the whole story."""
    script = play.script
    cast = "\n".join(f"- {actor.name}: {actor.whole}" for actor in script.actors)
    told = enumerate(sorted(script.acts, key=lambda act: act.told), 1)
    acts = "\n".join(
        f"{number}. {act.title}{f' ({act.when_and_where})' if act.date else ''}: {' '.join(act.goals)}"
        for number, act in told
    )
    return "\n\n".join(filter(None, (script.whole_background, script.conflict, "\n".join(script.telling), cast, acts)))


def _label(act: SubAct) -> str:
    title = act.title.replace("-->", "")
    return f"Scene {title}" if slug(title) in _TAKEN else title


def _sections(turns: Sequence[Turn]) -> list[tuple[Turn, ...]]:
    """The turns of each objective."""
    goals = dict.fromkeys(turn.goal for turn in turns)
    return [tuple(turn for turn in turns if turn.goal == goal) for goal in goals]


def _weights(act: SubAct, turns: Sequence[Turn]) -> list[float]:
    """What the sections of a sub-act weigh: together its importance."""
    number = len(_sections(turns))
    return [act.importance / number] * number


def _people(act: SubAct, speaking: set[str], play: Play, run: Run) -> list[ActorSheet]:
    """Sheets for the writer: all who are in the scene, and whoever the story is close to; with aids, who speaks."""
    script = play.script
    near = (
        {*speaking, *act.actors, *script.close} if play.config.ours.own_views and not run.aids("writer") else speaking
    )
    return [sheet.at(act) for sheet in script.actors if sheet.name in near]


async def _retell(
    brief: Brief, play: Play, performed: Performed, before: Story, weights: Sequence[float], run: Run
) -> str:
    """One sub-act as prose, objective by objective; `weights` are those of all sections from its first one on."""
    act, turns, goals = performed
    want, own_views = words_wanted(brief, play.config), play.config.ours.own_views
    here: list[str] = []
    for number, section in enumerate(_sections(turns), 1):
        texts = [*(scene.text for scene in before.scenes), *here]
        after = len(weights) - number
        written = [count_words(text) for text in texts]
        fits = want and want.of_sections(weights[number - 1 :], written, cut=run.aids("writer"))
        labels, previous = (*_LABELS, *play.script.names), texts[-1] if texts else ""
        speaking = {turn.name for turn in section}
        fields: dict[str, Any] = {
            "brief": play.brief,
            "background": play.script.whole_background,
            "conflict": play.script.conflict,
            "telling": play.script.telling,
            "act": act,
            "goal": goals[section[0].goal] if own_views and section[0].goal < len(goals) else "",
            "following": goals[section[0].goal + 1] if own_views and section[0].goal + 1 < len(goals) else "",
            "begins": number == 1,
            "people": _people(act, speaking, play, run),
            "played": last_of("\n\n".join(map(str, section)), run.prompt_tokens("writer", _PLAYED_TOKENS, _SHARE)),
            "story": last_of("\n\n".join(texts), run.prompt_tokens("writer", _STORY_TOKENS, _SHARE)),
            "last": after == 0,
        }
        prose = Prose(after == 0, fits, labels, play.config.ours.goal_words, previous)
        own = run.scope("part", number)
        here.append(await write_prose(own, "writer", "retell", prose, before=texts[-_BEFORE:], fields=fields))
    return "\n\n".join(here)
