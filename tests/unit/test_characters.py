"""Characters that no text of ours may hold: taken out once, for replies, files, cards, chats and the terminal."""

# ruff: noqa: RUF001 - the texts hold signs that look like others

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.app.item_files import item_of
from fabula.base.characters import binary_place, readable
from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.cli.terminal import Terminal, safe
from fabula.engine.replies import ReplyProblem, read_json
from fabula.story.cards.texts import cleaned

if TYPE_CHECKING:
    from pathlib import Path

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
HOSTILE = "a\x00b\x07c\x1b[31md\x85e\u202ef\ud800g\u2028h\x0ci\u200bj\x9b1mk\u2069l"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("tab\tand\nends\r\nstay", "tab\tand\nends\r\nstay"),
        ("a\rb\x0bc\x0cd\x85e\u2028f\u2029g", "a\nb\nc\nd\ne\nf\ng"),
        ("\x1b]0;a title\x07after", "after"),
        ("\x1bP1;2q#0 a picture\nin sixels\x1b\\after", "after"),
        ("\x90q a picture\x9cafter \x9d0;title\x9c.", "after ."),
        ("\x1b_command\x1b\\\x1b^private\x1b\\\x1bXstring\x1b\\after", "after"),
        ("\x1b]0;never closed, so it is text", "0;never closed, so it is text"),
        ("\x1b[1;31mred\x1b[0m and \x9b4mline\x9bm", "red and line"),
        ("safe \u202eeruces\u202c\u200e\u200f\u061c", "safe eruces"),
        ("zero\u200bwidth\ufeff\u2060", "zerowidth"),
        ("ig\u200dnore, ig\u200cnore", "ignore, ignore"),
        ("می\u200cخواهم \u0915\u094d\u200d\u0937", "می\u200cخواهم \u0915\u094d\u200d\u0937"),
        ("👩\u200d🚀 ❤\ufe0f\u200d🔥", "👩\u200d🚀 ❤\ufe0f\u200d🔥"),
        ("می\u200c\u200c\u200d", "می\u200c"),
        ("half \ud83d and \udc00, whole 😀", "half \ufffd and \ufffd, whole 😀"),
        ("obey\U000e006f\U000e0062\U000e0065\U000e0079", "obey"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_nobody_sees_and_what_terminals_obey_is_taken_out(text: str, kept: str) -> None:
    assert readable(text) == kept
    assert safe(text) == cleaned(f"|{text}|")[1:-1] == kept.replace("\r\n", "\n")


@given(st.text(st.one_of(st.characters(), st.sampled_from(f"\x1b[]P\\{HOSTILE}\u200c\u200d\r\nمा"))))
def test_nothing_unseen_is_left_and_what_was_cleaned_stays(text: str) -> None:
    once = readable(text)
    assert not UNSEEN.search(once)
    assert readable(once) == once
    assert all(unicodedata.category(sign) != "Cs" for sign in once)


@pytest.mark.parametrize("raw", [True, False])
def test_decoded_strings_of_a_typed_reply_are_cleaned_as_raw_text_is(raw: bool) -> None:  # noqa: FBT001 - a column
    data = {"what\x00": [HOSTILE, {"deep": HOSTILE, "n": 1.5, "none": None, "yes": True}]}
    text = json.dumps(data, ensure_ascii=not raw)
    for said in (text, f"Here you are:\n```json\n{text}\n```", text[:-1]):
        read = read_json(said, dict[str, Any])
        clean = readable(HOSTILE)
        assert read == {"what": [clean, {"deep": clean, "n": 1.5, "none": None, "yes": True}]}


def test_a_reply_nested_too_deeply_is_told_so() -> None:
    for depth in (70, 900, 100_000):
        with pytest.raises(ReplyProblem, match="nested deeper than 60 levels"):
            read_json("[" * depth + "]" * depth, list[Any])


def test_a_file_with_a_few_signs_of_binary_data_is_a_text_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "plan.md"
    file.write_bytes(f"# Plan\n\n{'Mara lights the lamp. ' * 3}\x00\x1b[31mAnd waits.\u202e\r\n\tSo.".encode())
    assert read_text(file, 1000).endswith("lamp. And waits.\r\n\tSo.")


def test_binary_data_is_named_with_line_and_character(tmp_path: Path) -> None:
    file = tmp_path / "plan.md"
    file.write_bytes(b"ab\nc\0d")
    with pytest.raises(UsageError, match=r"plan\.md contains binary data \(U\+0000 in line 2, character 2\)\. Use a"):
        read_text(file, 1000)
    assert binary_place("Żółw".encode("utf-16-le").decode("utf-8", "replace")) or binary_place("a\0b\0c\0")
    assert binary_place("") == ""


def test_a_story_of_a_set_is_cleaned_where_it_is_read() -> None:
    item = item_of({"id": "a", "text": f"The lamp is lit. {HOSTILE}", "narrative": HOSTILE}, "set.jsonl")
    assert not UNSEEN.search(item.story.text + item.narrative)


def test_a_json_document_holds_every_text_and_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal(json=True).document({"hostile": HOSTILE, "other": "\u6f22"})
    said = capsys.readouterr().out
    assert not UNSEEN.search(said)
    assert json.loads(said) == {"hostile": HOSTILE, "other": "\u6f22"}
    Terminal(json=True).document({"text": "\u6f22"})
    assert "\u6f22" in capsys.readouterr().out
