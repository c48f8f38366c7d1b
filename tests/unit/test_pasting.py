"""What comes from a terminal: keys, pastes that it marks, and what is taken for a command."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UsageError
from fabula.cli.pasting import Typed, copy

if TYPE_CHECKING:
    from pathlib import Path

PASTE, END = "\x1b[200~", "\x1b[201~"


def typed(*pieces: str) -> Typed:
    taking = Typed()
    for piece in pieces:
        taking.feed(piece)
    return taking


def test_enter_after_a_paste_ends_the_text() -> None:
    taking = typed(f"{PASTE}The lamp was dark.\r\n\r\n.\r\nMara came home.{END}")
    before = taking.done
    taking.feed("\n")
    assert (before, taking.done) == (False, True)
    assert taking.text == "The lamp was dark.\n\n.\nMara came home."


def test_a_paste_may_come_in_any_pieces() -> None:
    whole = f"{PASTE}The lamp \x1b[31mwas{END}\n"
    for cut in range(1, len(whole)):
        taking = typed(whole[:cut], whole[cut:])
        assert (taking.done, taking.text) == (True, "The lamp \x1b[31mwas")


def test_what_is_shown_of_a_paste_holds_nothing_that_a_terminal_obeys() -> None:
    shown = Typed().feed(f"{PASTE}The \x1b]0;title\x07lamp\x1b[2J was dark.{END}")
    assert shown == '[4 words: "The lamp was dark."]'


def test_typed_lines_end_with_a_full_stop() -> None:
    taking = typed("The lamq\x7fp", " was\ndark.\n", ".\n")
    assert taking.done
    assert taking.text == "The lamp was\ndark.\n"


def test_arrow_keys_are_passed_over() -> None:
    assert typed("a\x1b[Ab\x1bOA\x1b[1;5Cc\n.\n").text == "abc\n"


def test_several_pastes_and_words_between_them_are_one_text() -> None:
    taking = typed(f"{PASTE}One. {END}", "And ", f"{PASTE}two.{END}", "\n")
    assert (taking.done, taking.text) == (True, "One. And two.")


@pytest.mark.parametrize("line", ["/again", "stop", "SKIP", "/copy", "/save my file.md", "/file x", "/help", "/edit"])
def test_a_first_line_that_is_a_command_ends_at_once(line: str) -> None:
    assert typed(f"{line}\n").done


@pytest.mark.parametrize("line", ["/save", "/copy now", "again and again", "/gone", "Stop it.", "/file"])
def test_other_lines_are_text(line: str) -> None:
    assert not typed(f"{line}\n").done


def test_the_input_may_end_in_the_middle() -> None:
    taking = typed("Half a\nli", "\x04")
    assert (taking.done, taking.ended, taking.text) == (True, True, "Half a\nli")
    cut = typed(f"{PASTE}Half of a paste")
    cut.end()
    assert (cut.done, cut.text) == (True, "Half of a paste")


def test_a_long_paste_takes_linear_time() -> None:
    text = "word " * 200_000
    taking = Typed()
    for start in range(0, len(text), 4096):
        taking.feed(text[start : start + 4096])
    taking.feed("\n.\n")
    assert taking.text.strip() == text.strip()


def test_the_clipboard_is_that_of_the_first_tool_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "xclip"
    tool.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/args\n/bin/cat > {tmp_path}/held\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    asyncio.run(copy("The lamp \u2014 dark.", {"DISPLAY": ":0"}))
    assert (tmp_path / "held").read_text() == "The lamp \u2014 dark."
    assert (tmp_path / "args").read_text() == "-selection clipboard\n"
    with pytest.raises(UsageError, match="No clipboard tool was found"):
        asyncio.run(copy("The lamp", {}))
    tool.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(UsageError, match=r"xclip failed \(exit code 3\)"):
        asyncio.run(copy("The lamp", {"DISPLAY": ":0"}))
