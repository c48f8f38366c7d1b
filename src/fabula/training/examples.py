"""Training data: examples, pairs, and the folder that contains them.

A folder of training data is plain files:

    data.json           what it is: kind, version, sets with their licences, how it was made, counts
    train.jsonl         one example, or pair, on each line, in TRL's conversational format: `prompt` and `completion`,
                        or `prompt`, `chosen` and `rejected`, each a list of messages
    development.jsonl   the same, of stories that none of the first is from
    left-out.jsonl      what is not trained on, with the reason

Whatever comes from one story (or one place of an author's project) has one `group`, and stands on one side only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from fabula.base.errors import UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.data.reading import Record, json_lines, json_object, unique
from fabula.models.base import Message

if TYPE_CHECKING:
    from fabula.data.dialogsum import Dialogue


VERSION: Final = 2
"""Prompts and replies are messages, as TRL's conversational formats have them; in version 1 replies were texts."""
LEAST: Final = 8
"""Examples, pairs or dialogues below which nothing is trained: of fewer a model learns these texts and no more."""
CARD: Final = "data.json"
LEFT_OUT: Final = "left-out.jsonl"
Split: TypeAlias = Literal["train", "development"]
Kind: TypeAlias = Literal["examples", "pairs", "dialogues"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A prompt as a system asks it.

    Attributes:
        id: one of its kind in the folder.
        agent: the role that is asked.
        group: what is kept together: the story, scene or artefact it is from.
        messages: the prompt, byte for byte as `Run` renders it.
    """

    id: str
    agent: str
    group: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Example(_Asked):
    """A prompt, and the reply that must be learnt.

    Attributes:
        completion: the reply.
    """

    completion: str


@dataclass(frozen=True, slots=True)
class PreferencePair(_Asked):
    """Two replies to one prompt, one of which was preferred.

    Attributes:
        chosen: the reply that was preferred.
        rejected: the other.
        kind: what preferred it: "candidates" (a judge), "ratings", or what an author did: "edit", "rewrite" (of a
            passage), "retake", "approval" (of a retake), "note", "refused" (an edit of the final reading).
        chosen_first: whether the preferred one was shown, or written, first; `None` where both orders agree.
        source: where it comes from, for a reader: project, path, versions, judge, times.
    """

    chosen: str
    rejected: str
    kind: str
    chosen_first: bool | None = None
    source: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExampleSource:
    """A set of texts that data was made from."""

    name: str
    title: str
    licence: str
    stories: int


@dataclass(frozen=True, slots=True)
class DataCard:
    """What a folder of training data is.

    Attributes:
        kind: "examples", "pairs" or "dialogues".
        made: how: the command's settings, system, variant, preset, models that answered; for a reader and the card.
        sources: the sets it is made from, with licences.
        counts: of each split and agent, and of what is left out, by reason.
        version: of the format.
    """

    kind: Kind
    made: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[ExampleSource, ...] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION


def held_aside(groups: Iterable[str], share: float, seed: int = 0) -> set[str]:
    """The groups that stand aside for development: a `share` of all, rounded, those whose digests come first.

    Of several groups at least one stands aside, and at least one does not, where the share is neither none nor all.
    The same groups give the same ones in whatever order they come.
    """
    ordered = sorted(set(groups), key=lambda group: sha256(f"{seed}\0{group}".encode()).digest())
    count = round(share * len(ordered))
    if 0 < share < 1 and len(ordered) > 1:
        count = min(max(count, 1), len(ordered) - 1)
    return set(ordered[:count])


def data_digest(records: Iterable[Example | PreferencePair | Dialogue]) -> str:
    """What distinguishes these examples, pairs or dialogues from others."""
    lines = (json.dumps(asdict(record), sort_keys=True) for record in records)
    return sha256("\n".join(lines).encode()).hexdigest()[:12]


def write_data(
    folder: Path,
    card: DataCard,
    lines: Mapping[Split, Iterable[Example] | Iterable[PreferencePair]],
    left_out: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Write a folder of training data; the card comes last, so that a folder with a card is whole.

    Raises:
        ProjectError: it cannot be written.
    """
    make_folder(folder)
    for split, records in lines.items():
        write_atomically(folder / f"{split}.jsonl", (_line(_as_trl(record)) for record in records))
    write_atomically(folder / LEFT_OUT, (_line(dict(record)) for record in left_out))
    write_atomically(folder / CARD, json.dumps(asdict(card), indent=2, ensure_ascii=False) + "\n")


def read_card(folder: Path) -> DataCard:
    """The card of a folder of training data.

    Raises:
        UsageError: there is none, it cannot be read, or a newer fabula wrote it.
    """
    record = json_object(folder / CARD) if (folder / CARD).is_file() else None
    if record is None:
        raise UsageError(
            f"{folder} has no training data (no {CARD}). `fabula data backtranslate` and `fabula data preferences` "
            "make some."
        )
    version, name = record.integer("version"), record.text("kind")
    if version > VERSION:
        raise UsageError(
            f"{folder} is training data of version {version}; this fabula reads up to {VERSION}. Update fabula."
        )
    kind: Kind | None = next((known for known in get_args(Kind) if known == name), None)
    if kind is None:
        raise UsageError(f"{folder / CARD}: {name!r} is not a kind of training data. Make the folder again.")
    sources = tuple(
        ExampleSource(one.text("name"), one.text("title"), one.text("licence"), one.integer("stories"))
        for one in record.records("sources")
    )
    return DataCard(kind, record.record("made").fields, sources, record.record("counts").fields, version)


def read_examples(folder: Path, split: Split) -> tuple[Example, ...]:
    """The examples of a split.

    Raises:
        UsageError: the file is absent or damaged, or has an example twice.
    """
    records = _records(folder, split, "examples")
    found = tuple(
        Example(r.text("id"), r.text("agent"), r.text("group"), _prompt(r), _reply(r, "completion")) for r in records
    )
    for record, example in zip(records, found, strict=True):
        if not example.completion.strip():
            raise UsageError(f"{record.where}: there is no text in 'completion'. Remove the line.")
    return found


def read_pairs(folder: Path, split: Split) -> tuple[PreferencePair, ...]:
    """The pairs of a split.

    Raises:
        UsageError: the file is absent or damaged, or has a pair twice.
    """
    return tuple(_pair(record) for record in _records(folder, split, "pairs"))


def check_apart(
    train: Iterable[Example | PreferencePair], development: Iterable[Example | PreferencePair], folder: Path
) -> None:
    """Check that no story is on both sides, since training texts show nothing about what was learnt.

    Raises:
        UsageError: one does; says which.
    """
    both = {one.group for one in train} & {one.group for one in development}
    if both:
        raise UsageError(
            f"{folder} has {min(both)!r} in train.jsonl and in development.jsonl, so its losses would mean nothing. "
            "Keep each 'group' on one side."
        )


def _pair(record: Record) -> PreferencePair:
    first = record.fields.get("chosen_first")
    return PreferencePair(
        record.text("id"),
        record.text("agent"),
        record.text("group"),
        _prompt(record),
        _reply(record, "chosen"),
        _reply(record, "rejected"),
        record.text("kind"),
        first if isinstance(first, bool) else None,
        record.record("source").fields,
    )


def _records(folder: Path, split: Split, kind: Kind) -> list[Record]:
    found = read_card(folder).kind
    if found != kind:
        raise UsageError(f"{folder} contains {found}, but {kind} are needed here.")
    path = folder / f"{split}.jsonl"
    if not path.is_file():
        raise UsageError(f"{path} is missing, so the folder is incomplete. Make it again.")
    records = list(json_lines(path))
    unique([(record.text("id"), record) for record in records])
    return records


def _as_trl(record: Example | PreferencePair) -> dict[str, Any]:
    """A record as a line has it: lists of messages under TRL's names, so that its trainers learn the reply alone."""
    fields = asdict(record)
    fields["prompt"] = fields.pop("messages")
    for name in fields.keys() & {"completion", "chosen", "rejected"}:
        fields[name] = [{"role": "assistant", "content": fields[name]}]
    return fields


def _reply(record: Record, name: str) -> str:
    """The text of a reply: that of one message of the assistant's; in version 1 the text alone."""
    if isinstance(record.fields.get(name), str):
        return record.text(name)
    messages = record.records(name)
    if [one.text("role") for one in messages] != ["assistant"]:
        raise UsageError(
            f"{record.where}: {name!r} must be one message, of the assistant. Correct the line or remove it."
        )
    return messages[0].text("content")


def _prompt(record: Record) -> tuple[Message, ...]:
    """The messages of a prompt; version 1 calls them `messages`."""
    name = "prompt" if "prompt" in record.fields else "messages"
    found: list[Message] = []
    for message in record.records(name):
        role = message.text("role")
        if role not in ("system", "user", "assistant"):
            raise UsageError(f"{message.where}: {role!r} is not the role of a message. Correct the line or remove it.")
        found.append(Message(role, message.text("content")))  # type: ignore[arg-type] # checked above
    if not any(message.role == "user" and message.content for message in found):
        raise UsageError(f"{record.where}: {name!r} has no message of the user. Remove the line.")
    return tuple(found)


def _line(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"
