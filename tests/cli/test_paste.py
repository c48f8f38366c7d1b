"""`--model paste`: a chat window plays the roles, at a terminal and in a pipe."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from commandline import BRIEF, BY_PARTS, REPLIES
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commandline import Cli

PASTE = ("--model", "paste", *BY_PARTS)
ORDER = (
    *("conflict", "character", "setting", "plot"),
    *("exposition", "rising_action", "climax", "falling_action", "resolution"),
)
ALL = "".join(f"{REPLIES[name]}\n.\n" for name in ORDER)


def test_nine_replies_are_pasted(cli: Cli) -> None:
    ran = cli("write", "brief.md", *PASTE, "--json", stdin=ALL)
    assert ran.code == 0, ran.err
    assert ran.json["words"] == 69
    assert ran.json["total"]["cost"] == 0
    assert ran.json["total"]["estimated"] == ran.json["total"]["prompt"] + ran.json["total"]["reply"] > 0
    assert ran.err.count("prompt: from here") == len(ORDER)
    assert ran.err.count("/skip") == 1  # the whole help comes once


def test_pasting_stops_and_goes_on_with_the_same_story(cli: Cli) -> None:
    cli("write", "brief.md", "--out", "whole", *PASTE, stdin=ALL)
    asked = 0
    for n, name in enumerate(ORDER, 1):
        ran = cli("write", "brief.md", *PASTE, stdin=f"{REPLIES[name]}\n.\nstop\n")
        assert ran.code == 0
        asked += ran.err.count("Taken: ")
        assert ("and you stopped here." in ran.err) == (n < len(ORDER)), ran.err
    assert asked == len(ORDER)
    assert Path("brief/story.md").read_text() == Path("whole/story.md").read_text()
    assert cli("write", "brief", "--json").json["asked"] == 0


def test_what_is_no_reply_is_asked_again(cli: Cli) -> None:
    ran = cli(
        "write", "brief.md", *PASTE, stdin=f"\n \n.\nagain\n/help\n/gone fishing today\n.\n{ALL.partition('.')[2]}"
    )
    assert "Nothing was pasted. Paste the reply from your chat window, or type /stop." in ran.err
    assert ran.err.count("Your chat window plays the role conflict (conflict/conflict).") == 2
    assert (cli.folder / "brief/plan/conflict.md").read_text() == "/gone fishing today\n"


def test_json_that_cannot_be_read_is_asked_again(cli: Cli) -> None:
    edits = 'I cannot do that in JSON, sorry.\n.\nHere it is:\n```json\n{"edits": []}\n```\n.\n'
    ran = cli("write", "brief.md", *PASTE[:4], "--json", stdin=ALL + edits)
    assert ran.json["words"] == 69, ran.err
    assert "Reply with JSON alone" in ran.err
    assert "## Your earlier answer" in ran.err


def test_prompts_and_replies_may_be_files(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = cli.folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho "Mara, by the editor." > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    (cli.folder / "reply.txt").write_text("A conflict \x1b[31mfrom a file.")
    said = "/file gone.txt\n/save asked.md\n/save no/such/folder.md\n/file reply.txt\n/edit\n/copy\n"
    monkeypatch.setenv("PATH", str(cli.folder))
    ran = cli("write", "brief.md", *PASTE, stdin=said)
    assert "There is no file gone.txt." in ran.err
    assert "Cannot write" in ran.err
    assert "A girl lights a lighthouse" in (cli.folder / "asked.md").read_text()
    assert (cli.folder / "brief/plan/conflict.md").read_text() == "A conflict from a file.\n"
    assert "No clipboard tool was found" in ran.err
    assert ran.err.rstrip().endswith(
        "the input has ended. All finished work is kept. To continue from here, run the same command again."
    )


def test_a_reply_of_one_word_is_asked_about(cli: Cli) -> None:
    cli.at_terminal()
    ran = cli("write", "brief.md", *PASTE, stdin="Sure!\n.\nn\nA lamp.\n.\ny\nstop\n")
    assert ran.err.count("Is it the whole reply?") == 2
    assert (cli.folder / "brief/plan/conflict.md").read_text() == "A lamp.\n"


def test_a_server_has_nobody_to_paste(cli: Cli) -> None:
    assert (
        cli("write", "brief.md", *PASTE, "--model", "plot=client", stdin=ALL).err.count(
            "works only with `fabula mcp` and"
        )
        == 1
    )


class AtTerminal:
    """A command in a process of its own, at a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.child, self.handle = pty.fork()
        if not self.child:
            os.chdir(folder)
            os.environ["TERM"] = "dumb"
            os.execv(sys.executable, [sys.executable, "-m", "fabula", *arguments])  # noqa: S606 - in the child, at a terminal
        self.said = ""
        self._read = 0  # letters of it that a test has waited for

    def until(self, text: str) -> None:
        start = self._read
        wait_until(lambda: text in self.said[start:], text, self.listen)
        self._read = self.said.index(text, start) + len(text)

    def listen(self) -> None:
        if select.select([self.handle], [], [], 0.2)[0]:
            try:
                self.said += os.read(self.handle, 65536).decode(errors="replace")
            except OSError:
                pytest.fail(f"The command has ended: {self.said[-2000:]}")

    def type(self, text: str) -> None:
        data = text.encode()
        while data:
            if select.select([self.handle], [], [], 0)[0]:
                self.said += os.read(self.handle, 65536).decode(errors="replace")
            if select.select([], [self.handle], [], 0.2)[1]:
                data = data[os.write(self.handle, data[:1024]) :]

    def end(self) -> int:
        os.kill(self.child, signal.SIGKILL)
        _, status = os.waitpid(self.child, 0)
        os.close(self.handle)
        return status


@pytest.fixture
def at_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AtTerminal]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "brief.md").write_text(BRIEF)
    started = AtTerminal(tmp_path, "write", "brief.md", *PASTE)
    yield started
    started.end()


def test_a_paste_of_100_kb_with_long_lines_comes_through_a_terminal(at_terminal: AtTerminal, tmp_path: Path) -> None:
    long = ("Mara climbs. " * 900 + "\n\n") * 9  # longer lines than a terminal has by itself
    assert len(long) > 100_000
    at_terminal.until("What do those at the centre of the story want most?")
    # No line of the prompt is broken.
    assert re.search(r"\r\nDescribe the central conflict[^\r\n]+these questions:\r\n", at_terminal.said)
    at_terminal.until("\x1b[?2004h")
    at_terminal.type(f"\x1b[200~{long.strip()}\x1b[201~")
    at_terminal.until("16,200 words")
    at_terminal.type("\r")
    at_terminal.until("plays the role character")
    assert (tmp_path / "brief/plan/conflict.md").read_text().strip() == long.replace(" \n", "\n").strip()


def test_what_a_chat_window_says_is_no_command(at_terminal: AtTerminal, tmp_path: Path) -> None:
    at_terminal.until("\x1b[?2004h")
    at_terminal.type("\x1b[200~/save mine.txt\x1b[201~\r")
    at_terminal.until("Is it the whole reply?")
    at_terminal.type("n\r")
    at_terminal.until("\x1b[?2004h")
    at_terminal.type("/save \x1b[200~mine.txt\x1b[201~\r")  # the command is typed, the name of the file pasted
    at_terminal.until("The prompt is in mine.txt.")
    assert at_terminal.said.count("The prompt is in") == 1
    assert (tmp_path / "mine.txt").is_file()


def test_ctrl_c_leaves_the_terminal_as_it_was(at_terminal: AtTerminal) -> None:
    before = termios.tcgetattr(at_terminal.handle)[3]
    at_terminal.until("\x1b[?2004h")
    during = termios.tcgetattr(at_terminal.handle)[3]
    at_terminal.type("half a li\x03")
    at_terminal.until("Every finished call is kept")
    assert "\x1b[?2004l" in at_terminal.said
    assert during & termios.ICANON == 0
    assert termios.tcgetattr(at_terminal.handle)[3] == before
