"""The cards and lorebooks of those who talk: greetings, how somebody talks, and what of a world matters now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import inside, is_plain, plain_files, read_bytes, write_atomically
from fabula.craft.packing import first_of
from fabula.story import slug
from fabula.story.cards import (
    MAX_FILE_BYTES,
    CharacterCard,
    Lorebook,
    cleaned,
    filled,
    parse_card,
    persona_of,
    picture_alone,
    read_card,
    read_lorebook,
    scan,
)
from fabula.story.codex import Codex, codex_in
from fabula.story.people import among

if TYPE_CHECKING:
    from fabula.craft.conversation.turns import TurnKnowledge
    from fabula.engine.run import Run
    from fabula.story.personas import Persona


FOLDER: Final = "cards"
_WORLD: Final = "world-"  # before the names of files that hold lorebooks
_PLAYER: Final = "persona-"  # before those that say who the player is
_MAX_PICTURE: Final = 40_000_000  # bytes
_MOST: Final = 100  # cards and lorebooks of a project
_LORE_TOKENS, _EXAMPLE_TOKENS = 300, 200  # with aids


@dataclass(frozen=True, slots=True)
class CardSheet:
    """What a prompt shows of a character's card at one moment.

    Attributes:
        examples: of its dialogue.
        before: entries of its lorebooks that matter now, and belong before the description.
        after: those that belong behind it.
    """

    examples: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cards:
    """The cards of those who talk, and what goes with them.

    Attributes:
        people: the cards by the names of their characters, the player's among them.
        worlds: the lorebooks that all of them share.
        known: the names of others who may talk.
        codex: what the author says of people, places, things and rules.
        players: the names of those who are somebody's personas, and no characters of the story.
    """

    people: Mapping[str, CharacterCard] = field(default_factory=dict)
    worlds: tuple[Lorebook, ...] = ()
    known: tuple[str, ...] = ()
    codex: Codex = field(default_factory=Codex)
    players: tuple[str, ...] = ()

    @classmethod
    def in_(cls, project: Path) -> Cards:
        """Those of a project's folder `cards`, and the author's codex.

        Raises:
            ProjectError: one of the files is none; says which.
            PlanError: the codex has problems.
        """
        people: dict[str, CharacterCard] = {}
        worlds: list[Lorebook] = []
        players: list[str] = []
        try:
            files = plain_files(project / FOLDER, "*.json")
            if len(files) > _MOST:
                raise ProjectError(f"{project / FOLDER} has {len(files):,} files; the limit is {_MOST}. Remove some.")
            for file in files:
                if file.name.startswith(_WORLD):
                    worlds.append(read_lorebook(file))
                else:
                    card = read_card(file)
                    people[card.name] = card
                    players += [card.name] if file.name.startswith(_PLAYER) else []
        except UsageError as error:
            raise ProjectError(str(error)) from error
        return cls(people, tuple(worlds), codex=codex_in(project), players=tuple(players))

    def of(self, name: str) -> CharacterCard | None:
        """The card of a character, by any form of its name."""
        known = among(name, self.people)
        return self.people[known] if known else None

    def names(self, player: str) -> list[str]:
        """Who may talk though no narrative names them: anyone with a card, and a player who talks with one."""
        return [*self.people, *([player] if player and self.people else [])]

    def personas(self, user: str) -> tuple[Persona, ...]:
        """Who those with a card are, for a user of that name."""
        return tuple(persona_of(card, user) for card in self.people.values())

    def greetings(self, name: str, user: str) -> tuple[str, ...]:
        """What a character may say first, of its card's own words; none without a card."""
        card = self.of(name)
        return tuple(cleaned(filled(text, card.called, user)) for text in card.greetings) if card else ()

    def sheet(self, run: Run, moment: TurnKnowledge, role: str) -> CardSheet | None:
        """What the prompt of a turn shows of cards; nothing where there are none."""
        card, user = self.of(moment.who), moment.parties.player
        if card is None and not (self.worlds or self.codex.entries):
            return None
        char = card.called if card else moment.who
        books = (*((card.book,) if card and card.book else ()), *self.worlds)
        messages = [f"{line.name}: {line.text}" for line in (*moment.before, *moment.lines)]
        spoken = sum(line.name == moment.who for line in moment.lines)
        budget = run.room(role).prompt_tokens(_LORE_TOKENS) if run.room(role).aids else None
        seed = f"{run.context.seed}/{'/'.join(run.at.split('/')[:2])}"
        found = [scan(book, messages, budget=budget, spoken=spoken, seed=seed) for book in books]

        def texts(name: str) -> tuple[str, ...]:
            entries = [entry for one in found for entry in getattr(one, name)]
            return tuple(dict.fromkeys(cleaned(filled(entry.content, char, user)) for entry in entries))

        examples = filled(card.text("mes_example"), char, user).replace("<START>", "").strip() if card else ""
        if run.room(role).aids:
            examples = first_of(examples, _EXAMPLE_TOKENS) if examples else ""
        known = self.codex.told(moment.who, messages, (moment.who, *moment.partners))
        return CardSheet(examples, texts("before"), (*texts("after"), *known))


def read_worlds(files: Sequence[str]) -> dict[str, bytes]:
    """The lorebooks of some files as they are, by the files' names; each has been read once.

    Raises:
        UsageError: one of them holds no lorebook.
    """
    for file in files:
        read_lorebook(Path(file))
    return {Path(file).stem: Path(file).read_bytes() for file in files}


def write_cards(project: Path, cards: Sequence[CharacterCard], worlds: Mapping[str, bytes]) -> None:
    """Keep cards, their pictures and lorebooks (by the names of their files) in a project.

    A card of the same name is kept as `NAME.json.old`, as its author may have worked on it.

    Raises:
        UsageError: a picture is too large.
    """
    if not (cards or worlds):
        return
    for card in cards:
        if card.picture:
            write_picture(project, card.name, card.picture)
    folder = project / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for card in cards:
        file = folder / f"{slug(card.name)}.json"
        if is_plain(file) and (old := read_bytes(file, MAX_FILE_BYTES)) != card.as_json():
            write_atomically(file.with_suffix(".json.old"), old)
        write_atomically(file, card.as_json())
    for name, data in worlds.items():
        write_atomically(folder / f"{_WORLD}{slug(name)}.json", data)


def write_persona(project: Path, name: str, text: str) -> None:
    """Keep who the player of that name is: in the character's own card, if there is one, else in one for the player.

    Raises:
        UsageError: the name is empty or too long.
    """
    card = Cards.in_(project).of(name)
    own = project / FOLDER / f"{slug(card.name if card else name)}.json"
    file = own if is_plain(own) else own.with_name(f"{_PLAYER}{own.name}")
    raw = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": name}}
    data = (card or CharacterCard(raw)).with_data(description=text).as_json()
    parse_card(data, "your persona")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, data)


def write_picture(project: Path, name: str, data: bytes) -> None:
    """Keep the picture of somebody, in place of an earlier one.

    Raises:
        UsageError: it is not a PNG, or is too large.
    """
    picture = picture_alone(data, f"The picture of {name}")
    folder = project / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{slug(name)}.png", picture)


def pictures_in(project: Path) -> dict[str, int]:
    """The names of the pictures in a project's folder `cards`, each with the time of its last change."""
    found = plain_files(project / FOLDER, "*.png")[:_MOST]
    return {file.stem: file.stat().st_mtime_ns for file in found}


def picture_in(project: Path, name: str) -> bytes:
    """A character's picture, safe to show: a PNG with nothing but its picture.

    Raises:
        UsageError: there is no such picture, or the file is not a valid PNG.
    """
    file = inside(project, f"{FOLDER}/{name}.png")
    return picture_alone(read_bytes(file, _MAX_PICTURE, kind="a PNG"), file.name)
