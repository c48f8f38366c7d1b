"""Pieces of HTML that nothing can break out of: anything that is not `Html` is escaped, and there are no scripts."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from fabula.base.characters import readable


class Html(str):  # noqa: SLOT000 - a text that is known to be safe markup; slots would add nothing to `str`
    """Markup that may be used in a page unchanged. Make it from any text with `text`."""


def text(said: object) -> Html:
    """Any text as markup that shows it: everything that could be read as markup is escaped. Markup stays unchanged."""
    return said if isinstance(said, Html) else Html(html.escape(readable(str(said))))


def joined(*parts: str) -> Html:
    """Parts joined; those that are not `Html` are escaped."""
    return Html("\n".join(text(part) for part in parts if part))


def paragraph(said: str, *, faint: bool = False) -> Html:
    """A paragraph; a faint one is a side remark."""
    return Html(f'<p class="faint">{text(said)}</p>' if faint else f"<p>{text(said)}</p>")


def link(target: str, shown: str) -> Html:
    """A link to an address that is already quoted."""
    return Html(f'<a href="{text(target)}">{text(shown)}</a>')


def quotation(said: str) -> Html:
    """Someone else's text, with its line ends, in its own block."""
    return Html(f"<blockquote>{text(said)}</blockquote>")


def bullets(entries: Iterable[str]) -> Html:
    """A list with a bullet before each entry; empty if there are no entries."""
    lines = "".join(f"<li>{text(entry)}</li>" for entry in entries)
    return Html(f"<ul>{lines}</ul>" if lines else "")


def details(summary: str, body: Html) -> Html:
    """`body` hidden behind `summary`, one click away; the browser opens and closes it without a script."""
    return Html(f"<details><summary>{text(summary)}</summary>\n{body}\n</details>")


def figure(svg: str) -> Html:
    """A picture from `pictures` in a page."""
    return Html(f"<figure>{svg}</figure>")


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Html:
    """A table; `right` lists the columns of figures. Cells that are not `Html` are escaped."""

    def line(cells: Sequence[str], tag: str) -> str:
        marks = (' class="figure"' if number in right else "" for number in range(len(cells)))
        scope = ' scope="col"' if tag == "th" else ""
        return "".join(f"<{tag}{scope}{mark}>{text(cell)}</{tag}>" for cell, mark in zip(cells, marks, strict=True))

    body = "\n".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    # A region that scrolls has to be reachable by keyboard.
    return Html(
        f'<div class="wide" tabindex="0"><table><thead><tr>{line(head, "th")}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
