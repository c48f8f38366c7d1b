"""What roles write in plain words (ours): an action, a paragraph, and how many words a paragraph and the story have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fabula.base.later import Later
from fabula.craft.length import WordRange
from fabula.craft.prose import Prose, clean_reply, write_prose
from fabula.engine.roles import is_person
from fabula.models.budget import estimate_tokens
from fabula.story import count_words, one_line
from fabula.story.sentences import sentences
from fabula.story.speech import unclosed
from fabula.systems.magnet.progress import LABELS, Progress, always, recent, variables
from fabula.systems.magnet.state import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.run import Run
    from fabula.models.base import Sampling
    from fabula.systems.magnet.records import Selected

_ROOM: Final = 0.3  # of a paragraph's words, which every paragraph but the last leaves for the ending
_LEAST: Final = 25  # words without which nothing more is written
_BAND: Final = 0.4  # of a paragraph's words, by which it may be shorter or longer
_TELLING: Final = 1.4  # words in which an action is told, for each of its own
_LAST: Final = 1.6  # what is left, in paragraphs, from which on one paragraph ends the story
_TRIES: Final = 3
_ACTION_WORDS: Final = 28  # of a plain action, for estimates
_SHORT_ACTION: Final = (2, 80)  # sentences and tokens of a small model's action; what it says beyond is another one


async def plain_action(run: Run, name: str, sampling: Sampling, fields: Mapping[str, Any]) -> str:
    """An action in plain words, without chatter; with aids without echoes too, and not longer than an action is.

    Raises:
        ReplyError: nothing of the replies can be used.
    """
    fault, run = "", run.tries("act")
    for attempt in range(_TRIES):
        here = run.again(attempt, fault)
        reply = await here.reply(name, "act", sampling=sampling, expect=_ACTION_WORDS, **fields)
        text = reply.text
        if not is_person(reply.model):
            echo = partial(_told, here, fields)
            text = clean_reply(here, name, reply, labels=LABELS, last=False, echo=echo)
            if fault := here.fault(text, "act", fields):
                here.removed("reply", text)
                continue
        if action := " ".join(text.split()):
            kept = shortened(action) if run.aids(name) else action
            here.removed("length", action.removeprefix(kept))
            return kept
    raise run.no_use("act", f"{name!r} gave no action in {_TRIES} tries.", "character", reply.text)


def _told(run: Run, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """What a character was told before it acted."""
    return run.render("act", **fields), *fields["story"]


def shortened(action: str) -> str:
    """The first sentences of a small model's action; what somebody says is never cut in the middle."""
    most, tokens = _SHORT_ACTION
    kept: list[str] = []
    for sentence in sentences(action):
        so_far = " ".join(kept)
        if kept and not unclosed(so_far) and (len(kept) >= most or estimate_tokens(f"{so_far} {sentence}") > tokens):
            break
        kept.append(sentence)
    return " ".join(kept)


async def paragraph_prose(
    now: Progress,
    run: Run,
    selected: Selected,
    want: WordRange | None,
    *,
    last: bool,
    wrong: tuple[str, ...],
    first: str = "",
) -> str:
    """The paragraph about what is selected; where a `first` version of it was `wrong`, another one."""
    ours = now.config.ours
    shows = ours.story_shown if not run.aids("narrator") else 0
    fields = {
        "brief": now.task,
        "personas": now.characters,
        "chosen": selected.order,
        "world": Later(lambda: map(shown, variables(now))),
        "story": recent(now, run, "narrator", shows or now.config.paper.recent_narrator),
        "setting": now.setting,
        "opens": not now.story,
        "scene_begins": now.scene_begins,
        "next_scene": "" if last else one_line(selected.course.next_scene),
        "pace": pace(now) if ours.length_control else None,
        "more": paragraphs_after(now, want) if want else 0,
        "last": last,
        "wrong": wrong,
        "first": first,
        **always(now),
    }
    previous = now.story[-1] if now.story else ""
    labels = (*LABELS, *now.names) if run.aids("narrator") else LABELS
    prose = Prose(last, want, labels, ours.paragraph_words, previous)
    temperature = now.config.paper.narrator_temperature
    return await write_prose(
        run, "narrator", "tell", prose, before=now.story[-3:], fields=fields, temperature=temperature
    )


def with_room(now: Progress, run: Run, selected: Selected, want: WordRange | None, *, last: bool) -> WordRange | None:
    """The words of a paragraph, more where much is said and done in it; not with aids for small models.

    What comes after it has so much less; an ending of a paragraph's length stays.
    """
    if want is None or last or run.aids("narrator"):
        return want
    usual = now.config.ours.paragraph_words
    needed = round(sum(count_words(a.action) for a in selected.order) * _TELLING)
    target = min(max(want.target, needed), 2 * usual, now.left - round(usual * (1 - _BAND)))
    if target <= want.target:
        return want
    slack = int(target * _BAND)
    high = max(target, min(target + slack, now.want.high - now.words - round(usual * _ROOM)))
    return WordRange(target - slack, high, target, exact=False)


@dataclass(frozen=True, slots=True)
class Pace:
    """How far the story is: words so far, words in all, and paragraphs to come, the next one among them."""

    written: int
    wanted: int
    paragraphs: int


def pace(now: Progress) -> Pace:
    """How far the story is."""
    return Pace(now.words, now.want.target, max(round(now.left / now.config.ours.paragraph_words), 1))


def paragraphs_after(now: Progress, want: WordRange) -> int:
    """How many paragraphs follow one of the words wanted, if they come out as long as those that are there."""
    usual, left = now.config.ours.paragraph_words, now.left - want.target
    if left <= usual * _LAST:
        return 1
    return max(round(left / max(usual, (now.words + want.target) / now.t)), 2)


def goes_on(now: Progress) -> bool:
    """Whether there is another timestep."""
    ours = now.config.ours
    if now.over or (ours.max_steps and now.t >= ours.max_steps):
        return False
    if not ours.length_control:
        return now.left > 0
    return now.want.high - now.words >= _LEAST or now.words < now.want.low


def next_paragraph(now: Progress) -> tuple[WordRange | None, bool]:
    """The words of this timestep's paragraph, and whether it ends the story."""
    ours = now.config.ours
    if not ours.length_control:
        return None, False
    usual, low, high = ours.paragraph_words, now.want.low - now.words, now.want.high - now.words
    if now.left <= usual * _LAST or (ours.max_steps and now.t >= ours.max_steps):
        target = max(min(now.left, 2 * usual), min(usual // 2, high))
        low, high = max(low, round(target * (1 - _BAND))), min(high, round(target * (1 + _BAND)))
        low = max(min(low, 2 * usual), 1)
        return WordRange(min(low, target), max(high, target, low), max(target, low), now.want.exact), True
    target = round(now.left / pace(now).paragraphs)
    slack = int(target * _BAND)
    return WordRange(
        target - slack, max(min(target + slack, high - round(usual * _ROOM)), target), target, exact=False
    ), False
