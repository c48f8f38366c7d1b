"""YAML in which every scalar is text: a small tree with line numbers, read and written.

YAML guesses types: `No` becomes false, `1921-05-03` a date, `12:30` a number. Here nothing is guessed: the reader of a
tree knows the type of a field. Only an empty value, `~` and `null` without quotes are nothing. Parts of YAML that data
files do not need and that can do harm are refused: aliases and anchors, tags, several documents, more than 20 levels,
more than 200,000 values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

MAX_DEPTH: Final = 20
MAX_VALUES: Final = 200_000
_WIDTH: Final = 100
_STR: Final = "tag:yaml.org,2002:str"
_NULL: Final = "tag:yaml.org,2002:null"
_NOTHING: Final = re.compile(r"~|null|Null|NULL|")
_UNREADABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OTHER_BREAKS: Final = re.compile("[\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class ScalarText:
    """A scalar; `line` counts from 1."""

    value: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class MappingPairs:
    """A mapping, in the order of the file; keys may occur twice."""

    pairs: tuple[tuple[ScalarText, Node], ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class RefusedValue:
    """A refused value; its problem has been reported."""

    line: int = 0


Node: TypeAlias = ScalarText | Items | MappingPairs | RefusedValue


class YamlError(ValueError):
    """The text is not YAML, or holds too much or is nested too deeply: nothing of it can be used.

    Attributes:
        line: counted from 1.
    """

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


def read(text: str) -> tuple[Node | None, tuple[tuple[int, str], ...]]:
    """The tree of `text`, or `None` if it is empty, and its refused values as pairs of line and sentence.

    Raises:
        YamlError: the text is not YAML, or holds too much or is nested too deeply.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if bad := _UNREADABLE.search(text):
        line = text.count("\n", 0, bad.start()) + 1
        code = f"U+{ord(bad.group()):04X}"
        raise YamlError(line, f"The character {code} is not allowed in a text file. Remove it, or use a text file.")
    composer = _Composer()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        raise _in_plain_words(error, text.split("\n")) from error
    return composer.root, tuple(composer.refused)


class _Composer:
    """Builds the tree from a parser's events, without recursion."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.refused: list[tuple[int, str]] = []
        self._open: list[tuple[type[yaml.Event], int, list[Node]]] = []
        self._documents = self._values = 0

    def take(self, event: yaml.Event) -> None:
        """Add one event.

        Raises:
            YamlError: there are too many events, or they are nested too deeply.
        """
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.NodeEvent):
            self._count(event, line)
        if isinstance(event, yaml.DocumentStartEvent):
            self._begin(line)
        elif isinstance(event, yaml.AliasEvent):
            self._add(RefusedValue(line))
        elif isinstance(event, yaml.ScalarEvent):
            self._add(ScalarText("" if self._is_nothing(event) else event.value, line))
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self._open) == MAX_DEPTH:
                raise YamlError(line, _TOO_DEEP)
            self._open.append((type(event), line, []))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()

    def _begin(self, line: int) -> None:
        self._documents += 1
        if self._documents > 1:
            raise YamlError(line, "A second document begins here ('---'). Keep only one document.")

    def _is_nothing(self, event: yaml.ScalarEvent) -> bool:
        """Whether a scalar is nothing; a key never is, since somebody may be called Null."""
        kind, _, nodes = self._open[-1] if self._open else (None, 0, [])
        is_key = kind is yaml.MappingStartEvent and len(nodes) % 2 == 0
        return not is_key and not event.style and _NOTHING.fullmatch(event.value) is not None

    def _count(self, event: yaml.NodeEvent, line: int) -> None:
        """Count a value, and note what does not belong in a file of texts."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise YamlError(line, f"The file contains more than {MAX_VALUES:,} values. Use a shorter file.")
        if isinstance(event, yaml.AliasEvent):
            self.refused.append((line, f"'*{event.anchor}' refers to another place. Write the text out here."))
        elif event.anchor is not None:
            self.refused.append((line, f"'&{event.anchor}' marks a place for reference. Remove the mark."))
        elif (tag := getattr(event, "tag", None)) is not None:
            self.refused.append((line, f"The tag {tag!r} names a type. Remove it, or put the text in quotes."))

    def _close(self) -> None:
        kind, line, nodes = self._open.pop()
        if kind is yaml.SequenceStartEvent:
            self._add(Items(tuple(nodes), line))
            return
        pairs = []
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            if isinstance(key, ScalarText):
                pairs.append((key, value))
            elif not isinstance(key, RefusedValue):
                self.refused.append(
                    (key.line, "There is a list or a mapping where a name is expected. Write a text instead.")
                )
        self._add(MappingPairs(tuple(pairs), line))

    def _add(self, node: Node) -> None:
        if self._open:
            self._open[-1][2].append(node)
        else:
            self.root = node


_TOO_DEEP: Final = f"This is nested more than {MAX_DEPTH} levels deep. Use fewer levels."
_WORDS: Final = (
    ("maximum nesting depth", _TOO_DEEP),  # PyYAML from 6.0.4 on may look that far ahead first
    (
        "mapping values are not allowed",
        (
            "There is a colon where none is allowed. Quote the text, correct the indentation, or add the colon that is "
            "missing in the line above."
        ),
    ),
    (
        "while scanning a quoted scalar",
        "A quotation mark is opened here and never closed. Close it, or double it inside a text.",
    ),
    (
        "found unexpected end of stream",
        "A quotation mark is opened here and never closed. Close it, or double it inside a text.",
    ),
    (
        "while parsing a flow",
        "A bracket is opened here and not closed, or a comma is missing. Correct this, or quote the text.",
    ),
    (
        "could not find expected ':'",
        "A key has no colon. Write 'key: text', or indent the text if it continues the line above.",
    ),
    ("escape", "A backslash in double quotes has a special meaning. Double it, or use single quotes."),
    ("undefined tag handle", "A text begins with '!', which marks a type in YAML. Put the text in quotes."),
    ("anchor", "A text begins with '&' or '*', which marks a reference in YAML. Put the text in quotes."),
    ("alias", "A text begins with '&' or '*', which marks a reference in YAML. Put the text in quotes."),
    ("while parsing a block", "This line does not match the lines above. Check its indentation and quotes."),
    ("found character", "A text begins with a character that has a special meaning in YAML. Put the text in quotes."),
)


def _in_plain_words(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> YamlError:
    """The parser's problem, in words for someone who does not know YAML."""
    said = f"{error.context or ''} {error.problem or ''}"
    mark = error.problem_mark or error.context_mark
    line = 0 if mark is None else mark.line
    if error.context_mark is not None and any(part in said for part in ("quoted", "flow", "simple key")):
        line = error.context_mark.line
    line = min(line, len(lines) - 1)
    if "\t" in lines[line][: len(lines[line]) - len(lines[line].lstrip())]:
        return YamlError(line + 1, "This line begins with a tab. Indent it with spaces.")
    for part, words in _WORDS:
        if part in said:
            return YamlError(line + 1, words)
    return YamlError(line + 1, f"This is not valid YAML ({error.problem}). Check the indentation, colons and quotes.")


def write(node: Node) -> str:
    """The tree as YAML that `read` can read, in block style; long texts and texts of several lines are blocks.

    Lists are indented below their key. An empty text is written as nothing.
    """
    return str(yaml.serialize(_prepared(node), Dumper=_Dumper, allow_unicode=True, width=_WIDTH))


def _prepared(node: Node) -> yaml.Node:
    """The tree as PyYAML's own nodes."""
    if isinstance(node, Items):
        return yaml.SequenceNode("tag:yaml.org,2002:seq", [_prepared(n) for n in node.items], flow_style=False)
    if isinstance(node, MappingPairs):
        pairs = [(yaml.ScalarNode(_STR, key.value), _prepared(value)) for key, value in node.pairs]
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)
    value = node.value if isinstance(node, ScalarText) else ""
    if not value:
        return yaml.ScalarNode(_NULL, "")
    return yaml.ScalarNode(_STR, value, style=_style(value))


def _style(value: str) -> str | None:
    """The style of a text; PyYAML uses quotes instead if the style cannot hold the text."""
    if _OTHER_BREAKS.search(value) or value.endswith("\n"):
        return '"'  # blocks would turn other breaks into plain line ends, and need an end mark for open line ends
    if "\n" in value:
        return "|"
    return ">" if len(value) > _WIDTH and "  " not in value else None


class _Dumper(yaml.SafeDumper):
    """Writes without quotes what `read` reads as text, and indents lists."""

    yaml_implicit_resolvers: Any = {}  # noqa: RUF012 - PyYAML's own name and shape

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - overrides
        super().increase_indent(flow, indentless=False)


_Dumper.add_implicit_resolver(_NULL, re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
