"""The results of a study: strengths or means by system, agreement, how raters worked, and a comparison with a judge.

Agreement always concerns the stories chosen, never the sides shown: two raters who prefer the same story have answered
A and B if they saw it on different sides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fabula.app.verdict_files import ALL, compared, side_of
from fabula.base.errors import UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.base.html import Html, bullets, figure, html_table, joined, paragraph, quotation
from fabula.craft.levels import LEVELS
from fabula.evaluators.pairwise.config import Config
from fabula.evaluators.pairwise.page import rows_on, strengths_picture, wins_picture
from fabula.evaluators.pairwise.report import ranked
from fabula.measure.ratings import Rating, read_ratings
from fabula.measure.report import Report, Row, csv_of
from fabula.measure.report.page import Section, differences_table, how_list, page
from fabula.measure.report.pictures import intervals_svg
from fabula.measure.studies.answering import POOR, Answers
from fabula.measure.studies.study import DECOYS, Study, Task
from fabula.stats.agreement import agreement
from fabula.stats.correlation import correlation
from fabula.stats.estimate import Estimate, Scored, Unscored, estimate_cells
from fabula.stats.intervals import mean_of, share_among
from fabula.stats.meta import PEOPLE, among
from fabula.stats.shares import share

if TYPE_CHECKING:
    from fabula.stats.verdicts import Verdict


TOO_FAST: Final = 3.0
"""The multiple of the usual reading speed above which an answer counts as too fast."""
READ: Final = 0.95
"""The share of a text that must have been visible for the text to count as read to the end."""
_UNDECIDED: Final = "undecided"
_ALIKE: Final = 3  # answers from which on it says something that all are the same
_SIDES: Final = ("A", "B")


@dataclass(frozen=True)
class Studied:
    """A study's report.

    Attributes:
        report: every number.
        files: page and numbers, with the page first.
    """

    report: Report
    files: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result in the format of `fabula study report --json`."""
        return {"report": self.report.as_data(), "files": [str(file) for file in self.files]}


def study_report(study: Study, judge: Sequence[Rating] = (), judge_name: str = "judge") -> Report:
    """What people found, and how far a judge agrees with them.

    Args:
        study: the study with its ratings; ratings by models among them count as a judge's.
        judge: ratings by a model from elsewhere.
        judge_name: the name of these ratings.

    Raises:
        UsageError: there are no ratings yet.
    """
    there = read_ratings(study.ratings_file) if study.ratings_file.is_file() else ()
    people = [rating for rating in there if rating.kind == "person"]
    if not any(rating.answer is not None for rating in people):
        raise UsageError(
            f"There are no ratings in {study.folder} yet. `fabula study serve {study.folder}` shows the progress of "
            "raters."
        )
    judges = [*judge, *(rating for rating in there if rating.kind != "person")]
    found = [_strengths(study, people), _means(study, people), _labels(study, people), _agreement(people)]
    found += [_raters(study), _beside(study, people, judges, judge_name)]
    notes = [note for part in found for note in part.notes]
    details = {key: value for part in found for key, value in part.details.items()}
    return Report(
        "study",
        how=_how(study, people, judges),
        rows=tuple(row for part in found for row in part.rows),
        ratings=tuple(people),
        notes=tuple(dict.fromkeys([*_skips(people), *notes])),
        details=details | {"kind": study.form.kind, "asked": [question.name for question in study.form.questions]},
    )


def write_report(study: Study, report: Report, folder: Path) -> Studied:
    """The report, after its page and its numbers are written to files."""
    make_folder(folder)
    files = (folder / "report.html", folder / "report.csv")
    write_atomically(files[0], page_of_study(study, report))
    write_atomically(files[1], csv_of([report]))
    return Studied(report, files)


def _how(study: Study, people: Sequence[Rating], judges: Sequence[Rating]) -> dict[str, Any]:
    form, design = study.form, study.design
    done = {(rating.rater, rating.prompt, rating.ended) for rating in people}
    how: dict[str, Any] = {
        "study": f"{form.title}, version {form.version}",
        "rubric": form.rubric,
        "raters": len({rating.rater for rating in people}),
        "tasks": f"{len(done)} of {len(study.tasks)}",
        "ratings": len(people),
        "agreement": "on systems: answers are converted from the sides shown to the systems before they are compared",
        "too fast": f"more than {TOO_FAST:g} times {form.words_a_minute:g} words a minute",
    }
    if design is not None:
        how |= {"seed": design.seed, "raters of a shared task": design.overlap, "shared tasks": design.shared}
    if judges:
        how["judge"] = ", ".join(sorted({rating.rater for rating in judges}))
    return how


def _skips(people: Sequence[Rating]) -> list[str]:
    reasons = Counter(rating.unscored for rating in people if rating.unscored)
    if not reasons:
        return []
    shown = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(5))
    return [f"{reasons.total()} of {len(people)} ratings have no answer and were left out: {shown}."]


# by system ------------------------------------------------------------------------------------------------------------


def _strengths(study: Study, people: Sequence[Rating]) -> Report:
    """Bradley-Terry strengths, ties, wins of the side shown first, and the influence of length."""
    names = {question.name for question in study.form.questions if question.scale == "sides"}
    sides = [rating for rating in people if rating.question in names]
    if not any(rating.answer is not None for rating in sides):
        return Report("study")
    found = ranked(sides, _texts(study), Config.improved())
    of_people = [row for row in found.rows if not row.what.startswith("order consistency/")]  # they read a pair once
    rows = [replace(row, of=PEOPLE) if row.of == "judge" else row for row in of_people]
    poor = [rating for rating in sides if rating.question == sides[-1].question and rating.answer is not None]
    rows.append(
        Row(PEOPLE, f"tasks flagged {POOR!r}", share(sum(POOR in one.flags for one in poor), len(poor), "tasks"))
    )
    return replace(
        found, rows=tuple(rows), notes=tuple(note for note in found.notes if "raters are counted" not in note)
    )


def _texts(study: Study) -> dict[str, str]:
    """The rated stories, by id; empty for studies of conversations with characters."""
    return {} if study.form.kind == "chat" else {one.id: one.text for one in study.entries.values() if one.text}


def _means(study: Study, people: Sequence[Rating]) -> Report:
    """Means of ratings from 1 to 5 by system, grouped by prompt."""
    rows = []
    for question in study.form.questions:
        if question.scale != "1-5":
            continue
        given: dict[str, list[Rating]] = defaultdict(list)
        for rating in people:
            if rating.question == question.name and isinstance(rating.answer, float):
                given[rating.systems[0] if rating.systems else "all"].append(rating)
        for system, ratings in sorted(given.items()):
            prompts = [rating.prompt or rating.items[0] for rating in ratings]
            groups = prompts if len(set(prompts)) > 1 else [rating.rater for rating in ratings]
            by = "prompts" if len(set(prompts)) > 1 else "raters"
            values = [float(rating.answer) for rating in ratings if isinstance(rating.answer, float)]
            scored = mean_of(values, groups, method=f"mean of ratings from 1 to 5, by {by}", limits=(1.0, 5.0))
            rows.append(Row(system, f"mean/{question.name}", scored))
    return Report("study", rows=tuple(rows))


def _labels(study: Study, people: Sequence[Rating]) -> Report:
    """People's labels for findings and comments, story by story, by the majority of raters (MAGNET, Table 9).

    For findings, the report adds the checker's precision; for comments, the share that people agree with (Table 7).
    """
    rows: list[Row] = []
    details: dict[str, Any] = {}
    what = "comments" if study.form.kind == "comments" else "findings"
    for one in study.form.fields:
        if one.question.scale != "labels":
            continue
        votes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for rating in people:
            if rating.question == one.question.name and rating.answer is not None:
                votes[rating.prompt, rating.items[0]][str(rating.answer)] += 1
        every = {cell: _majority(given) for cell, given in votes.items()}
        lures = {item for item, entry in study.entries.items() if entry.group == DECOYS}
        decided = {cell: label for cell, label in every.items() if cell[1] not in lures}
        counts: list[dict[str, Any]] = []
        labels = [label for label in (*one.choices, _UNDECIDED) if label != _UNDECIDED or label in decided.values()]
        for story in (*sorted({prompt for prompt, _ in decided}), "all"):
            mine = [label for (prompt, _), label in decided.items() if story in ("all", prompt)]
            counts.append({"story": story, what: len(mine), **{label: mine.count(label) for label in labels}})
            rows += [Row(story, f"share {label}", share(mine.count(label), len(mine), what)) for label in labels]
            rows += [Row(story, "precision", _precision(mine))] if study.form.kind == "findings" else []
        if study.form.kind == "comments":
            more, levels = _levels(study, every)
            rows, details = [*rows, *more], details | {"levels": levels}
        codes = _codes(people, one.question.name, one.choices)
        rows += [Row(PEOPLE, f"{name}/{one.question.name}", scored) for name, scored in codes]
        details |= {"verdicts": {item: label for (_, item), label in every.items()}, "counts": counts}
    return Report("study", rows=tuple(rows), details=details)


def _precision(labels: Sequence[str]) -> Scored:
    """The share of errors among the findings that people could decide; one with a wrong label is an error, too."""
    errors = labels.count("confirmed") + labels.count("wrong label")
    return share(errors, errors + labels.count("grounded"), "findings that people could decide")


def _levels(study: Study, decided: Mapping[tuple[str, str], str]) -> tuple[list[Row], list[dict[str, Any]]]:
    """The share of an editor's comments that people agree with, by level, in all, and for decoys (MAGNET, Table 7)."""
    rows, table = [], []
    groups = {cell: study.entries[cell[1]].group for cell in decided if cell[1] in study.entries}
    for level in (*LEVELS, "overall", DECOYS):
        mine = {
            cell: decided[cell]
            for cell, group in groups.items()
            if group == level or (level == "overall" and group != DECOYS)
        }
        if not mine:
            continue
        clear = {cell: label == "agree" for cell, label in mine.items() if label in ("agree", "disagree")}
        scored: Scored = Unscored(f"people were sure of none of the {level} comments")
        if clear:
            method = "share of comments that people agree with, of those that they were sure of"
            scored = share_among([float(said) for said in clear.values()], [story for story, _ in clear], method=method)
        rows.append(Row(level, "agreement rate", scored, baseline=level == DECOYS))
        disagreed = len(clear) - sum(clear.values())
        unsure = len(mine) - len(clear)
        table.append({"level": level, "total": len(mine), "disagreements": disagreed, "unsure": unsure})
    return rows, table


def _majority(counts: Counter[str]) -> str:
    (label, most), *rest = counts.most_common()
    return _UNDECIDED if rest and rest[0][1] == most else label


def _codes(people: Sequence[Rating], question: str, labels: Sequence[str]) -> Iterator[tuple[str, Scored]]:
    """Agreement of raters on labels."""
    given = [rating for rating in people if rating.question == question and rating.answer in labels]
    raters_of = Counter(rating.items for rating in given)
    given = [rating for rating in given if raters_of[rating.items] > 1]
    items = list(dict.fromkeys(rating.items for rating in given))
    raters = sorted({rating.rater for rating in given})
    table = np.full((len(items), len(raters)), np.nan)
    for rating in given:
        table[items.index(rating.items), raters.index(rating.rater)] = labels.index(str(rating.answer))
    yield "Fleiss' kappa", agreement(table, "fleiss")
    yield "Krippendorff's alpha, nominal", agreement(table, "alpha nominal")


# agreement ------------------------------------------------------------------------------------------------------------


def _agreement(people: Sequence[Rating]) -> Report:
    """Agreement among people, on each question and on all questions, for tasks that several of them had."""
    rows, every = [], []
    asked = side_of(people, "people").questions
    for question, given in asked.items():
        verdicts = _of_several(given)
        if not verdicts:
            rows.append(Row(PEOPLE, f"agreement/{question}", Unscored("no task was done by several raters")))
            continue
        rows += [Row(PEOPLE, f"{figure.what}/{question}", figure.scored) for figure in among(verdicts)]
        # One thing that is rated is a task with a question.
        every += [replace(one, items=tuple(f"{item}\n{question}" for item in one.items)) for one in verdicts]
    if len(asked) > 1 and every:
        rows += [Row(PEOPLE, f"{figure.what}/{ALL}", figure.scored) for figure in among(every)]
    return Report("study", rows=tuple(rows))


def _of_several(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on items rated by several people; they are the n of an agreement."""
    raters: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for one in verdicts:
        raters[one.pair or one.items].add(one.rater)
    return [one for one in verdicts if len(raters[one.pair or one.items]) > 1]


def _beside(study: Study, people: Sequence[Rating], judges: Sequence[Rating], name: str) -> Report:
    """A judge compared with people: by story, by pair, by system, and by system and question together."""
    if not judges:
        return Report("study")
    theirs, mine = side_of(people, "people"), side_of(judges, name)
    found = compared(mine, theirs, _texts(study))
    rows = [
        Row(one.of, f"judge beside people/{question}: {one.what}", one.scored, baseline=one.of not in ("judge", PEOPLE))
        for question, result in found.items()
        for one in result.findings
        if one.of != PEOPLE
    ]
    rows.append(Row("judge", "judge beside people/systems and questions: spearman", _by_system(people, judges)))
    sentences = {question: result.sentence for question, result in found.items()}
    notes = [f"judge beside people, {question}: {note}" for question, one in found.items() for note in one.notes]
    return Report("study", rows=tuple(rows), notes=(*mine.notes(), *notes), details={"judge": sentences})


def _by_system(people: Sequence[Rating], judges: Sequence[Rating]) -> Scored:
    """Spearman's rho of the shares of wins, over systems and questions together (Agents' Room: .62, N = 45)."""
    shares = []
    for ratings in (people, judges):
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for question, verdicts in side_of(ratings, "").questions.items():
            for verdict in verdicts:
                for place, system in enumerate(verdict.systems):
                    found[system, question].append(verdict.value if place == 0 else 1 - verdict.value)
        shares.append({cell: float(np.mean(values)) for cell, values in found.items()})
    cells = [cell for cell in shares[0] if cell in shares[1]]
    if not cells:
        return Unscored("no system was rated by both on one question")
    ours, theirs = ([one[cell] for cell in cells] for one in shares)
    return correlation(ours, theirs, "spearman", [system for system, _ in cells])


# raters ---------------------------------------------------------------------------------------------------------------


def _raters(study: Study) -> Report:
    """How each rater worked: speed, sides, identical answers, and texts not read to the end."""
    answers = Answers(study, lambda: "", writes=False)
    rows, table, flagged = [], [], []
    for rater in study.raters:
        mine = answers.progress[rater]
        if not mine.sent:
            continue
        tasks = [study.by_key[key] for key in mine.sent if not mine.sent[key].skipped]
        speeds = {task.key: speed for task in tasks if (speed := _speed(study, answers, task)) is not None}
        fast = sum(speed > TOO_FAST * study.form.words_a_minute for speed in speeds.values())
        said = [list(mine.sent[task.key].answers.values()) for task in tasks]
        chosen = [value for values in said for value in values if value in _SIDES]
        alike = [len(set(values)) == 1 for values in said if len(values) >= _ALIKE]
        depths = [
            mine.seen[task.key].depths for task in tasks if mine.seen.get(task.key) and mine.seen[task.key].depths
        ]
        read = sum(min(one) >= READ for one in depths)
        rows += [
            Row(rater, "answered too fast", share(fast, len(speeds), "tasks with times")),
            Row(rater, "left side wins", share(chosen.count("A"), len(chosen), "choices of a side")),
            Row(rater, "answers all alike", share(sum(alike), len(alike), "tasks with three answers or more")),
            Row(rater, "read to the end", share(read, len(depths), "tasks with what was in view")),
        ]
        if tasks and fast > len(tasks) / 2:
            flagged.append(rater)
        table.append(
            {
                "rater": rater,
                "tasks": len(tasks),
                "skipped": len(mine.sent) - len(tasks),
                "words a minute": round(median(speeds.values())) if speeds else None,
                "too fast": fast,
                "left": f"{chosen.count('A')} of {len(chosen)}" if chosen else None,
                "all alike": f"{sum(alike)} of {len(alike)}" if alike else None,
                "read to the end": f"{read} of {len(depths)}",
            }
        )
    notes = [f"Raters who answered most tasks too quickly to have read them: {', '.join(flagged)}."] if flagged else []
    if left := [rater for rater in study.raters if answers.progress[rater].withdrawn]:
        notes.append(f"Raters who withdrew, and whose answers were deleted: {', '.join(left)}.")
    return Report("study", rows=tuple(rows), notes=tuple(notes), details={"raters": table})


def _speed(study: Study, answers: Answers, task: Task) -> float | None:
    """The words per minute at which a task was read and answered; `None` if times are not known."""
    mine = answers.progress[task.rater]
    began, ended = mine.opened.get(task.key, ""), mine.at.get(task.key, "")
    if not (began and ended):
        return None
    seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    seen = mine.seen.get(task.key)
    seconds = min(seconds, seen.seconds) if seen and seen.seconds else seconds
    return 60 * study.words(task) / max(seconds, 1.0)


# the page -------------------------------------------------------------------------------------------------------------


def page_of_study(study: Study, report: Report) -> str:
    """The whole report as one HTML file."""
    sections = [Section("To know before believing it", joined(bullets(report.notes or ["Nothing stood out."])))]
    ranked_on = [name for name in report.details.get("questions", ()) if rows_on(report, name, what="strength")]
    sections += [Section(name.capitalize(), _ranking(report, name)) for name in ranked_on]
    if means := [row for row in report.rows if row.what.startswith("mean/")]:
        sections.append(Section("Means", _means_section(means)))
    if labels := [row for row in report.rows if row.what.startswith(_OF_LABELS)]:
        what = "comments" if study.form.kind == "comments" else "findings"
        sections.append(Section(f"What people say about the {what}", joined(_counts(report), _table(labels))))
    sections.append(Section("How far raters agree", _table([row for row in report.rows if _is_agreement(row)])))
    sections.append(Section("How raters worked", _raters_section(report)))
    if beside := [row for row in report.rows if row.what.startswith("judge beside people/")]:
        told = bullets(f"{name}: {words}" for name, words in report.details["judge"].items())
        sections.append(Section("A judge compared with people", joined(told, _table(beside))))
    comments = [rating for rating in report.ratings if rating.reason]
    if comments:
        sections.append(Section("Comments", joined(*(_comment(rating) for rating in comments))))
    sections.append(Section("How it was made", how_list(report.how)))
    how = report.how
    return page(study.form.title, sections, lead=f"{how['raters']} raters, {how['tasks']} tasks.")


def _ranking(report: Report, question: str) -> Html:
    numbers = [row for row in rows_on(report, question) if row.what.partition("/")[0] in _OF_RANKING]
    apart = [row for row in rows_on(report, question) if row.is_difference]
    pictures = (strengths_picture(report, question), wins_picture(report, question))
    return joined(*map(figure, pictures), _table(numbers), differences_table(apart))


_OF_LABELS: Final = ("share ", "precision", "agreement rate")
_OF_RANKING: Final = frozenset(
    {"strength", "wins", "ties", "first position wins", "longer wins", "length and wins, rho"}
)


def _is_agreement(row: Row) -> bool:
    return row.of == PEOPLE and row.what.partition("/")[0].startswith(("Fleiss", "Krippendorff", "ICC", "agreement"))


def _means_section(rows: Sequence[Row]) -> Html:
    pictures = []
    for what in dict.fromkeys(row.what for row in rows):
        named = [(row.of, row.scored) for row in rows if row.what == what]
        named.sort(key=lambda one: -one[1].value if isinstance(one[1], Estimate) else 0.0)
        pictures.append(figure(intervals_svg(named, title=f"{what.removeprefix('mean/').capitalize()}: mean, 1 to 5")))
    return joined(*pictures, _table(rows))


def _counts(report: Report) -> Html:
    """The number of findings of each kind in each story (MAGNET, Table 9), or of comments at each level (Table 7)."""
    tables = [report.details[name] for name in ("levels", "counts") if report.details.get(name)]
    return joined(*map(_table_of, tables))


def _table_of(lines: Sequence[Mapping[str, Any]]) -> Html:
    head = tuple(lines[0])
    rows = [tuple(str(one[name]) for name in head) for one in lines]
    return html_table(head, rows, right=tuple(range(1, len(head))))


def _table(rows: Sequence[Row]) -> Html:
    cells = [(row.of, row.what, *estimate_cells(row.scored)) for row in rows]
    return html_table(("of", "measure", "value", "95 % interval", "n"), cells, right=(2, 4))


def _raters_section(report: Report) -> Html:
    table = report.details.get("raters", [])
    if not table:
        return paragraph("No task has been done.")
    head = tuple(table[0])
    rows = [tuple("" if one[name] is None else str(one[name]) for name in head) for one in table]
    return joined(
        paragraph("A flag is a reason to look at ratings, not to exclude them. “How it was made” defines “too fast”."),
        html_table(head, rows, right=tuple(range(1, len(head)))),
    )


def _comment(rating: Rating) -> Html:
    return joined(paragraph(f"{rating.rater}, on {' and '.join(rating.items)}:", faint=True), quotation(rating.reason))
