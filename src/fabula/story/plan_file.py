"""A plan as a YAML file that a person writes and edits.

All of it but the scenes' names and outlines may be left out::

    title: The Last Lamp
    brief: What the author asked for.
    conflict: ...
    setting: ...
    person: first person, told by Mara   # and who tells it, where that is one of them
    tense: past tense
    form: ...                        # what its form is beside that: letters, a refrain
    demands:                         # what the brief demands and can be checked; a list
      - Tobias must never learn who lit the lamp.
    payoffs:                         # what is set up in which scene, and pays off where; a list
      - The letter of scene 1 is read aloud in scene 3.
    characters:
      - name: Mara
        role: protagonist
        gender: ...
        age: ...
        setup: who they are when the story begins
        personality: what they are like, as anybody notices who meets them
        speech: how they speak
        goal: what they want
        secret: what they hide from the others when the story begins
        knows: what they know and believe of the others when the story begins, as they see it
        truth: where they are wrong, which their own player is never shown
        group: yes                   # only for a group of minor characters
    scenes:                          # in the order in which they are told
      - name: The letter
        element: exposition          # or rising action, climax, falling action, resolution
        place: the lamp room
        importance: 8                # 1 (least) to 10
        time: 1921-10-30             # story time: a number, or a date and time of day
        date: the night of 30 October 1921   # the same in words, for prompts
        after: The wreck             # scenes that happen earlier; one, or a list
        characters:                  # who is there, and what each wants; or a list of names
          Mara: to read the letter alone
          Tobias:                    # in a scene of other years: as he is at its time
            goal: to be let in
            age: "9"
            then: not yet her helper, a fisherman's boy   # as everybody knows
            secret: he has seen her burn the letter       # what only he knows then
            personality: loud and fearless                # this and speech where they differ
        outline:                     # what happens, as it is told
          - Mara opens the letter.
          - event: She remembers the wreck.
            time: 1893               # only where it differs from the scene's
            place: on the gallery    # only where the scene has several places
            characters: [Mara]       # who of them sees and hears it; only where that is not everybody
            there: [Tobias]          # who else is there, but neither sees nor hears it
            notices: that she stands still   # what those notice in its place

Every value is text until a field wants something else, so a character may be called No. See `yamltext` for what is
refused. A plan that is read has its names on one line and in Unicode's composed form (NFC), its texts with one kind of
line end and without blanks at their ends, as `plain` leaves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.base.errors import PlanError
from fabula.story.plan_check import check_plan
from fabula.story.sheets import SheetProblem, read_sheet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabula.story.plan import Plan

MAX_BYTES: Final = 2_000_000
_COMMENT: Final = "# A story's plan: scenes stand as they are told, their times say when they happen.\n"


def read_plan(path: Path) -> Plan:
    """The plan in a YAML file of at most 2 MB.

    Raises:
        PlanError: the file cannot be read, or something is wrong in it; names all problems with their lines.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PlanError([f"Cannot read the plan {path}: {error.strerror}. Give a YAML file."]) from error
    if len(data) > MAX_BYTES:
        raise PlanError([f"The plan {path} is larger than {MAX_BYTES:,} bytes. Give a shorter one."])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanError([f"{path}:{line}: plan: This is not UTF-8 text. Give a YAML file, saved as UTF-8."]) from error
    return parse_plan(text, str(path))


def parse_plan(text: str, where: str = "plan.yaml") -> Plan:
    """The plan in YAML; `where` is what messages call the file.

    Raises:
        PlanError: something is wrong; names all problems, "FILE:LINE: scene 'The wreck' > outline: what, and what to
            do", in the order of lines.
    """
    return _read(text, where, _problems)


def unchecked_plan(text: str, where: str = "plan.yaml") -> Plan:
    """The plan in YAML, also where `check_plan` finds problems in it: for pages that show these beside the scenes.

    Raises:
        PlanError: it cannot be read as a plan at all; names all problems as `parse_plan` does.
    """
    return _read(text, where, lambda _: [])


def _read(text: str, where: str, problems: Callable[[Plan], list[SheetProblem]]) -> Plan:
    from fabula.story import plan_sheet  # noqa: PLC0415 - pydantic and PyYAML are slow to import

    if len(text) > MAX_BYTES:
        raise PlanError([f"The plan {where} is longer than {MAX_BYTES:,} characters. Give a shorter one."])
    return read_sheet(text, where, "plan", plan_sheet.plan_of, problems, plan_sheet.fields_at)


def _problems(plan: Plan) -> list[SheetProblem]:
    return [SheetProblem(problem.path, problem.what) for problem in check_plan(plan)]


def write_plan(plan: Plan) -> str:
    """The plan as YAML that `parse_plan` reads back; empty fields are left out, a blank line parts the scenes.

    Nothing is checked: a plan with problems is written too, and refused when it is read.
    """
    from fabula.story import plan_sheet  # noqa: PLC0415 - pydantic and PyYAML are slow to import

    return _COMMENT + plan_sheet.write(plan)
