"""Pictures of plans, compared with those that were looked at and found good.

After a change that is meant, and looked at: `python tests/golden/test_timelines.py` writes them anew.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fabula.story.plan_file import read_plan
from fabula.story.timeline import timeline_svg, timeline_text

FOLDER = Path(__file__).parent / "timelines"
each = pytest.mark.parametrize("name", ["five", "twelve"])


def pictures(name: str) -> dict[str, str]:
    """The pictures of a plan in the folder, by file name."""
    plan = read_plan(FOLDER / f"{name}.yaml")
    order = plan.chronology()
    assert order is not None
    text = timeline_text(plan, order)
    return {f"{name}.txt": text + "\n", f"{name}.svg": timeline_svg(plan, order)}


@each
def test_the_pictures_are_as_they_were(name: str) -> None:
    for file, content in pictures(name).items():
        assert content == (FOLDER / file).read_text(encoding="utf-8"), file


@each
def test_the_svg_is_xml_with_a_line_a_unit(name: str) -> None:
    root = ET.fromstring((FOLDER / f"{name}.svg").read_text(encoding="utf-8"))  # noqa: S314 - our own file
    curves = [path for path in root.iter("{http://www.w3.org/2000/svg}path") if "C" in path.get("d", "")]
    assert len(curves) == {"five": 6, "twelve": 12}[name]


if __name__ == "__main__":
    for each_name in ("five", "twelve"):
        for file_name, picture in pictures(each_name).items():
            (FOLDER / file_name).write_text(picture, encoding="utf-8")
