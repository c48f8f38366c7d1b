"""What a notebook shows of a story, a report, findings and a plan: all of it escaped, nothing in it runs."""

from __future__ import annotations

from html.parser import HTMLParser

from fabula.app.findings import Finding, FindingPlace, ProjectFindings
from fabula.app.planning import PlanView
from fabula.craft.conversation.lines import Turn
from fabula.measure.report import Report, Row
from fabula.stats.estimate import Estimate
from fabula.story import Story
from fabula.story.plan import Plan, ScenePlan

EVIL = "<script>alert('x')</script> & \"quoted\""


class Seen(HTMLParser):
    """The tags of markup, and what a reader sees."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.said = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said += data


def test_a_story_is_shown_as_it_is_read() -> None:
    story = Story.parse(
        f"# {EVIL}\n\n<!-- scene: one -->\nShe lit it.\n\n{EVIL}\n\n* * *\n<!-- scene: two -->\nIt burned."
    )
    seen = Seen(story._repr_html_())
    assert seen.tags == ["h2", "p", "p", "hr", "p"]
    assert seen.said.split("\n") == [EVIL, "She lit it.", EVIL, "", "It burned."]
    assert Seen(Story()._repr_html_()).tags == []


def test_a_report_is_a_table_of_numbers_with_their_intervals() -> None:
    rows = (Row(EVIL, "words", Estimate(4.5, 12, low=4.0, high=5.0)),)
    seen = Seen(Report("e", rows=rows, notes=(EVIL,))._repr_html_())
    assert {"table", "ul"} < set(seen.tags)
    assert "script" not in seen.tags
    assert seen.said.count(EVIL) == 2
    assert "4.0 to 5.0" in seen.said or "4 to 5" in seen.said


def test_findings_show_both_passages_of_those_that_are_left() -> None:
    places = [FindingPlace(side, 1, 1, f"{side} {EVIL}", "", "", "", "") for side in ("x", "y")]
    one = Finding("a", "Two colours", "colour", "", EVIL, "", stale=False, places=(places[0], places[1]))
    other = Finding("b", "Gone", "colour", "", "", "He had two.", stale=False, places=(places[0], places[1]))
    seen = Seen(ProjectFindings(checked=True, findings=(one, other))._repr_html_())
    assert seen.tags == ["p", "p", "blockquote", "blockquote"]
    assert "2 found, 1 dismissed." in seen.said
    assert f"x {EVIL}" in seen.said
    assert "Gone" not in seen.said
    assert "Nothing has been checked yet." in ProjectFindings(checked=False)._repr_html_()


def test_a_plan_is_shown_as_its_timeline() -> None:
    plan = Plan(scenes=(ScenePlan("One", (), place=EVIL), ScenePlan("Two", ())))
    seen = Seen(PlanView(plan, ("Two", "One"), "plan", "", changed=False, timeline={})._repr_html_())
    assert seen.tags[:2] == ["figure", "svg"]
    assert "script" not in seen.tags


def test_a_turn_shows_who_said_what() -> None:
    seen = Seen(Turn(1, 1, 0, EVIL, None)._repr_html_())
    assert seen.tags == ["p", "b"]
    assert seen.said == f"You: {EVIL}"
