"""Thirty books of odd shapes through every format that is both read and written: what comes back, and how fast.

A book is imported, exported in a format, and that file is imported and exported again, as an author would.
Markdown and plain text have to come back byte for byte, once `plain` has removed what no reader sees: byte-order marks,
carriage returns, and blanks at the ends of lines. Other formats have to keep words, headings, emphasis and breaks.
"""

# ruff: noqa: E501, RUF001 - books as they are, in many languages

from __future__ import annotations

import random
import re
import tempfile
import time
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.table import Row, Table
from fabula.app.importing import import_manuscript, read_manuscript
from fabula.base.characters import readable
from fabula.data.story_files import text_of
from fabula.story import plain
from fabula.story.export.prose import blocks
from fabula.verbs.home import Project

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE: Final = "thirty odd books imported and exported in every format"
PROSE: Final = ("md", "txt", "docx", "odt", "rtf", "epub")
SCRIPTS: Final = ("fountain", "fdx")
WORDS: Final = 100_000
_SAME_BYTES: Final = ("md", "txt", "fountain")
_SECONDS: Final = 5.0
_WORDS: Final = (
    "the",
    "keeper",
    "lamp",
    "went",
    "Mara",
    "Tobias",
    "sea",
    "stair",
    "said",
    "boat",
    "“No,”",
    "door",
    "salt",
)


def prose(seed: int, words: int = 60) -> str:
    """Paragraphs of about so many words."""
    draw, found = random.Random(seed), []  # noqa: S311 - texts, not secrets
    while words > 0:
        count = draw.randint(5, 18)
        found.append(" ".join(draw.choices(_WORDS, k=count)).capitalize() + ".")
        words -= count
    return "\n\n".join(" ".join(found[n : n + 4]) for n in range(0, len(found), 4))


def _chapters(titles: list[str], mark: str = "## ") -> str:
    return "\n\n".join(f"{mark}{title}\n\n{prose(number)}" for number, title in enumerate(titles))


P, Q, R = prose(1), prose(2), prose(3)
BOOKS: Final = {
    "no headings": f"{P}\n\n{Q}",
    "only numbers": f"1\n\n{P}\n\n2\n\n{Q}\n\n3\n\n{R}",
    "numbers as headings": f"# 1\n\n{P}\n\n# 2\n\n{Q}",
    "headings with italics": f"# The *Lamp* and the **Sea**\n\n## A *Letter* to [nobody]\n\n{P}\n\n## *All of it*\n\n{Q}",
    "nested emphasis": f"{P}\n\n*Slanted **and bold** again* and ***both***, un*believ*able, **a *b* c**. 5 * 3 * 2, snake_case_name, C:\\dir, \\*kept\\*.\n\n_Under_ __score__.",
    "italics over lines": f"*First line,\nsecond line,\nthird.*\n\n{P}\n\n*“Who?”* she said. *“Me.”*—*No.*\n\n*A whole paragraph in italics, then a second one.*\n\n*Second.*",
    "three kinds of breaks": f"{P}\n\n***\n\n{Q}\n\n#\n\n{R}\n\n⁂\n\n{P}\n\n* * *\n\n{Q}\n\n---\n\n{R}\n\n~\n\n{P}",
    "breaks at the ends": f"* * *\n\n{P}\n\n* * *\n\n* * *\n\n{Q}\n\n* * *",
    "extra blank lines": f"# Title\n\n\n\n{P}\n\n\n\n\n{Q}\n\n\n{R}",
    "footnotes": f"{P} A claim.[^1]\n\n{Q}\n\n[^1]: The note, with *italics*.\n[^2]: Another.",
    "a poem": "# Verses\n\nThe sea\n    is cold\n        and far.\n\n  The lamp  \n  is lit.\\\n  Twice.\n\n* * *\n\nFin.",
    "tabs": f"\tIndented by a tab.\n\n\tAgain\twith a tab\tinside.\n\n{P}",
    "Windows": f"\ufeff# Lamp\r\n\r\n## One\r\n\r\n{P.replace(chr(10), chr(13) + chr(10))}  \r\n\r\n## Two\r\n\r\nFin.\r\n",
    "odd blanks": f"A\u00a0no-break, a\u2009thin, a\u3000wide, an\u00adhyphen, a\u200bzero and\u2060join\u200d.\n\n{P}",
    "right to left": "# המנורה\n\n## פרק א\n\nשלום *עולם*, אמרה מרה (2026).\n\n* * *\n\n## الفصل\n\nقالت: «لا».",
    "Han": "# 灯塔\n\n## 第一章 海\n\n　　她*等待*着。“不，”她说。\n\n***\n\n　　他在灯塔里。\n\n## 第二章\n\n完。",
    "emoji": f"# 🗝️ Keys\n\n## 👩🏽‍🚀 and 👨‍👩‍👧‍👦\n\nA 🇫🇷 flag, *👍🏿*, e\u0301 and é, 𝔘𝔫𝔦.\n\n{P}",
    "a very long paragraph": f"# Long\n\n{prose(7, 9_000).replace(chr(10) * 2, ' ')}",
    "six hundred chapters": "# Many\n\n" + _chapters([f"Chapter {n}" for n in range(1, 601)]),
    "empty chapters": f"# Title\n\n## One\n\n## Two\n\n{P}\n\n## Three\n\n### Four\n\n## Five\n\n{Q}\n\n## Six",
    "titles twice": _chapters(["The Storm", "The Storm", "The Storm", "Interlude", "the storm"]),
    "titles with signs": "# A/B: “C”\n\n"
    + _chapters(["../etc: <b>&amp;", "What? \\*No\\*", "C# and #1", "100 %", "a|b ~ `c`"]),
    "quotes and letters": f"# Letters\n\n> An epigraph,\n> in two lines.\n>\n> — *Anon.*\n\n{P}\n\nDear Ivan,\n\n    I am well.\n\nYours,\nM.\n\n- one\n- two\n\n1. first\n2. second",
    "code and pictures": f"{P}\n\n```python\n# no heading\nx = 1 * 2 * 3\n```\n\n![A lamp](lamp.png) and [a link](https://example.org/a_b_c).\n\n<b>HTML</b> & 1 < 2 > 0.\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "front matter": f"---\ntitle: The Lamp\nauthor: Mara\n---\n\n# The Lamp\n\n## One\n\n{P}",
    "parts and chapters": f"# The Lamp\n\n## Part One\n\n### Prologue\n\n{P}\n\n### Chapter 1\n\n{Q}\n\n#### Deeper\n\n{R}\n\n## Part Two\n\n### Chapter 2\n\n{P}",
    "parts as first headings": f"# Part One\n\n## Chapter 1\n\n{P}\n\n## Chapter 2\n\n{Q}\n\n# Part Two\n\n## Chapter 3\n\n{R}",
    "signs first": f"\\# No heading.\n\n#hashtag first\n\n+ plus, - minus\n\n=equals\n\n~tilde~ and @at\n\n1986\\. A year.\n\n...and so on.\n\n{P}",
    "a screenplay": "Title: The Lamp\nCredit: by\nAuthor: Mara\n\nFADE IN:\n\nINT. LAMP ROOM - NIGHT\n\nMara *kept* the lamp.\n\nMARA\n(softly)\nWho's there?\nNobody.\n\nTOBIAS ^\nMe, **me**.\n\nCUT TO:\n\nEXT. SEA - DAY #12#\n\n!LOUD ACTION\n\n@玛拉\n~la la la\n\n> THE END <",
    "a script with notes": "INT. A - DAY\n\n# Act One\n\n= A synopsis.\n\nShe waits. [[a note]]\n\nMARA (V.O.)\nI \\*wait\\*.\n\n.FORCED HEADING\n\n> Fade out.\n\n===\n\nEXT. B - NIGHT\n\nRain /* cut */ falls.",
}
SCREENPLAYS: Final = ("a screenplay", "a script with notes")


def imported(file: Path, home: Path) -> Project:
    """The project of a manuscript's file, in a new folder in `home`."""
    folder = Path(tempfile.mkdtemp(dir=home)) / "book"
    import_manuscript(folder, read_manuscript(file), file.name, {})
    return Project(folder)


def through(text: str, suffix: str, source: str, home: Path) -> tuple[bytes, str, bytes]:
    """The first file in the format of `suffix`, the Markdown or Fountain of it when read again, and the second file."""
    home.mkdir(parents=True, exist_ok=True)
    first = home / f"book.{source}"
    first.write_bytes(text.encode())
    one = imported(first, home).export(suffix).content
    (file := home / f"again.{suffix}").write_bytes(one)
    again = imported(file, home)
    shown = again.export("fountain" if source == "fountain" else "md").content.decode()
    return one, shown, again.export(suffix).content


def shape(text: str) -> list[object]:
    """Kind, relative level and styled letters of each block, each run of blanks as one."""
    found: list[tuple[str, int, list[tuple[str, bool, bool]]]] = []
    for block in blocks(re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)):
        letters = [(char, span.italic, span.bold) for span in block.spans for char in span.text]
        letters = [(" " if char.isspace() and char != "\n" else char, i, b) for char, i, b in letters]
        found.append((block.kind, block.level, letters))
    levels = [level for kind, level, _ in found[1:] if kind == "heading"]
    least = min(levels, default=0)
    return [
        (kind, 1 if n == 0 and kind == "heading" else level and level - least, _runs(letters))
        for n, (kind, level, letters) in enumerate(found)
    ]


def _runs(letters: list[tuple[str, bool, bool]]) -> list[tuple[str, bool, bool]]:
    """Runs of equal style, the blanks between words without any."""
    seen = [(char, i and not char.isspace(), b and not char.isspace()) for char, i, b in letters]
    words = re.sub(r" *\n *", "\n", re.sub(r" +", " ", "".join(char for char, _, _ in seen))).strip()
    styles = [(i, b, char) for char, i, b in seen if not char.isspace()]
    runs = [("".join(c for _, _, c in run), *key) for key, run in groupby(styles, key=lambda one: one[:2])]
    return [(words, False, False), *runs]


def elements(text: str) -> list[str]:
    """The lines that a script prints, without the signs that force an element."""
    shown = re.sub(r"/\*.*?\*/|\[\[.*?\]\]", "", text, flags=re.DOTALL)
    lines = [" ".join(line.lstrip("!.@~\\").split()) for line in shown.split("\n")]
    return [line for line in lines if line and line[0] not in "#="]


def kept(name: str, suffix: str, home: Path) -> str:
    """What is lost of a book in a format; empty if nothing is."""
    text = BOOKS[name]
    is_script = name in SCREENPLAYS
    source = "fountain" if is_script else "txt" if suffix == "txt" else "md"
    try:
        one, shown, two = through(text, suffix, source, home)
    except Exception as error:  # noqa: BLE001 - it is what is counted
        return f"{type(error).__name__}: {error}"
    whole = f"{plain(readable(text))}\n"
    if suffix == source or (suffix == "md" and not is_script):
        return "other bytes" if one.decode() != whole else "other bytes the second time" if two != one else ""
    (file := home / f"twice.{suffix}").write_bytes(two)
    twice = text_of(file, len(two) + 1)
    if is_script:
        shapes = [elements(one) for one in (whole, shown, twice)]
        return "other words or elements" if shapes[1:] != shapes[:1] * 2 else ""
    return "" if shape(shown) == shape(whole) == shape(twice) else "other words, headings, emphasis or breaks"


def pairs() -> Iterator[tuple[str, str]]:
    """Every book with every format that can hold it."""
    for name in BOOKS:
        yield from ((suffix, name) for suffix in (SCRIPTS if name in SCREENPLAYS else PROSE))


def bench() -> Table:
    """Books that come back as they were, and seconds of CPU for an export and an import of 100,000 words."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        rows = []
        lost: dict[str, list[str]] = {suffix: [] for suffix in (*PROSE, *SCRIPTS)}
        for number, (suffix, name) in enumerate(pairs()):
            lost[suffix].append(f"{name}: {why}" if (why := kept(name, suffix, home / str(number))) else "")
        for suffix, found in lost.items():
            rows.append(
                Row(f"books kept in {suffix}", (found.count("") / len(found),), least=1, each=f"{len(found)} books")
            )
        rows += [
            Row(f"export and import as {suffix}", (_seconds(suffix, home / suffix),), "s", f"{WORDS:,} words", _SECONDS)
            for suffix in lost
        ]
    return Table("odd_books", TITLE, tuple(rows), tuple(one for found in lost.values() for one in found if one))


def _seconds(suffix: str, home: Path) -> float:
    """The CPU time of importing a long book, exporting it in a format, and importing that."""
    source = "fountain" if suffix in SCRIPTS else "md"
    head, end = (
        ("INT. ROOM {} - DAY", "MARA\nWho *is* there?") if suffix in SCRIPTS else ("## Chapter {}", "* * *\n\n*Fin.*")
    )
    text = "\n\n".join(f"{head.format(n)}\n\n{prose(n, WORDS // 100)}\n\n{end}" for n in range(100))
    started = time.process_time()
    through(text, suffix, source, home)
    return time.process_time() - started
