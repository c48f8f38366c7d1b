"""One class for one thing: how many classes have nearly the fields of another, and which of them for a reason."""

from __future__ import annotations

import ast
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from tree import PACKAGE, modules

if TYPE_CHECKING:
    from collections.abc import Iterable

FEWEST: Final = 3  # fields from which on a class counts
SHARED: Final = 0.75  # of the fields of the smaller one
CEILING: Final = 0
"""Classes in such pairs. Where yours is one more, make it of the other class, or of what both share."""

# The settings of a paper stand with it, field by field, with its sections; other papers have settings like them.
SETTINGS: Final = ("Config", "Paper", "Ours")
# What a model is asked for is a class of its own: its bounds, and the order in which it is written, are read by the
# model; what comes of it is what was checked.
REPLY: Final = "Reply"
# Named pairs, with the reason.
REASONS: Final = {
    ("Sampling", "RoleTable"): "a table of fabula.toml, whose bounds a person is told of",
    ("Price", "PriceTable"): "a table of fabula.toml, whose bounds a person is told of",
    ("Settings", "MethodSettings"): "what Python's callers may say, for type checkers",
    ("Settings", "SystemSettings"): "what Python's callers may say, for type checkers",
    ("Wanted", "_Assigning"): "options of a command, with their help",
    ("Design", "_Assigning"): "options of a command, with their help",
    ("Wanted", "Rated"): "options of a command, with their help",
    ("Selection", "Choosing"): "options of a command, with their help",
    ("TrainingAsked", "Training"): "options of a command, with their help",
    ("SceneInPlay", "InPlay"): "the paper and ours stand side by side",
    ("Director", "Place"): "what players see of their director",
}


class Shape(NamedTuple):
    """A class and the fields that it has itself."""

    name: str
    module: str
    fields: frozenset[str]

    @property
    def reply(self) -> bool:
        """Whether a model is asked for it."""
        return self.name.endswith(REPLY) or self.module.endswith(".replies")


def shapes() -> list[Shape]:
    """All classes with fields enough."""
    found = []
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and not node.name.endswith(SETTINGS):
                targets = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
                names = [one.id for one in targets if isinstance(one, ast.Name)]
                fields = frozenset(name for name in names if not name.startswith("_"))
                if len(fields) >= FEWEST:
                    found.append(Shape(node.name, module.name, fields))
    return found


def alike(found: Iterable[Shape]) -> list[tuple[Shape, Shape]]:
    """The pairs that share nearly all their fields, without those that have a reason."""
    return [
        (one, other)
        for one, other in combinations(found, 2)
        if len(one.fields & other.fields) >= max(FEWEST, SHARED * min(len(one.fields), len(other.fields)))
        and not one.reply
        and not other.reply
        and not {(one.name, other.name), (other.name, one.name)} & REASONS.keys()
    ]


def test_no_more_classes_say_what_another_says() -> None:
    pairs = alike(shapes())
    classes = {one[:2] for pair in pairs for one in pair}
    shown = "\n".join(f"{one.module}.{one.name} | {other.module}.{other.name}" for one, other in pairs)
    assert len(classes) <= CEILING, shown


def test_a_pair_is_seen_and_one_with_a_reason_is_not() -> None:
    fields = frozenset("abcd")
    plan, sheet = Shape("Plan", "story.plan", fields), Shape("Sheet", "story.sheet", fields | {"e"})
    assert alike([plan, sheet, Shape("Other", "x", frozenset("abxyz"))]) == [(plan, sheet)]
    assert not alike([plan, Shape("PlanReply", "craft.planning", fields)])
    assert not alike([plan, Shape("Told", "craft.planning.replies", fields)])
    assert not alike([Shape("Sampling", "a", fields), Shape("RoleTable", "b", fields)])
    assert PACKAGE.is_dir()


def test_every_reason_is_of_a_pair_that_is_there() -> None:
    names = {(one.name, other.name) for one, other in combinations(shapes(), 2) if len(one.fields & other.fields) >= 3}
    known = names | {(other, one) for one, other in names}
    assert not [pair for pair in REASONS if pair not in known]
