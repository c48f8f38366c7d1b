"""SNAP as something to talk to: a cell made ready, a turn, and what is remembered after it (sections 4.2 to 4.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.conversation.answering import Asking, answered, window
from fabula.craft.conversation.talk import Chapter, Pace
from fabula.craft.packing import last_of, latest
from fabula.engine.replies import clean_prose
from fabula.engine.replies.dialogue import with_names
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.story.people import among, present_in
from fabula.systems.snap.people import clipped
from fabula.systems.snap.planning import plan_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.conversation.talk import Answer, Line, Memories, Moment, Parties, Place, Step
    from fabula.engine.run import Run
    from fabula.story.personas import Persona
    from fabula.systems.snap.algorithm import Config
    from fabula.systems.snap.people import Labels

_SUMMARISER: Final = "summariser"
_TOKENS_A_WORD: Final = 2
_SURE: Final = 0.8  # of a room, as tokens are estimates


@dataclass(frozen=True)
class SnapTalk:
    """A narrative in cells, and what SNAP does with each; a `Talk` that all sessions share."""

    parties: Parties
    company: tuple[Persona, ...]
    labels: Labels
    config: Config

    @property
    def cells(self) -> Sequence[str]:
        """The narrative in cells."""
        return self.labels.cells

    @property
    def pace(self) -> Pace:
        """How long a sub-plan lasts."""
        return Pace(1, self.config.turns_per_step, watches=not self.config.enforce)

    async def chapter(
        self, place: Place, number: int, memories: Memories, steps: tuple[Step, ...] | None = None
    ) -> Chapter:
        """The cell of this number: who is in it, and its plan, which is made unless `steps` is it."""
        segment = self.cells[number - 1]
        people = await self.labels.of(place.story, number)
        labelled = [person.name for person in people]
        there = present_in(self.parties.others, segment)
        present = tuple(n for n in self.parties.others if n in there or among(n, labelled)) or self.parties.others
        personas = {name: await self._persona(place.story, name, number) for name in self.parties.names}
        if steps is None:
            memory = memories.get(self.parties.player, "")
            steps = await plan_of(
                place.own, self.parties, segment, personas, self.config, present=present, memory=memory
            )
        return Chapter(number, clipped(segment, self.config), steps, present, personas)

    async def _persona(self, run: Run, name: str, number: int) -> str:
        """Who somebody is: as the author says, else by the labels of this cell or the last one that had it."""
        known = {persona.name: persona for persona in self.company}
        found = among(name, known)
        for cell in range(number, 0, -1):
            if found is not None:
                break
            known = {persona.name: persona for persona in await self.labels.of(run, cell)}
            found = among(name, known)
        return replace(known[found], name=name).block if found is not None else f"Name: {name}"

    async def answer(self, place: Place, moment: Moment) -> Answer:
        """One turn of the agent; 1 call, more where a draw cannot be used."""
        config = self.config
        run = replace(place.own.scope("turn", moment.turn), take=place.own.take)
        ahead = moment.chapter.steps[moment.step - 1 : moment.step + 1] if config.lenient and moment.step else ()
        how = self._asking("npc", "answer", tuple(step.title for step in ahead))
        fields = self._given(moment) | {
            "steps": moment.chapter.steps,
            "step": moment.step,
            "moved": moment.moved,
            "freedom": moment.freedom,
            "remind": config.remind,
        }
        return await answered(run, moment, how, fields)

    async def play(self, place: Place, moment: Moment) -> str:
        """One turn of the player's character by a model."""
        run = place.own.scope("turn", moment.turn)
        stands_in = ("listens",) if self.config.lenient else ()
        partners = [name for name in self.parties.others if name in moment.chapter.present]
        said = await answered(
            run, moment, self._asking("player", "play", stands_in), self._given(moment) | {"partners": partners}
        )
        return f"({said.action}) {said.message}".strip() if said.action else said.message

    def _asking(self, role: str, prompt: str, stands_in: tuple[str, ...]) -> Asking:
        config = self.config
        sampling = Sampling(temperature=config.turn_temperature, max_tokens=config.turn_tokens)
        return Asking(role, prompt, sampling, config.tries, config.lead, config.turn_sentences, stands_in)

    def _given(self, moment: Moment) -> dict[str, Any]:
        """What a cell knows, for whoever is asked."""
        personas = moment.chapter.personas
        return {
            "who": moment.who,
            "player": self.parties.player,
            "persona": personas.get(moment.who, ""),
            "others": [personas[self.parties.player]] if moment.who != self.parties.player else [],
            "memory": moment.memory,
            "segment": moment.chapter.text,
            "lines": window(moment.lines, self.config.history_tokens),
        }

    async def remember(self, place: Place, chapter: Chapter, lines: Sequence[Line], memories: Memories) -> Memories:
        """What each of the parties remembers after a cell; one call for all who remember the same."""
        del chapter
        seen: dict[tuple[str, tuple[Line, ...]], list[str]] = {}
        for name in self.parties.names:
            own = tuple(line for line in lines if name in line.witnesses)
            if own:
                seen.setdefault((memories.get(name, ""), own), []).append(name)
        kept = dict(memories)
        for number, ((before, own), names) in enumerate(seen.items(), 1):
            run = place.own if number == 1 else place.own.scope("view", number)
            text = await self._summary(run, before if self.config.carry else "", own)
            kept |= dict.fromkeys(names, text)
        return kept

    async def _summary(self, run: Run, before: str, lines: Sequence[Line]) -> str:
        """A summary, kept as `plan/cell-N-summary.md`."""
        words = self.config.summary_words

        async def make(own: Run) -> str:
            able = own.context.cast.assignment(_SUMMARISER).performer.capabilities
            shown = window(lines, 2 * self.config.history_tokens)
            if not able.instructed and able.context:
                shown = _fitting(own, shown, able.context - estimate_tokens(before))
            text = await _summed_up(own, able.instructed, memory=before, lines=shown, words=words)
            if self.config.lenient:
                text = clean_prose(text, labels=("Summary", "The dialogue"), last=False, kind="notes").text
            return text.strip() or f"{before} {shown[-1].who}: {shown[-1].text}".strip()

        return last_of(await run.keep("summary", make, folder="plan"), words * _TOKENS_A_WORD)


async def _summed_up(run: Run, instructed: bool, **fields: Any) -> str:  # noqa: ANN401, FBT001 - the prompt's fields
    """The summary model's text. A trained one may call speakers by DialogSum's tags; they get their names back."""
    sampling = Sampling(max_tokens=fields["words"] * _TOKENS_A_WORD)
    reply = await run.reply(_SUMMARISER, "summarise", sampling=sampling, instructed=instructed, **fields)
    if unread := reply.sent.get("unread"):
        run.note(f"The summary model had no room for the first {unread:,} tokens at {run.at}; they are not summed up.")
    lines = fields["lines"]
    present = dict.fromkeys([*(line.who for line in lines), *(name for line in lines for name in line.witnesses)])
    return reply.text if instructed else with_names(reply.text, tuple(present))


def _fitting(run: Run, lines: Sequence[Line], tokens: int) -> tuple[Line, ...]:
    """The last lines that a trained summary model has room for, one at least; says how many are left out."""
    told = [f"{line.who}: {line.text}" for line in lines]
    kept = max(1, len(latest(told, int(tokens * _SURE))))
    if kept < len(lines):
        run.note(f"The summary model has room for the last {kept} of {len(lines)} lines at {run.at}.")
    return tuple(lines[-kept:])
