"""Vanilla (SNAP, Table 9): the whole narrative in one prompt, no cells and no plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.craft.conversation.moves import conversation, dialogue_text
from fabula.craft.conversation.state import State
from fabula.craft.conversation.talk import Freedom, Parties, Place
from fabula.craft.narratives import check_people, narrative_of
from fabula.story import Story
from fabula.story.people import names_in
from fabula.systems.vanilla.talking import VanillaTalk

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's, or stand for what it leaves open.

    Attributes:
        player: the player's character; empty takes the name that the narrative repeats most.
        npc: who answers; several are parted by commas. Empty takes the name that comes next.
        turn_temperature: of the turns (section 5.1).
        turn_tokens: bound of a turn.
        max_turns: in the automatic mode; the paper names no bound.
        freedom: is noted in sessions; the baseline's prompt does not know it.
        history_tokens: bound of the dialogue in the prompt, about; 0 sets none.
        lead: a model that can is given the first letters of a turn's form.
        turn_sentences: of a message at most; 0 keeps what was written.
        tries: draws of a turn that cannot be used.
        lenient: a turn that cannot be used is silence; else that is an error.
    """

    player: str = ""
    npc: str = ""
    turn_temperature: float = 0.3
    turn_tokens: int = 256
    max_turns: int = 30
    freedom: Freedom = "guided"
    history_tokens: int = 0
    lead: bool = False
    turn_sentences: int = 0
    tries: int = 1
    lenient: bool = False

    @classmethod
    def faithful(cls) -> Config:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: turns of one sentence, drawn again where they cannot be used, and a bounded dialogue."""
        return cls(turn_tokens=96, history_tokens=1500, lead=True, turn_sentences=1, tries=3, lenient=True)


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The narrative as a dialogue between two agents (section 5.3)."""
    talk = await open_talk(await narrative_of(run, brief), run, config)
    chapter = await talk.chapter(Place(run, run), 1, {})

    async def make(own: Run) -> str:
        state = replace(State(freedom=config.freedom).opened(chapter, {}), turns=())
        return dialogue_text(await conversation(talk, Place(run, own), state, chapter, config.max_turns))

    return Story.of(brief).add("dialogue", await run.keep("dialogue", make, folder="story"))


async def open_talk(narrative: str, run: Run, config: Config, parties: Parties | None = None) -> VanillaTalk:
    """The narrative, ready to be talked through; asks nobody.

    Raises:
        UsageError: there is nobody to talk with.
        UnknownNameError: one of the parties is not in the narrative.
    """
    del run
    if not any(letter.isalnum() for letter in narrative):
        raise UsageError("The narrative has no sentence. Give a text in which somebody does something.")
    others = list(parties.others) if parties else [name.strip() for name in config.npc.split(",") if name.strip()]
    player = parties.player if parties else config.player.strip()
    left = [name for name in names_in(narrative) if name not in (player, *others)]
    player = player or (left.pop(0) if left else "")
    others = others or left[:1]
    if not (player and others):
        raise UsageError(
            "The narrative names fewer than two characters. Say who talks: player and npc, or --as and --with."
        )
    check_people([player, *others], narrative)
    return VanillaTalk(narrative, Parties(player, tuple(others)), config)
