"""The scratchpad shared by a room's agents: append-only, with labelled entries (Agents' Room, sections 3 and B.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from fabula.story import Brief

Kind: TypeAlias = Literal["task", "planning", "writing"]


@dataclass(frozen=True, slots=True)
class Contribution:
    """An agent's contribution: its label, its text, and the kind of agent that wrote it."""

    label: str
    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Scratchpad:
    """An append-only sequence of entries; adding an entry returns a new scratchpad, so earlier states remain valid."""

    entries: tuple[Contribution, ...] = ()

    @classmethod
    def of(cls, brief: Brief, label: str = "Creative Writing Task") -> Scratchpad:
        """A scratchpad that contains only the writing task (Algorithm 1, first line)."""
        return cls((Contribution(label, brief.text, "task"),))

    def add(self, label: str, text: str, kind: Kind) -> Scratchpad:
        """This scratchpad with an entry added at its end."""
        return Scratchpad((*self.entries, Contribution(label, text, kind)))

    def has(self, label: str) -> bool:
        """Whether the scratchpad has an entry with this label."""
        return any(entry.label == label for entry in self.entries)

    def of_kind(self, kind: Kind) -> tuple[Contribution, ...]:
        """The entries of a kind, in order."""
        return tuple(entry for entry in self.entries if entry.kind == kind)

    def render(self) -> str:
        """`[Label] text` for each entry, separated by blank lines (appendix B.1)."""
        return "\n\n".join(f"[{entry.label}] {entry.text}" for entry in self.entries)

    def identifiers(self) -> str:
        """The "identifiers found in the scratchpad" in the form used for planning agents (appendix B.2).

        For example: "a Creative Writing Task, the Central Conflict, and the Character Descriptions".
        """
        return listed([f"a {e.label}" if e.kind == "task" else f"the {e.label}" for e in self.entries])

    def grouped_identifiers(self) -> str:
        """The identifiers in the form used for writing agents (appendix B.3), with plan and previous parts grouped.

        For example: "a Creative Writing Task, the Content Plan (Central Conflict, Setting), and the Previous Parts of
        the Story (Exposition)"; empty groups are left out.
        """
        names = [f"a {entry.label}" for entry in self.of_kind("task")]
        if plan := self.of_kind("planning"):
            names.append(f"the Content Plan ({', '.join(e.label for e in plan)})")
        if parts := self.of_kind("writing"):
            names.append(f"the Previous Parts of the Story ({', '.join(e.label for e in parts)})")
        return listed(names)


def listed(names: list[str]) -> str:
    """The names as an English list with a serial comma: "a", "a and b", "a, b, and c"."""
    if len(names) <= 2:  # noqa: PLR2004 - two names take no comma
        return " and ".join(names)
    return ", ".join(names[:-1]) + f", and {names[-1]}"
