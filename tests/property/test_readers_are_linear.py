"""Every reader of replies and of the author's texts takes linear time, whatever it reads.

With `READER_CHARACTERS=200000` they are as long as a reply may be, with `1000000` they have 1 MB.
"""

from __future__ import annotations

import inspect
import os
import random
from contextlib import suppress
from datetime import UTC, datetime
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabula.base import yamltext
from fabula.base.characters import readable
from fabula.base.errors import FabulaError
from fabula.cli.terminal import safe
from fabula.engine import replies
from fabula.engine.replies import ReplyProblem, dialogue, labelled, scripts, thoughts, turns
from fabula.story import Story, count_words, one_line, plain, slug
from fabula.story import sentences as sentences_
from fabula.story.cards.texts import cleaned, nesting
from fabula.story.export import fountain
from fabula.story.export.meta import Meta
from fabula.story.people import mentioned, names_in
from fabula.story.plan_file import parse_plan

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH = int(os.environ.get("READER_CHARACTERS", "20000"))
SECONDS = 1.0
LONGEST_REPLY = 200_000  # characters; the run cuts what is longer
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
    *("a ", "A a. ", "a.\n", "- a\n", "1. a\n", "Mara: a\n", "[Mara: (a) ", "Mara ", '{"a":', '[{"a": "', '{"a": 1, '),
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
    "names_in": names_in,
    "mentioned": lambda text: mentioned(text, {"Mara": ["Mara"]}),
    "sentences": sentences_.sentences,
    "whole_sentences": sentences_.whole_sentences,
    "paragraphs": sentences_.paragraphs,
    "ends_whole": sentences_.ends_whole,
    "as_sentence": sentences_.as_sentence,
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
    "read_yes_no": lambda text: replies.read_yes_no(text, "end"),
    "read_files": lambda text: replies.read_files(text, ("a.json", "b.json")),
    "is_refusal": replies.is_refusal,
    "is_unchanged": replies.is_unchanged,
    "thought_in": thoughts.thought_in,
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
    "tidy_script": lambda text: scripts.tidy_script(text, NAMES),
    "read_labelled_line": lambda text: labelled.read_labelled_line(text, ("Place", "Beat")),
    "split_labels": lambda text: labelled.split_labels(text, ("Place", "Beat")),
    "split_at_label": lambda text: labelled.split_at_label(text, "Place"),
    "read_entry": labelled.read_entry,
    "find_end": labelled.find_end,
    "find_example": labelled.find_example,
    "first_clause": labelled.first_clause,
    "reads_as_text": labelled.reads_as_text,
    "holds_called": lambda text: labelled.holds_called(text, "keeper"),
    "role_in": lambda text: labelled.role_in(text, "Mara"),
}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_linear_time(name: str) -> None:
    slow = []
    for run in RUNS:
        text = (run * (LENGTH // len(run) + 1))[:LENGTH]
        start = process_time()
        with suppress(FabulaError, ReplyProblem, yaml.YAMLError, yamltext.YamlError):
            READERS[name](text)
        taken = process_time() - start
        if taken > SECONDS:
            slow.append(f"{run!r}: {taken:.2f} s")
            if len(slow) > 2:
                break
    assert not slow


def test_every_public_reader_of_replies_is_among_them() -> None:
    named = {name for name in replies.__all__ if inspect.isfunction(getattr(replies, name))}
    tried = {name for name in named if any(name in reader for reader in READERS)}
    assert named - tried <= {
        *("json_instruction", "repair_instruction", "schema_of", "short", "label_of", "read_chances", "left_out"),
    }


def _many_sentences(rng: random.Random) -> str:
    """Sentences of a word or two letters, no two texts of them alike."""
    words = ("".join(rng.choices("abcdefghijklmnop", k=rng.randint(1, 2))).capitalize() for _ in range(60_000))
    return ". ".join(words)


@pytest.mark.parametrize("kind", ["the same", "all different", "in paragraphs", "points"])
@pytest.mark.parametrize("reader", ["clean_prose with aids", "tidy_script"])
def test_a_reply_as_long_as_it_may_be_is_read_within_a_second(reader: str, kind: str) -> None:
    texts = {
        "the same": "A a. " * LONGEST_REPLY,
        "all different": _many_sentences(random.Random(1)),  # noqa: S311 - no secrets
        "in paragraphs": "a.\n\n" * LONGEST_REPLY,
        "points": "." * LONGEST_REPLY,
    }
    text = texts[kind][:LONGEST_REPLY]
    taken = []
    for _ in range(3):  # the least of three: a busy machine makes single ones long
        start = process_time()
        READERS[reader](text)
        taken.append(process_time() - start)
        if taken[-1] <= SECONDS:
            break
    assert min(taken) <= SECONDS
