"""The report as one HTML file: each finding with both passages side by side, and the command that dismisses it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fabula.base.html import Html, bullets, details, html_table, joined, paragraph, text
from fabula.measure.report.page import Section, how_list, page
from fabula.stats.estimate import figures
from fabula.story import one_line, readable

_COUNTS: Final = ("of these inside one scene", "root causes", "findings per 10,000 words")
_MARKUP: Final = {ord(sign): f"\\{sign}" for sign in "\\`*_[]<>#"}


def as_page(report: Mapping[str, Any], dismissed: Mapping[str, str], command: Sequence[str]) -> str:
    """The whole file.

    Args:
        report: the data of `Report.as_data`, so that the page can be rebuilt from a stored report.
        dismissed: reasons by key.
        command: the words of the command that checks these stories; `--dismiss` is added to it.
    """
    stories = report["details"]["stories"]
    sections = [part for story in stories for part in _sections(story, dismissed, command, alone=len(stories) == 1)]
    return page("Continuity", [*sections, _about(report, dismissed)], lead=_lead(stories, dismissed))


def findings_html(report: Mapping[str, Any], dismissed: Mapping[str, str]) -> Html:
    """The findings of the page, for use in another page."""
    stories = report["details"]["stories"]
    sections = [part for story in stories for part in _sections(story, dismissed, (), alone=len(stories) == 1)]
    shown = [part for section in sections for part in (Html(f"<h3>{text(section.heading)}</h3>"), section.body)]
    return joined(paragraph(_lead(stories, dismissed), faint=True), *shown)


def _lead(stories: Sequence[Mapping[str, Any]], dismissed: Mapping[str, str]) -> str:
    found = [one for story in stories for one in all_findings(story)]
    gone = sum(one["key"] in dismissed for one in found)
    said = f"{len(found)} found, {gone} dismissed. A finding is an opinion with two quotations: read both."
    if any(story.get("verifier_is_worthless") for story in stories):
        said += " The verifier also confirmed planted suspicions that are not errors. Treat its findings as suspicions."
    if any(story.get("partial") for story in stories):
        said += " This report is partial. The notes below list what is missing."
    return said


def all_findings(story: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A story's findings, in the order of the text. Older reports list findings inside scenes separately."""
    return sorted([*story["findings"], *story.get("intra_scene", ())], key=lambda one: int(one["id"]))


def shown_value(row: Mapping[str, Any], gone: Mapping[str, int]) -> str:
    """The value of a row for a table, with the number of dismissed findings.

    Args:
        row: a row from `Report.as_data`.
        gone: the number of dismissed findings, by story id.
    """
    n = 0 if row.get("baseline") else gone.get(row["of"], 0)
    if n and row["what"] == "findings":
        return f"{figures(row['value'])} found, {n} dismissed"
    return f"{figures(row['value'])}, dismissed ones counted" if n and row["what"] in _COUNTS else figures(row["value"])


def dismissed_in(report: Mapping[str, Any], dismissed: Mapping[str, str]) -> dict[str, int]:
    """The number of dismissed findings of each story."""
    return {
        story["id"]: sum(one["key"] in dismissed for one in all_findings(story))
        for story in report["details"]["stories"]
    }


def _sections(
    story: Mapping[str, Any], dismissed: Mapping[str, str], command: Sequence[str], *, alone: bool
) -> list[Section]:
    name = "" if alone else f"{story['id']}: "
    open_ = [one for one in all_findings(story) if one["key"] not in dismissed]
    empty = paragraph(
        "None." if story["scored"] else "The findings are unknown because the models' replies could not be read."
    )
    sections = [Section(f"{name}findings".capitalize(), joined(*(_finding(one, command) for one in open_)) or empty)]
    if undecided := story.get("undecided"):
        note = paragraph("These suspicions got no verdict, so they may or may not be errors.", faint=True)
        shown = [_finding(one, ()) if "key" in one else paragraph(one["hallucination"]) for one in undecided]
        sections.append(Section(f"{name}without a verdict".capitalize(), joined(note, *shown)))
    gone = [one for one in all_findings(story) if one["key"] in dismissed]
    if gone:
        shown = [_finding(one, (), dismissed[one["key"]]) for one in gone]
        sections.append(Section(f"{name}dismissed".capitalize(), joined(*shown)))
    if rejected := story.get("rejected"):
        note = paragraph(
            "The reader suspected these errors, and the verifier did not confirm them. Its reasons are given.",
            faint=True,
        )
        shown = [_finding(one, ()) for one in rejected]
        sections.append(Section(f"{name}not confirmed".capitalize(), joined(note, details("The list", joined(*shown)))))
    if story.get("plain_judge"):
        listed = bullets(one["hallucination"] for one in story["plain_judge"])
        note = paragraph("One call read the whole story and listed these. They are not verified.", faint=True)
        sections.append(Section(f"{name}plain judge".capitalize(), joined(note, details("Its list", listed))))
    return sections


def _finding(one: Mapping[str, Any], command: Sequence[str], reason: str = "") -> Html:
    x, y = one["passage_x"], one["passage_y"]
    head = headline(one)
    heading = Html(f'<h3 id="f-{text(one["key"])}">{text(one["id"])}. {text(head)}</h3>')
    columns = tuple(place_of(one, end) for end in "xy")
    root = f"Root cause {one['root_cause_id']}. " if one["root_cause_id"] else ""
    parts = [heading, html_table(columns, [(_marked(x), _marked(y))]), paragraph(_why(one))]
    if reason:
        parts.append(paragraph(f"Dismissed: {reason}"))
    if command:
        places = [f"Change it here: {columns[0]}.", f"Change it there: {columns[1]}."]
        said = _copied(f"{shlex.join(command)} --dismiss {one['key']}='your reason'")
        parts += [paragraph("What to do:"), bullets([*places, details("It is on purpose", said)])]
    nodes = f" In the graph: {', '.join(one['nodes'])}." if one.get("nodes") else ""
    made = paragraph(f"{root}Named by {one['source']}, key {one['key']}.{nodes}", faint=True)
    return joined(*parts, details("How it was found", made))


def headline(one: Mapping[str, Any]) -> str:
    """A finding in one line: the paper's sentence, or the two statements of a reader's finding."""
    return str(one["hallucination"]) if not one.get("paragraph_x") else f"{one['fact']} / {one['event']}"


def place_of(one: Mapping[str, Any], end: str) -> str:
    """A place for a writer: chapter, paragraph in the chapter, and line of the file, as far as they are known."""
    scene, place = f"scene {one[end]}", one.get(f"paragraph_{end}")
    line = f", line {one[f'line_{end}']}" if one.get(f"line_{end}") else ""
    if title := one.get(f"title_{end}"):
        within = f", paragraph {one[f'within_{end}']}" if one.get(f"within_{end}") else ""
        return f"{title}{within}{line}"
    return f"Paragraph {place} ({scene}{line})" if place else scene.capitalize() + line


def _why(one: Mapping[str, Any]) -> str:
    more = ""
    if beside := one.get("also_in_paragraphs"):
        more += f" See also paragraph {', '.join(map(str, beside))}."
    sure = f", {one['sure']}" if one.get("sure") else ""
    told = dict.fromkeys(one[name].replace("_", " ") for name in ("category", "attribute") if one[name])
    return f"{', '.join(told).capitalize()}{sure}. {one['reason']}{more}"


def as_markdown(story: Mapping[str, Any], dismissed: Mapping[str, str]) -> str:
    """A story's findings, to be read next to the manuscript. Dismissed findings have their reasons."""
    lines = [f"# Continuity: {readable(story['id'])}", ""]
    if not story["scored"]:
        lines += ["The findings are unknown because the models' replies could not be read.", ""]
    for one in all_findings(story):
        lines += [f"## {one['id']}. {_plain(headline(one))}", "", *_quoted(one)]
        if one["key"] in dismissed:
            lines += [f"Dismissed: {_plain(dismissed[one['key']])}", ""]
    lines += [] if all_findings(story) else ["None.", ""]
    for one in story.get("undecided", ()):
        lines += [f"## Without a verdict: {_plain(headline(one))}", "", *(_quoted(one) if "key" in one else ())]
    return "\n".join(lines).rstrip() + "\n"


def _quoted(one: Mapping[str, Any]) -> list[str]:
    """Both places of a finding and its reason, as lines of Markdown."""
    places = [line for end in "xy" for line in (f"{place_of(one, end)}:", "", f"> {_plain(one[f'quote_{end}'])}", "")]
    return [*places, _plain(_why(one)), ""]


def _plain(said: str) -> str:
    """Foreign text on one line, with Markdown and HTML markup escaped."""
    return one_line(readable(said)).translate(_MARKUP)


def _marked(passage: Mapping[str, Any]) -> Html:
    """A passage with its quotation marked."""
    whole, (low, high) = passage["text"], passage["focus"]
    return Html(f"<blockquote>{text(whole[:low])}<mark>{text(whole[low:high])}</mark>{text(whole[high:])}</blockquote>")


def _copied(command: str) -> Html:
    """A command that can be selected with one click."""
    how = paragraph("Run this in the story's folder, with your reason. The next check applies it.", faint=True)
    return joined(how, Html(f'<pre style="user-select: all; white-space: pre-wrap"><code>{text(command)}</code></pre>'))


def _about(report: Mapping[str, Any], dismissed: Mapping[str, str]) -> Section:
    """What is missing, and one click away all numbers with their intervals and how the report was made."""
    gone = dismissed_in(report, dismissed)
    rows = [_row(row, gone) for row in report["rows"]]
    head = ("of", "measure", "value", "95 % interval", "n", "made by")
    counts = [
        details(f"{story['id']}: what was counted on the way", how_list(story["counts"] | story["mended"]))
        for story in report["details"]["stories"]
        if story["counts"] or story["mended"]
    ]
    body = joined(
        bullets(report["notes"]),
        details("Numbers", html_table(head, rows, right=(2, 4))),
        *counts,
        details("How this was made", how_list(report["how"])),
    )
    return Section("About the check", body)


def _row(row: Mapping[str, Any], gone: Mapping[str, int]) -> tuple[str, ...]:
    what = f"{row['what']} (baseline)" if row.get("baseline") else str(row["what"])
    if row.get("unscored"):
        return str(row["of"]), what, "not scored", str(row["unscored"]), str(row["n"]), ""
    low, high = row.get("low"), row.get("high")
    interval = "" if low is None or high is None else f"{figures(low)} to {figures(high)}"
    return str(row["of"]), what, shown_value(row, gone), interval, str(row["n"]), str(row["method"])
