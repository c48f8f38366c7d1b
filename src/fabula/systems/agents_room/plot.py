"""Ours: a plot that says for each part what happens, what it sets up and what pays off; typed, as text, and read back.

The artefact `plan/plot.md` is text that an author may edit. Each part is a section below a heading with the part's
label; where the text has no such headings, there are no sections, and every writer is shown the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, Field, model_validator

from fabula.craft.telling import content_words
from fabula.engine.replies import read_listed
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from fabula.story.plan import Plan, ScenePlan

Part: TypeAlias = Literal["Exposition", "Rising Action", "Climax", "Falling Action", "Resolution"]
_DEMANDS, _SETS_UP, _PAYS_OFF = "The task demands", "Sets up", "Pays off"
_EVENT_WORDS: Final = 200  # of a scene that turns: a few lines of speech, what is done, and where it is
_FEWEST_EVENTS, _MOST_EVENTS = 2, 7  # of a part; with more it is a list, whatever its words
_LONGEST: Final = 8  # digits of a number of words
_FEWEST: Final = 3  # parts of the arc that an author's scenes must name, so that they are the room's parts
LABELS: Final = ("Exposition", "Rising Action", "Climax", "Falling Action", "Resolution")

_Events: TypeAlias = Annotated[
    list[str],
    Field(
        min_length=1,
        description="What happens, in the order in which this part tells it: one sentence for each event that says "
        "who does or says what and what turns by it; what leads up to it or follows from it belongs to it. Words that "
        "the task prescribes for this place stand here literally; of a refrain, once in the plot, and then it is only "
        "called the refrain.",
    ),
]


class PlannedPart(BaseModel):
    """One part of the plot, as the plot agent plans it."""

    part: Part = Field(description="Which of the parts it is.")
    words: int = Field(ge=1, description="About how many words it takes.")
    when: str = Field(description="When it happens, and how that lies to the part told before it.")
    where: str = Field(description="Where it happens.")
    who: str = Field(description="Who is there, who comes or goes at which event, and who does not hear or see what.")
    events: _Events
    sets_up: list[str] = Field(
        description="What the reader is shown here because a later part needs it: the thing, the word or the fact, and "
        "what it is for."
    )
    pays_off: list[str] = Field(description="What earlier parts have set up and this part uses, and how.")
    ends_with: str = Field(description="With what it ends: an image, an act, a line.")

    @property
    def overfull(self) -> bool:
        """Whether it has more than twice as many events as its words can show."""
        return len(self.events) > 2 * most_events(self.words)


class Plot(BaseModel):
    """The plot of a story, part by part, as the plot agent plans it."""

    told: str = Field(
        description="How the story is told: grammatical person and whose view, tense, form, tone. A story in one "
        "piece, without chapters, has breaks too, where time or place changes; rule them out only if the task does."
    )
    demands: list[str] = Field(
        description="Only what a reader of the writing task could overlook or misread, one sentence each: what follows "
        "from it for dates, ages, form or order, who must never learn what. All writers have the task before them: "
        "do not repeat it. Empty if there is nothing of the kind."
    )
    parts: list[PlannedPart] = Field(min_length=1, description="The parts in the order in which they are told.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        places = [LABELS.index(part.part) for part in self.parts]
        if places != sorted(set(places)):
            raise ValueError(f"name each part once, in this order: {', '.join(LABELS)}; a part may be left out")
        return self

    def corrected(self, parts: Sequence[PlannedPart]) -> Plot:
        """This plot with `parts` in the places of those of the same name; the others stay."""
        new = {part.part: part for part in (*self.parts, *parts)}
        return self.model_copy(update={"parts": [new[label] for label in LABELS if label in new]})

    def text(self) -> str:
        """The plot as the text that stands in the scratchpad and in `plan/plot.md`."""
        demands = _listed(_DEMANDS, self.demands)
        return "\n\n".join(["\n".join([f"Told: {one_line(self.told)}", *demands]), *map(_section, self.parts)])


class Checked(BaseModel):
    """What the plot agent finds when it checks its plot against the writing task."""

    differences: list[str] = Field(
        description="Each difference in one sentence: the part, what is wrong there, and what the task says or the "
        "story needs. Empty if there is none."
    )
    parts: list[PlannedPart] = Field(
        description="Each part in which something has to change, corrected and whole; the others are left out."
    )


def _section(part: PlannedPart) -> str:
    lines = [
        f"## {part.part} (about {part.words} words)",
        *(f"{name}: {one_line(said)}" for name, said in _circumstances(part) if said.strip()),
        *(f"- {one_line(event)}" for event in part.events),
        *_listed(_SETS_UP, part.sets_up),
        *_listed(_PAYS_OFF, part.pays_off),
    ]
    return "\n".join([*lines, *([f"Ends with: {one_line(part.ends_with)}"] if part.ends_with.strip() else [])])


def _circumstances(part: PlannedPart) -> tuple[tuple[str, str], ...]:
    return ("When", part.when), ("Where", part.where), ("There", part.who)


def _listed(name: str, said: Sequence[str]) -> list[str]:
    lines = [f"- {one_line(one)}" for one in said if one.strip()]
    return [f"{name}:", *lines] if lines else []


@dataclass(frozen=True, slots=True)
class Outline:
    """A plot's text in its sections: what holds for all parts, and what each part tells, by label.

    `words` has the planned words of the parts that name them.
    """

    head: str
    parts: dict[str, str]
    words: dict[str, int]


def read_outline(text: str) -> Outline | None:
    """The sections of a plot's text; `None` where it has none, or has a part twice."""
    head: list[str] = []
    parts: dict[str, list[str]] = {}
    words: dict[str, int] = {}
    lines = head
    for line in text.splitlines():
        label, said = _heading(line)
        if label in parts:
            return None
        if label:
            lines = parts[label] = []
            if said:
                words[label] = said
        else:
            lines.append(line)
    sections = {label: "\n".join(section).strip() for label, section in parts.items()}
    return Outline("\n".join(head).strip(), sections, words) if parts else None


def _heading(line: str) -> tuple[str, int]:
    """The part that a heading names, and its words if it says them: "## Climax (about 180 words)"; else nothing."""
    title = line.lstrip("#").strip()
    label = next((label for label in LABELS if title.startswith(label)), "") if line.startswith("#") else ""
    said = title.partition("(about ")[2].partition(" words)")[0]
    return label, int(said) if label and said.isascii() and said.isdigit() and len(said) < _LONGEST else 0


def later_of(section: str) -> str:
    """What those who write before a part see of its section: all but what it sets up, which only its writer needs.

    What it pays off, and with what it ends, says what has to be ready for it.
    """
    before, _, rest = section.partition(f"\n{_SETS_UP}:")
    lines = rest.splitlines()
    after = next((at for at, line in enumerate(lines) if line and not line.startswith("- ")), len(lines))
    return "\n".join([before, *lines[after:]])


def most_events(words: int) -> int:
    """How many turning events a part of so many words can show: one for each 200, from two to seven."""
    return min(max(round(words / _EVENT_WORDS), _FEWEST_EVENTS), _MOST_EVENTS)


# a small model's plot: a list of events, of which each part gets its own ----------------------------------------------

_PART_EVENTS: Final = 3
_LEAST_EVENTS: Final = 2  # of each part; with fewer, a plot is asked for again
_ALIKE: Final = 0.6  # share of two events' words that both have


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a small model's plot, by the label of the part that tells them."""

    parts: dict[str, list[str]]

    @property
    def worth(self) -> tuple[int, int]:
        """What speaks for one of several plots: the events of the part that has fewest, then those of all."""
        numbers = [len(events) for events in self.parts.values()]
        return min(numbers), sum(numbers)

    @property
    def enough(self) -> bool:
        """Whether there are so many that a story can be told of them: two for each part."""
        return self.worth[0] >= _LEAST_EVENTS

    def text(self) -> str:
        """The plot as it stands in the scratchpad and in `plan/plot.md`; empty without events."""
        sections = ("\n".join([f"## {label}", *(f"- {one}" for one in events)]) for label, events in self.parts.items())
        return "\n\n".join(sections) if any(self.parts.values()) else ""


def read_events(text: str) -> Events:
    """The events in the list that a small model gives: without those that it gives twice, three for each part at most.

    Where it has not kept to the headings of the parts, its events are shared by them in their order.
    """
    found: dict[str, list[str]] = {label: [] for label in LABELS}
    told = list[str]()
    for label, event in read_listed(text, LABELS):
        if not any(_alike(event, other) for other in told):
            told.append(event)
            if label and len(found[label]) < _PART_EVENTS:
                found[label].append(event)
    if not all(found.values()):
        told = told[: _PART_EVENTS * len(LABELS)]
        edges = [round(n * len(told) / len(LABELS)) for n in range(len(LABELS) + 1)]
        found = {name: told[edges[n] : edges[n + 1]] for n, name in enumerate(LABELS)}
    return Events(found)


def events_of(section: str) -> list[str]:
    """The events that a part's section of a plot lists before what it sets up and pays off."""
    before = section.partition(f"\n{_SETS_UP}:")[0].partition(f"\n{_PAYS_OFF}:")[0]
    return [line[2:].strip() for line in before.splitlines() if line.startswith("- ")]


def _alike(a: str, b: str) -> bool:
    one, two = content_words(a), content_words(b)
    return len(one & two) >= _ALIKE * max(min(len(one), len(two)), 1)


# an author's plan -----------------------------------------------------------------------------------------------------


def plot_of(plan: Plan) -> str | None:
    """An author's plan as a plot by parts: its scenes below the parts of the arc that they belong to.

    `None` where the plan names fewer than three parts of the arc, or tells them in another order than the room does.
    """
    parts = [scene.element.title() for scene in plan.scenes]
    places = [LABELS.index(part) for part in parts]
    if places != sorted(places) or len(set(places)) < _FEWEST:
        return None
    told = "; ".join(one_line(said) for said in (plan.manner, plan.form) if said.strip())
    head = [f"Told: {told}"] if told else []
    head += [*_listed(_DEMANDS, plan.demands), *_listed("What is set up, and where it pays off", plan.payoffs)]
    sections = [_scenes(part, [scene for scene in plan.scenes if scene.element.title() == part]) for part in LABELS]
    return "\n\n".join(["\n".join(head), *(section for section in sections if section)]).strip()


def _scenes(part: str, scenes: Sequence[ScenePlan]) -> str:
    return "\n".join([f"## {part}", *(line for scene in scenes for line in _scene(scene))]) if scenes else ""


def _scene(scene: ScenePlan) -> list[str]:
    said = (("Scene", scene.name), ("When", scene.when), ("Where", scene.place), ("There", ", ".join(scene.present)))
    lines = [f"{name}: {one_line(text)}" for name, text in said if text.strip()]
    for event in scene.outline:
        away = ", ".join(scene.absent(event))
        lines.append(f"- {one_line(event.text)}{f' ({away}: not there, or out of hearing)' if away else ''}")
    return lines
