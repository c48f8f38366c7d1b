"""Players: before every line they wait, talk, and move as they like; the director steers back to the objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fabula.base.errors import ReplyError
from fabula.story import slug
from fabula.systems.ibsen.log import PlayLine
from fabula.systems.ibsen.script import NARRATION, PlayerSheet
from fabula.systems.ibsen.shapes import action_shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.engine.run import Run
    from fabula.systems.ibsen.actor import Play
    from fabula.systems.ibsen.script import SubAct


class SubActPlace(Protocol):
    """A sub-act of the act group, as players come to it: its director."""

    act: SubAct
    run: Run
    goals: tuple[str, ...]
    players: list[str]
    awaited: str
    interrupted: bool

    def history(self) -> tuple[str, ...]:
        """The turns in mind."""

    async def hear(self, turn: PlayLine) -> None:
        """A turn enters the log."""


class Players:
    """The players of a play: who they are, and where.

    Attributes:
        sheets: who they are.
        places: in which sub-act each of them is, by its title.
        directors: of the present act group, by the titles of their sub-acts.
        live: those of them whose sub-act is being played: it has objectives, and no person has written its log.
    """

    def __init__(self, play: Play, run: Run) -> None:
        """The players of the script, and actors whom the settings make players."""
        self.play, self.run, script = play, run, play.script
        self.directors: Mapping[str, SubActPlace] = {}
        self.live: Sequence[SubActPlace] = ()
        sheets = {player.name: player for player in script.players}
        for name in map(slug, play.config.paper.players.split(",")):
            for actor in script.actors:
                if slug(actor.name) == name:
                    sheets.setdefault(actor.name, PlayerSheet(name=actor.name, description=actor.description))
        self.sheets = tuple(sheets.values())
        self.places = {player.name: player.place for player in self.sheets}

    def enter(self, directors: Mapping[str, SubActPlace], live: Sequence[SubActPlace]) -> None:
        """Take every player to a sub-act of a group: an actor to its own, others where the last one leads."""
        self.directors, self.live = directors, live
        leads = {act.title: act.next_act for act in self.play.script.acts}
        for player in self.sheets:
            own = [title for title, director in self.directors.items() if player.name in director.act.actors]
            last = self.places[player.name]
            to = own[0] if own else last if last in self.directors else leads.get(last, "")
            self.places[player.name] = to if to in self.directors else next(iter(self.directors))
            if self.can_act(player.name):
                self.directors[self.places[player.name]].players.append(player.name)

    def can_act(self, name: str) -> bool:
        """Whether a player can do anything in this group; an actor only in a sub-act of its own."""
        director = self.directors[self.places[name]]
        on_stage = name in director.act.actors or name not in {actor.name for actor in self.play.script.actors}
        return on_stage and self.is_open(director)

    def is_open(self, director: SubActPlace) -> bool:
        """Whether players may be in a sub-act: it is being played, or nobody plays there."""
        return director in self.live or not director.goals

    def is_host(self, director: SubActPlace, name: str) -> bool:
        """Whether a player's action is asked with this sub-act; where nobody plays, with the first that is played."""
        here = self.directors[self.places[name]]
        return self.can_act(name) and director is (here if here in self.live else self.live[0])

    async def act(self, player: PlayerSheet, number: int) -> None:
        """One player waits, talks, moves, or moves and talks; whatever it is, the lines planned before are dropped."""
        director = self.directors[self.places[player.name]]
        at = director.run if director in self.live else self.run.scope("offstage", slug(director.act.title))
        kind, words, place = await self.action(player, director, at.scope("step", number, slug(player.name)))
        if kind in ("move", "move and talk") and place != director.act.title:
            if director in self.live:
                director.players.remove(player.name)
                await self.interrupt(director, PlayLine.of(NARRATION, director.act.player_out))
            director = self.directors[place]
            self.places[player.name] = place
            if director in self.live:
                director.players.append(player.name)
                await self.interrupt(director, PlayLine.of(NARRATION, director.act.player_in))
        if words:
            await self.interrupt(director, PlayLine.of(player.name, words))
        elif kind == "none" and director.awaited == player.name:
            await self.interrupt(director, PlayLine.of(NARRATION, f"{player.name} does nothing."))
        director.awaited = "" if director.awaited == player.name else director.awaited

    async def action(self, player: PlayerSheet, director: SubActPlace, run: Run) -> tuple[str, str, str]:
        """A player's action, words and next place."""
        bound = player.name in director.act.actors
        open_ = [] if bound else [title for title, other in self.directors.items() if self.is_open(other)]
        places = list(dict.fromkeys([director.act.title, *open_]))
        try:
            made = await run.ask_for(
                action_shape(places),
                player.name,
                "step_in",
                sampling=self.play.sampling(run, player.name, "step_in"),
                player=player,
                act=director.act,
                background=self.play.script.background,
                history=director.history(),
                awaited=director.awaited == player.name,
                places=places,
            )
        except ReplyError as error:
            run.note(f"{player.name} waits, as the answer could not be read: {error}")
            return "none", "", director.act.title
        talks = made.action in ("talk", "move and talk")
        return made.action, made.words.strip() if talks else "", getattr(made, "place", director.act.title)

    async def interrupt(self, director: SubActPlace, turn: PlayLine) -> None:
        """A turn that the director had not planned, if it has a text; where nobody plays, nobody hears it."""
        if director in self.live:
            director.interrupted = True
            if turn.text:
                await director.hear(turn)
