"""The hierarchy's levels as data, as the text that a person may edit, and out of an author's plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.craft.personas import characters_of, setting_of
from fabula.engine.replies.labelled import first_clause
from fabula.engine.replies.loops import words_of
from fabula.story import Brief, one_line
from fabula.story.sentences import as_sentence

if TYPE_CHECKING:
    from fabula.story.personas import Personas
    from fabula.story.plan import Plan


END: Final = "**END**"
CHARACTER: Final = "**Character:** "
DESCRIPTION: Final = "**Description:** "


@dataclass(frozen=True, slots=True)
class CharacterEntry:
    """A character: a name and one line about them."""

    name: str
    description: str

    @property
    def text(self) -> str:
        """The line of `plan/characters.md`."""
        return f"{CHARACTER}{one_line(self.name)} {DESCRIPTION}{one_line(self.description)}"

    @property
    def key(self) -> str:
        """What two entries of one character have in common."""
        return self.name.casefold()

    @property
    def named(self) -> str:
        """The description, after the name where it does not hold it."""
        if self.key in self.description.casefold():
            return self.description
        return f"{self.name}: {self.description}"


@dataclass(frozen=True, slots=True)
class SceneEntry:
    """A scene of the plot: where, which part of the arc, what happens.

    Attributes:
        people: of an author's plan, who is there, as they are at that time.
        weight: of an author's plan, the scene's importance.
    """

    place: str
    element: str
    beat: str
    people: tuple[CharacterEntry, ...] = ()
    weight: float = 1.0

    @property
    def text(self) -> str:
        """The lines of `plan/scenes.md`."""
        lines = {"Place": self.place, "Plot element": self.element, "Beat": self.beat}
        return "\n".join(f"{label}: {one_line(text)}" for label, text in lines.items())

    @property
    def key(self) -> str:
        """What two entries of one scene have in common."""
        return alike(self.beat)


@dataclass(frozen=True, slots=True)
class SceneInput:
    """What a dialogue is asked with, in the order of the prompt."""

    place: str
    description: str
    characters: tuple[str, ...]
    element: str
    summary: str
    previous: tuple[str, ...]
    beat: str


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """All levels above the dialogue; `places` maps a name to its description.

    `reads` are the artefacts from which characters and scenes were read, `described` that of each place's description.
    """

    title: str
    logline: str
    characters: tuple[CharacterEntry, ...]
    scenes: tuple[SceneEntry, ...]
    places: dict[str, str]
    reads: tuple[str, ...] = ("plan",)
    described: Mapping[str, str] = field(default_factory=dict)

    def shows_place(self, at: int) -> str:
        """The description of a scene's place where the scene, counted from 0, is the first one there."""
        place = self.scenes[at].place
        first = [scene.place for scene in self.scenes].index(place)
        return self.places.get(place, "") if first == at else ""


def characters_in(beat: str, characters: Sequence[CharacterEntry]) -> tuple[CharacterEntry, ...]:
    """The characters whose name is in `beat`, letter for letter, also inside another word (release)."""
    return tuple(character for character in characters if character.name in beat)


def characters_text(entries: Sequence[CharacterEntry]) -> str:
    """One line a character."""
    return "\n".join(entry.text for entry in entries)


def scenes_text(entries: Sequence[SceneEntry]) -> str:
    """Three lines a scene, a blank line between scenes."""
    return "\n\n".join(entry.text for entry in entries)


def without_end(text: str) -> str:
    """`text` without any END mark, also one that a continuation has left in the middle."""
    return "\n".join(line.rstrip() for line in text.replace(END, "").split("\n")).strip("\n")


def with_stop(text: str) -> str:
    """A log line or the name of a place as the release has it: with a full stop if it holds none anywhere."""
    return text if "." in text else f"{text}."


def alike(text: str) -> str:
    """The words of `text` alone, in small letters: what two texts that read alike have in common."""
    return " ".join(words_of(text))


# what the author gives ----------------------------------------------------------------------------------------------


def logline_of(brief: Brief, start: Personas | None = None) -> str:
    """Level 0: the brief on one line, with the goal and the setting of the author's personas."""
    line = with_stop(one_line(brief.text))
    return (
        " ".join((line, *(as_sentence(one_line(text)) for text in (start.goal, setting_of(start)) if text)))
        if start
        else line
    )


def people_of(start: Personas) -> tuple[CharacterEntry, ...]:
    """Level 2 by the author's hand: their personas."""
    return tuple(CharacterEntry(character.name, character.introduction()) for character in characters_of(start))


def hierarchy_of(plan: Plan, brief: Brief) -> Hierarchy:
    """Title, logline, characters, scenes and places of the author's plan; no calls."""
    characters = tuple(CharacterEntry(character.name, character.introduction()) for character in plan.characters)
    scenes: list[SceneEntry] = []
    places: dict[str, str] = {}
    for scene in plan.scenes:
        name, description = place_of(scene.place)
        places.setdefault(with_stop(name), description)
        beat = " ".join(as_sentence(event.text) for event in scene.outline)
        people = tuple(CharacterEntry(person.name, person.introduction()) for person, _ in plan.people(scene))
        scenes.append(SceneEntry(with_stop(name), scene.element, beat, people, scene.importance))
    return Hierarchy(plan.title or brief.title, logline_of(brief), characters, tuple(scenes), places)


def place_of(place: str) -> tuple[str, str]:
    """A plan's place as a name, its first clause, and the rest as description."""
    line = one_line(place)
    if not line:
        return "Somewhere", ""
    name, description = first_clause(line)
    return name, description[:1].upper() + description[1:]
