"""A plan as a YAML file that a person writes and edits.

All fields except the scenes' names and outlines are optional::

    title: The Last Lamp
    brief: The author's brief.
    conflict: ...
    setting: ...
    person: first person, told by Mara   # and the narrator, if this is a character
    tense: past tense
    form: ...                        # other features of the form: letters, a refrain
    demands:                         # verifiable demands of the brief; a list
      - Tobias must never learn who lit the lamp.
    payoffs:                         # what is set up in which scene, and where it pays off; a list
      - The letter of scene 1 is read aloud in scene 3.
    characters:
      - name: Mara
        role: protagonist
        gender: ...
        age: ...
        setup: who they are when the story begins
        personality: what they are like, as noticed by anyone who meets them
        speech: how they speak
        goal: what they want
        secret: what they hide from the others when the story begins
        knows: what they know and believe about the others when the story begins, from their point of view
        truth: what they are wrong about; never shown to their own player
        group: yes                   # only for a group of minor characters
    scenes:                          # in the order in which they are told
      - name: The letter
        element: exposition          # or rising action, climax, falling action, resolution
        place: the lamp room
        importance: 8                # 1 (least) to 10
        time: 1921-10-30             # story time: a number, or a date and time of day
        date: the night of 30 October 1921   # the time in words, for prompts
        after: The wreck             # scenes that happen earlier; one name or a list
        characters:                  # the characters who are present, with their goals; or a list of names
          Mara: to read the letter alone
          Tobias:                    # for scenes in other years: as he is at that time
            goal: to be let in
            age: "9"
            then: not yet her helper, a fisherman's boy   # known to everybody
            secret: he has seen her burn the letter       # known only to him at that time
            personality: loud and fearless                # this and speech, if they differ
        outline:                     # the events, in the order of telling
          - Mara opens the letter.
          - event: She remembers the wreck.
            time: 1893               # only if it differs from the scene's
            place: on the gallery    # only if the scene has several places
            characters: [Mara]       # who sees and hears it; only if that is not everybody
            there: [Tobias]          # who else is present but neither sees nor hears it
            notices: that she stands still   # what these characters notice instead

Every value is text unless a field requires something else; for example, a character may be called No. `yamltext` lists
the YAML features that are refused. When a plan is read, names are put on one line and into Unicode's composed form
(NFC), and texts get uniform line ends and no white space at either end, as in `plain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.base.errors import PlanError, UsageError
from fabula.base.files import read_bytes
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
        PlanError: the file cannot be read or has problems; the message lists all problems with their lines.
    """
    try:
        data = read_bytes(path, MAX_BYTES, kind="a plan (a YAML file)")
    except UsageError as error:
        raise PlanError([str(error)]) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanError([f"{path}:{line}: plan: This is not UTF-8 text. Use a YAML file in UTF-8."]) from error
    return parse_plan(text, str(path))


def parse_plan(text: str, where: str = "plan.yaml") -> Plan:
    """The plan in a YAML text; `where` is the file name for messages.

    Raises:
        PlanError: the plan has problems; the message lists them all by line, as "FILE:LINE: scene 'The wreck' >
            outline: problem and remedy".
    """
    return _read(text, where, _problems)


def unchecked_plan(text: str, where: str = "plan.yaml") -> Plan:
    """The plan in a YAML text, even if `check_plan` finds problems in it; pages show these problems next to the scenes.

    Raises:
        PlanError: the text cannot be read as a plan; the message lists all problems as in `parse_plan`.
    """
    return _read(text, where, lambda _: [])


def _read(text: str, where: str, problems: Callable[[Plan], list[SheetProblem]]) -> Plan:
    from fabula.story import plan_sheet  # noqa: PLC0415 - pydantic and PyYAML are slow to import

    if len(text) > MAX_BYTES:
        raise PlanError([f"The plan {where} is longer than {MAX_BYTES:,} characters. Use a shorter plan."])
    return read_sheet(text, where, "plan", plan_sheet.plan_of, problems, plan_sheet.fields_at)


def _problems(plan: Plan) -> list[SheetProblem]:
    return [SheetProblem(problem.path, problem.what) for problem in check_plan(plan)]


def write_plan(plan: Plan) -> str:
    """The plan as YAML that `parse_plan` can read, with a blank line between scenes and without empty fields.

    The plan is not checked, so a plan with problems is also written, but is refused when it is read.
    """
    from fabula.story import plan_sheet  # noqa: PLC0415 - pydantic and PyYAML are slow to import

    return _COMMENT + plan_sheet.write(plan)
