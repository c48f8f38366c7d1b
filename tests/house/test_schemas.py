"""What a model reads in the schema of a reply speaks to the model, and asks for nothing that cannot be given."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any, Final

import pytest
from pydantic import BaseModel

import fabula
from fabula.craft.planning import replies as planning
from fabula.engine.replies import schema_of
from schemas import wrong_in

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOMS: Final = ("craft", "systems", "evaluators")
FILES: Final = ("fabula.systems.ibsen.script",)  # sheets that a person writes
NAMES: Final = ("Mara", "Tobias")
MADE: Final = (
    planning.cast_type(4, full=True),
    planning.cast_type(4, full=False),
    planning.telling_type(0),
    planning.telling_type(3),
    planning.small_telling_type(3),
    planning.scene_type(planning.SceneReply, NAMES),
    planning.scene_type(planning.PlannedSceneReply, NAMES),
    planning.scene_type(planning.WholeSceneReply, NAMES),
    planning.scene_type(planning.ReadSceneReply, NAMES),
    planning.borders_type(1, 9, 1, 3),
    planning.missed_type(1, 9, 6),
)


def found() -> list[Any]:
    """The reply types that stand in a module, and planning's; others are tried as systems use them (tests/contract)."""
    for room in ROOMS:
        place = importlib.import_module(f"fabula.{room}")
        for module in pkgutil.walk_packages(place.__path__, f"{place.__name__}."):
            if ".test_" not in module.name:
                importlib.import_module(module.name)
    rooms = tuple(f"{fabula.__name__}.{room}" for room in ROOMS)
    kinds = (kind for kind in below(BaseModel) if kind.__module__.startswith(rooms) and kind.__module__ not in FILES)
    return [*dict.fromkeys(kinds), *MADE]


def below(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


@pytest.mark.parametrize("short", [False, True], ids=["any model", "small model"])
def test_every_schema_speaks_to_the_model_and_can_be_met(short: bool) -> None:  # noqa: FBT001 - a case
    kinds = found()
    assert len(kinds) > 50
    wrong = [(kind, what) for kind in kinds for what in wrong_in(schema_of(kind, short=short), short=short)]
    assert not wrong
