"""Any sequence of an author's decisions gives the pairs that a simple model of them says.

The model: texts come in episodes, which end where the brief was changed and the text is written anew. The text that an
episode shows last is preferred to every other text of it that was written for the author.
"""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.cli.main import main
from fabula.engine.journal import Journal
from fabula.models.base import Message
from fabula.project.folder import ProjectFolder
from fabula.training.histories import TOGETHER, WAITING, history_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAYER = '''
import hashlib

THINGS = "storm lamp sea night boat father stairs light rope glass window harbour wind morning coal letter".split()


def say(request):
    """A text that hangs on the prompt and the seed."""
    asked = "".join(message.content for message in request.messages)
    number = int(hashlib.sha256(f"{asked}{request.sampling.seed}".encode()).hexdigest(), 16)
    said = [THINGS[(number >> (4 * n)) % 16] for n in range(24)]
    return " ".join(f"The {a} waited for the {b} and said nothing at all." for a, b in zip(said, said[12:]))
'''
BRIEF = "# The Lamp\n\nA girl lights a lighthouse against her father's will, in the year {}.\n"


@dataclass
class Author:
    """An author at work on a story of one artefact, and what a simple model makes of that."""

    brief: int = 1900
    edits: int = 0
    decisions: list[tuple[str, str]] = field(default_factory=list)
    taken_back: dict[str, str] = field(default_factory=dict)
    episodes: list[Episode] = field(default_factory=list)
    own: set[str] = field(default_factory=set)

    def say(self, *arguments: str) -> None:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
            assert main([*arguments, "--quiet"]) == 0, (arguments, said.getvalue())

    def looks(self, own: bool = False, anew: bool = False) -> None:  # noqa: FBT001, FBT002 - a test's own
        """The author sees the text as it is now."""
        text = Path("lamp/story/01-story.md").read_text(encoding="utf-8").strip()
        if anew and (not self.episodes or text not in self.episodes[-1].shown):
            self.episodes.append(Episode())
        now = self.episodes[-1]
        now.shown.append(text)
        if own or text in self.own:
            self.own.add(text)
            now.own.setdefault(text, self.brief)
        else:
            now.written.setdefault(text, self.brief)

    @property
    def other_brief(self) -> bool:
        """Whether the brief was changed since a text of this episode was written."""
        return any(brief != self.brief for brief in self.episodes[-1].written.values())

    def updates(self) -> None:
        self.say("update", "lamp", "--yes")

    def edit(self) -> None:
        self.edits += 1
        self.say("edit", "story", "--text", f"My own text, number {self.edits}, and nobody else's.", "-C", "lamp")
        self.decisions.append(("", ""))
        self.looks(own=True)
        self.updates()

    def retake(self) -> None:
        """Another draw; where the text was the author's own, that it is no more is a decision of its own."""
        self.say("text", "retake", "story", "-C", "lamp")
        self.decisions.append(("", ""))
        self.episodes[-1].waits = other = self.other_brief
        self.updates()
        self.looks(anew=other)

    def note(self) -> None:
        self.say("text", "retake", "story", "--note", "darker", "-C", "lamp")
        before = self.episodes[-1].shown[-1]
        self.updates()
        self.looks()
        self.decisions.append((self.episodes[-1].shown[-1], before))

    def undo(self) -> None:
        if self.decisions:
            revised, before = self.decisions.pop()
            self.taken_back |= {revised: before} if revised else {}
            self.say("undo", "lamp")
            self.looks()
            self.updates()
            self.looks(anew=self.other_brief)

    def change_the_brief(self) -> None:
        self.brief += 1
        Path("lamp/brief.md").write_text(BRIEF.format(self.brief), encoding="utf-8")
        self.updates()
        self.looks(anew=True)


@dataclass
class Episode:
    """The texts that were shown, with the brief of each: written for the author, and the author's own."""

    shown: list[str] = field(default_factory=list)
    written: dict[str, int] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)
    waits: bool = False

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """Of each pair the preferred text and the other."""
        if self.waits:
            return set()
        last = self.shown[-1]
        brief = self.own.get(last)
        return {(last, text) for text, asked in self.written.items() if text != last and brief in (None, asked)}


@given(st.lists(st.sampled_from(["edit", "retake", "note", "undo", "change_the_brief"]), min_size=2, max_size=7))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_pairs_are_those_of_a_simple_model(said: Sequence[str]) -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        Path("player.py").write_text(PLAYER, encoding="utf-8")
        Path("brief.md").write_text(BRIEF.format(1900), encoding="utf-8")
        author = Author()
        settings_ = ("--system", "end-to-end", "--preset", "faithful", "--play", "writer=player.py:say")
        author.say("write", "brief.md", "--out", "lamp", *settings_, "--yes")
        author.looks(anew=True)
        for one in said:
            getattr(author, one)()
        found = history_pairs(ProjectFolder.open(Path("lamp")), "lamp")
        expected = set().union(*(episode.pairs for episode in author.episodes))
        assert {(pair.chosen, pair.rejected) for pair in found.pairs} == expected
        assert len(found.pairs) == len(expected)
        with Journal(Path("lamp/.fabula/journal.db")) as journal:
            asked = {
                call.text: tuple(Message(*one) for one in call.messages) for call in journal.calls.find(prompts=True)
            }
        for pair in found.pairs:
            in_vain = any(pair.chosen in message.content for message in asked[pair.rejected])
            # of a revision that was taken back, the prompt is that of the text before the wish, where a model was asked
            for_it = pair.chosen if in_vain else author.taken_back.get(pair.rejected, pair.rejected)
            assert pair.messages == asked.get(for_it, asked[pair.rejected])
        assert {one["reason"] for one in found.left_out} <= {
            TOGETHER,
            WAITING,
            "the brief was changed with the edit, or before it",
        }
