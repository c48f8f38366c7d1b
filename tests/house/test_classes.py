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
CEILING: Final = 51
"""Classes in such pairs. Where yours is one more, make it of the other class, or of what both share."""

# The settings of a paper stand with it, field by field, with its sections; other papers have settings like them.
SETTINGS: Final = ("Config", "Paper", "Ours")
# What a model is asked for is a class of its own: its bounds, and the order in which it is written, are read by the
# model; what comes of it is what was checked.
REPLY: Final = "Reply"
# Named pairs, by their reason.
REASONS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "a table of fabula.toml, whose bounds a person is told of": {
        "RoleTable": ("Sampling",),
        "PriceTable": ("Price",),
        "_MethodTable": ("Measure",),
    },
    "what callers of Python may say, for type checkers": {
        "MethodSettings": ("Settings",),
        "SystemSettings": ("Settings",),
    },
    "options of a command, with their help": {
        "_Assigning": (
            "AssignmentOptions",
            "Design",
        ),
        "Rated": (
            "PairOptions",
            "Comparing",
        ),
        "Choosing": ("Selection",),
        "Training": ("TrainingAsked",),
    },
    "the paper and ours stand side by side, and two papers too": {
        "InPlay": ("SceneInPlay",),
        "Vanilla": (
            "Snap",
            "Conversing",
        ),
        "FactNode": (
            "Entity",
            "StoryEntity",
        ),
        "Entity": ("StoryEntity",),
        "StoryEntity": ("Entity",),
        "Edge": ("FactEdge",),
        "FactEdge": ("Edge",),
        "Printed": ("Confusion",),
    },
    "what others read, in the form that they want: a wire, a process, a file beside weights": {
        "Fault": ("ErrorBody",),
        "_Happened": ("ServerEvent",),
        "EngineSettings": ("EmbeddedModel",),
        "UsageData": ("Usage",),
        "ChatTurn": ("Turn",),
        "AdapterRecord": ("CardFacts",),
        "ExampleSource": ("DataSet",),
    },
    "what is asked for, or as it is on the way, and what is settled": {
        "Computing": ("Machine",),
        "AssignmentOptions": ("Design",),
        "PartsAsked": ("Parts",),
        "Removed": ("RemovedText",),
        "Edits": ("CleanText",),
        "LeftToEdit": ("Edited",),
        "Comment": ("Annotation",),
        "Frame": ("MadeArtefact",),
        "Supplied": ("RunContext",),
        "WorldBatch": ("WorldFile",),
        "_Mapping": ("_Form",),
        "CodexEntry": ("Entity",),
        "CodexRow": ("Entity",),
        "Director": (
            "SubActPlace",
            "Performed",
        ),
        "Mind": ("Recorded",),
        "Exported": ("ExportedFile",),
        "SoFar": ("Shown",),
    },
    "other things in the same words": {
        "Quoted": (
            "Passage",
            "Number",
            "_Measure",
        ),
        "PlannedCall": (
            "Usage",
            "UsageData",
            "Tally",
            "ExpectedRow",
        ),
        "ManuscriptPart": (
            "PlanCards",
            "Earlier",
        ),
        "Paragraph": (
            "NumberedScene",
            "_Paragraph",
        ),
        "PlanCard": ("_Paragraph",),
        "TokenWindow": ("EventSpan",),
        "Item": ("WritingPrompt",),
        "TimelineLine": ("Entity",),
        "Presence": ("Character",),
        "TimestepRecord": ("Selected",),
        "Selected": ("NamePlace",),
        "Words": ("TextDifference",),
        "Mended": ("Rewritten",),
        "Beginning": ("ArtefactText",),
        "CallFilter": ("ArtefactVersion",),
        "Decision": ("OtherCall",),
        "Detection": ("InjectedError",),
        "PromptedStory": ("MeasuredStory",),
        "Feed": ("Seq2SeqModel",),
        "OutsideModel": ("EmbeddedModel",),
        "_File": (
            "Weights",
            "ChosenModel",
        ),
        "EvaluationTask": ("Measurement",),
        "SharedModels": ("How",),
        "MeasuredExample": (
            "Sample",
            "LossDifference",
            "Likelihood",
            "_Asked",
        ),
        "Sample": ("LossDifference",),
        "PlantedError": ("Error",),
    },
}
PAIRS: Final = frozenset(
    frozenset((one, other)) for pairs in REASONS.values() for one, others in pairs.items() for other in others
)


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
        and frozenset((one.name, other.name)) not in PAIRS
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
    there = {
        frozenset((one.name, other.name))
        for one, other in combinations(shapes(), 2)
        if len(one.fields & other.fields) >= FEWEST
    }
    assert not [sorted(pair) for pair in PAIRS - there]
