"""Pages and pictures of reports: whole, escaped, readable by programs, and with nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.base.html import Html, bullets, details, figure, html_table, joined, quotation, text
from fabula.measure.ratings import Rating
from fabula.measure.report import Report, Row
from fabula.measure.report.page import Section, page, report_section
from fabula.measure.report.pictures import intervals_svg, matrix_svg
from fabula.stats.estimate import Estimate, Scored, Unscored

HOSTILE = (
    "</td></table><script>alert(1)</script><img src=x onerror=alert(1)> & \"quoted\" 'too' \x00\x1b[2J\ud800\u202e"
)
_VOID = {"meta"}


class Reader(HTMLParser):
    """Checks that every element is closed in its turn, and keeps what it saw."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(said)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def whole(said: str) -> str:
    """A page with `said` in every place that takes a text."""
    picture = intervals_svg([(said, Estimate(1.0, 3, 0.5, 1.5, "m")), ("b", Unscored(said))], title=said)
    matrix = matrix_svg([said, "b"], [[None, 1.0], [0.0, None]], title=said)
    rating = Rating(rater="r", kind="model", items=("x",), question="q", answer=None, unscored=said)
    report = Report(said, {said: said}, (Row(said, said, Unscored(said)),), (rating,), (said,))
    body = joined(figure(picture), figure(matrix), html_table([said], [[said]]), details(said, quotation(said)))
    return page(said, [Section(said, body), report_section(report)], lead=said)


def test_a_page_is_whole_and_holds_nothing_from_elsewhere() -> None:
    read = Reader(whole("The lamp"))
    assert read.seen.count("html") == read.seen.count("main") == read.seen.count("h1") == 1
    assert "script" not in read.seen
    assert not [value for name, value in read.attributes if name in {"src", "href"} and not str(value).startswith("#")]
    found = dict(read.attributes)
    assert found["http-equiv"] == "Content-Security-Policy"
    assert "default-src 'none'" in whole("x")
    assert "prefers-color-scheme: dark" in whole("x")


def test_hostile_text_is_shown_and_never_obeyed() -> None:
    found = whole(HOSTILE)
    read = Reader(found)
    assert not {"script", "img"} & set(read.seen)
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in read.text
    assert not re.search("[\x00\x1b\ud800\u202e]", found)
    found.encode("utf-8")


@given(st.text(min_size=1, max_size=80))
def test_any_text_can_stand_anywhere(said: str) -> None:
    Reader(whole(said)).text.encode("utf-8")


@given(st.text(max_size=80))
def test_pictures_are_sound_xml_whatever_the_names(said: str) -> None:
    for svg in (
        intervals_svg([(said, Estimate(1, 1))], title=said),
        matrix_svg([said], [[1.0]], title=said, shown=[[said]]),
    ):
        ET.fromstring(svg)  # noqa: S314 - our own text


def test_markup_stays_and_text_is_escaped() -> None:
    assert text("a < b") == "a &lt; b"
    assert text(Html("<b>x</b>")) == "<b>x</b>"
    assert text("<b>" + Html("x")) == "&lt;b&gt;x", "what is joined with a plain text is plain text again"
    assert bullets([]) == ""


def test_a_report_shows_every_number_with_its_interval_n_and_method() -> None:
    rating = Rating(rater="r", kind="model", items=("x",), question="q", answer=None, unscored="no verdict")
    report = Report(
        "pairwise",
        {"preset": "faithful"},
        (
            Row("cape", "strength/overall", Estimate(0.875, 28, 0.5, 1.25, "by prompt")),
            Row("length", "agreement/overall", Unscored("no lengths", 4), baseline=True),
        ),
        (rating,),
        ("Two systems are not connected.",),
    )
    section = report_section(report)
    read = Reader(section.body)
    assert section.heading == "pairwise"
    for found in ("0.875", "0.5 to 1.25", "28", "by prompt", "95 % interval", "not scored", "no lengths", "(baseline)"):
        assert found in read.text
    for found in ("Two systems are not connected.", "1 of 1 verdicts are missing.", "preset: faithful"):
        assert found in read.text


def texts_of(svg: str) -> list[str]:
    return [str(node.text) for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 - our own


def test_a_forest_plot_says_in_words_what_it_shows() -> None:
    rows: list[tuple[str, Scored]] = [
        ("cape", Estimate(0.8, 10, 0.2, 1.4)),
        ("harbour", Estimate(-0.8, 10)),
        ("quay", Unscored("always wins")),
    ]
    svg = intervals_svg(rows, title="Strength")
    root = ET.fromstring(svg)  # noqa: S314 - our own
    title, desc = (root.find(f"{{http://www.w3.org/2000/svg}}{name}") for name in ("title", "desc"))
    assert title is not None
    assert desc is not None
    assert title.text == "Strength"
    assert desc.text == "cape: 0.8 [0.2, 1.4] (n 10); harbour: -0.8 (n 10); quay: not scored: always wins"
    assert root.get("role") == "img"
    assert "0.80 [0.20, 1.40]" in texts_of(svg)
    assert len(re.findall("<circle", svg)) == 2


def test_dots_lie_on_their_bars_and_in_their_order() -> None:
    svg = intervals_svg([("a", Estimate(1.0, 3, 0.0, 3.0)), ("b", Estimate(2.0, 3, 1.0, 2.5))], title="t")
    dots = [float(x) for x in re.findall(r'<circle class="p-dot" cx="([\d.]+)"', svg)]
    bars = re.findall(r'class="p-bar" x1="([\d.]+)" x2="([\d.]+)"', svg)
    assert dots[0] < dots[1]
    for dot, (low, high) in zip(dots, bars, strict=True):
        assert float(low) <= dot <= float(high)


@pytest.mark.parametrize("values", [(), (0.0,), (5.0, 5.0), (1e-12, 2e-12), (-1e9, 1e9), (1e300, -1e300)])
def test_any_range_gives_an_axis(values: tuple[float, ...]) -> None:
    svg = intervals_svg([(str(n), Estimate(value, 1)) for n, value in enumerate(values)], title="t")
    ET.fromstring(svg)  # noqa: S314 - our own
    assert "nan" not in svg
    assert "inf" not in svg


def test_a_matrix_leaves_out_what_was_never_compared() -> None:
    values: list[list[Any]] = [[None, 0.75, None], [0.25, None, None], [None, None, None]]
    svg = matrix_svg(["a", "b", "c"], values, title="Wins")
    assert len(re.findall("<rect", svg)) == 2
    assert "a against b: 0.75; b against a: 0.25" in svg
    wide = matrix_svg([str(n) for n in range(40)], [[1.0] * 40] * 40, title="Wins")
    assert len(re.findall("<rect", wide)) == 1600
