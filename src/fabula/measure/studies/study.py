"""A study's folder: what is asked (`study.toml`), of what (`items.jsonl`), and who gets what (`assignments.jsonl`).

After the first rating these three may not change any more: ratings would stand beside questions that nobody asked.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import tomllib
from base64 import urlsafe_b64encode
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import PRIVATE, inside, make_folder, read_bytes, read_text, write_atomically
from fabula.base.tomltext import parse
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Kind: TypeAlias = Literal["pairwise", "chat", "findings", "comments", "rubric"]
Scale: TypeAlias = Literal["sides", "1-5", "labels"]
KINDS: Final[tuple[Kind, ...]] = ("pairwise", "chat", "findings", "comments", "rubric")
DECOYS: Final = "decoys"
"""The group of comments that fit nothing: who agrees with these agrees with anything."""
SIDES: Final = ("A", "B")
FIVE: Final = ("1", "2", "3", "4", "5")
SAME: Final = "S"
ORGANISER: Final = "organiser"
"""Who sees how far a study is, under the name that links are made for."""
_FORMS: Final = Path(__file__).with_name("forms")
STUDY, _ITEMS, _ASSIGNMENTS = "study.toml", "items.jsonl", "assignments.jsonl"
_RATINGS, _LOG = "ratings.jsonl", "log.jsonl"
_PRIVATE_FOLDER, _CONVERSATIONS = ".study", "conversations"
_MOST_BYTES: Final = 500_000_000
_LARGEST_FORM: Final = 1_000_000


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Question(_Table):
    """One question of a study.

    Attributes:
        name: in ratings; the same as a judge's, where both are to be compared.
        label: as raters see it.
        scale: of the answers: which side is better, a number from 1 to 5, or one of `labels`.
        features: what the rubric says of it.
        labels: the answers to choose from; what stands before a colon is kept.
    """

    name: str = Field(min_length=1, max_length=60)
    label: str = Field(min_length=1, max_length=200)
    scale: Scale
    features: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _has_labels(self) -> Question:
        if (self.scale == "labels") != bool(self.labels) or len(self.labels) > len(FIVE):
            raise ValueError(f'{self.name}: a question of the scale "labels" has 1 to 5 `labels`, and no other has any')
        return self


class Form(_Table):
    """What is asked in a study, and under which terms.

    Attributes:
        rubric: version of the questions, kept with every rating.
        sitting: tasks after which a rater has done enough for once.
        days: for which raters' links hold.
        words_a_minute: how fast people read, for the hours that the study takes.
        seconds_a_question: for the answers, the same.
        minutes_of_conversation: with each of two characters.
        pay_an_hour: for the cost; 0 where nobody is paid.
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
            raise ValueError("two questions have one name")
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
        """What is to be answered in a task, in order: a number for each of two sides where it is asked so."""
        found = []
        for question in self.questions:
            sides = SIDES if self.two_sided and question.scale == "1-5" else ("",)
            found += [StudyAnswer(question, side) for side in sides]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """One thing to be answered: a question, of one side where each side has its own."""

    question: Question
    side: str

    @property
    def key(self) -> str:
        """Its name in a form that is sent."""
        return f"{self.question.name}/{self.side}" if self.side else self.question.name

    @property
    def choices(self) -> tuple[str, ...]:
        """What may be answered: "A", "S" (the same) and "B"; a number; the word before the colon of a label."""
        if self.question.scale == "sides":
            return (SIDES[0], SAME, SIDES[1])
        if self.question.scale == "1-5":
            return FIVE
        return tuple(label.partition(":")[0].strip() for label in self.question.labels)


class StudyItem(_Table):
    """What is rated: a story, a finding, an editor's comment, or a character to talk with.

    Attributes:
        id: in ratings.
        system: who made it; no rater sees it.
        prompt: what it answers; entries of one prompt are compared.
        asked: the prompt's own text, as raters see it.
        text: the story, or the story that is played.
        claim: of a finding, what cannot both be true; the comment itself.
        label: of a finding or comment, its kind.
        passages: of a finding, both, with what stands around them; of a comment, the one that it is on.
        group: of a comment, the level at which it was made, or `DECOYS`; no rater sees it.
        project: of a character, its folder, from the study's on; one that is not the study's own needs trust.
        player: whom the rater plays.
        partner: whom the rater talks with.
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
    """How tasks were assigned: the first line of `assignments.jsonl`.

    Attributes:
        seed: of all draws.
        overlap: raters of a shared cell.
        shared: cells that have `overlap` raters, others have one.
        made: when.
        expires: when the raters' links end.
    """

    seed: int
    overlap: int
    shared: int
    raters: int
    made: str
    expires: str


class Task(_Table):
    """One task of one rater.

    Attributes:
        key: what pages and addresses call it; it says nothing of what is in it.
        place: among the rater's tasks, from 0 on.
        items: ids in the order in which they are shown.
    """

    rater: str = Field(pattern=r"^[A-Z0-9]{1,20}$")  # folders are named after both
    key: str = Field(pattern=r"^[0-9a-z]{1,40}$")
    place: int = Field(ge=0)
    prompt: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """A study as its files say it.

    Attributes:
        folder: of the study.
        form: what is asked.
        entries: what is rated, by id.
        design: how tasks were assigned; `None` before.
        tasks: of all raters, in order.
        hashes: of its files as they were read, by their names.
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
            UsageError: there is none, a file is not as it should be, or it was changed after its first rating.
        """
        study = cls.read(folder)
        study.check_seal()
        return study

    @classmethod
    def read(cls, folder: Path) -> Study:
        """The study in a folder, also one that was changed after its first rating.

        Raises:
            UsageError: there is none, or a file is not as it should be.
        """
        if not is_study(folder):
            raise UsageError(f"{folder} is no study: it has no {STUDY}. Make one with `fabula study new`.")
        _check_links(folder)
        hashes = _hashes(folder)
        form = form_of(read_text(folder / STUDY, _LARGEST_FORM), str(folder / STUDY))
        entries = _lines(folder / _ITEMS, StudyItem)
        known = {entry.id: entry for entry in entries}
        if len(known) < len(entries):
            raise UsageError(f"{folder / _ITEMS}: two items have one id. Rename one of them.")
        return cls(folder, form, known, *_assignments(folder / _ASSIGNMENTS, known), hashes)

    @property
    def form_file(self) -> Path:
        """Where it is said what is asked; what the study may do is remembered for it."""
        return self.folder / STUDY

    @property
    def ratings_file(self) -> Path:
        """Where every rating is kept."""
        return self.folder / _RATINGS

    @property
    def log_file(self) -> Path:
        """Where it is kept what raters did."""
        return self.folder / _LOG

    @property
    def private(self) -> Path:
        """The folder of what no rater and no reader of the results may have."""
        return self.folder / _PRIVATE_FOLDER

    @property
    def conversations(self) -> Path:
        """The folder of conversations."""
        return self.folder / _CONVERSATIONS

    @cached_property
    def raters(self) -> tuple[str, ...]:
        """Who has tasks, under their numbers."""
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
        """Each task by its key."""
        return {task.key: task for task in self.tasks}

    def shown(self, task: Task) -> tuple[StudyItem, ...]:
        """What a task shows, in its order."""
        return tuple(self.entries[item] for item in task.items)

    def asked(self, task: Task) -> str:
        """The text of a task's prompt: one for all of its tasks, whichever item has it and stands left."""
        return self._asked.get(task.prompt, "")

    @cached_property
    def _asked(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for entry in self.entries.values():
            if entry.asked:
                found.setdefault(entry.prompt, entry.asked)
        return found

    def words(self, task: Task) -> int:
        """How much there is to read in a task."""
        entries = self.shown(task)
        texts = entries[:1] if self.form.kind == "chat" else entries  # both characters play one story
        return sum(entry.words for entry in texts) + count_words(self.asked(task))

    def minutes(self, task: Task) -> float:
        """How long a task is likely to take."""
        answers = len(self.form.fields) * self.form.seconds_a_question / 60
        return (
            self.words(task) / self.form.words_a_minute + answers + len(task.items) * self.form.minutes_of_conversation
        )

    # links ----------------------------------------------------------------------------------------------------------

    def token(self, name: str) -> str:
        """What opens the study to a rater, or to the organiser; it can be made again from the folder's own key."""
        made = hmac.new(self._key, f"{name}\0{self.design.made if self.design else ''}".encode(), sha256).digest()
        return urlsafe_b64encode(made[:24]).decode()

    def holder(self, token: str) -> str:
        """The rater who has this token, or the organiser; empty where nobody has it."""
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
        """What tells the folder's key from others, and does not tell the key; a key is made where there is none."""
        return sha256(b"fabula study key\0" + self._key).hexdigest()

    @property
    def has_key(self) -> bool:
        """Whether the folder came with a key, or got one."""
        return (self.private / "key").is_file()

    def renew_key(self) -> None:
        """Give the folder another key: every link that was made with the old one is over."""
        make_folder(self.private, mode=0o700)
        write_atomically(self.private / "key", secrets.token_bytes(32), mode=PRIVATE)
        self.__dict__.pop("_key", None)
        self.__dict__.pop("_holders", None)

    # the seal -------------------------------------------------------------------------------------------------------

    @property
    def sealed(self) -> bool:
        """Whether there has been a rating, so that nothing of the study may change."""
        return (self.private / "sealed.json").is_file()

    def seal(self) -> None:
        """Fix the study as it was read, and so shown: the first rating is about to be kept."""
        make_folder(self.private, mode=0o700)
        write_atomically(self.private / "sealed.json", json.dumps(dict(self.hashes), indent=2) + "\n")

    def check_seal(self) -> None:
        """Stop where the study is not any more what its ratings were given to.

        Raises:
            UsageError: so it is; names the files.
        """
        if not self.sealed:
            return
        before: Any = json.loads(read_text(self.private / "sealed.json", _LARGEST_FORM))
        changed = [name for name in (STUDY, _ITEMS, _ASSIGNMENTS) if before.get(name) != self.hashes.get(name)]
        if changed:
            raise UsageError(
                f"{', '.join(changed)} of {self.folder} changed after raters had been shown it, so that answers would "
                f"stand beside other questions. Put it back as it was, or make a new version: `fabula study new --from "
                f"{self.folder} NEW_FOLDER`."
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
    """Whether there is a study in a folder; one that may not be looked into is none."""
    return os.path.isfile(folder / STUDY)  # noqa: PTH113 - the one of `Path` fails where there is no permission


def form_of(text: str, where: str) -> Form:
    """The form in the text of a `study.toml`.

    Raises:
        UsageError: it is none; says where and what.
    """
    try:
        return Form.model_validate(parse(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: {error}. Correct the file.") from error
    except ValidationError as error:
        raise UsageError(f"{where}: {_said(error)}. Correct the file.") from error


def _hashes(folder: Path) -> dict[str, str]:
    files = (folder / name for name in (STUDY, _ITEMS, _ASSIGNMENTS))
    return {file.name: sha256(read_bytes(file, _MOST_BYTES)).hexdigest() for file in files if file.is_file()}


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
    """Put a new study into a folder.

    Raises:
        UsageError: there is one already.
    """
    if (folder / STUDY).exists():
        raise UsageError(f"{folder} has a study already. Give another folder.")
    entries = list(entries)
    if again := next((one for one, count in Counter(entry.id for entry in entries).items() if count > 1), None):
        raise UsageError(f"Two of the items are called {again!r}. Give each source once, and files names of their own.")
    make_folder(folder)
    lines = (entry.model_dump_json(exclude_defaults=True) for entry in entries)
    write_atomically(folder / _ITEMS, "".join(f"{line}\n" for line in lines))
    write_atomically(folder / STUDY, form)  # last: with it the folder is a study


def write_assignments(study: Study, design: Design, tasks: Sequence[Task]) -> None:
    """Put who gets which task into the study's folder.

    Raises:
        UsageError: somebody has rated already.
    """
    if study.sealed:
        raise UsageError(
            f"{study.folder} has ratings, so its tasks stay as they are. Make a new version: `fabula study new --from "
            f"{study.folder} NEW_FOLDER`."
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
        raise UsageError(f"{file}, line 1: no design of a study. Say `fabula study assign` again.") from error
    tasks = _read(rest, Task, str(file), 2)
    if missing := next((item for task in tasks for item in task.items if item not in known), None):
        raise UsageError(f"{file} names {missing!r}, which is not among the items. Say `fabula study assign` again.")
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
                raise UsageError(f"{where}, line {number}: {_said(error)}. Correct the line.") from error
    return tuple(found)


def _said(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{where}: {said}" if where else said
