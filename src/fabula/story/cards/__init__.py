"""Character cards as other programs write them (V1, V2 and V3; JSON, within a PNG, or `.charx`), and lorebooks.

A card comes from a stranger. Its sizes and its nesting are bounded, no address in it is fetched, no picture in it is
decoded, no pattern in it is run, nothing in it is rendered as HTML; control characters stay out of prompts and
terminals. What is not known here is kept: an unchanged card is written byte for byte as it was read.

Formats: character-card-spec-v2 (malfoyslastname) and character-card-spec-v3 (kwaroran).
"""

from __future__ import annotations

from fabula.story.cards.card import MAX_FILE_BYTES, CharacterCard, parse_card, read_card
from fabula.story.cards.lorebook import Lorebook, LorebookEntry, Scanned, read_lorebook, scan
from fabula.story.cards.mapping import card_of, character_of, left_out, persona_of
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
    "parse_card",
    "persona_of",
    "read_card",
    "read_lorebook",
    "scan",
]
