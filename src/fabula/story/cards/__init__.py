"""Character cards from other programs (V1, V2 and V3; as JSON, PNG or `.charx`), and lorebooks.

A card may come from a stranger, so it is not trusted. Size and nesting are limited; no URL is fetched, no picture is
decoded, no pattern is run, and no text is rendered as HTML. Control characters are removed from texts for prompts and
terminals. Unknown fields are kept, and an unchanged card is written exactly as it was read, byte for byte.

The formats are character-card-spec-v2 (malfoyslastname) and character-card-spec-v3 (kwaroran).
"""

from __future__ import annotations

from fabula.story.cards.card import MAX_FILE_BYTES, CharacterCard, parse_card, read_card
from fabula.story.cards.lorebook import Lorebook, LorebookEntry, Scanned, lorebook_in, read_lorebook, scan
from fabula.story.cards.mapping import card_of, character_of, left_out, persona_of
from fabula.story.cards.png import picture_alone
from fabula.story.cards.texts import cleaned, filled

__all__ = [
    "MAX_FILE_BYTES",
    "CharacterCard",
    "Lorebook",
    "LorebookEntry",
    "Scanned",
    "card_of",
    "character_of",
    "cleaned",
    "filled",
    "left_out",
    "lorebook_in",
    "parse_card",
    "persona_of",
    "picture_alone",
    "read_card",
    "read_lorebook",
    "scan",
]
