"""Rows of tokens as tensors, and a model's loss on each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.training.libraries import library

if TYPE_CHECKING:
    from fabula.training.running import Machine


Row: TypeAlias = "Mapping[str, Sequence[int]]"
"""What is read ("input_ids") and what is learnt ("labels")."""
MASKED: Final = -100
"""Of labels that count for no loss, by the library's convention."""


def batch_of(rows: Sequence[Row], pad: int) -> dict[str, Any]:
    """Rows filled up to one length, as tensors."""
    torch = library("torch")

    def filled(values: Sequence[Sequence[int]], filler: int) -> Any:  # noqa: ANN401 - a tensor
        longest = max(map(len, values))
        return torch.tensor([[*value, *[filler] * (longest - len(value))] for value in values])

    read = [row["input_ids"] for row in rows]
    return {
        "input_ids": filled(read, pad),
        "attention_mask": filled([[1] * len(ids) for ids in read], 0),
        "labels": filled([row["labels"] for row in rows], MASKED),
    }


def losses_of(
    model: Any,  # noqa: ANN401 - the library's own type
    rows: Mapping[str, Row],
    machine: Machine,
    hear: Callable[[int], None] = lambda _done: None,
) -> dict[str, float]:
    """The mean loss of the tokens that are learnt, under the model, by the name of each row.

    Args:
        model: any that the library trains.
        rows: by name.
        machine: that computes.
        hear: is told how many rows are done.
    """
    torch = library("torch")
    found: dict[str, float] = {}
    model.eval()
    for number, (name, row) in enumerate(rows.items(), 1):
        batch = {part: values.to(model.device) for part, values in batch_of([row], 0).items()}
        with torch.no_grad(), torch.autocast(machine.device, dtype=torch.bfloat16, enabled=machine.bfloat16):
            found[name] = float(model(**batch).loss)
        hear(number)
    return found
