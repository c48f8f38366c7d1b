"""Projects as no careful author leaves them: broken, huge, deep, many, hostile. The same ones for the same seed.

Each kind is the sample project with one thing in it that is odd. This is no benchmark: `studio_memory` walks them.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from fabula.measure.report import FORMAT
from fabula.project.sample import copy_sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Maker = Callable[[Path, "Odd"], None]

MB: Final = 1_000_000
_WORDS: Final = ("the", "keeper", "lamp", "went", "Mara", "Tobias", "sea", "stair", "storm", "never", "said", "boat")


class Odd:
    """What odd projects are made of: how large, and what is drawn.

    Args:
        seed: of all that is drawn.
        scale: 1 for the sizes that are named here; less makes smaller and fewer things.
    """

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        self.draw, self._scale = random.Random(seed), scale  # noqa: S311 - texts, not secrets

    def many(self, count: float) -> int:
        """So many of something, by the scale."""
        return max(2, int(count * self._scale))

    def prose(self, characters: float) -> str:
        """Sentences of about so many characters."""
        sentence = " ".join(self.draw.choices(_WORDS, k=12)).capitalize() + ". "
        other = " ".join(self.draw.choices(_WORDS, k=9)).capitalize() + ".\n\n"
        return (sentence * 4 + other) * (self.many(characters) // (4 * len(sentence) + len(other)) + 1)


def make_all(home: Path, seed: int = 25, scale: float = 1.0) -> list[str]:
    """Make one project of each kind in `home`; their names."""
    first = home / "plain"
    copy_sample(first)
    for number, (name, make) in enumerate(KINDS.items()):
        folder = home / name
        if folder != first:
            shutil.copytree(first, folder)
            make(folder, Odd(seed + number, scale))
    return list(KINDS)


def report(odd: Odd, rows: int, details: object = None, evaluator: str = "measure") -> str:
    """A report of so many numbers."""
    data = {
        "format": FORMAT,
        "evaluator": evaluator,
        "how": {"model": "a model", "n": rows},
        "rows": [
            {
                "of": f"story {number % 40}",
                "what": f"measure {number}",
                "value": odd.draw.random(),
                "n": 10,
                "low": 0.0,
                "high": 1.0,
                "method": "bootstrap",
                "level": 0.95,
            }
            for number in range(rows)
        ],
        "notes": ["A note."],
        "details": details or {},
    }
    return json.dumps(data)


def _write(folder: Path, name: str, text: str | bytes) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


def _plain(_: Path, __: Odd) -> None:
    """The sample as it is."""


def _broken_toml(folder: Path, _: Odd) -> None:
    _write(folder, "fabula.toml", 'model = "files:in\nsystem = [[[\n')


def _huge_toml(folder: Path, odd: Odd) -> None:
    _write(folder, "fabula.toml", "# " + "x" * odd.many(MB) + '\nmodel = "files:x"\n')


def _deep_toml(folder: Path, odd: Odd) -> None:
    _write(folder, "fabula.toml", f"a = {'[' * odd.many(4000)}{']' * odd.many(4000)}\n")


def _huge_brief(folder: Path, odd: Odd) -> None:
    _write(folder, "brief.md", "# A long brief\n\n" + odd.prose(1.9 * MB))


def _control_characters(folder: Path, odd: Odd) -> None:
    for name in ("brief.md", "story.md", "plan/setting.md", "story/01-exposition.md"):
        _write(
            folder, name, "# T\x1b[2J\u202eitle\n\nMara\x00\x07 went \u200b\u2066up.\x1b]0;x\x07\n\n" * odd.many(200)
        )


def _odd_encodings(folder: Path, odd: Odd) -> None:
    _write(folder, "plan/setting.md", "Der Kai liegt öd und grün.".encode("utf-16"))
    _write(folder, "plan/conflict.md", "Ärger über Öl.".encode("latin-1"))
    _write(folder, "story/01-exposition.md", bytes(range(256)) * odd.many(500))


def _huge_story(folder: Path, odd: Odd) -> None:
    _write(folder, "story.md", "# A book\n\n" + odd.prose(18 * MB))


def _many_scenes(folder: Path, odd: Odd) -> None:
    _write(folder, "story.md", "".join(f"<!-- scene: s-{n} -->\n\nMara went.\n\n" for n in range(odd.many(20_000))))


def _deep_plan(folder: Path, odd: Odd) -> None:
    deep = odd.many(3000)
    _write(folder, "plan/plan.yaml", f"title: {'[' * deep}{']' * deep}\n")


def _plan_of_aliases(folder: Path, _: Odd) -> None:
    names = "abcdefghi"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in pairwise(names)]
    _write(folder, "plan/plan.yaml", "\n".join([*lines, "title: *i", "scenes: *i"]))


def _huge_plan(folder: Path, odd: Odd) -> None:
    text = (folder / "plan/plan.yaml").read_text(encoding="utf-8")
    _write(folder, "plan/plan.yaml", text + "".join(f"# {line}\n" for line in odd.prose(MB).split("\n\n")))
    _write(folder, "plan/setting.md", odd.prose(1.9 * MB))


def _many_files(folder: Path, odd: Odd) -> None:
    for number in range(odd.many(10_000)):
        _write(folder, f"drafts/note-{number}.md", f"Note {number}: {' '.join(odd.draw.choices(_WORDS, k=20))}")


def _big_journal(folder: Path, odd: Odd) -> None:
    journal = sqlite3.connect(folder / ".fabula/journal.db")
    with journal:
        calls = journal.execute("SELECT * FROM call").fetchall()
        for number in range(odd.many(300)):
            body = f"{odd.prose(20_000)}{number}"
            key = sha256(body.encode()).hexdigest()
            journal.execute("INSERT INTO text VALUES (?, ?)", (key, body))
            for of, (_, own, path, *rest) in enumerate(calls[:40]):
                row = (f"{own}-{number}-{of}", f"{path}/{number}", *rest)
                journal.execute(
                    "INSERT INTO call (key, path, ordinal, role, performer, request, reply, finish, detail, run, at) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*row[:6], key, *row[7:]),
                )
            version = ("exposition", key, "made", 1, "2026-11-22T00:00:00+00:00")
            journal.execute("INSERT INTO version (path, text, source, run, at) VALUES (?, ?, ?, ?, ?)", version)
    journal.close()


def _cut_journal(folder: Path, _: Odd) -> None:
    os.truncate(folder / ".fabula/journal.db", 100_001)


def _foreign_journal(folder: Path, odd: Odd) -> None:
    _write(folder, ".fabula/journal.db", b"This is no database." * odd.many(50_000))


def _two_reports(folder: Path, odd: Odd) -> None:
    for name in ("one", "two"):
        _write(folder, f"evaluation/{name}.json", report(odd, odd.many(13_000)))


def _many_reports(folder: Path, odd: Odd) -> None:
    for number in range(odd.many(40)):
        details = {"stories": [{"words": list(range(20_000))}, *({"a": {"b": [n]}} for n in range(5000))]}
        _write(folder, f"reports/measure-{number}.json", report(odd, 3000, details))
    for number in range(odd.many(400)):
        _write(folder, f"evaluation/earlier/measure-{number}.json", report(odd, 40))


def _hostile_reports(folder: Path, odd: Odd) -> None:
    head = '{"format": FORMAT, "evaluator": "x", "rows": ['
    for name, inside in {
        "lists": f"{'[],' * odd.many(1.4 * MB)}[]",
        "numbers": f"{'1,' * odd.many(2.2 * MB)}1",
        "deep": "[" * 100_000 + "]" * 100_000,
        "text": json.dumps("x" * odd.many(4.5 * MB)),
        "huge": f"{'{},' * odd.many(12 * MB)}{{}}",
    }.items():
        _write(folder, f"evaluation/{name}.json", f"{head}{inside}]}}")


def _big_ratings(folder: Path, odd: Odd) -> None:
    line = (folder / "evaluation/ratings.jsonl").read_text(encoding="utf-8").splitlines()[0]
    rating = json.loads(line)
    lines = []
    for number in range(odd.many(8000)):
        rating |= {"reason": odd.prose(300), "call": f"call/{number}", "question": f"question {number}"}
        lines.append(json.dumps(rating))
    _write(folder, "evaluation/ratings.jsonl", "\n".join(lines))


def _links(folder: Path, _: Odd) -> None:
    (folder / "plan/leads-out.md").symlink_to("/etc/hostname")
    (folder / "drafts/circle.md").symlink_to("circle.md")
    (folder / "evaluation/atlas-2.json").symlink_to("/etc/passwd")


def _pipe(folder: Path, _: Odd) -> None:
    os.mkfifo(folder / "story/06-pipe.md")


def _odd_names(folder: Path, _: Odd) -> None:
    for name in (b"a\xff\xfeb.md", b"new\nline.md", b"esc\x1b[2J.md", b"~.md", b"CON.md", b"%2e%2e.md", b" .md"):
        with open(os.path.join(os.fsencode(folder / "drafts"), name), "wb") as file:  # noqa: PTH118, PTH123 - bytes
            file.write(b"Text.")


def _many_chats(folder: Path, odd: Odd) -> None:
    log = (folder / "chat/joanne-starling-wendy-clabburn.jsonl").read_text(encoding="utf-8")
    for number in range(odd.many(2000)):
        _write(folder, f"chat/talk-{number}.jsonl", log)
    for name, text in {"broken": "{" * 1000, "deep": "[" * 50_000, "empty": "", "long": log * odd.many(400)}.items():
        _write(folder, f"chat/{name}.jsonl", text)


def _big_world(folder: Path, odd: Odd) -> None:
    entry = '- {{subject: "person {0}", predicate: "has", value: "thing {0}", scene: 1}}\n'
    _write(folder, "world.yaml", "facts:\n" + "".join(entry.format(n) for n in range(odd.many(20_000))))
    _write(folder, ".fabula/world.db", b"SQLite format 3\0" + bytes(odd.many(40_000)))


def _hostile_cards(folder: Path, odd: Odd) -> None:
    entries = {str(n): {"keys": ["lamp"], "content": odd.prose(200)} for n in range(odd.many(4000))}
    _write(folder, "cards/book.json", json.dumps({"spec": "lorebook_v3", "data": {"entries": entries}}))
    _write(folder, "cards/card.png", b"\x89PNG\r\n\x1a\n" + bytes(odd.many(MB)))
    _write(folder, "cards/deep.json", "[" * 20_000)


def _many_runs(folder: Path, odd: Odd) -> None:
    for number in range(odd.many(1500)):
        place = f".fabula/runs/20261122-{number:06d}-abcdef"
        _write(folder, f"{place}/run.json", json.dumps({"id": number}) if number % 2 else "{" * 400)
        _write(folder, f"{place}/events.jsonl", '{"kind": "x"}\n' * 50)


def _huge_parts(folder: Path, odd: Odd) -> None:
    for number in range(1, 9):
        _write(folder, f"story/{number:02d}-part.md", odd.prose(1.9 * MB))


def _unreadable(folder: Path, _: Odd) -> None:
    for name in ("plan", "story/02-rising-action.md"):
        (folder / name).chmod(0)


KINDS: Final[dict[str, Maker]] = {
    "plain": _plain,
    "broken-toml": _broken_toml,
    "huge-toml": _huge_toml,
    "deep-toml": _deep_toml,
    "huge-brief": _huge_brief,
    "control-characters": _control_characters,
    "odd-encodings": _odd_encodings,
    "huge-story": _huge_story,
    "many-scenes": _many_scenes,
    "deep-plan": _deep_plan,
    "plan-of-aliases": _plan_of_aliases,
    "huge-plan": _huge_plan,
    "many-files": _many_files,
    "big-journal": _big_journal,
    "cut-journal": _cut_journal,
    "foreign-journal": _foreign_journal,
    "two-reports": _two_reports,
    "many-reports": _many_reports,
    "hostile-reports": _hostile_reports,
    "big-ratings": _big_ratings,
    "links": _links,
    "pipe": _pipe,
    "odd-names": _odd_names,
    "many-chats": _many_chats,
    "big-world": _big_world,
    "hostile-cards": _hostile_cards,
    "many-runs": _many_runs,
    "huge-parts": _huge_parts,
    "unreadable": _unreadable,
}
