"""Every reader of replies and of the author's texts takes linear time, whatever it reads.

With `READER_CHARACTERS=200000` they are as long as a reply may be, with `1000000` they have 1 MB.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabula.base import yamltext
from fabula.base.characters import readable
from fabula.base.errors import FabulaError
from fabula.cli.terminal import safe
from fabula.craft.wording import lengths_asked
from fabula.engine import replies
from fabula.engine.replies import ReplyProblem, chatter, dialogue, foreign_chatter, labelled, turns
from fabula.engine.replies.strangers import strangers
from fabula.story import Story, count_words, one_line, plain, slug
from fabula.story import sentences as sentences_
from fabula.story.cards.texts import cleaned, nesting
from fabula.story.comparing import compare, merge, word_pieces
from fabula.story.export import fountain
from fabula.story.export.meta import Meta
from fabula.story.people import mentioned
from fabula.story.plan_file import parse_plan
from growth import LINEAR, growth

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

LENGTH = int(os.environ.get("READER_CHARACTERS", "8000"))
LONG = 5 * LENGTH
NAMES = ("Mara", "Tobias Quist")
RUNS = (
    *(
        " ",
        "\n",
        " \n",
        "\t",
        '"',
        "'",
        "“",
        "(",
        "[",
        "{",
        "<",
        "*",
        "_",
        "-",
        "#",
        ".",
        ",",
        ":",
        "a",
        "A",
        "7",
        "\\",
    ),
    *(
        "a ",
        "A a. ",
        "a.\n",
        "- a\n",
        "1. a\n",
        "1. 2. ",
        "400 pages ",
        "Mara: a\n",
        "[Mara: (a) ",
        "Mara ",
        '{"a":',
        '[{"a": "',
        '{"a": 1, ',
    ),
    *(
        "字",
        "。",
        "é ",
        "\x1b",
        "\x90",
        "\x1b]0;",
        "\u200d",
        "EOD ",
        "DONE 1 ",
        "<think>",
        "```\n",
        "A: ",
        "…",
        "Story A ",
    ),
)
READERS: dict[str, Callable[[str], Any]] = {
    "readable": readable,
    "safe": safe,
    "cleaned": cleaned,
    "nesting": nesting,
    "plain": plain,
    "one_line": one_line,
    "slug": slug,
    "count_words": count_words,
    "mentioned": lambda text: mentioned(text, {"Mara": ["Mara"]}),
    "sentences": sentences_.sentences,
    "lengths_asked": lengths_asked,
    "whole_sentences": sentences_.whole_sentences,
    "paragraphs": sentences_.paragraphs,
    "ends_whole": sentences_.ends_whole,
    "as_sentence": sentences_.as_sentence,
    "compare": lambda text: compare(text, f"The lamp.{text[9:]} Mara."),
    "compare by line": lambda text: compare(text, f"The lamp.{text[9:]} Mara.", lines=True),
    "word_pieces": lambda text: word_pieces(text, text[5:] + text[:9] + "."),
    "merge": lambda text: merge(text, f"The lamp.{text[9:]}", f"{text} Mara."),
    "Story.parse": Story.parse,
    "manuscript": lambda text: Story().add("one", text).manuscript(),
    "fountain": lambda text: fountain.render(
        Story().add("one", text), Meta(title="A", author="B", created=datetime(2026, 1, 1, tzinfo=UTC), words=1)
    ),
    "parse_plan": parse_plan,
    "yaml": yamltext.read,
    "read_json": lambda text: replies.read_json(text, list[Any]),
    "read_json of an object": lambda text: replies.read_json(text, dict[str, Any]),
    "read_choice": lambda text: replies.read_choice(text, NAMES),
    "read_score": lambda text: replies.read_score(text, 1, 5),
    "read_label": replies.read_label,
    "read_verdicts": lambda text: replies.read_verdicts(text, ("Plot", "Overall")),
    "read_split": lambda text: replies.read_split(
        f"[One] {text}\n[Two] {text[-300:]}\n{text}", f"It begins.\n\n{text}", ("One", "Two")
    ),
    "strangers": lambda text: strangers(text, text),
    "read_yes_no": lambda text: replies.read_yes_no(text, "end"),
    "read_files": lambda text: replies.read_files(text, ("a.json", "b.json")),
    "is_refusal": replies.is_refusal,
    "is_unchanged": replies.is_unchanged,
    "fault_of": lambda text: replies.fault_of(text, "Write a story.", ["Write a story."]),
    "clean_prose": lambda text: replies.clean_prose(text, labels=("Climax",), last=True, aids=False, finish="length"),
    "clean_notes": lambda text: replies.clean_prose(text, labels=("Climax",), last=True, aids=False, kind="notes"),
    "clean_prose with aids": lambda text: replies.clean_prose(text, labels=("Climax",), last=True, aids=True),
    "read_said": lambda text: dialogue.read_said(text, *NAMES[:1], NAMES),
    "read_coming": lambda text: dialogue.read_coming(text, NAMES[0], NAMES),
    "read_plan": dialogue.read_plan,
    "with_names": lambda text: dialogue.with_names(text, NAMES),
    "read_turn": lambda text: turns.read_turn(text, NAMES[0], NAMES, whole=True),
    "leaves_part": turns.leaves_part,
    "says": lambda text: turns.says(text, "the lamp"),
    "first_clause": labelled.first_clause,
    "is_cut": replies.is_cut,
    "without_instructions": lambda text: replies.without_instructions(
        text, ("Tell what Mara does when the lamp goes out.",)
    ),
}


def _grown(read: Callable[[str], Any], run: str, length: int = LENGTH) -> float:
    """How the reader's time grows on a run of a text, where that is more than linear; else 0."""

    def reading(text: str) -> None:
        with suppress(FabulaError, ReplyProblem, yaml.YAMLError, yamltext.YamlError):
            read(text)

    def text_of(length: int) -> str:
        return (run * (length // len(run) + 1))[:length]

    return grown if (grown := growth(reading, text_of, length)) >= LINEAR else 0.0


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_linear_time(name: str) -> None:
    assert {run: grown for run in RUNS if (grown := _grown(READERS[name], run))} == {}


def test_every_public_reader_of_replies_is_among_them() -> None:
    named = {name for name in replies.__all__ if inspect.isfunction(getattr(replies, name))}
    tried = {name for name in named if any(name in reader for reader in READERS)}
    assert named - tried <= {
        *("repair_instruction", "schema_of", "short", "label_of", "read_chances", "left_out"),
    }


def _many_sentences() -> str:
    """Sentences of a word or two letters, no two of them alike."""
    letters = "abcdefghijklmnop"
    names = (f"{a}{b}{c}{d}" for a in letters for b in letters for c in letters for d in letters)
    return "".join(f"{name.capitalize()}. " for name in names)


@pytest.mark.parametrize("kind", ["the same", "all different", "in paragraphs", "points"])
def test_a_long_reply_is_read_in_linear_time(kind: str) -> None:
    runs = {"the same": "A a. ", "all different": _many_sentences(), "in paragraphs": "a.\n\n", "points": "."}
    assert _grown(READERS["clean_prose with aids"], runs[kind], LONG) == 0


PEOPLE = ("Mara", "Tobias Quist", "Tobias", "A", "A a", "The Keeper", "Mara Mara")
SPOKEN = (
    'Mara: (She waits.) "The lamp." [EOD]\nTobias Quist (smiling): No.\nPlace: a\nBeat - 3: x\nPlot: 4, Overall: 5',
    "**Place**: a\nMara and A a\nA: 4",
    "Tobias Quist\nMara\nPlot: 3/5. Overall: A",
)
BUILDING = {f"re.{name}" for name in ("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer")}
BUILDERS: dict[str, Callable[[str], Any]] = READERS | {
    "read_said": lambda text: dialogue.read_said(text, "Mara", PEOPLE),
    "read_turn": lambda text: turns.read_turn(text, "Mara", PEOPLE, whole=True),
    "read_choice": lambda text: replies.read_choice(text, PEOPLE),
    "without_label": lambda text: labelled.without_label(text, "Place"),
    **{f"chatter in {tag}": partial(foreign_chatter.closes, tag=tag) for tag in ("de", "pl", "zh", "ja")},
}


AT_THE_START = {  # of a line or a turn: their patterns are never searched for
    *("chatter.__init__", "dialogue._labels"),
    *("turns._label", "verdicts._label", "foreign_chatter._patterns"),
}


def _place(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"


def built_with_names() -> dict[str, set[re.Pattern[str]]]:
    """The patterns that readers build from names, labels and options, by the function that builds them."""
    found: dict[str, set[re.Pattern[str]]] = {}
    compiled = re._compile  # type: ignore[attr-defined] # the one way to every pattern

    def recorded(pattern: Any, flags: int) -> Any:  # noqa: ANN401 - as in `re`
        made = compiled(pattern, flags)
        if isinstance(made.pattern, str):
            found.setdefault(_place(sys._getframe(2)), set()).add(made)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(re, "_compile", recorded)
        dialogue._labels.cache_clear()  # type: ignore[attr-defined] # these remember
        foreign_chatter._patterns.cache_clear()  # type: ignore[attr-defined] # as above
        chatter.Labels.of.cache_clear()  # type: ignore[attr-defined] # as above
        for text in SPOKEN:
            for read in BUILDERS.values():
                with suppress(FabulaError, ReplyProblem, yaml.YAMLError, yamltext.YamlError):
                    read(text)
    return found


def builders() -> set[str]:
    """The functions of readers that build a pattern from more than constants."""
    found = set()
    for file in Path(replies.__file__).parent.glob("*.py"):
        names = vars(importlib.import_module(f"fabula.engine.replies.{file.stem}"))
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = [one for one in ast.walk(function) if isinstance(one, ast.Call) and one.args]
                made = [one.args[0] for one in calls if ast.unparse(one.func) in BUILDING]
                if any(not {one.id for one in ast.walk(arg) if isinstance(one, ast.Name)} <= {*names} for arg in made):
                    found.add(f"{file.stem}.{function.name}")
    return found


def test_patterns_that_are_built_from_names_take_linear_time() -> None:
    found = built_with_names()
    assert builders() <= set(found)
    runs = (*RUNS, *(f"{name}{after}" for name in PEOPLE for after in ("", " ", ":", "\n", " (", "\n* ")))
    slow = []
    for place in builders():
        for pattern in found[place]:
            search = pattern.match if place in AT_THE_START else partial(pattern.sub, "")
            short = [run for run in runs if not run.isspace()]  # a run leaves no long blanks in a reply
            found_slow = {run: grown for run in short if (grown := _grown(search, run, 2000))}
            slow += [f"{place}: {run!r}: {most:.1f}: {pattern.pattern[:80]}" for run, most in found_slow.items()]
    assert not slow, "\n".join(slow)
