"""Dialogues with their summaries, that a summary model is trained on: DialogSum, or one's own in the same form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.data import dialogsum
from fabula.data.sets import SETS
from fabula.training.examples import ExampleSource, held_aside

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.data.dialogsum import Dialogue, Split

_SHARE: Final = 0.05  # of the dialogues, held aside where there is no split for development


def read_dialogues(folder: Path, split: Split) -> tuple[Dialogue, ...]:
    """The dialogues of a split: "train", "development" (DialogSum's dev) or "test" (with three references each).

    The forms are those of `data.dialogsum.dialogues`. Where a folder has dialogues to train on and none for
    development, a twentieth of them stands aside, the same ones in every run.

    Raises:
        UnknownNameError: there is no such split.
        UsageError: there are none, a line is no dialogue, or a dialogue of one split stands in the other, too.
    """
    if split == "test" or "development" in dialogsum.splits(folder):
        found = dialogsum.dialogues(folder, split)
        if split == "train":
            _apart(found, dialogsum.dialogues(folder, "development"), folder)
        return found
    whole = dialogsum.dialogues(folder, "train")
    aside = held_aside((one.dialogue for one in whole), _SHARE)
    return tuple(one for one in whole if (one.dialogue in aside) == (split == "development"))


def dialogue_source(folder: Path, count: int) -> ExampleSource:
    """Where the dialogues of a folder are from, with the licence, for cards."""
    known = SETS["dialogsum"]
    published = folder.name == known.name or any(folder.glob("dialogsum.*")) or any(folder.glob("DialogSum_Data*"))
    if published:
        return ExampleSource(known.name, known.title, known.licence, count)
    return ExampleSource(folder.name, "dialogues of one's own", "not stated", count)


def _apart(train: tuple[Dialogue, ...], development: tuple[Dialogue, ...], folder: Path) -> None:
    """See that no dialogue stands on both sides."""
    held = {one.dialogue: one.id for one in development}
    for one in train:
        if one.dialogue in held:
            raise UsageError(
                f"{folder}: the dialogue {one.id} of the training split is {held[one.dialogue]} of the development "
                "split. Remove one of them, or its loss means nothing."
            )
