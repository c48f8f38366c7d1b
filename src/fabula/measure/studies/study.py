"""A study's folder: the form (`study.toml`), the items (`items.jsonl`), and the assignments (`assignments.jsonl`).

These three files must not change after the first rating; otherwise ratings would refer to questions that nobody was
asked.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import tomllib
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import PRIVATE, inside, make_folder, no_file, read_bytes, read_text, write_atomically
from fabula.base.invalid import fault_of, sentence
from fabula.base.tomltext import parse
from fabula.story import count_words

Kind: TypeAlias = Literal["pairwise", "chat", "findings", "comments", "rubric"]
Scale: TypeAlias = Literal["sides", "1-5", "labels"]
KINDS: Final[tuple[Kind, ...]] = ("pairwise", "chat", "findings", "comments", "rubric")
DECOYS: Final = "decoys"
"""The group of comments that do not fit their texts. Raters who agree with them agree with anything."""
SIDES: Final = ("A", "B")
FIVE: Final = ("1", "2", "3", "4", "5")
SAME: Final = "S"
ORGANISER: Final = "organiser"
"""The name in the link of the person who can see the progress of a study."""
_FORMS: Final = Path(__file__).with_name("forms")
STUDY, _ITEMS, _ASSIGNMENTS = "study.toml", "items.jsonl", "assignments.jsonl"
_RATINGS, _LOG = "ratings.jsonl", "log.jsonl"
_PRIVATE_FOLDER, _CONVERSATIONS = ".study", "conversations"
_MOST_BYTES: Final = 500_000_000
_LARGEST_FORM: Final = 1_000_000


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Question(_Table):
    """A question in a study.

    Attributes:
        name: the name used in ratings; to compare raters with a judge, use the judge's name for the question.
        label: the text that raters see.
        scale: the scale of the answers: the better side, a number from 1 to 5, or one of `labels`.
        features: the rubric's criteria for the question.
        labels: the possible answers; only the text before a colon is recorded.
    """

    name: str = Field(min_length=1, max_length=60)
    label: str = Field(min_length=1, max_length=200)
    scale: Scale
    features: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _has_labels(self) -> Question:
        if (self.scale == "labels") != bool(self.labels) or len(self.labels) > len(FIVE):
            raise ValueError(
                f'{self.name}: only a question with the scale "labels" can have `labels`, and it needs 1 to 5 of them'
            )
        return self


class Form(_Table):
    """The questions and conditions of a study.

    Attributes:
        rubric: the version of the questions, recorded with every rating.
        sitting: the number of tasks after which a rater is asked to take a break.
        days: the number of days for which the raters' links are valid.
        words_a_minute: the assumed reading speed, for the estimate of hours.
        seconds_a_question: the assumed time per answer, for the estimate of hours.
        minutes_of_conversation: the assumed time for talking with each of two characters.
        pay_an_hour: the hourly pay, for the estimate of cost; 0 if nobody is paid.
    """

    title: str = Field(min_length=1, max_length=200)
    kind: Kind
    version: int = Field(default=1, ge=1)
    rubric: str = ""
    sitting: int = Field(default=5, ge=1, le=1000)
    days: int = Field(default=30, ge=1, le=1000)
    words_a_minute: float = Field(default=230, gt=0)
    seconds_a_question: float = Field(default=12, ge=0)
    minutes_of_conversation: float = Field(default=0, ge=0)
    pay_an_hour: float = Field(default=0, ge=0)
    currency: str = Field(default="EUR", max_length=10)
    consent: str = Field(min_length=1)
    instructions: str = Field(min_length=1)
    questions: Annotated[tuple[Question, ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _fits(self) -> Form:
        names = [question.name for question in self.questions]
        if len(set(names)) < len(names):
            raise ValueError("two questions have the same name")
        for question in self.questions:
            if question.scale == "sides" and not self.two_sided:
                raise ValueError(f"{question.name}: a study of the kind {self.kind} shows one text and has no sides")
        return self

    @property
    def two_sided(self) -> bool:
        """Whether a task has two sides, A and B."""
        return self.kind in ("pairwise", "chat")

    @cached_property
    def fields(self) -> tuple[StudyAnswer, ...]:
        """The answers that a task requires, in order; a question may require a number for each of two sides."""
        found = []
        for question in self.questions:
            sides = SIDES if self.two_sided and question.scale == "1-5" else ("",)
            found += [StudyAnswer(question, side) for side in sides]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """One answer in a form: to a question, or, if each side has its own answer, to a question about one side."""

    question: Question
    side: str

    @property
    def key(self) -> str:
        """The field's name in a submitted form."""
        return f"{self.question.name}/{self.side}" if self.side else self.question.name

    @property
    def choices(self) -> tuple[str, ...]:
        """The possible answers: "A", "S" (the same) and "B", or a number, or the part of a label before the colon."""
        if self.question.scale == "sides":
            return (SIDES[0], SAME, SIDES[1])
        if self.question.scale == "1-5":
            return FIVE
        return tuple(label.partition(":")[0].strip() for label in self.question.labels)


class StudyItem(_Table):
    """An item to rate: a story, a finding, an editor's comment, or a character to talk with.

    Attributes:
        id: the id used in ratings.
        system: the system that made the item; hidden from raters.
        prompt: the id of the item's prompt; items with the same prompt are compared.
        asked: the text of the prompt that raters see.
        text: the story to rate, or the story for the conversation.
        claim: for a finding, the contradiction; for a comment, its text.
        label: for a finding or comment, its kind.
        passages: for a finding, both passages with their context; for a comment, the passage that it refers to.
        group: for a comment, the level at which it was made, or `DECOYS`; hidden from raters.
        project: for a character, the path of its project, relative to the study's folder; a project outside the study
            needs to be trusted.
        player: the character that the rater plays.
        partner: the character that the rater talks with.
    """

    id: str = Field(min_length=1)
    system: str = ""
    prompt: str = ""
    asked: str = ""
    text: str = ""
    claim: str = ""
    label: str = ""
    passages: tuple[str, ...] = ()
    group: str = ""
    project: str = ""
    player: str = ""
    partner: str = ""

    @cached_property
    def words(self) -> int:
        """To be read."""
        return sum(map(count_words, (self.text, self.claim, *self.passages)))


class Design(_Table):
    """How the tasks were assigned, as recorded in the first line of `assignments.jsonl`.

    Attributes:
        seed: the seed of all random draws.
        overlap: the number of raters for each shared cell.
        shared: the number of cells that have `overlap` raters; other cells have one rater.
        made: the time at which the tasks were assigned.
        expires: the time at which the raters' links expire.
    """

    seed: int
    overlap: int
    shared: int
    raters: int
    made: str
    expires: str


class Task(_Table):
    """One rater's task.

    Attributes:
        key: the task's key in pages and URLs; it reveals nothing about the task.
        place: the position among the rater's tasks, counted from 0.
        items: the ids of the items, in the order in which they are shown.
    """

    rater: str = Field(pattern=r"^[A-Z0-9]{1,20}$")  # folders are named after both
    key: str = Field(pattern=r"^[0-9a-z]{1,40}$")
    place: int = Field(ge=0)
    prompt: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """A study as described by its files.

    Attributes:
        folder: the folder of the study.
        form: the questions and conditions.
        entries: the items to rate, by id.
        design: how the tasks were assigned; `None` before that.
        tasks: the tasks of all raters, in order.
        hashes: the hashes of the files when they were read, by file name.
    """

    folder: Path
    form: Form
    entries: Mapping[str, StudyItem]
    design: Design | None = None
    tasks: tuple[Task, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path) -> Study:
        """The study in a folder.

        Raises:
            UsageError: there is no study, a file is not valid, or the study was changed after its first rating.
        """
        study = cls.read(folder)
        study.check_seal()
        return study

    @classmethod
    def read(cls, folder: Path) -> Study:
        """The study in a folder, even if it was changed after its first rating.

        Raises:
            UsageError: there is no study, or a file is not valid.
        """
        if not is_study(folder):
            advice = "To make a study, run `fabula study new`."
            why = f"{folder} is not a study: it has no {STUDY}. {advice}"
            raise UsageError(why if folder.exists() else no_file(folder, advice, "folder"))
        _check_links(folder)
        files = (folder / name for name in (STUDY, _ITEMS, _ASSIGNMENTS))
        hashes = {file.name: sha256(read_bytes(file, _MOST_BYTES)).hexdigest() for file in files if file.is_file()}
        form = form_of(read_text(folder / STUDY, _LARGEST_FORM), str(folder / STUDY))
        entries = _lines(folder / _ITEMS, StudyItem)
        known = {entry.id: entry for entry in entries}
        if len(known) < len(entries):
            raise UsageError(f"{folder / _ITEMS}: two items have the same ID. Rename one of them.")
        return cls(folder, form, known, *_assignments(folder / _ASSIGNMENTS, known), hashes)

    @property
    def form_file(self) -> Path:
        """The file with the study's form; trust in the study is also recorded for this file."""
        return self.folder / STUDY

    @property
    def ratings_file(self) -> Path:
        """The file that contains all ratings."""
        return self.folder / _RATINGS

    @property
    def log_file(self) -> Path:
        """The log of the raters' actions."""
        return self.folder / _LOG

    @property
    def private(self) -> Path:
        """The folder for data that is hidden from raters and from readers of the results."""
        return self.folder / _PRIVATE_FOLDER

    @property
    def conversations(self) -> Path:
        """The folder of conversations."""
        return self.folder / _CONVERSATIONS

    @cached_property
    def raters(self) -> tuple[str, ...]:
        """The numbers of all raters who have tasks."""
        return tuple(dict.fromkeys(task.rater for task in self.tasks))

    @cached_property
    def tasks_of(self) -> Mapping[str, tuple[Task, ...]]:
        """The tasks of each rater, in order."""
        found: dict[str, list[Task]] = {}
        for task in self.tasks:
            found.setdefault(task.rater, []).append(task)
        return {rater: tuple(sorted(tasks, key=lambda task: task.place)) for rater, tasks in found.items()}

    @cached_property
    def by_key(self) -> Mapping[str, Task]:
        """The tasks by key."""
        return {task.key: task for task in self.tasks}

    def shown(self, task: Task) -> tuple[StudyItem, ...]:
        """The items that a task shows, in display order."""
        return tuple(self.entries[item] for item in task.items)

    def asked(self, task: Task) -> str:
        """The text of a task's prompt; it is the same for all tasks with that prompt, whichever item defines it."""
        return self._asked.get(task.prompt, "")

    @cached_property
    def _asked(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for entry in self.entries.values():
            if entry.asked:
                found.setdefault(entry.prompt, entry.asked)
        return found

    def words(self, task: Task) -> int:
        """The number of words to read in a task."""
        entries = self.shown(task)
        texts = entries[:1] if self.form.kind == "chat" else entries  # both characters play one story
        return sum(entry.words for entry in texts) + count_words(self.asked(task))

    def minutes(self, task: Task) -> float:
        """The number of minutes that a task is likely to take."""
        answers = len(self.form.fields) * self.form.seconds_a_question / 60
        return (
            self.words(task) / self.form.words_a_minute + answers + len(task.items) * self.form.minutes_of_conversation
        )

    # links ----------------------------------------------------------------------------------------------------------

    def token(self, name: str) -> str:
        """The token that gives a rater or the organiser access; it can be derived again from the folder's key."""
        made = hmac.new(self._key, f"{name}\0{self.design.made if self.design else ''}".encode(), sha256).digest()
        return urlsafe_b64encode(made[:24]).decode()

    def holder(self, token: str) -> str:
        """The rater with this token, or the organiser; empty if nobody has it."""
        return self._holders.get(sha256(token.encode("utf-8", "replace")).digest(), "")

    @cached_property
    def _holders(self) -> Mapping[bytes, str]:
        return {sha256(self.token(name).encode()).digest(): name for name in (*self.raters, ORGANISER)}

    @cached_property
    def _key(self) -> bytes:
        file = self.private / "key"
        if not file.is_file():
            make_folder(self.private, mode=0o700)
            write_atomically(file, secrets.token_bytes(32), mode=PRIVATE)
        return read_bytes(file, 1000, links=False)

    @property
    def key_digest(self) -> str:
        """A digest that identifies the folder's key without revealing it; a key is created if there is none."""
        return sha256(b"fabula study key\0" + self._key).hexdigest()

    @property
    def has_key(self) -> bool:
        """Whether the folder has a key, either its original key or a new one."""
        return (self.private / "key").is_file()

    def renew_key(self) -> None:
        """Give the folder a new key. Links made with the old key no longer work."""
        make_folder(self.private, mode=0o700)
        write_atomically(self.private / "key", secrets.token_bytes(32), mode=PRIVATE)
        self.__dict__.pop("_key", None)
        self.__dict__.pop("_holders", None)

    # the seal -------------------------------------------------------------------------------------------------------

    @property
    def sealed(self) -> bool:
        """Whether a rating exists, so that the study must no longer change."""
        return (self.private / "sealed.json").is_file()

    def seal(self) -> None:
        """Seal the study as it was read and shown, before the first rating is stored."""
        make_folder(self.private, mode=0o700)
        write_atomically(self.private / "sealed.json", json.dumps(dict(self.hashes), indent=2) + "\n")

    def check_seal(self) -> None:
        """Check that the study has not changed since its ratings were given.

        Raises:
            UsageError: the study has changed; the message names the files.
        """
        if not self.sealed:
            return
        before: Any = json.loads(read_text(self.private / "sealed.json", _LARGEST_FORM))
        changed = [name for name in (STUDY, _ITEMS, _ASSIGNMENTS) if before.get(name) != self.hashes.get(name)]
        if changed:
            raise UsageError(
                f"{', '.join(changed)} of {self.folder} changed after raters had seen the study, so earlier answers "
                "would no longer match the questions. Restore the old version, or make a new study with `fabula "
                f"study new --from {self.folder} NEW_FOLDER`."
            )


def _check_links(folder: Path) -> None:
    """Check that nothing that a study reads or writes by name leads out of its folder.

    Raises:
        UsageError: a link does.
    """
    for name in (STUDY, _ITEMS, _ASSIGNMENTS, _RATINGS, _LOG, _PRIVATE_FOLDER, _CONVERSATIONS):
        if (folder / name).is_symlink():
            inside(folder, name)


def is_study(folder: Path) -> bool:
    """Whether a folder contains a study. A folder that cannot be read does not count as a study."""
    return os.path.isfile(folder / STUDY)  # noqa: PTH113 - the one of `Path` fails where there is no permission


def form_of(text: str, where: str) -> Form:
    """The form in the text of a `study.toml`.

    Raises:
        UsageError: the text is not a form; the message says where and why.
    """
    try:
        return Form.model_validate(parse(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: {error}. Correct the file.") from error
    except ValidationError as error:
        raise UsageError(f"{where}: {sentence(fault_of(error, Form))} Correct the file.") from error


def form_text(kind: str, title: str) -> str:
    """The text of a new `study.toml`.

    Raises:
        UnknownNameError: there is no such kind of study.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of study", kind, KINDS)
    head = f"title = {json.dumps(title, ensure_ascii=False)}\nkind = {json.dumps(kind)}\nversion = 1\n"
    note, _, rest = (_FORMS / f"{kind}.toml").read_text(encoding="utf-8").partition("rubric = ")
    return f"{note}{head}rubric = {rest}"


def write_study(folder: Path, form: str, entries: Iterable[StudyItem]) -> None:
    """Write a new study into a folder.

    Raises:
        UsageError: the folder already has a study.
    """
    if (folder / STUDY).exists():
        raise UsageError(f"{folder} already contains a study. Choose another folder.")
    entries = list(entries)
    if again := next((one for one, count in Counter(entry.id for entry in entries).items() if count > 1), None):
        raise UsageError(
            f"Two of the items are called {again!r}. Specify each source only once, and use different file names."
        )
    make_folder(folder)
    lines = (entry.model_dump_json(exclude_defaults=True) for entry in entries)
    write_atomically(folder / _ITEMS, "".join(f"{line}\n" for line in lines))
    write_atomically(folder / STUDY, form)  # last: with it the folder is a study


def write_assignments(study: Study, design: Design, tasks: Sequence[Task]) -> None:
    """Write the assignment of tasks to raters into the study's folder.

    Raises:
        UsageError: the study already has ratings.
    """
    if study.sealed:
        raise UsageError(
            f"{study.folder} has ratings, so its tasks cannot change. To make a new version, run `fabula study new "
            f"--from {study.folder} NEW_FOLDER`."
        )
    lines = [json.dumps({"design": design.model_dump()}), *(task.model_dump_json() for task in tasks)]
    write_atomically(study.folder / _ASSIGNMENTS, "".join(f"{line}\n" for line in lines))


def _assignments(file: Path, known: Mapping[str, StudyItem]) -> tuple[Design | None, tuple[Task, ...]]:
    if not file.is_file():
        return None, ()
    head, _, rest = read_text(file, _MOST_BYTES).partition("\n")
    try:
        design = Design.model_validate(json.loads(head)["design"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{file}, line 1: this is not the design of a study. Run `fabula study assign {file.parent}` again."
        ) from error
    tasks = _read(rest, Task, str(file), 2)
    if missing := next((item for task in tasks for item in task.items if item not in known), None):
        raise UsageError(
            f"{file} contains {missing!r}, which is not one of the items. Run `fabula study assign {file.parent}` "
            "again."
        )
    return design, tasks


def _lines(file: Path, kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a kind of line, and lines of that kind
    return _read(read_text(file, _MOST_BYTES), kind, str(file), 1)


def _read(text: str, kind: Any, where: str, first: int) -> tuple[Any, ...]:  # noqa: ANN401 - as `_lines`
    reader = TypeAdapter(kind)
    found = []
    for number, line in enumerate(text.split("\n"), first):
        if line.strip():
            try:
                found.append(reader.validate_json(line))
            except ValidationError as error:
                said = sentence(fault_of(error, kind))
                raise UsageError(f"{where}, line {number}: {said} Correct the line.") from error
    return tuple(found)
