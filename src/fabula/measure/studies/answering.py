"""The record of the raters' actions: ratings in `ratings.jsonl`, all others (consent, clicks, pauses) in `log.jsonl`.

Both files are append-only; each line is written to disk before the action is confirmed. If a rating is changed, the old
one is kept, and the new one refers to it. Lines are removed only if a rater withdraws.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from threading import RLock
from typing import Any, Final

from fabula.base.characters import readable
from fabula.base.errors import UsageError
from fabula.base.files import PRIVATE, append_synced, read_text, write_atomically
from fabula.base.version import __version__
from fabula.measure.ratings import MAX_RATINGS_BYTES, Rating, read_ratings, write_ratings
from fabula.measure.ratings import SAME as SAME_ITEM
from fabula.measure.studies.study import SAME, SIDES, Study, StudyAnswer, Task

POOR: Final = "both poor"
LONGEST: Final = 4000
"""The maximum number of characters in a comment or reason."""
_SHOWN: Final = {SAME: "about the same"}
_SKIPPED: Final = "skipped: "


@dataclass
class RaterProgress:
    """A rater's progress.

    Attributes:
        consented: the time at which the rater consented; empty before then.
        withdrawn: the time at which the rater withdrew; empty before then.
        opened: the time at which each task was first shown, by task key.
        drafts: the clicks and texts in each task that have not been sent yet.
        sent: the answers to each task that was sent, with the comment and flags.
        at: the time at which each task was last sent.
        seen: the reading time and depth for each task.
        rested: the number of tasks done when the rater last chose to continue after a sitting.
    """

    consented: str = ""
    withdrawn: str = ""
    opened: dict[str, str] = field(default_factory=dict)
    drafts: dict[str, Sent] = field(default_factory=dict)
    sent: dict[str, Sent] = field(default_factory=dict)
    at: dict[str, str] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    rested: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """A rater's answers to a task.

    Attributes:
        answers: the answers as they were shown, by the keys of the form's fields; empty for a skipped task.
        comment: a free-text comment.
        poor: whether both stories are poor, even if one is better.
        skipped: the reason why the task was skipped.
    """

    answers: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    poor: bool = False
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """How a task was read, as measured by the page: how many seconds it was visible, and how far each text was read."""

    seconds: float = 0.0
    depths: tuple[float, ...] = ()

    def beside(self, other: Seen) -> Seen:
        """Both records combined: a rater who returns to change an answer has read the texts before."""
        depths = tuple(map(max, zip_longest(self.depths, other.depths, fillvalue=0.0)))
        return Seen(max(self.seconds, other.seconds), depths)


class Answers:
    """All actions of raters in a study; only this class records them."""

    def __init__(self, study: Study, now: Callable[[], str], *, writes: bool = True) -> None:
        """Read the study's files; `now` gives the time in ISO 8601.

        A caller that only reads, perhaps while a server writes, says so, and no file is changed.

        Raises:
            UsageError: a file cannot be read.
        """
        self.study, self._now = study, now
        self._log = study.log_file
        self._lock = RLock()
        self.progress: dict[str, RaterProgress] = defaultdict(RaterProgress)
        self._ratings: dict[str, tuple[Rating, ...]] = {}
        self._put_back: tuple[str, int] | None = None
        for file in (self._log, study.ratings_file) if writes else ():
            _without_half_line(file)
        for line in _lines_of(self._log):
            self._apply(line)
        self._take_up_ratings()
        self._size = _size(study.ratings_file)

    # what a rater does ----------------------------------------------------------------------------------------------

    def consent(self, rater: str) -> None:
        """The rater takes part."""
        with self._lock:
            if not self.progress[rater].consented:
                self._note(rater, "consented")

    def current(self, rater: str) -> Task | None:
        """The next unfinished task; `None` after the last one."""
        sent = self.progress[rater].sent
        return next((task for task in self.study.tasks_of[rater] if task.key not in sent), None)

    def rests(self, rater: str) -> bool:
        """Whether the rater has just finished a whole sitting and has not chosen to continue."""
        done, sitting = self.done(rater), self.study.form.sitting
        return (
            done > 0 and done % sitting == 0 and self.progress[rater].rested < done and self.current(rater) is not None
        )

    def go_on(self, rater: str) -> None:
        """Record that the rater begins another sitting."""
        with self._lock:
            self._note(rater, "went on", done=self.done(rater))

    def done(self, rater: str) -> int:
        """The number of tasks that the rater has sent."""
        return len(self.progress[rater].sent)

    def open(self, rater: str, task: Task) -> None:
        """Record that the task is shown to the rater."""
        with self._lock:
            if task.key not in self.progress[rater].opened:
                self._note(rater, "opened", task=task.key)

    def draft(self, rater: str, task: Task, so_far: Sent) -> None:
        """Keep the clicks and texts so far, so that they are still there after a reload."""
        answers, comment = self._checked(so_far.answers, whole=False), readable(so_far.comment)[:LONGEST]
        with self._lock:
            if self.progress[rater].drafts.get(task.key) != Sent(answers, comment, so_far.poor):
                self._note(rater, "clicked", task=task.key, answers=answers, comment=comment, poor=so_far.poor)

    def send(self, rater: str, task: Task, sent: Sent, seen: Seen | None = None) -> str:
        """Keep a rater's answers to a task and return "stored", "amended" or (if nothing differs) "unchanged".

        Raises:
            UsageError: an answer is missing or not one of the choices.
        """
        if sent.skipped:
            sent = Sent(skipped=_short(sent.skipped), comment=_short(sent.comment))
        else:
            sent = Sent(self._checked(sent.answers, whole=True), _short(sent.comment), sent.poor)
        with self._lock:
            before = self.progress[rater].sent.get(task.key)
            if before == sent:
                return "unchanged"
            if not self.study.sealed:
                self.study.seal()
            ended = self._now()
            self.put_back()
            ratings = self._ratings_of(rater, task, sent, ended)
            append_synced(self.study.ratings_file, write_ratings(ratings).encode())
            self._ratings[task.key] = ratings
            self._size = _size(self.study.ratings_file)
            told = {"answers": dict(sent.answers), "comment": sent.comment, "poor": sent.poor, "skipped": sent.skipped}
            read = {"seconds": round(seen.seconds, 1), "depths": list(seen.depths)} if seen else {}
            self._note(rater, "sent", at=ended, task=task.key, tool=__version__, **told, **read)
            return "stored" if before is None else "amended"

    def put_back(self) -> bool:
        """Restore the ratings given here if their file has meanwhile been deleted or truncated; return whether it was.

        The log also records this, for the organiser of the study.
        """
        with self._lock:
            size = _size(self.study.ratings_file)
            if size >= self._size:
                return False
            left = read_ratings(self.study.ratings_file) if size else ()
            known = {(one.rater, one.items, one.question, one.ended) for one in left}
            lost = [
                one
                for ratings in self._ratings.values()
                for one in ratings
                if (one.rater, one.items, one.question, one.ended) not in known
            ]
            append_synced(self.study.ratings_file, write_ratings(lost).encode())
            self._size = _size(self.study.ratings_file)
            self._note("", "put back", ratings=len(lost))
            return True

    @property
    def told(self) -> str:
        """A message to the organiser about the study's files; empty if there is nothing to report."""
        if not self._put_back:
            return ""
        at, count = self._put_back
        return (
            f"{self.study.ratings_file.name} was deleted or truncated while the study was running. {count:,} ratings "
            f"by raters were restored at {at}. Other ratings in the file, such as a judge's, were not restored. "
            "Restore a copy of the file, or run the judge again."
        )

    def withdraw(self, rater: str) -> None:
        """Delete all the rater's data: ratings, clicks, conversations. A record that the rater existed remains."""
        with self._lock:
            self.put_back()
            file = self.study.ratings_file
            if file.is_file():
                lines = read_text(file, MAX_RATINGS_BYTES).split("\n")
                kept = [line for line in lines if line.strip() and json.loads(line).get("rater") != rater]
                write_atomically(file, "".join(f"{line}\n" for line in kept), mode=PRIVATE)
            log = [line for line in _lines_of(self._log) if line["rater"] != rater]
            write_atomically(self._log, "".join(_line(line) for line in log), mode=PRIVATE)
            conversations = self.study.conversations / rater
            if conversations.is_dir():
                shutil.rmtree(conversations)
            self._size = _size(file)
            for task in self.study.tasks_of.get(rater, ()):
                self._ratings.pop(task.key, None)
            self.progress[rater] = RaterProgress()
            self._note(rater, "withdrew")

    def unblinded(self) -> None:
        """Record that somebody has looked at the progress by system."""
        with self._lock:
            self._note("", "unblinded")

    # inner ----------------------------------------------------------------------------------------------------------

    def _checked(self, answers: Mapping[str, str], *, whole: bool) -> dict[str, str]:
        fields = self.study.form.fields
        found = {}
        for one in fields:
            value = answers.get(one.key, "")
            if value and value not in one.choices:
                raise UsageError(
                    f"{one.question.label}: {value[:40]!r} is not a valid answer. Choose one of the answers shown."
                )
            if value:
                found[one.key] = value
            elif whole:
                what = one.question.label.rstrip("?")
                raise UsageError(f"You have not answered {what} yet. Answer it, or skip the task and give a reason.")
        return found

    def _ratings_of(self, rater: str, task: Task, sent: Sent, ended: str) -> tuple[Rating, ...]:
        before = {(rating.items, rating.question): rating.ended for rating in self._ratings.get(task.key, ())}
        found = []
        for number, one in enumerate(self.study.form.fields):
            places = _places(one, task)
            items = tuple(task.items[place] for place in places)
            systems = tuple(self.study.entries[item].system for item in items)
            value = sent.answers.get(one.key, "")
            found.append(
                Rating(
                    rater=rater,
                    kind="person",
                    items=items,
                    systems=systems if all(systems) else (),
                    prompt=task.prompt,
                    question=one.question.name,
                    shown=_SHOWN.get(value, value) if one.question.scale == "sides" else value,
                    answer=_meaning(one, value, items),
                    unscored=f"{_SKIPPED}{sent.skipped}" if sent.skipped else "",
                    reason=sent.comment if number == len(self.study.form.fields) - 1 else "",
                    rubric=self.study.form.rubric,
                    started=self.progress[rater].opened.get(task.key, ""),
                    ended=ended,
                    amends=before.get((items, one.question.name), ""),
                    flags=(POOR,) if sent.poor and len(items) == len(SIDES) else (),
                )
            )
        return tuple(found)

    def _note(self, rater: str, what: str, at: str = "", **more: Any) -> None:  # noqa: ANN401 - as JSON has it
        line = {"at": at or self._now(), "rater": rater, "what": what, **more}
        append_synced(self._log, _line(line).encode())
        self._apply(line)

    def _apply(self, line: Mapping[str, Any]) -> None:
        """Apply a line of the log."""
        if line["what"] == "put back":
            self._put_back = str(line["at"]), int(line["ratings"])
            return
        mine, what, at = self.progress[line["rater"]], line["what"], line["at"]
        if what == "consented":
            mine.consented = at
        elif what == "opened":
            mine.opened.setdefault(line["task"], at)
        elif what == "clicked":
            mine.drafts[line["task"]] = Sent(line["answers"], line["comment"], line["poor"])
        elif what == "sent":
            mine.sent[line["task"]] = Sent(line["answers"], line["comment"], line["poor"], line["skipped"])
            mine.at[line["task"]] = at
            if "seconds" in line:
                seen = Seen(line["seconds"], tuple(line["depths"]))
                mine.seen[line["task"]] = seen.beside(mine.seen.get(line["task"], Seen()))
            mine.drafts.pop(line["task"], None)
        elif what == "went on":
            mine.rested = int(line["done"])
        elif what == "withdrew":
            mine.withdrawn = at

    def _take_up_ratings(self) -> None:
        """The ratings that are there; also those of a task whose line in the log a kill has prevented."""
        if not self.study.ratings_file.is_file():
            return
        owner = {
            (task.rater, tuple(task.items[place] for place in _places(one, task)), one.question.name): task
            for task in self.study.tasks
            for one in self.study.form.fields
        }
        found: dict[str, list[Rating]] = defaultdict(list)
        for rating in read_ratings(self.study.ratings_file):
            task = owner.get((rating.rater, rating.items, rating.question))
            if task is not None:  # else a judge's
                found[task.key].append(rating)
        for key, ratings in found.items():
            self._ratings[key] = tuple(ratings)
            sent = self.progress[ratings[0].rater].sent
            if key not in sent and len(ratings) == len(self.study.form.fields):
                sent[key] = self._sent_again(self.study.by_key[key], ratings)

    def _sent_again(self, task: Task, ratings: Sequence[Rating]) -> Sent:
        given = {(rating.items, rating.question): rating for rating in ratings}
        answers, last = {}, ratings[-1]
        for one in self.study.form.fields:
            rating = given[tuple(task.items[place] for place in _places(one, task)), one.question.name]
            answers[one.key] = SAME if rating.answer == SAME_ITEM else rating.shown
        skipped = last.unscored.removeprefix(_SKIPPED)
        poor = any(POOR in rating.flags for rating in ratings)
        return Sent(skipped=skipped, comment=last.reason) if skipped else Sent(answers, last.reason, poor)


def _size(file: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _places(one: StudyAnswer, task: Task) -> tuple[int, ...]:
    """Which of a task's items an answer is about."""
    return (SIDES.index(one.side),) if one.side else tuple(range(len(task.items)))


def _meaning(one: StudyAnswer, value: str, items: Sequence[str]) -> str | float | None:
    """What an answer means: the better item or "same", a number, a label."""
    if not value:
        return None
    if one.question.scale == "sides":
        return SAME_ITEM if value == SAME else items[SIDES.index(value)]
    return float(value) if one.question.scale == "1-5" else value


def _short(text: str) -> str:
    return readable(text).strip()[:LONGEST]


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False) + "\n"


def _without_half_line(file: Path) -> None:
    """Take out a last line that a power cut has cut off: nobody was told that it is kept."""
    if file.is_file() and not (text := read_text(file, MAX_RATINGS_BYTES)).endswith("\n") and text:
        write_atomically(file, text[: text.rfind("\n") + 1], mode=PRIVATE)


def _lines_of(file: Path) -> list[dict[str, Any]]:
    """The lines of a log."""
    if not file.is_file():
        return []
    found = []
    for line in read_text(file, MAX_RATINGS_BYTES).split("\n"):
        with suppress(ValueError):
            data = json.loads(line)
            if isinstance(data, dict) and {"at", "rater", "what"} <= set(data):
                found.append(data)
    return found
