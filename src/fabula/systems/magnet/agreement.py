"""What changes W, and who learns of it; and that the text and W agree, after a paragraph and after an edit (ours)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from fabula.base.errors import ReplyError
from fabula.craft.quoting import Quotable
from fabula.story.world import Moment
from fabula.story.world.flat import Write, key_of
from fabula.systems.magnet.progress import Progress, always, sampling_of, variables
from fabula.systems.magnet.shapes import Account, Changes, Contradiction, Reading, Update
from fabula.systems.magnet.state import named, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.story.world.flat import Refused, Variable
    from fabula.systems.magnet.records import ProposedAction, Selected
    from fabula.systems.magnet.shapes import Change


def writes(
    now: Progress, run: Run, role: str, made: object, actor: str, witnesses: tuple[str, ...] | None = None
) -> tuple[tuple[Write, ...], tuple[Refused, ...]]:
    """The world updates in a reply of `role` as writes of `actor`, and those that cannot be taken."""
    return _writes_of(now, run, role, getattr(made, "world_updates", ()), actor, witnesses)


def _writes_of(
    now: Progress,
    run: Run,
    role: str,
    updates: Sequence[Update | Change],
    actor: str,
    witnesses: tuple[str, ...] | None = None,
) -> tuple[tuple[Write, ...], tuple[Refused, ...]]:
    taken, refused = now.world.writes_of(updates, actor, witnesses, aids=run.aids(role), retire=now.config.ours.retire)
    hidden = {key_of(one.key): named(now.characters, getattr(one, "unseen_by", ()), actor) for one in updates}
    finer = (
        replace(one, witnesses=known_to(now, hidden[one.key], one.witnesses)) if hidden.get(one.key) else one
        for one in taken
    )
    return tuple(finer), refused


def known_to(now: Progress, unseen: Sequence[str], there: tuple[str, ...] | None = None) -> tuple[str, ...] | None:
    """Who learns of what happens: those who are there but the `unseen`; `None` for everybody."""
    return tuple(name for name in (now.names if there is None else there) if name not in unseen) if unseen else there


@dataclass(frozen=True, slots=True)
class Read:
    """What the critic found in a paragraph: values other than W's, actions that it leaves out, and what can be seen."""

    contradictions: tuple[tuple[Contradiction, str], ...] = ()
    untold: tuple[ProposedAction, ...] = ()
    account: Account | None = None
    added: tuple[Change, ...] = ()

    @property
    def wrong(self) -> tuple[str, ...]:
        """One sentence about each thing that does not agree."""
        return (
            *(f'It is so that {so}, and the paragraph says "{one.quote}".' for one, so in self.contradictions),
            *(f"It does not tell that {a.character} does this: {a.action}" for a in self.untold),
        )


async def reading(now: Progress, run: Run, selected: Selected, text: str, *, last: bool) -> Read:
    """Ours: what in a paragraph does not agree with the actions and W as it stands after the step; one call.

    A contradiction counts where the paragraph has the words, W has the variable, and the two values do not mean the
    same.
    """
    witnessed = now.config.ours.witnessed and not last
    after: dict[str, Variable | Write] = {variable.key: variable for variable in variables(now)}
    after |= {one.key: one for a in selected.order for one in a.world_updates}
    after |= {one.key: one for one in selected.world_updates}
    try:
        made = await run.ask_for(
            Account if witnessed else Reading,
            "critic",
            "check",
            sampling=sampling_of(run, "critic", now.config.paper.critic_temperature, 400),
            paragraph=text,
            chosen=selected.order,
            last=last,
            names=now.names if witnessed else (),
            world=[shown(variable) for variable in after.values()],
            story=None,
            **always(now),
        )
    except ReplyError as error:
        run.note(f"The paragraph of step {now.t} could not be checked: {error}")
        return Read()
    words_of = Quotable.of(text)
    return Read(
        tuple(
            (one, shown(after[one.key]))
            for one in made.contradictions
            if one.key in after and words_of.has(one.quote) and now.world.contradicts(after[one.key], one.value)
        ),
        tuple(selected.order[number - 1] for number in sorted({*made.untold}) if 1 <= number <= len(selected.order)),
        made if isinstance(made, Account) else None,
        tuple(made.added),
    )


def agreed(now: Progress, run: Run, selected: Selected, found: Read) -> Selected:
    """The choice as far as the paragraph tells it, and with the values that the paragraph has."""
    for a in found.untold:
        run.note(f"What {a.character} does in step {now.t} is not told, and so has not happened: {a.action}")
    now.records.counts["untold"] += len(found.untold)
    now.records.counts["yielded"] += len(found.contradictions)
    values = [Update(key=one.key, value=one.value) for one, _ in found.contradictions]
    own, _ = now.world.writes_of(values, "narrator")
    more, _ = _writes_of(now, run, "critic", found.added, "narrator")
    sights = () if found.account is None else found.account.seen
    seen = [({*map(key_of, one.changes)}, {*now.names} - {*named(now.characters, one.unseen_by)}) for one in sights]

    def known(write: Write) -> Write:
        """A write that those do not learn of who see nothing that shows it."""
        eyes = [names for keys, names in seen if write.key in keys]
        there = now.names if write.witnesses is None else write.witnesses
        return replace(write, witnesses=tuple(n for n in there if any(n in names for names in eyes))) if eyes else write

    return replace(
        selected,
        order=tuple(
            replace(a, world_updates=tuple(map(known, a.world_updates)))
            for a in selected.order
            if a not in found.untold
        ),
        world_updates=tuple(map(known, (*selected.world_updates, *own, *more))),
    )


async def reread(now: Progress, run: Run, number: int, told: Sequence[str], text: Sequence[str]) -> None:
    """Ours: W takes over what was changed in a chapter, whose steps made the paragraphs `told`; one call.

    Costs nothing where nobody changed anything.
    """
    config, role = now.config, "critic" if now.config.paper.critic else "narrator"
    if not config.paper.world_updates:
        return
    old, new = _changed(told, text)
    try:
        made = await run.ask_for(
            Changes,
            role,
            "reread",
            sampling=sampling_of(run, role, config.paper.critic_temperature, 400),
            old=old,
            new=new,
            world=[shown(variable) for variable in variables(now)],
            story=None,
            **always(now),
        )
    except ReplyError as error:
        run.note(f"What was changed in chapter {number} could not be read: {error}")
        return
    updates, refused = writes(now, run, role, made, "edit")
    set_ = now.world.amend(Moment(number, max(len(told), len(text)) + 1), updates)
    now.records.counts["amended"] += len(set_)
    now.records.counts["refused"] += len(refused)


def _changed(told: Sequence[str], text: Sequence[str]) -> tuple[list[str], list[str]]:
    """The paragraphs that are no longer there, and those that stand instead of them."""
    parts = SequenceMatcher(a=told, b=text, autojunk=False).get_opcodes()
    other = [part for part in parts if part[0] != "equal"]
    return [p for part in other for p in told[part[1] : part[2]]], [
        p for part in other for p in text[part[3] : part[4]]
    ]
