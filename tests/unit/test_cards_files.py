"""Cards out of files: JSON and PNG, versions 1 to 3, what is kept, and what is refused and how it is said."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import UsageError
from fabula.story.cards import card as card_module
from fabula.story.cards import parse_card, png, read_card
from fabula.story.cards.png import Chunk
from fabula.story.cards.texts import cleaned, filled, nesting

if TYPE_CHECKING:
    from pathlib import Path

DATA: dict[str, Any] = {
    "name": "Mara",
    "description": "{{char}} keeps the lamp on the cape.",
    "personality": "patient, stubborn",
    "scenario": "A letter has come for {{user}}.",
    "first_mes": "*Mara folds the letter.*",
    "mes_example": "<START>\n{{user}}: What is it?\n{{char}}: Oil.",
    "creator_notes": "Be kind to her.",
    "system_prompt": "",
    "post_history_instructions": "",
    "alternate_greetings": ["Ten boats.", ""],
    "tags": ["sea"],
    "creator": "Ines",
    "character_version": "1.2",
    "extensions": {"depth_prompt": {"depth": 4, "prompt": "x"}, "other/tool": [1, 2.50, None]},
    "unheard_of": {"deep": [{"er": True}]},
}
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": DATA, "create_date": "2026"}
V3 = {"spec": "chara_card_v3", "spec_version": "3.0", "data": {**DATA, "nickname": "Mar", "group_only_greetings": []}}


def text_of(card: object) -> bytes:
    return json.dumps(card, indent=4).encode()


def picture(*texts: Chunk) -> bytes:
    found, rest = png.chunks(png.plain_picture(4, 4), "x")
    return png.packed([found[0], *texts, *found[1:]], rest)


def word(name: str, data: bytes) -> Chunk:
    return Chunk(b"tEXt", name.encode() + b"\0" + data)


def coded(name: str, card: object) -> Chunk:
    return word(name, base64.b64encode(text_of(card)))


# reading ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("raw", "version"), [(DATA, 1), (V2, 2), (V3, 3), ({"data": DATA}, 2)])
def test_each_version_is_read_and_written_as_it_was(raw: dict[str, Any], version: int) -> None:
    card = parse_card(text_of(raw))
    assert (card.version, card.name, card.text("creator")) == (version, "Mara", "Ines")
    assert card.greetings == ("*Mara folds the letter.*", "Ten boats.")
    assert card.as_json() == text_of(raw)


def test_macros_are_filled_for_prompts_alone() -> None:
    card = parse_card(text_of(V3))
    assert card.text("description") == "{{char}} keeps the lamp on the cape."
    assert card.said("description", "Tobias") == "Mar keeps the lamp on the cape."
    assert card.said("scenario", "Tobias") == "A letter has come for Tobias."


def test_a_name_put_in_is_not_looked_at_again() -> None:
    assert (
        filled("{{USER}} and <Bot>{{// hidden}}{{roll:6}}", "{{user}}", "{{char}}") == "{{char}} and {{user}}{{roll:6}}"
    )


def test_what_cannot_be_seen_is_taken_out_of_texts() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey me")
    assert cleaned(f"a\x1b[31mb\x00\u202ec\u200b{hidden}\r\nd\ud800\te") == "abc\nd\ufffd\te"


def test_a_png_holds_a_card_in_each_kind_of_text_chunk() -> None:
    plain = base64.b64encode(text_of(V2))
    for chunk in (
        word("chara", plain),
        word("Chara", b"\n".join((plain[:80], plain[80:].rstrip(b"=")))),
        word("chara", text_of(V2)),
        Chunk(b"zTXt", b"chara\0\0" + zlib.compress(plain)),
        Chunk(b"iTXt", b"chara\0\0\0en\0chara\0" + plain),
        Chunk(b"iTXt", b"chara\0\1\0\0\0" + zlib.compress(plain)),
    ):
        data = picture(chunk)
        card = parse_card(data)
        assert card.raw == V2
        assert card.as_png() == data
        assert card.as_json() == text_of(V2)


def test_version_3_goes_before_version_2() -> None:
    assert parse_card(picture(coded("chara", V2), coded("ccv3", V3))).version == 3


def test_a_card_of_a_later_version_is_read_and_says_so() -> None:
    card = parse_card(text_of({**V3, "spec": "chara_card_v4"}))
    assert card.notes == (
        ("This card has version 4, which is newer than this version of fabula. Its new fields are kept."),
    )


def test_fields_that_are_no_texts_do_not_spoil_a_card() -> None:
    raw = {**V2, "data": {**DATA, "creator": None, "character_version": 2, "tags": "sea", "alternate_greetings": 7}}
    card = parse_card(text_of(raw))
    assert (card.text("creator"), card.text("character_version"), card.texts("tags")) == ("", "2", ("sea",))
    assert card.greetings == ("*Mara folds the letter.*",)


# writing ------------------------------------------------------------------------------------------------------------


def test_a_change_leaves_all_else_as_it_was() -> None:
    before = parse_card(picture(coded("chara", {**V2, "name": "Mara"}), word("Author", b"somebody")))
    after = before.with_data(name="Marta")
    assert before.with_data(name="Mara") is before
    assert after.raw == {**V2, "name": "Marta", "data": {**DATA, "name": "Marta"}}
    written = parse_card(after.as_png())
    assert written.raw == after.raw
    old, new = (png.chunks(card.picture, "x")[0] for card in (before, written))
    assert [c for c in new if png.keyword(c) != "chara"] == [c for c in old if png.keyword(c) != "chara"]
    assert len(new) == len(old)


def test_version_3_is_written_for_older_programs_too() -> None:
    changed = parse_card(picture(coded("ccv3", V3), coded("chara", V2), coded("chara", V2))).with_data(creator="Jon")
    data = changed.as_png()
    found = {png.keyword(c): c for c in png.chunks(data, "x")[0] if png.keyword(c)}
    assert parse_card(data).raw == changed.raw
    older = parse_card(base64.b64decode(png.text_of(found["chara"], "x")))
    assert (older.version, older.text("creator")) == (2, "Jon")
    assert older.text("creator_notes").startswith("This is a version 3 card, stored")
    assert sum(png.keyword(c) == "chara" for c in png.chunks(data, "x")[0]) == 1


def test_a_card_without_picture_gets_one_and_can_be_put_into_another() -> None:
    card = parse_card(b"\xef\xbb\xbf" + text_of(V2))
    for data in (card.as_png(), card.as_png(picture(coded("ccv3", V3)) + b"trailing")):
        assert parse_card(data).raw == V2
    assert data.endswith(b"trailing")


def test_halves_of_characters_are_written_as_they_came() -> None:
    card = parse_card(b'{"name": "Mara", "description": "\\ud83d", "first_mes": ""}').with_data(first_mes="\u00e9")
    assert parse_card(card.as_json()).raw == {"name": "Mara", "description": "\ud83d", "first_mes": "\u00e9"}


# hostile and broken -------------------------------------------------------------------------------------------------

GOOD = picture(coded("chara", V2))
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is not JSON"),
    "text": (b"Mara is a keeper.", "is not JSON"),
    "not utf-8": (b'{"name": "\xff"}', r"not UTF-8 text \(byte 10\)"),
    "list": (b"[1]", "not a JSON object."),
    "no card": (b'{"name": "x", "version": 1}', "no character card: .* Give a character card of version 1, 2 or 3"),
    "no name": (text_of({**V2, "data": {**DATA, "name": " \u200b"}}), "has no name"),
    "long name": (text_of({**V2, "data": {**DATA, "name": "x" * 201}}), "a name of 201 letters"),
    "field": (text_of({**V2, "data": {**DATA, "scenario": ["x"]}}), "scenario is not text"),
    "truth": (text_of({**V2, "data": {**DATA, "creator": True}}), "creator is not text"),
    "book": (text_of({**V2, "data": {**DATA, "character_book": [1]}}), "character_book is not an object"),
    "entries": (
        text_of({**V2, "data": {**DATA, "character_book": {"entries": [1]}}}),
        "`entries` is not a list of objects.",
    ),
    "many entries": (
        text_of({**V2, "data": {**DATA, "character_book": {"entries": [{}] * 5001}}}),
        "5,001 entries",
    ),
    "deep": (b'{"name": "x", "description": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deeper than 64 levels"),
    "nan": (b'{"name": "x", "description": NaN}', "NaN is not a number"),
    "infinite": (b'{"name": "x", "description": 1e999}', "1e999 is too large a number"),
    "digits": (b'{"name": "x", "description": ' + b"9" * 10_000 + b"}", "is not JSON"),
    "zip": (b"PK\x03\x04" + b"\0" * 40, "is damaged or compressed"),
    "jpeg": (b"\xff\xd8\xff\xe0", "not a PNG, JSON or .charx file. Export"),
    "no card in it": (png.plain_picture(2, 2), "a picture without a character card"),
    "cut": (GOOD[:-20], "is truncated or damaged|ends within"),
    "only begun": (GOOD[:12], "ends within the picture"),
    "huge chunk": (png.SIGNATURE + struct.pack(">I4s", 2**32 - 1, b"IHDR"), "truncated or damaged at byte 8"),
    "no header": (png.packed([word("chara", b"x"), Chunk(b"IEND", b"")]), "begins with b'tEXt'"),
    "damaged": (GOOD.replace(b"chara\0", b"charA\0"), "the checksum of its chunk tEXt at byte 33 is wrong"),
    "no base64": (picture(word("chara", b"!!!!")), "it is not Base64"),
    "method": (picture(Chunk(b"zTXt", b"chara\0\1" + zlib.compress(b"x"))), "compressed with an unknown method."),
    "zlib": (picture(Chunk(b"zTXt", b"chara\0\0xxxx")), "compressed card in card is damaged"),
    "zlib cut": (picture(Chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"x" * 999)[:-8])), "card in card is truncated"),
    "bomb": (
        picture(Chunk(b"zTXt", b"chara\0\0" + zlib.compress(b"A" * 40_000_000, 9))),
        "larger than 12,000,000 bytes",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_sound_card_is_refused_in_a_sentence(name: str) -> None:
    data, found = BAD[name]
    with pytest.raises(UsageError, match=found) as caught:
        parse_card(data)
    assert len(str(caught.value)) < 400


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_module, "MAX_JSON_BYTES", 50)
    with pytest.raises(UsageError, match="The card in card is larger than 50 bytes"):
        parse_card(text_of(V2))
    monkeypatch.setattr(card_module, "MAX_FILE_BYTES", 60)
    (tmp_path / "card.png").write_bytes(GOOD)
    with pytest.raises(UsageError, match="larger than 60 bytes"):
        read_card(tmp_path / "card.png")
    monkeypatch.setattr(png, "MAX_CHUNKS", 2)
    with pytest.raises(UsageError, match="more than 2 chunks"):
        png.chunks(GOOD, "x")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*none\.png\. .* or give a card's PNG or JSON file\."):
        read_card(tmp_path / "none.png")


def test_brackets_in_texts_do_not_count_and_take_no_time() -> None:
    assert nesting('{"a": "[[[[", "b": ["\\"[["]}') == 2
    assert nesting('"' + '\\"' * 500_000) == 0
