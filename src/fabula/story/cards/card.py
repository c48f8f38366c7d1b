"""`CharacterCard`: a card with the complete contents of its file, which can be JSON, PNG or `.charx`."""

from __future__ import annotations

import base64
import binascii
import codecs
import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fabula.base.errors import UsageError
from fabula.base.files import read_bytes
from fabula.story import one_line
from fabula.story.cards import png
from fabula.story.cards.lorebook import Lorebook
from fabula.story.cards.texts import cleaned, filled, parse_json, write_json

MAX_FILE_BYTES: Final = 32_000_000
MAX_JSON_BYTES: Final = 8_000_000
MAX_NAME: Final = 200
_GIVE: Final = "Give a character card of version 1, 2 or 3, as JSON or PNG."
MAX_LISTED: Final = 1_000
KEYWORDS: Final = {"ccv3": "chara_card_v3", "chara": "chara_card_v2"}  # the first one found counts
_MAX_LISTED_BYTES: Final = 4_000_000  # of the list of files in a .charx
_IN_CHARX: Final = "card.json"
_SPEC: Final = "chara_card_v"
_NEWEST: Final = 3
_FIRST: Final = ("description", "personality", "scenario", "first_mes", "mes_example")
_TEXTS: Final = (*_FIRST, "creator_notes", "system_prompt", "post_history_instructions", "creator", "nickname")
_BACKFILL: Final = "This is a version 3 card, stored here as version 2. A program that reads version 3 shows more."


@dataclass(frozen=True, slots=True)
class CharacterCard:
    """A character card.

    Texts from the properties are safe to show; for prompts, `said` also replaces their macros.

    Attributes:
        raw: the complete JSON object, including unknown fields.
        origin: the JSON as it was read; empty if the card was created or changed after reading.
        picture: the PNG from which the card was read; empty if there was none.
    """

    raw: Mapping[str, Any]
    origin: bytes = field(default=b"", compare=False, repr=False)
    picture: bytes = field(default=b"", compare=False, repr=False)

    # what it says ---------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The card's version: 1, 2 or 3, or a higher number for a later version, which is read like version 3."""
        spec = self.raw.get("spec")
        number = spec.removeprefix(_SPEC) if isinstance(spec, str) else ""
        if number.isascii() and number.isdigit():
            return max(int(number[:4]), 1)
        return 2 if isinstance(self.raw.get("data"), dict) else 1

    @property
    def data(self) -> Mapping[str, Any]:
        """The object with the card's fields: `data`, or, for a version 1 card, the whole object."""
        inner = self.raw.get("data")
        return inner if isinstance(inner, dict) else self.raw

    @property
    def name(self) -> str:
        """The character's name as a single line."""
        return one_line(self.text("name"))

    @property
    def called(self) -> str:
        """The name used for the character in texts: the nickname (version 3) or else the name."""
        return one_line(self.text("nickname")) or self.name

    @property
    def greetings(self) -> tuple[str, ...]:
        """The first message and the alternative greetings, without empty ones."""
        return tuple(filter(None, (self.text("first_mes"), *self.texts("alternate_greetings"))))

    @property
    def book(self) -> Lorebook | None:
        """The character's lorebook, if there is one."""
        book = self.data.get("character_book")
        return Lorebook.of(book) if isinstance(book, dict) else None

    @property
    def extensions(self) -> Mapping[str, Any]:
        """The data that programs store in the card, by program name."""
        found = self.data.get("extensions")
        return found if isinstance(found, dict) else {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the file for its reader."""
        if self.version > _NEWEST:
            return (
                (
                    f"This card has version {self.version}, which is newer than this version of fabula. Its new "
                    "fields are kept."
                ),
            )
        return ()

    def text(self, name: str) -> str:
        """The cleaned text of a field; empty if there is no text."""
        value = self.data.get(name)
        return cleaned(value) if isinstance(value, str) else str(value) if _is_number(value) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """The cleaned texts of a list field; a single text counts as a list with one element."""
        value = self.data.get(name)
        listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return tuple(cleaned(text) for text in listed[:MAX_LISTED] if isinstance(text, str) and cleaned(text))

    def said(self, name: str, user: str) -> str:
        """The text of a field for a prompt, with `{{char}}` and `{{user}}` replaced and comments removed."""
        return filled(self.text(name), self.called, user)

    # changing and writing -------------------------------------------------------------------------------------------

    def with_data(self, **changes: Any) -> CharacterCard:  # noqa: ANN401 - fields of any kind
        """The card with some fields changed, or the card itself if nothing changes."""
        data = {**self.data, **changes}
        if data == self.data:
            return self
        raw = {**self.raw, "data": data} if "data" in self.raw else data
        if "data" in self.raw:  # many cards repeat the fields of version 1 at the top
            raw |= {name: value for name, value in changes.items() if name in self.raw and name in ("name", *_FIRST)}
        return CharacterCard(raw, picture=self.picture)

    def as_json(self) -> bytes:
        """The card as a JSON file, identical to the original if nothing has changed."""
        return self.origin or write_json(self.raw, indent=2) + b"\n"

    def as_png(self, picture: bytes = b"") -> bytes:
        """The card as a PNG with one of three pictures: `picture`, the original one, or a plain grey one.

        The picture in an unchanged card's PNG stays as it is. A version 3 card is stored twice: as `ccv3`, and as
        `chara` for older programs.

        Raises:
            UsageError: `picture` is not a valid PNG.
        """
        base = picture or self.picture or png.plain_picture()
        if self.origin and base == self.picture:
            return base
        found, rest = png.chunks(base, "The picture")
        texts = {"chara": self._older() if self.version >= _NEWEST else self._compact()}
        if self.version >= _NEWEST:
            texts["ccv3"] = self._compact()
        coded = {name: base64.b64encode(text) for name, text in texts.items()}
        return png.packed(png.replaced(found, coded, tuple(KEYWORDS)), rest)

    def _compact(self) -> bytes:
        return self.origin.removeprefix(codecs.BOM_UTF8) or write_json(self.raw)

    def _older(self) -> bytes:
        """A card of version 3 as one of version 2."""
        notes = "\n\n".join(filter(None, (_BACKFILL, self.text("creator_notes"))))
        data = {**self.data, "creator_notes": notes}
        return write_json({**self.raw, "spec": "chara_card_v2", "spec_version": "2.0", "data": data})


def read_card(path: Path) -> CharacterCard:
    """The card in a file: JSON, PNG, or `.charx`.

    Raises:
        UsageError: the file cannot be read, is too large, or does not contain a card.
    """
    return parse_card(read_bytes(path, MAX_FILE_BYTES, kind="a card's PNG or JSON file"), str(path))


def parse_card(data: bytes, name: str = "card") -> CharacterCard:
    """The card in a file's bytes; `name` is used in messages.

    Raises:
        UsageError: the file is too large, or does not contain a valid card.
    """
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{name} is larger than {MAX_FILE_BYTES:,} bytes. Use a smaller picture.")
    if not data.startswith(png.SIGNATURE):
        if data.startswith((b"\xff\xd8\xff", b"RIFF")):
            raise UsageError(
                f"{name} is not a PNG, JSON or .charx file. Export the card again in one of these formats."
            )
        if name.casefold().endswith(".png"):
            raise UsageError(f"{name} is not a PNG file, although its name ends like one's. {_GIVE}")
        return _card(_unzipped(data, name) if data.startswith(b"PK\x03\x04") else data, name)
    text = _card_in(png.chunks(data, name)[0], name)
    if text is None:
        raise UsageError(f"{name} is a picture without a character card. Use the original download.")
    made = _card(text, name)
    return CharacterCard(made.raw, made.origin, data)


def _card_in(found: list[png.Chunk], where: str) -> bytes | None:
    """The JSON of the card that a PNG holds: that of version 3 before that of version 2."""
    for word in KEYWORDS:
        for chunk in found:
            if png.keyword(chunk).lower() == word:
                text = png.text_of(chunk, where)
                return text if text.lstrip()[:1] == b"{" else _decoded(text, where)
    return None


def _unzipped(data: bytes, where: str) -> bytes:
    """The `card.json` of a `.charx` file (version 3); its pictures and whatever else it holds are not looked at."""
    end = data.rfind(b"PK\x05\x06")
    listed = int.from_bytes(data[end + 12 : end + 16], "little") if end >= 0 else 0
    if listed > _MAX_LISTED_BYTES:
        raise UsageError(f"{where} lists too many files. Export the card again, with fewer pictures.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(_IN_CHARX) as file:
            return file.read(MAX_JSON_BYTES + 1)
    except KeyError as error:
        raise UsageError(
            f"{where} contains no {_IN_CHARX}. Use a .charx file, or the PNG or JSON file of a card."
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise UsageError(f"{where} is damaged or compressed in an unsupported way. Export the card again.") from error


def _decoded(text: bytes, where: str) -> bytes:
    bare = b"".join(text.split()).rstrip(b"=")
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4), validate=True)
    except binascii.Error as error:
        raise UsageError(f"The card in {where} is damaged: it is not Base64 ({error}). Copy the file again.") from error


def _card(data: bytes, where: str) -> CharacterCard:
    if len(data) > MAX_JSON_BYTES:
        raise UsageError(f"The card in {where} is larger than {MAX_JSON_BYTES:,} bytes. Remove pictures from it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"The card in {where} is not UTF-8 text (byte {error.start}). {_GIVE}") from error
    raw = parse_json(text, f"The card in {where}")
    if not isinstance(raw, dict):
        raise UsageError(f"The card in {where} is not a JSON object. {_GIVE}")
    card = CharacterCard(raw, data)
    _check(card, where)
    return card


def _check(card: CharacterCard, where: str) -> None:
    """See that it is a card, and that what is read in it can be read.

    Raises:
        UsageError: it is none, has no name, or a field holds something else than it should; names the field.
    """
    if card.version == 1 and not any(name in card.data for name in _FIRST):
        raise UsageError(
            f"{where} contains JSON but no character card: it has no `spec`, `data` or `description`. {_GIVE}"
        )
    if not card.name:
        raise UsageError(f"The card in {where} has no name. Write a name in its field `name`.")
    if len(card.name) > MAX_NAME:
        raise UsageError(f"The card in {where} has a name of {len(card.name):,} letters. Shorten it to {MAX_NAME}.")
    for name in ("name", *_TEXTS):
        value = card.data.get(name)
        if not (value is None or isinstance(value, str) or _is_number(value)):
            raise UsageError(f"The card in {where}: {name} is not text. Correct the field or remove it.")
    if (book := card.data.get("character_book")) is not None and not isinstance(book, dict):
        raise UsageError(f"The card in {where}: character_book is not an object. Correct the field or remove it.")
    if isinstance(book, dict):
        Lorebook.of(book, f"The card in {where}: character_book")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
