"""The report as one HTML file: each finding with both passages side by side, and how to dismiss it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from fabula.measure.report.page import (
    Html,
    Section,
    bullets,
    details,
    how_list,
    html_table,
    joined,
    page,
    paragraph,
    text,
)
from fabula.stats.estimate import figures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def as_page(report: Mapping[str, Any], dismissed: Mapping[str, str], command: Sequence[str]) -> str:
    """The whole file.

    Args:
        report: as `Report.as_data` gives it, so that a page can be made again from the stored report.
        dismissed: reasons by key.
        command: the words that check these stories again, to which `--dismiss` is added.
    """
    stories = report["details"]["stories"]
    sections = [part for story in stories for part in _sections(story, dismissed, command, alone=len(stories) == 1)]
    return page("Continuity", [*sections, _numbers(report)], lead=_lead(stories, dismissed))


def _lead(stories: Sequence[Mapping[str, Any]], dismissed: Mapping[str, str]) -> str:
    found = [one for story in stories for one in all_findings(story)]
    gone = sum(one["key"] in dismissed for one in found)
    count = f"{len(found)} places where a passage contradicts an earlier one"
    return f"{count}; {gone} of them dismissed. A finding is an opinion with two quotations: read both."


def all_findings(story: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A story's findings across and inside scenes, in the order of the text."""
    return sorted([*story["findings"], *story["intra_scene"]], key=lambda one: int(one["id"]))


def _sections(
    story: Mapping[str, Any], dismissed: Mapping[str, str], command: Sequence[str], *, alone: bool
) -> list[Section]:
    name = "" if alone else f"{story['id']}: "
    parts = [
        (f"{name}between scenes", [one for one in story["findings"] if one["key"] not in dismissed]),
        (f"{name}inside a scene", [one for one in story["intra_scene"] if one["key"] not in dismissed]),
    ]
    empty = paragraph("None." if story["scored"] else "Not known: the models' replies could not be read.")
    sections = [
        Section(heading[:1].upper() + heading[1:], joined(*(_finding(one, command) for one in found)) or empty)
        for heading, found in parts
    ]
    gone = [one for one in all_findings(story) if one["key"] in dismissed]
    if gone:
        shown = [_finding(one, (), dismissed[one["key"]]) for one in gone]
        sections.append(Section(f"{name}dismissed".capitalize(), joined(*shown)))
    if story.get("plain_judge"):
        listed = bullets(one["hallucination"] for one in story["plain_judge"])
        note = paragraph("What one call that reads the whole story lists; nothing of it is verified.", faint=True)
        sections.append(Section(f"{name}plain judge".capitalize(), joined(note, details("Its list", listed))))
    return sections


def _finding(one: Mapping[str, Any], command: Sequence[str], reason: str = "") -> Html:
    x, y = one["passage_x"], one["passage_y"]
    also = one["also_established_in"]
    more = f" Also stated in scene {', '.join(map(str, also))}." if also else ""
    about = f"{one['category']}: {one['attribute']}. {one['reason']}{more}"
    source = f"Root cause {one['root_cause_id']}, proposed by {one['source']}, key {one['key']}."
    heading = Html(f'<h3 id="f-{text(one["key"])}">{text(one["id"])}. {text(one["hallucination"])}</h3>')
    head = (f"Scene {x['scene']}", f"Scene {y['scene']}")
    parts = [heading, html_table(head, [(_marked(x), _marked(y))]), paragraph(about), paragraph(source, faint=True)]
    if reason:
        parts.append(paragraph(f"Dismissed: {reason}"))
    if command:
        parts.append(details("Dismiss it", _copied(f"{shlex.join(command)} --dismiss {one['key']}='your reason'")))
    return joined(*parts)


def _marked(passage: Mapping[str, Any]) -> Html:
    """A passage with its quotation marked."""
    whole, (low, high) = passage["text"], passage["focus"]
    return Html(f"<blockquote>{text(whole[:low])}<mark>{text(whole[low:high])}</mark>{text(whole[high:])}</blockquote>")


def _copied(command: str) -> Html:
    """A command that one click selects."""
    how = paragraph("Run this beside the story, with your reason in it; the next check keeps to it.", faint=True)
    return joined(how, Html(f'<pre style="user-select: all; white-space: pre-wrap"><code>{text(command)}</code></pre>'))


def _numbers(report: Mapping[str, Any]) -> Section:
    """All numbers with their intervals, what was dropped on the way, and how it was made."""
    rows = [_row(row) for row in report["rows"]]
    head = ("of", "measure", "value", "95 % interval", "n", "made by")
    counts = [
        details(f"{story['id']}: what was counted on the way", how_list(story["counts"] | story["mended"]))
        for story in report["details"]["stories"]
        if story["counts"] or story["mended"]
    ]
    body = joined(
        html_table(head, rows, right=(2, 4)),
        bullets(report["notes"]),
        *counts,
        details("How this was made", how_list(report["how"])),
    )
    return Section("Numbers", body)


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    what = f"{row['what']} (baseline)" if row.get("baseline") else str(row["what"])
    if row.get("unscored"):
        return str(row["of"]), what, "not scored", str(row["unscored"]), str(row["n"]), ""
    low, high = row.get("low"), row.get("high")
    interval = "" if low is None or high is None else f"{figures(low)} to {figures(high)}"
    return str(row["of"]), what, figures(row["value"]), interval, str(row["n"]), str(row["method"])
