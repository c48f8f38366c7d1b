from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.base.errors import UsageError
from fabula.cli.main import main
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan
from fabula.story.timeline import Timeline, timeline_data, timeline_svg, timeline_text
from fabula.story.timeline.letters import cells, clean, cut, padded, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</title><script>alert("1")</script>&amp;\x1b[31m\x00\ud800\ufffe\u202e\nline'
KINDS = {"●": "in order", "◀": "flashback", "▶": "ahead"}


def plan_of(happens: Sequence[int], cast: int = 3) -> tuple[Plan, list[str]]:
    """A plan whose scenes, as told, happen at these places (from 1), and its order of time."""
    names = [f"Scene of {place}" for place in happens]
    scenes = tuple(
        ScenePlan(
            name, (Event("It happens."),), characters=tuple(Presence(f"C{c}", "to be there") for c in range(cast))
        )
        for name in names
    )
    order = [name for _, name in sorted(zip(happens, names, strict=True))]
    return Plan(scenes, tuple(Character(f"C{c}") for c in range(cast))), order


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - made here


def kinds_of(happens: Sequence[int]) -> list[str]:
    return [line.kind for line in Timeline.of(*plan_of(happens)).lines]


def longest_rising(numbers: Sequence[int]) -> int:
    best: list[int] = []
    for number in numbers:
        best.append(1 + max((b for b, before in zip(best, numbers, strict=False) if before < number), default=0))
    return max(best, default=0)


# what is told out of order ------------------------------------------------------------------------------------------


@given(st.integers(1, 24).flatmap(lambda n: st.permutations(range(1, n + 1))))
def test_crossings_and_kinds_are_what_counting_by_hand_gives(happens: list[int]) -> None:
    timeline = Timeline.of(*plan_of(happens))
    assert timeline.crossings == sum(a > b for a, b in combinations(happens, 2))
    assert [line.happens for line in timeline.lines] == happens
    main_line = [line for line in timeline.lines if line.kind == "in order"]
    assert len(main_line) == longest_rising(happens)
    assert [line.happens for line in main_line] == sorted(line.happens for line in main_line)
    for line in timeline.lines:
        later = any(other.told < line.told and other.happens > line.happens for other in main_line)
        ahead = any(other.told > line.told and other.happens < line.happens for other in main_line)
        assert (later, ahead) == (line.kind == "flashback", line.kind == "ahead")


def test_of_two_equal_ways_the_one_told_first_is_the_story() -> None:
    assert kinds_of([2, 1]) == ["in order", "flashback"]
    assert kinds_of([3, 1, 2, 4]) == ["ahead", "in order", "in order", "in order"]
    assert kinds_of([2, 3, 1, 4]) == ["in order", "in order", "flashback", "in order"]
    assert kinds_of([]) == []


def test_a_flashback_inside_a_scene_is_a_line_of_its_own() -> None:
    recalled = (Event("They eat."), Event("He recalls the war.", time="1"), Event("They wash up."))
    plan = Plan((ScenePlan("Home", (Event("A."),), time="5"), ScenePlan("Supper", recalled, time="6")))
    lines = Timeline.of(plan, ("Home", "Supper")).lines
    assert [(x.number, x.happens, x.kind, x.name, x.time) for x in lines] == [
        ("1", 2, "in order", "Home", "5"),
        ("2.1", 3, "in order", "Supper", "6"),
        ("2.2", 1, "flashback", "He recalls the war.", "1"),
    ]
    assert "2 scenes in 3 units, 1 flashback; 2 of 3 pairs told out of order" in timeline_text(plan, plan.names)
    data = timeline_data(plan, plan.names)
    assert data["units"][2] == {
        "scene": "Supper",
        "number": "2.2",
        "part": 1,
        "told": 3,
        "happens": 1,
        "time": "1",
        "kind": "flashback",
        "name": "He recalls the war.",
        "events": ["He recalls the war."],
    }
    assert (data["crossings"], data["pairs"], data["flashbacks"], data["ahead"]) == (2, 3, 1, 0)


def test_a_scene_whose_events_all_have_other_times_keeps_its_name() -> None:
    events = (Event("First.", time="2"), Event("Second.", time="1"))
    plan = Plan((ScenePlan("Memories", events, time="9"),))
    assert [line.name for line in Timeline.of(plan, ("Memories",)).lines] == ["Memories", "Second."]


def test_an_order_that_is_none_of_the_plan_is_refused() -> None:
    plan, order = plan_of([1, 2])
    for draw in (timeline_svg, timeline_text, timeline_data):
        with pytest.raises(UsageError, match="leaves out 'Scene of 2'"):
            draw(plan, order[:1])


def test_somebody_whom_only_a_scene_names_is_shown_too() -> None:
    plan = Plan((ScenePlan("One", (Event("x"),), characters=(Presence("Nobody", "to pass"),)),), (Character("Mara"),))
    present = timeline_data(plan, ["One"])["present"]
    assert present == [
        {"name": "Mara", "group": False, "scenes": []},
        {"name": "Nobody", "group": False, "scenes": [{"scene": 1, "goal": "to pass"}]},
    ]


# text ---------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 90).flatmap(lambda n: st.permutations(range(1, n + 1))), st.integers(40, 160))
def test_no_line_of_text_is_wider_than_asked(happens: list[int], width: int) -> None:
    text = timeline_text(*plan_of(happens), width)
    assert max(map(cells, text.splitlines())) <= width


@given(st.integers(2, 40).flatmap(lambda n: st.permutations(range(1, n + 1))))
def test_marks_stand_where_scenes_happen(happens: list[int]) -> None:
    timeline = Timeline.of(*plan_of(happens))
    rows = timeline_text(*plan_of(happens)).split("\n\n")[1].splitlines()[1:]
    found = [next((row.index(mark), KINDS[mark]) for mark in KINDS if mark in row) for row in rows]
    assert [kind for _, kind in found] == [line.kind for line in timeline.lines]
    by_time = [column for _, (column, _) in sorted(zip(happens, found, strict=True))]
    assert by_time == sorted(by_time)


def test_names_of_double_width_keep_the_columns_straight() -> None:
    scenes = tuple(
        ScenePlan(name, (Event("x"),), time="1", characters=(Presence("灯台守の老人"), Presence("Jo")))
        for name in ("灯台" * 40, "Storm")
    )
    plan = Plan(scenes, (Character("灯台守の老人"), Character("Jo"), Character("村" * 40, group=True)))
    lines = timeline_text(plan, plan.names, 60).splitlines()
    assert max(map(cells, lines)) <= 60
    grid = [line for line in lines if line.endswith(("● ●", "· ·", "1 2"))]
    assert len({cells(line) for line in grid}) == 1
    assert len(grid) == 4
    assert grid[3].split("  ")[0].endswith("… (group)")


@pytest.mark.parametrize(("count", "head"), [(9, "1 2 3 4 5 6 7 8 9"), (12, " 9 10 11 12"), (80, "1234567890123")])
def test_scenes_are_numbered_over_the_grid(count: int, head: str) -> None:
    text = timeline_text(*plan_of(range(1, count + 1)))
    assert head in next(line for line in text.splitlines() if line.startswith("who"))
    assert text.count("●") == count * 4 + 2  # chart, three rows, two legends


def test_a_grid_too_wide_comes_in_blocks_with_tens_over_their_columns() -> None:
    blocks = [b.splitlines() for b in timeline_text(*plan_of(range(1, 131)), 80).split("\n\n") if "\nwho" in b]
    assert len(blocks) == 3
    column = blocks[1][0].index("70") + 1
    assert blocks[1][1][column] == "0"
    first = cells(blocks[1][1]) - len(blocks[1][1].split()[-1])
    assert (column - first) % 10 == 9


def test_a_plan_without_scenes_or_people_is_said_in_a_line() -> None:
    assert timeline_text(Plan(()), ()) == "0 scenes; all told as it happens"
    assert parsed(timeline_svg(Plan(()), ())).tag == f"{SVG}svg"
    assert "●" in timeline_text(*plan_of([1], cast=0))


# svg ----------------------------------------------------------------------------------------------------------------


def test_hostile_names_stay_text() -> None:
    scene = ScenePlan(HOSTILE, (Event(HOSTILE),), place=HOSTILE, characters=(Presence(HOSTILE, HOSTILE),), time=HOSTILE)
    plan = Plan((scene,), (Character(HOSTILE, group=True),), title=HOSTILE)
    svg = timeline_svg(plan, [HOSTILE], HOSTILE)
    root = parsed(svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "rect", "path", "circle", "polygon", "text", "tspan", "g")
    }
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff\ufffe]", svg)
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    assert clean(HOSTILE) in titles
    assert clean(HOSTILE).startswith('</title><script>alert("1")</script>&amp;\ufffd[31m')
    text = timeline_text(plan, [HOSTILE])
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
    assert timeline_data(plan, [HOSTILE])["title"] == HOSTILE  # data is not a picture: it is as the author wrote it


@pytest.mark.parametrize("count", [1, 5, 12, 80, 400])
def test_a_line_a_unit_and_every_name_whole_in_a_tooltip(count: int) -> None:
    happens = [*range(2, count + 1), 1]
    root = parsed(timeline_svg(*plan_of(happens)))
    curves = [path for path in root.iter(f"{SVG}path") if "C" in path.get("d", "")]
    tips = [curve.findtext(f"{SVG}title") or "" for curve in curves]
    assert len(tips) == count
    for place in happens:
        assert sum(f" Scene of {place} " in tip for tip in tips) == 1


def test_what_colour_says_is_said_without_it() -> None:
    root = parsed(timeline_svg(*plan_of([7, 2, 3, 4, 1, 5, 6])))
    groups = [g for g in root.iter(f"{SVG}g") if g.get("fill") == "none"]
    assert len({(g.get("stroke-dasharray"), g.get("stroke-width")) for g in groups}) == 3
    assert len(list(root.iter(f"{SVG}polygon"))) == 2 * 2 + 2  # both ends of two lines, and the legend


def test_numbers_have_one_decimal_and_the_picture_is_the_same_every_time() -> None:
    plan, order = plan_of([3, 1, 2, 5, 4, 7, 6])
    svg = timeline_svg(plan, order)
    assert svg == timeline_svg(plan, order)
    assert not re.search(r'"[^"]*\d\.\d\d[^"]*"', svg)
    assert "nan" not in svg
    assert "e-" not in re.sub(r"<(title|desc|text)[^<]*", "", svg).replace("stroke-", "")


def test_a_cell_says_who_is_where_and_why() -> None:
    root = parsed(timeline_svg(*plan_of([1, 2])))
    tips = [rect.findtext(f"{SVG}title") for rect in root.iter(f"{SVG}rect")]
    assert "C1 in scene 2, Scene of 2: to be there" in tips


def test_two_thousand_scenes_and_three_hundred_people_stay_bounded() -> None:
    happens = [*range(1000, 0, -1), *range(1001, 2001)]
    plan, order = plan_of(happens, cast=300)
    svg = timeline_svg(plan, order)
    root = parsed(svg)
    assert float(root.get("width", "")) <= 2100
    assert float(root.get("height", "")) <= 2000
    assert len(svg) < 2_000_000
    assert "240 more characters" in svg
    assert len([e for e in root.iter(f"{SVG}text") if "rotate" in e.get("transform", "")]) < 300


def test_cells_grow_together_only_where_scenes_follow_each_other() -> None:
    plan, order = plan_of(range(1, 301), cast=0)
    there = {3, 4, 5, 9, 200}
    scenes = tuple(
        ScenePlan(s.name, s.outline, characters=(Presence("Mara", "to hide"),) if n in there else ())
        for n, s in enumerate(plan.scenes, 1)
    )
    root = parsed(timeline_svg(Plan(scenes, (Character("Mara"),)), order))
    tips = [t for rect in root.iter(f"{SVG}rect") if (t := rect.findtext(f"{SVG}title"))]
    assert tips == [
        "Mara in scenes 3 to 5",
        "Mara in scene 9, Scene of 9: to hide",
        "Mara in scene 200, Scene of 200: to hide",
    ]


# letters ------------------------------------------------------------------------------------------------------------


@given(st.text(max_size=60), st.integers(1, 30))
def test_cut_and_padded_texts_have_the_room_they_are_given(text: str, room: int) -> None:
    assert cells(cut(text, room)) <= room
    assert cells(padded(text, room)) == room
    assert all(cells(line) <= room for line in wrapped(text, room, 3))
    assert len(wrapped(text, room, 3)) <= 3


def test_a_name_is_cut_only_where_it_must_be() -> None:
    assert cut("Storm", 5) == "Storm"
    assert cut("Storms", 5) == "Stor…"
    assert cut("灯台守", 5) == "灯台…"
    assert cut("a" + "\u0301" * 1000, 5).startswith("a\u0301")
    assert len(cut("a" + "\u0301" * 1000, 5)) < 25
    assert wrapped("The night of the Sigrid", 12, 2) == ["The night of", "the Sigrid"]
    assert wrapped("The night of the Sigrid and more", 12, 2) == ["The night of", "the Sigrid…"]
    assert padded("7", 3, right=True) == "  7"


# the command --------------------------------------------------------------------------------------------------------

LAID = """title: The Bell
characters: [{name: Mara}]
scenes:
  - {name: Now, characters: {Mara: to rest}, outline: [She rests.]}
  - {name: Then, characters: [Mara], outline: [She works.]}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "bell.yaml").write_text(LAID, encoding="utf-8")
    return tmp_path


@pytest.fixture
def project(here: Path) -> ProjectFolder:
    return ProjectFolder.create(here / "bell", Brief("A bell rings."))


def keep(project: ProjectFolder, **artefacts: str) -> None:
    with project.journal as journal:
        for path, text in artefacts.items():
            journal.artefacts.keep(path, text, "made")


def test_the_command_takes_a_plan_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "bell.yaml", "--timeline", "--out", "bell.svg"]) == 0
    ran = capsys.readouterr()
    assert ran.out.startswith("The Bell\n2 scenes; all told as it happens\n")
    assert "Drawn to bell.svg." in ran.err
    assert "order of time not known for all scenes" in ran.err
    assert "order of time not known" in (here / "bell.svg").read_text(encoding="utf-8")


def test_a_file_in_the_way_of_the_picture_is_an_error(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "bell.yaml", "--timeline", "--out", "no/bell.svg"]) == 1
    assert "Cannot write no/bell.svg. The folder does not exist." in capsys.readouterr().err


def test_the_command_reads_plan_and_order_of_a_project(
    project: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(project, plan=LAID, order="- Then\n- Now\n")
    assert main(["show", "--timeline", "-C", "bell", "--json"]) == 0
    ran = capsys.readouterr()
    data = json.loads(ran.out)
    assert ran.err == ""
    assert (data["order"], data["order_from"]) == (["Then", "Now"], "project")
    assert [unit["kind"] for unit in data["timeline"]["units"]] == ["in order", "flashback"]
    assert main(["show", "plan", "--timeline", "-C", "bell", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_an_order_that_the_plan_has_outgrown_is_left_aside(
    project: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(
        project, plan=LAID.replace("Then,", "Then, time: 1,").replace("Now,", "Now, time: 2,"), order="- Now\n- Gone\n"
    )
    assert main(["show", "--timeline", "-C", "bell", "--json"]) == 0
    ran = capsys.readouterr()
    assert "The order names 'Gone'" in ran.err
    assert "not known" not in ran.err
    assert json.loads(ran.out)["order_from"] == "plan"
    assert json.loads(ran.out)["order"] == ["Then", "Now"]


def test_a_plan_laid_into_a_project_is_shown_before_anything_is_written(
    project: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "--timeline", "-C", "bell"]) == 1
    text = capsys.readouterr().err
    assert text.startswith(
        "fabula: bell has no plan of scenes yet. Write with a system that plans scenes, save a plan "
    )
    assert "bell/plan/plan.yaml" in text
    (project.folder / "plan" / "plan.yaml").write_text(LAID, encoding="utf-8")
    assert main(["show", "plan/plan.yaml", "--timeline", "-C", "bell"]) == 0
    assert capsys.readouterr().out.startswith("The Bell\n")


def test_a_changed_plan_is_pointed_out(project: ProjectFolder, capsys: pytest.CaptureFixture[str]) -> None:
    keep(project, plan=LAID)
    (project.folder / "plan" / "plan.yaml").write_text(LAID.replace("The Bell", "Bells"), encoding="utf-8")
    assert main(["show", "--timeline", "-C", "bell"]) == 0
    ran = capsys.readouterr()
    assert ran.out.startswith("The Bell\n")
    assert "plan/plan.yaml has changed since. To apply the change, run `fabula update bell`." in ran.err


def test_what_cannot_be_drawn_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in {
        ("--out", "x.svg"): "--out requires --timeline. To write the story to a file, use `fabula export`.",
        ("--timeline", "nowhere.yaml"): "nowhere.yaml",
        ("--timeline", "plot"): "plot is not a project folder",
    }.items():
        assert main(["show", *arguments]) != 0
        assert message in capsys.readouterr().err


def test_with_addresses_each_scene_is_a_link_that_the_keyboard_reaches_once() -> None:
    plan = Plan(
        tuple(ScenePlan(f"S{n}", (Event("x"),), time=str(n % 3), characters=(Presence("Mara"),)) for n in range(6))
    )
    order = plan.assumed_chronology()
    svg = timeline_svg(plan, order, link=lambda number: f"/plan?a=1&scene={number}")
    links = parsed(svg).iter(f"{SVG}a")
    stops = [link.get("href") for link in links if link.get("tabindex") is None]
    assert stops == [f"/plan?a=1&scene={number}" for number in range(1, 7)]
    assert parsed(svg).get("role") == "group"
    assert "<a " not in timeline_svg(plan, order)


def test_each_colour_of_the_picture_has_a_rule_that_follows_the_theme_of_a_page() -> None:
    style = files("fabula").joinpath("server/studio/static/plan.css").read_text(encoding="utf-8")
    plan, order = plan_of([3, 1, 2, 5, 4], cast=2)
    groups = Plan(plan.scenes, tuple(replace(one, group=True) for one in plan.characters))
    pictures = timeline_svg(plan, order) + timeline_svg(groups, order)
    colours = set(re.findall(r'(?:fill|stroke)="#\w{6}"', pictures))
    assert {colour for colour in colours if f".timeline [{colour}]" not in style} == set()
    assert len(colours) > 5
