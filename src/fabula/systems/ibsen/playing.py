"""Players: persons of the play who wait, talk and move as they like, before every line (section 2.8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ReplyError
from fabula.models.base import Sampling
from fabula.story import one_line, slug
from fabula.systems.ibsen.log import Turn
from fabula.systems.ibsen.script import NARRATION, PlayerSheet
from fabula.systems.ibsen.shapes import action_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.systems.ibsen.directing import Scene
    from fabula.systems.ibsen.remembering import Play

_TOKENS: Final = 200
_NOTHING: Final = "does nothing."


@dataclass
class Players:
    """Who may step in, and where they are from act to act: the titles of sub-acts."""

    play: Play
    sheets: list[PlayerSheet] = field(init=False)
    where: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Those of the script, and actors that the settings make players."""
        script = self.play.script
        sheets = {player.name: player for player in script.players}
        for part in self.play.config.players.split(","):
            for actor in script.actors:
                if slug(actor.name) == slug(one_line(part)):
                    sheets.setdefault(actor.name, PlayerSheet(actor.name, actor.description))
        self.sheets = list(sheets.values())
        self.where = {player.name: player.place for player in self.sheets}

    def enter(self, scenes: Sequence[Scene], live: Sequence[Scene]) -> Company:
        """Take every player to a sub-act of the next act: where the last one leads, else to the first."""
        titles = {scene.act.title: scene for scene in scenes}
        leads = {act.title: act.next_act for act in self.play.script.acts}
        for player in self.sheets:
            own = [scene.act.title for scene in scenes if player.name in scene.act.actors]
            last = self.where[player.name]
            to = own[0] if own else last if last in titles else leads.get(last, "")
            self.where[player.name] = to if to in titles else scenes[0].act.title
        company = Company(self, titles, list(live))
        for player in self.sheets:
            scene = titles[self.where[player.name]]
            if company.plays(player.name):
                scene.players.append(player.name)
        return company


@dataclass
class Company:
    """The players in one act. An actor who is a player stays with its sub-acts; who is in none of them sits out."""

    players: Players
    scenes: dict[str, Scene]
    live: list[Scene]

    def plays(self, name: str) -> bool:
        """Whether somebody can do anything in this act."""
        actor = any(sheet.name == name for sheet in self.players.play.script.actors)
        scene = self.scenes[self.players.where[name]]
        on_stage = name in scene.act.actors if actor else True
        return on_stage and (scene in self.live or not scene.goals)

    async def act(self, number: int, run: Run) -> None:
        """Every player's action before step `number`."""
        for player in self.players.sheets:
            if self.plays(player.name):
                await self._acts(player, number, run)

    async def _acts(self, player: PlayerSheet, number: int, run: Run) -> None:
        """One player waits, talks, moves, or moves and talks; whatever it is, the lines planned before are dropped."""
        scene = self.scenes[self.players.where[player.name]]
        at = scene.run if scene in self.live else run.scope("offstage", slug(scene.act.title))
        kind, words, place = await self._asked(player, scene, at.scope("step", number, slug(player.name)))
        if kind in ("move", "move and talk") and place != scene.act.title:
            await self._leave(player.name, scene)
            scene = self.scenes[place]
            self.players.where[player.name] = place
            await self._arrive(player.name, scene)
        if words:
            await self._heard(Turn.of(player.name, words), scene)
        elif kind == "none" and scene.awaited == player.name:
            await self._heard(Turn.of(NARRATION, f"{player.name} {_NOTHING}"), scene)
        scene.awaited = "" if scene.awaited == player.name else scene.awaited

    async def _asked(self, player: PlayerSheet, scene: Scene, run: Run) -> tuple[str, str, str]:
        """What the player does, says, and where they go."""
        staged = [title for title, other in self.scenes.items() if other in self.live or not other.goals]
        bound = player.name in scene.act.actors
        places = list(dict.fromkeys([scene.act.title, *([] if bound else staged)]))
        try:
            made = await run.ask_for(
                action_shape(places),
                player.name,
                "step_in",
                sampling=Sampling(max_tokens=_TOKENS),
                player=player,
                act=scene.act,
                background=self.players.play.script.background,
                history=self.players.play.shown(scene.window.turns),
                awaited=scene.awaited == player.name,
                places=places,
            )
        except ReplyError as error:
            run.note(f"{player.name} waits, as the answer could not be read: {error}")
            return "none", "", scene.act.title
        talks = made.action in ("talk", "move and talk")
        return made.action, made.words.strip() if talks else "", getattr(made, "place", scene.act.title)

    async def _heard(self, turn: Turn, scene: Scene) -> None:
        """A turn that the director had not planned; in a place without objectives nobody hears it."""
        if scene in self.live:
            await scene.hear(turn)
            scene.interrupted = True

    async def _leave(self, name: str, scene: Scene) -> None:
        if scene in self.live:
            scene.players.remove(name)
            scene.interrupted = True
            if scene.act.player_out:
                await scene.narrate(scene.act.player_out)

    async def _arrive(self, name: str, scene: Scene) -> None:
        if scene in self.live:
            scene.players.append(name)
            scene.interrupted = True
            if scene.act.player_in:
                await scene.narrate(scene.act.player_in)
