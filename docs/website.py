"""The site's navigation, and its pages that stand elsewhere in the repository: a hook of mkdocs (`make docs`).

The navigation is what docs/index.md lists. A link from a page to a file outside docs/ leads to a page that shows it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parent.parent
ELSEWHERE: Final = "repository"  # folder of the site for files from outside docs/
DECISIONS: Final = "design/"
AS_THEY_ARE: Final = (".html", ".svg")  # such files are copied, others are shown on a page
# Also links whose text is a picture: the part from `](` on is all that is looked at.
_LINK: Final = re.compile(r"(?P<before>\]\()(?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?(?P<after>\))")
_LISTED: Final = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)]+)\)")
_FENCE: Final = re.compile(r"^\s*(```|~~~)")
_LANGUAGES: Final = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".cff": "yaml", ".json": "json"}


_FOUND: Final = (
    ("faq", 4),
    ("troubleshooting", 4),
    ("how-to/", 3),
    ("tutorial/", 2),
    ("reference/choosing", 3),
    ("reference/settings", 2),
    ("reference/", 0.3),
)
"""How much a page counts in the search, by how its path begins."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give the site the navigation of docs/index.md; decisions and reference pages follow from their folders."""
    nav: list[dict[str, Any]] = [{"Home": "index.md"}]
    groups: dict[str, list[Any]] = {}
    for heading, subheading, entries in listed((ROOT / "docs" / "index.md").read_text(encoding="utf-8")):
        pages = [{title: place(address("docs/index.md", target))} for title, target in entries]
        groups.setdefault(heading, []).extend([{subheading: pages}] if subheading else pages)
    config.nav = [*nav, *({heading: pages} for heading, pages in groups.items())]
    return config


def place(page: str) -> str | list[str]:
    """A page's place in the navigation: a README stands before the other pages of its folder."""
    folder = (ROOT / "docs" / page).parent
    if PurePosixPath(page).name != "README.md" or page.startswith(ELSEWHERE):
        return page
    others = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    return [page, *(f"{PurePosixPath(page).parent}/{name}" for name in others)]


def listed(text: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The headings of a page with their subheadings, each with the titles and targets of its list."""
    found: list[tuple[str, str, list[tuple[str, str]]]] = []
    for line in text.splitlines():
        if line.startswith("## "):
            found.append((line.removeprefix("## ").strip(), "", []))
        elif line.startswith("### "):
            found.append((found[-1][0], line.removeprefix("### ").strip(), []))
        elif found and (entry := _LISTED.match(line)):
            # The navigation shows titles as plain text.
            found[-1][2].append((entry["title"].replace("`", ""), entry["target"]))
    return [entry for entry in found if entry[2]]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every file of the repository that a page links to, and so on from there."""
    waiting = [f"docs/{file.src_uri}" for file in files if file.src_uri.endswith(".md")]
    seen = set(waiting)
    while waiting:
        origin = waiting.pop()
        for target in sorted(outside(origin) - seen - {"README.md"}):  # the site begins with docs/index.md
            seen.add(target)
            where = address(origin, link_to(origin, target))
            whole = target.endswith(AS_THEY_ARE)
            files.append(
                File.generated(config, where, content=(ROOT / target).read_bytes() if whole else shown(target))
            )
            if target.endswith(".md"):
                waiting.append(target)
    return files


def outside(origin: str) -> set[str]:
    """The files outside docs/, and the folders, to which a Markdown page leads."""
    text = (ROOT / origin).read_text(encoding="utf-8")
    found = {resolved(origin, link["target"]) for line in prose(text) for link in _LINK.finditer(line)}
    return {target for target in found if target and not _is_page(target)}


def _is_page(path: str) -> bool:
    return path.startswith("docs/") and (ROOT / path).is_file()


def resolved(origin: str, target: str) -> str:
    """The file or folder of the repository that a relative link means; empty for other links and what is not there."""
    if not target or "://" in target or target.startswith(("mailto:", "/")):
        return ""
    path = os.path.normpath(PurePosixPath(origin).parent / target)
    return PurePosixPath(path).as_posix() if (ROOT / path).exists() else ""


def link_to(origin: str, target: str) -> str:
    """The relative link from one file of the repository to another."""
    return PurePosixPath(os.path.relpath(target, PurePosixPath(origin).parent)).as_posix()


def address(origin: str, target: str) -> str:
    """Where in the site a linked file stands; README.md is the site's first page."""
    path = resolved(origin, target)
    if path == "README.md":
        return "index.md"
    if _is_page(path):
        return path.removeprefix("docs/")
    return f"{ELSEWHERE}/{path}" if path.endswith((".md", *AS_THEY_ARE)) else f"{ELSEWHERE}/{path}.md"


def shown(path: str) -> str:
    """The Markdown of a page that shows a file, or lists a folder."""
    if (ROOT / path).is_dir():
        files = sorted(file.name for file in (ROOT / path).iterdir() if file.is_file())
        up = "../" * len(PurePosixPath(path).parts)
        there = f"{up}{path.removeprefix('docs/')}"
        entries = [f"- [{name}]({there}/{name})" if _is_page(f"{path}/{name}") else f"- {name}" for name in files]
        return "\n".join([f"# {PurePosixPath(path).name}", "", f"`{path}`", "", *entries, ""])
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return "\n".join(relinked(path, text))
    language = _LANGUAGES.get(PurePosixPath(path).suffix, "text")
    return f"# {PurePosixPath(path).name}\n\n`{path}`\n\n````{language}\n{text.rstrip()}\n````\n"


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let links that leave docs/ lead to the pages that show the files, and let guides be found first.

    A decision, a file or a long list would be the first hit for questions that a guide answers.
    """
    source = page.file.src_uri
    if source.startswith((DECISIONS, f"{ELSEWHERE}/")):
        page.meta["search"] = {"exclude": True}
    else:
        page.meta["search"] = {"boost": next((boost for start, boost in _FOUND if source.startswith(start)), 1)}
    return markdown if source.startswith(f"{ELSEWHERE}/") else "\n".join(relinked(f"docs/{source}", markdown))


def relinked(origin: str, text: str) -> Iterator[str]:
    """The lines of a page with links as the site has them."""
    here = PurePosixPath(address(origin, PurePosixPath(origin).name)).parent

    def changed(link: re.Match[str]) -> str:
        path = resolved(origin, link["target"])
        if not path or (_is_page(path) and origin.startswith("docs/")):
            return link[0]
        there = PurePosixPath(os.path.relpath(address(origin, link["target"]), here)).as_posix()
        return f"{link['before']}{there}{link['anchor'] or ''}{link['after']}"

    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        yield line if fenced else _LINK.sub(changed, line)


def on_post_build(config: MkDocsConfig) -> None:
    """Take out the page for addresses that are not there, which is found by a server alone."""
    Path(config.site_dir, "404.html").unlink()


def prose(text: str) -> Iterator[str]:
    """The lines of a page that stand outside fenced blocks."""
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield line
