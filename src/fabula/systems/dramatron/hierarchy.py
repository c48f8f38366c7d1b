"""The hierarchy's levels as data, as the text that a person may edit, and out of an author's plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.engine.replies.labelled import first_clause, holds_called, holds_word, role_in, words_in
from fabula.engine.replies.loops import words_of
from fabula.story import count_words, one_line
from fabula.story.sentences import as_sentence, spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.story import Brief
    from fabula.story.plan import Plan
    from fabula.systems.dramatron.config import Introduced, Match

END: Final = "**END**"
CHARACTER: Final = "**Character:** "
DESCRIPTION: Final = "**Description:** "
_COMMON_WORDS: Final = frozenset(
    (
        *("a", "an", "and", "the", "of", "de", "von", "van", "mr", "mrs", "ms", "miss"),
        *("dr", "sir", "lady", "lord", "old", "young"),
    )
)  # words of names that name nobody


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

    def shortened(self, words: int) -> CharacterEntry:
        """The entry with a description of at most `words` words, in whole sentences."""
        return replace(self, description=shortened(self.description, words))

    def shown(self, *, named: bool) -> str:
        """The description; where `named`, after the name if it does not hold it."""
        if not named or self.name.casefold() in self.description.casefold():
            return self.description
        return f"{self.name}: {self.description}"


@dataclass(frozen=True, slots=True)
class SceneEntry:
    """A scene of the plot: where, which part of the arc, what happens; from a plan also who is there.

    Attributes:
        side: "INT.", "EXT." or "INT/EXT."; empty where nobody said.
        time: when it happens, in words.
        then: who those present are at its time and what they want, where that is not what their descriptions say.
        sheets: descriptions of characters as of this scene, where an author's plan has them.
    """

    place: str
    element: str
    beat: str
    present: tuple[str, ...] = ()
    weight: float = 1.0
    side: str = ""
    time: str = ""
    then: str = ""
    sheets: tuple[CharacterEntry, ...] = ()

    @property
    def text(self) -> str:
        """The lines of `plan/scenes.md`; those behind the beat only where there is something to say."""
        lines = {
            "Place": self.place,
            "Plot element": self.element,
            "Beat": self.beat,
            "Present": ", ".join(self.present),
            "Interior or exterior": self.side,
            "Time": self.time,
            "At that time": self.then,
        }
        always = ("Place", "Plot element", "Beat")
        return "\n".join(f"{label}: {one_line(text)}" for label, text in lines.items() if text or label in always)

    @property
    def slug_line(self) -> str:
        """The heading of a scene as screenplays have it: inside or outside, the place, and when."""
        place, time = self.place.strip(" ."), self.time.strip(" .")
        when = f" - {time}" if time and alike(time) not in alike(place) else ""
        return f"{self.side or 'INT/EXT.'} {place}{when}".upper()

    @property
    def key(self) -> str:
        """What two entries of one scene have in common."""
        return alike(self.beat)

    def shortened(self, words: int) -> SceneEntry:
        """The entry with a beat of at most `words` words, in whole sentences."""
        return replace(self, beat=shortened(self.beat, words))


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """All levels above the dialogue; `places` maps a name to its description."""

    title: str
    logline: str
    characters: tuple[CharacterEntry, ...]
    scenes: tuple[SceneEntry, ...]
    places: dict[str, str]

    def described(self, scene: SceneEntry, match: Match) -> tuple[CharacterEntry, ...]:
        """Whose descriptions a dialogue is given: those whom the plan puts into the scene, else those in its beat."""
        then = {sheet.name: sheet for sheet in scene.sheets}
        found = self._present(scene) or described_for(scene.beat, self.characters, match)
        return tuple(then.get(character.name, character) for character in found)

    def new_in(self, at: int, match: Match) -> tuple[str, ...]:
        """Names of who is in a scene, counted from 0, and in none before it."""
        seen = {character.name for earlier in self.scenes[:at] for character in self._people(earlier, match)}
        return tuple(one.name for one in self._people(self.scenes[at], match) if one.name not in seen)

    def first_at(self, place: str) -> int:
        """The first scene at a place, counted from 0."""
        return [scene.place for scene in self.scenes].index(place)

    def heading(self, at: int, match: Match, introduced: Introduced = "all") -> str:
        """What a script shows before anybody speaks: the heading, and places and people where they come first."""
        scene = self.scenes[at]
        release = introduced == "all"
        parts = [f"INT/EXT. {scene.place.rstrip('. ')} - Scene {at + 1}" if release else scene.slug_line]
        description = self.places.get(scene.place, "")
        if description and introduced != "none" and self.first_at(scene.place) == at:
            parts.append(description)
        if not release:
            return "\n\n".join(parts)
        new = self.new_in(at, match)
        shown = [one.shown(named=True) for one in self._people(scene, match) if one.name in new]
        return "\n\n".join([*parts, *shown])

    def _people(self, scene: SceneEntry, match: Match) -> tuple[CharacterEntry, ...]:
        return self._present(scene) or named_in(scene.beat, self.characters, match)

    def _present(self, scene: SceneEntry) -> tuple[CharacterEntry, ...]:
        return tuple(character for character in self.characters if character.name in scene.present)


@dataclass(frozen=True, slots=True)
class SceneInput:
    """What a dialogue is asked with, in the order of the prompt.

    Attributes:
        shown_in: number of an earlier scene that the description of the place is of; 0 where it is of this one.
    """

    place: str
    description: str
    characters: tuple[str, ...]
    element: str
    summary: str
    previous: tuple[str, ...]
    beat: str
    following: str = ""
    time: str = ""
    then: str = ""
    shown_in: int = 0


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


def shortened(text: str, words: int) -> str:
    """`text`, or as many of its first sentences as have at most `words` words together; at least one."""
    if count_words(text) <= words:
        return text
    ends = [stop for _, stop in spans(text)]
    fitting = [stop for stop in ends if count_words(text[:stop]) <= words]
    return text[: max(fitting, default=ends[0])].strip()


# whom a beat names --------------------------------------------------------------------------------------------------


def named_in(beat: str, characters: Sequence[CharacterEntry], match: Match) -> tuple[CharacterEntry, ...]:
    """The characters that `beat` names.

    "substring" (release): those whose name stands in it, letter for letter, also inside another word. "words": those of
    whom a word of the name stands in it as a word, or who are called by what they are ("the captain").
    """
    if match == "substring":
        return tuple(character for character in characters if character.name in beat)
    return tuple(character for character in characters if _is_named(character, beat))


def described_for(beat: str, characters: Sequence[CharacterEntry], match: Match) -> tuple[CharacterEntry, ...]:
    """The characters whose descriptions a dialogue is given: those whom its beat names.

    With "words" it is given all where the beat names nobody.
    """
    found = named_in(beat, characters, match)
    return found or (tuple(characters) if match == "words" else ())


def _is_named(character: CharacterEntry, beat: str) -> bool:
    words = [word for word in words_in(character.name) if word.casefold() not in _COMMON_WORDS]
    if any(holds_word(beat, word) for word in words):
        return True
    role = role_in(character.description, character.name)
    called = [*(words if len(words) > 1 else ()), *([role] if role else ())]
    return any(holds_called(beat, word) for word in called)


# an author's plan ---------------------------------------------------------------------------------------------------


def logline_of(brief: Brief, *, titled: bool = False) -> str:
    """Level 0: the brief on one line; where `titled`, with the author's title in front."""
    text = with_stop(one_line(brief.text))
    return f'"{brief.title}". {text}' if titled and brief.title else text


def hierarchy_of(plan: Plan, brief: Brief, *, titled: bool = False) -> Hierarchy:
    """Title, logline, characters, scenes and places of `plan`; no calls."""
    characters = tuple(CharacterEntry(character.name, character.introduction()) for character in plan.characters)
    scenes: list[SceneEntry] = []
    places: dict[str, str] = {}
    for scene in plan.scenes:
        name, description = place_of(scene.place)
        key = with_stop(name)
        places.setdefault(key, description)
        beat = " ".join(as_sentence(event.text) for event in scene.outline)
        changed = {one.name for one in scene.characters if one.age or one.then}
        sheets = tuple(
            CharacterEntry(one.name, one.introduction()) for one, _ in plan.people(scene) if one.name in changed
        )
        scenes.append(
            SceneEntry(key, scene.element, beat, scene.present, scene.importance, time=scene.when, sheets=sheets)
        )
    logline = logline_of(brief, titled=titled)
    return Hierarchy(plan.title or brief.title, logline, characters, tuple(scenes), places)


def place_of(place: str) -> tuple[str, str]:
    """A plan's place as a name, its first clause, and the rest as description."""
    line = one_line(place)
    if not line:
        return "Somewhere", ""
    name, description = first_clause(line)
    return name, description[:1].upper() + description[1:]
