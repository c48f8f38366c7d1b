"""Conversion between cards and a plan's characters or personas.

Data that has no field in a card (role, goals, relationships, ...) is stored in `extensions.fabula`, so that a persona
saved as a card can be restored unchanged. Other extensions of a card are ignored. A card's `system_prompt` and
`post_history_instructions` are instructions to a model, not part of a character, and are never used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fabula.base.errors import UsageError
from fabula.story import one_line
from fabula.story.cards.card import CharacterCard
from fabula.story.cards.texts import cleaned
from fabula.story.personas import KEY, MAX_TEXT, Persona, Scalar, scalar
from fabula.story.plan import Character

PLAYER: Final = "the player"
OURS: Final = "fabula"
_MOST: Final = 50  # of a list in the extension
_SHORT: Final = 60  # letters of a trait
_WORDS: Final = 8  # of one
_LISTS: Final = ("goals", "abilities", "fears", "aliases")
_OWN: Final = ("secret", "knows")
_NOTHING: Final[tuple[Any, ...]] = ("", [], {}, False)
_END: Final = re.compile(r"[.!?][\"'\u201d\u2019)]*(?=\s)")
_BETWEEN: Final = re.compile(r"[,;\n]+")
_EMPTY: Final[Mapping[str, Any]] = {
    "name": "", "description": "", "personality": "", "scenario": "", "first_mes": "", "mes_example": "",
    "creator_notes": "", "system_prompt": "", "post_history_instructions": "", "alternate_greetings": [], "tags": [],
    "creator": "", "character_version": "", "extensions": {}, "group_only_greetings": [],
}  # fmt: skip


def persona_of(card: CharacterCard, user: str = PLAYER) -> Persona:
    """The card's character as a persona; `user` is the text that replaces `{{user}}`.

    A description of more than 4,000 characters is cut after the last sentence that fits; `left_out` reports this.
    """
    ours = _ours(card)
    traits = _listed(ours.get("personality"))
    personality = _said(card, "personality", user)
    parts = (_said(card, "description", user), _situation(card, user))
    nickname = (card.called,) if card.called != card.name else ()
    lists: dict[str, Any] = {name: _listed(ours.get(name)) for name in _LISTS}
    lists["aliases"] = tuple(dict.fromkeys((*nickname, *lists["aliases"])))
    return Persona(
        card.name,
        description=_cut("\n\n".join(filter(None, parts))),
        role=_line(ours.get("role")),
        personality=traits if ", ".join(traits) == personality else _traits(personality),
        relationships=tuple((one_line(key), text) for key, text in _pairs(ours.get("relationships"))),
        location=_line(ours.get("location")),
        appearance=_text(ours.get("appearance")),
        secret=_text(ours.get("secret")),
        knows=_text(ours.get("knows")),
        state=tuple((key, value) for key, value in _values(ours.get("state"))),
        **lists,
    )


def character_of(card: CharacterCard, user: str = PLAYER) -> Character:
    """The card's character as a character of a plan, with the description and situation in `setup`."""
    ours = _ours(card)
    parts = (_said(card, "description", user), _situation(card, user))
    return Character(
        card.name,
        role=_line(ours.get("role")),
        gender=_line(ours.get("gender")),
        age=_line(ours.get("age")),
        setup=_cut("\n\n".join(filter(None, parts))),
        speech=_text(ours.get("speech")),
        goal="; ".join(_listed(ours.get("goals"))),
        group=ours.get("group") is True,
        secret=_text(ours.get("secret")),
        knows=_text(ours.get("knows")),
        personality=_cut(_said(card, "personality", user)),
    )


def card_of(who: Persona | Character, base: CharacterCard | None = None) -> CharacterCard:
    """A version 3 card for a persona or a character; with `base`, an updated version of that card.

    Unchanged texts keep their original form with macros, and fields that exist only in a card (greetings, lorebook,
    unknown fields) are kept. If nothing differs, the card is returned unchanged.

    Raises:
        UsageError: the name is empty.
    """
    if not cleaned(who.name):
        raise UsageError("A card needs a name. Give the character a name.")
    start = base or CharacterCard({"spec": "chara_card_v3", "spec_version": "3.0", "data": dict(_EMPTY)})
    fields, ours = _fields_of(who)
    if base is not None:
        before = _fields_of(persona_of(base) if isinstance(who, Persona) else character_of(base))
        fields, ours = (_changed(new, old) for new, old in zip((fields, ours), before, strict=True))
    if "description" in fields:
        fields["scenario"] = ""  # a description holds the situation too
    older = start.extensions.get(OURS)
    kept = {**(older if isinstance(older, dict) else {}), **ours}
    mine = {name: value for name, value in kept.items() if name not in ours or value not in _NOTHING}
    others = {name: value for name, value in start.extensions.items() if name != OURS}
    extensions = {**others, **({OURS: mine} if mine else {})}
    return start.with_data(**fields, **({"extensions": extensions} if ours else {}))


def left_out(card: CharacterCard) -> tuple[str, ...]:
    """The parts of a card that do not fit into a persona or a character, one sentence for each part."""
    found = []
    whole = "\n\n".join(filter(None, (card.text("description"), card.text("scenario"))))
    if len(whole) > MAX_TEXT:
        found.append(f"The description has {len(whole):,} characters, of which the first {MAX_TEXT:,} are kept.")
    if card.greetings:
        found.append(f"First messages: {len(card.greetings)}.")
    if card.text("mes_example"):
        found.append("Its examples of dialogue.")
    if card.book:
        found.append(f"The lorebook, of {len(card.book.entries)} entries.")
    if card.text("system_prompt") or card.text("post_history_instructions"):
        found.append("Instructions to a model (system_prompt, post_history_instructions), which fabula never follows.")
    return tuple(found)


# to a card ----------------------------------------------------------------------------------------------------------


def _fields_of(who: Persona | Character) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a card, and those of our extension."""
    if isinstance(who, Character):
        fields = {"name": who.name, "description": who.setup, "personality": who.personality}
        ours = {name: getattr(who, name) for name in ("role", "gender", "age", "speech", "group", *_OWN)}
        return fields, {**ours, "goals": [who.goal] if who.goal else []}
    fields = {"name": who.name, "description": who.description, "personality": ", ".join(who.personality)}
    ours = {name: list(getattr(who, name)) for name in ("personality", *_LISTS)}
    ours |= {name: getattr(who, name) for name in ("role", "location", "appearance", *_OWN)}
    return fields, {**ours, "relationships": dict(who.relationships), "state": dict(who.state)}


def _changed(new: dict[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in new.items() if value != old[name]}


# from a card --------------------------------------------------------------------------------------------------------


def _ours(card: CharacterCard) -> Mapping[str, Any]:
    found = card.extensions.get(OURS)
    return found if isinstance(found, dict) else {}


def _said(card: CharacterCard, name: str, user: str) -> str:
    return cleaned(card.said(name, user))


def _situation(card: CharacterCard, user: str) -> str:
    scenario = _said(card, "scenario", user)
    return f"Situation: {scenario}" if scenario else ""


def _traits(text: str) -> tuple[str, ...]:
    """A personality as traits where it is a list of short ones, else as one text; nothing where there is none."""
    parts = [part.strip().rstrip(".") for part in _BETWEEN.split(text) if part.strip(" .")]
    if all(len(part) <= _SHORT and len(part.split()) <= _WORDS and not _END.search(part) for part in parts):
        return tuple(parts[:_MOST])
    return (_cut(text),)


def _cut(text: str) -> str:
    """`text` up to the last sentence within the bound of a persona's text."""
    if len(text) <= MAX_TEXT:
        return text
    head = text[:MAX_TEXT]
    ends = [found.end() for found in _END.finditer(head)]
    return head[: ends[-1]] if ends else head.rsplit(None, 1)[0]


def _text(value: object) -> str:
    return _cut(cleaned(value)) if isinstance(value, str) else ""


def _line(value: object) -> str:
    return one_line(_text(value))


def _listed(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else []
    return tuple(filter(None, map(_text, listed[:_MOST])))


def _pairs(value: object) -> list[tuple[str, str]]:
    pairs = list(value.items())[:_MOST] if isinstance(value, dict) else []
    return [(cleaned(key), _text(text)) for key, text in pairs if cleaned(key)]


def _values(value: object) -> list[tuple[str, Scalar]]:
    pairs = list(value.items())[:_MOST] if isinstance(value, dict) else []
    return [(key, scalar(said)) for key, said in pairs if KEY.fullmatch(key) and isinstance(said, str | int | float)]
