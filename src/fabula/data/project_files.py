"""The texts in the projects of writing programs, and in folders of files, as Markdown.

A project is a folder, or an archive of one. Its list of documents names files that are looked up among those of the
project, so that it can name no others.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from fabula.data.rtf_files import rtf_text
from fabula.data.unpacked import Target, Unpacked
from fabula.story import one_line

_DEEPEST_HEADING: Final = 6
# What Scrivener writes into its documents that is no text: styles; notes and footnotes in the line.
_STYLES: Final = re.compile(r"<!?\$Scr\\?[A-Za-z_]{1,30}(?:::\d{1,6})?>")
_NOTE: Final = re.compile(r"\{\\{1,2}Scrv\\?_(annot|fn)")
_NOTE_ENDS: Final = re.compile(r"\\{1,2}end\\?_Scrv\\?_(?:annot|fn)\}")
_HEADING: Final = re.compile(r"(#{1,4})!?(?=[ \t])")
_SHORTCODES: Final = {"[i]": "*", "[/i]": "*", "[b]": "**", "[/b]": "**"}
_CODES: Final = re.compile(
    r"\[(?:/?(?:i|b|s|u|m|sup|sub)|br|new ?page|vspace(?::\d{1,3})?|(?:footnote|field):[^\]\n]{1,80})\]", re.IGNORECASE
)
_ASIDES: Final = {"@": "tag", "%": "comment", "%footnote.": "footnote"}
_ALIGNED: Final = re.compile(r"\A(?:>{1,2}(?=[ \t]))?(.*?)(?:(?<=[ \t])<{1,2})?\Z")
_NUMBERED: Final = re.compile(r"\A\d{1,6}[ \t._)-]+(?=\S)")
_NUMBERS: Final = re.compile(r"(\d{1,18})")


class _Binder(Target):
    """The items of a Scrivener project's binder, in order: how deep each is in the manuscript, and its fields."""

    def __init__(self) -> None:
        self.items: list[tuple[int, dict[str, str]]] = []  # 0 for an item outside of the manuscript
        self._around: list[int | str] = []  # the levels of the items, and the other elements that are open

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take up an item or another element."""
        if tag != "BinderItem":
            self._around.append(tag)
            return
        above = next((one for one in self._around[-2:-1] if isinstance(one, int)), 0)  # around the children
        level = above + 1 if above else int(attributes.get("Type") == "DraftFolder")
        own = {"id": attributes.get("UUID") or attributes.get("ID", ""), "kind": attributes.get("Type", "")}
        self.items.append((level, own))
        self._around.append(level)

    def data(self, text: str) -> None:
        """Take up a field of an item."""
        name = self._around[-1]
        if self.items and name in ("Title", "IncludeInCompile") and "Binder" in self._around[:2]:
            fields = self.items[-1][1]
            fields[str(name)] = fields.get(str(name), "") + text

    def end(self, tag: str) -> None:  # noqa: ARG002 - all ends are alike
        """End an item or another element."""
        self._around.pop()


def scrivener_text(project: Unpacked, place: str) -> str:
    """The manuscript of a Scrivener project: the documents that are included in its compiled text, below their titles.

    Raises:
        ValueError: it has no manuscript folder.
    """
    binder = _Binder()
    project.read(place, binder)
    items = [one for one in binder.items if one[0]]
    if not items:
        raise ValueError("it has no manuscript folder")
    chosen = [one for one in items[1:] if one[1].get("IncludeInCompile", "").strip() == "Yes"] or items[1:]
    counts = project.left_out
    counts["uncompiled document"] += len(items) - 1 - len(chosen)
    counts["other document"] += sum(not level and "Folder" not in one["kind"] for level, one in binder.items)
    found = [f"# {one_line(posixpath.basename(place).rpartition('.')[0] or 'Manuscript')}"]
    for level, fields in chosen:
        _count_beside(project, _in(place, f"Files/Data/{fields['id']}"))
        inside = (f"Files/Data/{fields['id']}/content.rtf", f"Files/Docs/{fields['id']}.rtf")
        text = next((rtf_text(data, counts) for name in inside if (data := project.data(_in(place, name)))), "")
        title = one_line(fields.get("Title", ""))
        found += [f"{'#' * min(level, _DEEPEST_HEADING)} {title}"] if title else []
        found += [_without_marks(text, counts)] if text else []
    return "\n\n".join(found)


def _count_beside(project: Unpacked, folder: str) -> None:
    """Count what Scrivener keeps beside a document's text."""
    comments = project.data(f"{folder}/content.comments")
    notes = comments.count(b'Footnote="Yes"')
    project.left_out.update(
        {"comment": comments.count(b"<Comment ") - notes, "footnote": notes}
        | {"index card": f"{folder}/synopsis.txt" in project.names, "note": f"{folder}/notes.rtf" in project.names}
    )


def _in(place: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), name))


def _without_marks(text: str, left_out: Counter[str]) -> str:
    """A document's text without Scrivener's own signs, notes and footnotes."""
    first, *others = _NOTE.split(_STYLES.sub("", text))
    left_out.update("footnote" if kind == "fn" else "comment" for kind in others[::2])
    return first + "".join(_NOTE_ENDS.split(other, maxsplit=1)[-1] for other in others[1::2])


class _Novel(Target):
    """The items of a novelWriter project."""

    def __init__(self) -> None:
        self.items: list[dict[str, str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take up an item, or whether it is active."""
        if tag == "item":
            self.items.append(dict(attributes))
        elif tag == "name" and self.items:
            self.items[-1]["active"] = attributes.get("active", attributes.get("exported", "yes"))


def novelwriter_text(project: Unpacked, place: str) -> str:
    """The novels of a novelWriter project: its active documents in order, without notes, comments and tags.

    Raises:
        ValueError: it has no novel.
    """
    novel = _Novel()
    project.read(place, novel)
    inside: dict[str, list[dict[str, str]]] = defaultdict(list)
    for one in sorted(novel.items, key=_order)[::-1]:  # the last of a list is read first
        is_novel = (one.get("type"), one.get("class")) == ("ROOT", "NOVEL")
        inside["" if is_novel else one.get("parent", "")].append(one)
    if not inside[""]:
        raise ValueError("it has no novel")
    found, left = [], inside.pop("")
    while left:
        one = left.pop()
        left += inside.pop(one.get("handle", ""), [])
        if one.get("layout") == "DOCUMENT" and one.get("active") not in ("no", "False"):
            name = _in(place, f"content/{one.get('handle', '')}.nwd")
            found.append(_nwd_text(project.data(name).decode("utf-8", "replace"), project.left_out))
            project.left_out["missing document"] += name not in project.names
            one["type"] = "read"
    unread = [one for one in novel.items if one.get("type") == "FILE"]
    project.left_out.update("note" if one.get("layout") == "NOTE" else "inactive document" for one in unread)
    return "\n\n".join(filter(None, found))


def _order(one: Mapping[str, str]) -> int:
    found = _NUMBERS.fullmatch(one.get("order", ""))
    return int(found[1]) if found else 0


def _nwd_text(text: str, left_out: Counter[str]) -> str:
    """A document of novelWriter as Markdown."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("%", "@")):
            if not line.startswith("%%"):  # what novelWriter itself notes down
                left_out[_ASIDES.get(line[:10].casefold(), _ASIDES[line[0]])] += 1
            continue
        plain = _CODES.sub(lambda code: _SHORTCODES.get(code[0].lower(), ""), line)
        if line.strip() and not plain.strip():
            continue
        lines.append(_HEADING.sub(r"\1", _ALIGNED.sub(r"\1", plain).strip(), count=1))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def folder_text(texts: Mapping[str, str]) -> str:
    """The texts of files by their names, in the order of these, each a scene with fabula's mark."""
    return "\n\n".join(_scene(name, texts[name].strip()) for name in sorted(texts, key=_natural) if texts[name].strip())


def _scene(name: str, text: str) -> str:
    first, stem = text.partition("\n")[0], posixpath.splitext(posixpath.basename(name))[0]
    words = _NUMBERED.sub("", stem).replace("_", " ")
    label = first.lstrip("# ") if first.startswith("#") else words[:1].upper() + words[1:]
    return f"<!-- scene: {one_line(label).replace('-->', '')} -->\n{text}"


def _natural(name: str) -> tuple[list[tuple[str, int]], str]:
    """What orders `2` before `10`."""
    pieces = _NUMBERS.split(name.casefold())
    return [*zip(pieces[::2], map(int, [*pieces[1::2], "0"]), strict=True)], name
