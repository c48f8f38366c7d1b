"""`paper.toml`, which describes a system or an evaluator: its fields, and how they are read and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from fabula.base.errors import PluginError, UsageError
from fabula.base.files import no_file, read_text
from fabula.base.tomltext import parse
from fabula.models.known import STRENGTHS

PAPER: Final = "paper.toml"
Kind: TypeAlias = Literal["system", "evaluator"]
_LARGEST: Final = 1_000_000  # bytes of the file
_NEAR: Final = 0.75  # likeness from which on a field is one with a letter wrong


@dataclass(frozen=True, slots=True)
class Field:
    """A field of `paper.toml`.

    Attributes:
        form: "text", "number", "texts" (a list), "yes or no", "table" (of texts), or "deviations".
        about: a description of the value.
        needed: whether the field is required.
        only: "system" or "evaluator" if the field is meant only for that kind; otherwise empty.
        options: the values allowed, if there are only a few.
    """

    name: str
    form: str
    about: str
    needed: bool = False
    only: Kind | Literal[""] = ""
    options: tuple[str, ...] = ()


FIELDS: Final = (
    Field("title", "text", "Title of the paper, or the name of your own method.", needed=True),
    Field("authors", "texts", "Names of its authors.", needed=True),
    Field("year", "number", "Year of publication.", needed=True),
    Field("venue", "text", 'Where it was published: a conference, a journal, or "preprint".', needed=True),
    Field("summary", "text", "What the method does, in one sentence; `fabula systems` shows it.", needed=True),
    Field("when", "text", "What it is good for, from a writer's point of view.", only="system"),
    Field("asks", "text", 'How many calls it makes, and what the number depends on; "nobody" if none.', needed=True),
    Field(
        "strength",
        "text",
        "How strong a model must be for the method to be worth its cost.",
        only="system",
        options=STRENGTHS,
    ),
    Field("worth", "text", "The measurements behind that, with their models.", only="system"),
    Field("plan", "yes or no", "Whether it can write from an author's plan (`plan.yaml`).", only="system"),
    Field(
        "manuscript",
        "yes or no",
        "Whether it can continue an author's own texts, which `plan/chapters.md` lists (`fabula import`).",
        only="system",
    ),
    Field("personas", "yes or no", "Whether it can write with an author's personas.", only="system"),
    Field("chat", "yes or no", "Whether users can talk to its characters (`fabula chat`).", only="system"),
    Field(
        "open_role", "text", "The role that plays the story's characters, who can then be cast by name.", only="system"
    ),
    Field("narrative", "yes or no", "Whether it reads the narrative from which a dialogue was made.", only="evaluator"),
    Field(
        "roles",
        "table",
        "Every role that may be asked, and what it does. An evaluator that asks no model has an empty table.",
        needed=True,
    ),
    Field(
        "ours",
        "table",
        "The purpose of each setting in the group `ours`, and the measurements with and without it, with n and the "
        "method, or a note that nothing was measured.",
    ),
    Field(
        "deviations",
        "deviations",
        "Each place (`where`) in which the code differs from the paper or the paper leaves something open, and `what` "
        "the code does there.",
    ),
)
"""Every field, in the order in which a file has them."""


def read_paper(folder: Path) -> dict[str, Any]:
    """The contents of the `paper.toml` of a folder that does not come with fabula.

    Raises:
        PluginError: there is no such file, it cannot be read, or a field is missing or wrong.
    """
    file = folder / PAPER
    if not file.is_file():
        advice = "Give the folder of a system or an evaluator; `fabula new-system NAME` makes one."
        raise PluginError(
            f"{folder} has no {PAPER}. {advice}" if folder.is_dir() else no_file(folder, advice, "folder")
        )
    try:
        paper = parse(read_text(file, _LARGEST))
    except UsageError as error:
        raise PluginError(str(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise PluginError(f"{file} is not valid TOML: {error}. Correct the line.") from error
    problems = list(problems_of(paper))
    if problems:
        raise PluginError(f"{file}: {' '.join(problems)}")
    return paper


def problems_of(paper: Mapping[str, Any], kind: Kind | Literal[""] = "") -> Iterator[str]:
    """The problems with a paper's fields, one sentence each; `kind` also reports fields meant for the other kind."""
    known = {field.name: field for field in FIELDS}
    for field in FIELDS:
        if field.name in paper and (wrong := _wrong(field, paper[field.name])):
            yield f"{field.name} must be {wrong}."
        elif field.needed and field.name not in paper:
            yield f"{field.name} is missing: {field.about}"
    for name in paper:
        field_of = known.get(name)
        if field_of is None and (near := get_close_matches(name, known, 1, _NEAR)):
            yield f"{name} is not a field. Did you mean {near[0]}?"
        elif kind and field_of is not None and field_of.only not in {"", kind}:
            yield f"{name} is a field for {field_of.only}s only. Remove it."
    role = paper.get("open_role", "")
    if role and isinstance(paper.get("roles"), dict) and role not in paper["roles"]:
        yield f"open_role is {role!r}, which is not one of the roles."


def _wrong(field: Field, value: object) -> str:
    """What a field should be, where it is something else; empty where it is right."""
    if field.options:
        return "" if value in field.options else f"one of {', '.join(field.options)}"
    right, wanted = _FORMS[field.form]
    return "" if right(value) else wanted


def _is_deviation(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"where", "what"} and all(_is_text(one) for one in value.values())


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


_FORMS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "text": (_is_text, "a text that is not empty"),
    "number": (lambda value: type(value) is int, "a whole number"),
    "yes or no": (lambda value: isinstance(value, bool), "true or false"),
    "texts": (
        lambda value: isinstance(value, list) and all(_is_text(one) for one in value),
        "a list of texts",
    ),
    "table": (
        lambda value: isinstance(value, dict) and all(_is_text(one) for one in value.values()),
        "a table with a text for each of its names",
    ),
    "deviations": (
        lambda value: isinstance(value, list) and all(_is_deviation(one) for one in value),
        "a list of tables with the texts `where` and `what`",
    ),
}
