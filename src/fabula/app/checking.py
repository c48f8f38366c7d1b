"""Checking stories for contradictions: what is checked, its page, and the findings that a person has dismissed."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.evaluating import RATINGS, EvaluationTask
from fabula.app.item_files import MAX_STORY_BYTES, TABLES, Selection, named_set, read_items
from fabula.app.sources import items_of, path_of
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import append_synced, is_plain, read_text, write_atomically
from fabula.continuity import scenes_of, split
from fabula.data.story_files import LINES, text_of
from fabula.evaluators import find
from fabula.evaluators.atlas.checking import WHOLE_FILE
from fabula.evaluators.atlas.dismissed import Dismissal, dismissed_of, read_dismissed, write_dismissed
from fabula.evaluators.atlas.graph import as_graph
from fabula.evaluators.atlas.page import all_findings, as_markdown, as_page, findings_html
from fabula.measure.items import Item
from fabula.measure.ratings import Rating, read_ratings, write_ratings
from fabula.project.settings import Settings
from fabula.story import Scene, Story, count_words, one_line, slug
from fabula.story.codex import codex_in
from fabula.story.world.graph import graphml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabula.app.bills import Bill
    from fabula.app.sources import StorySource
    from fabula.project.folder import ProjectFolder

OUT: Final = "evaluation"
PAGE: Final = "atlas.html"
"""The page of a check, in its folder."""
AUTHOR: Final = "author"
"""The rater of a dismissal, in `ratings.jsonl`."""
VERDICT: Final = "verdict"
"""The question that a study asks about each finding and that a dismissal answers."""
GROUNDED: Final = "grounded"
"""The answer which says that a finding is not an error."""
CODEX: Final = "Set down in the codex"
"""The title of the scene that holds what the author's codex says."""
_RUBRIC: Final = "findings-people-1"  # of the studies' form
_TAKEN_BACK: Final = "taken back"
_MOST_BYTES: Final = 200_000_000
_ALONE: Final = "story"  # what a project's story is called in its own report, wherever the folder is copied or moved
_DATA: Final = (".json", ".yaml", ".yml")


def project_alone(stories: Sequence[Path]) -> Path | None:
    """The folder, if only one project is checked: its report is kept in it."""
    return stories[0] if len(stories) == 1 and (stories[0] / "brief.md").is_file() else None


def stories_to_check(sources: Sequence[StorySource], selection: Selection) -> tuple[Item, ...]:
    """The stories to check; a single file is read unchanged, so that its scenes, headings and places stay as they are.

    Raises:
        UsageError: a story cannot be read, or has no words.
    """
    paths = [path for path in map(_as_path, sources) if path is not None]
    if len(paths) < len(sources) or not sources:
        return items_of(sources, selection)
    several = [path for path in paths if path.is_dir() or path.name.endswith(TABLES) or named_set(path, selection.data)]
    found = read_items(several, selection) if several else ()
    if project_alone(paths) is not None and len(found) == 1:
        found = (_alone(found[0], paths[0]),)
    return (*found, *(_whole(path) for path in paths if path not in several))


def _alone(item: Item, folder: Path) -> Item:
    """A project's story, with what its author's codex says as the last scene, so that other scenes keep their numbers.

    Raises:
        PlanError: the codex has problems.
    """
    said, own = codex_in(folder).statements, item.story.scenes
    if said and len(own) == 1:  # as it is cut alone
        own = tuple(Scene(one.title, one.text) for one in scenes_of(item.story).scenes)
    return replace(
        item, id=_ALONE, story=replace(item.story, scenes=(*own, Scene(CODEX, said))) if said else item.story
    )


def _as_path(source: StorySource) -> Path | None:
    return path_of(source) if isinstance(source, str | Path) else None


def _whole(path: Path) -> Item:
    whole = text_of(path, MAX_STORY_BYTES)
    if not count_words(whole):
        raise UsageError(f"The story in {path} is empty. Provide a story that contains text.")
    if path.suffix.casefold() in _DATA:
        _check_data(path, whole)
    label = WHOLE_FILE if path.suffix.casefold() in LINES else ""
    return Item(path.resolve().stem, Story("", (Scene(label, whole),)))


def _check_data(path: Path, whole: str) -> None:
    """Reject a data file that is not a story instead of reading its markup as prose.

    Raises:
        UsageError: the file is YAML, or JSON that is broken or contains no scenes.
    """
    if path.suffix.casefold() != ".json":
        raise UsageError(
            f"{path} is YAML, which cannot be read as a story. Use text, Markdown, Fountain or a JSON file of scenes."
        )
    try:
        json.loads(whole.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not valid JSON ({error}). Correct the file. To have fabula read it as prose, save the "
            "text as a .txt file."
        ) from error
    split(whole, "json")


def settings_to_judge(project: ProjectFolder, settings: Settings) -> Settings:
    """The settings for judging a project's story: the model that writes it, how to reach that model, and its prices."""
    own: dict[str, Any] = {"model": settings.model}
    tables = settings.as_tables
    for name in ("models", "prices"):
        own[name] = {model: table for model, table in tables.get(name, {}).items() if model == settings.model}
    found = Settings.of(own, "the project").said_like(settings)
    return found.with_costs_of(project.folder / OUT / project.settings_file.name)


def check_of(project: ProjectFolder, settings: Settings) -> tuple[EvaluationTask, Settings]:
    """The check of a project's story by the model that writes it, and the settings for the check.

    Raises:
        FabulaError: there is no story yet, or a setting is wrong.
    """
    own, atlas = settings_to_judge(project, settings), find("atlas")
    (item,) = read_items([project.folder], Selection(None))
    return EvaluationTask(
        atlas, [_alone(item, project.folder)], atlas.config(own.preset, {}), project.folder / OUT
    ), own


@dataclass(frozen=True)
class Checked:
    """The findings of a check.

    Attributes:
        report: the report as plain data; every finding quotes both passages.
        page: the report as an HTML file.
        dismissed: a person's reasons for dismissing findings, by key.
        bill: the cost; `None` if a report was only read again.
    """

    report: Mapping[str, Any]
    page: Path
    dismissed: Mapping[str, str]
    bill: Bill | None = None

    @classmethod
    def in_(cls, folder: Path, report: Mapping[str, Any], command: Sequence[str], bill: Bill | None = None) -> Checked:
        """Write to `folder` the page of a report and, for each story, the findings in three forms, one a graph.

        Args:
            folder: the folder of the report.
            report: the report as plain data.
            command: the command that checks these stories again, for the page.
            bill: the cost.
        """
        dismissed = reasons_in(folder, report)
        page = folder / PAGE
        write_atomically(page, as_page(report, dismissed, command))
        for story in report["details"]["stories"]:
            shown = json.dumps(all_findings(story), indent=2, ensure_ascii=False)
            write_atomically(folder / f"findings-{slug(story['id'])}.json", shown + "\n")
            write_atomically(folder / f"findings-{slug(story['id'])}.md", as_markdown(story, dismissed))
            if graph := story.get("graph"):
                name = folder / f"graph-{slug(story['id'])}.json"
                write_atomically(name, json.dumps(graph, indent=2, ensure_ascii=False) + "\n")
                write_atomically(name.with_suffix(".graphml"), graphml(as_graph(graph)))
        return cls(report, page, dismissed, bill)

    @property
    def stories(self) -> list[Mapping[str, Any]]:
        """The report on each story."""
        return list(self.report["details"]["stories"])

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        """The findings that have not been dismissed, of all stories, in text order."""
        return [one for story in self.stories for one in self.left_in(story)]

    @property
    def complete(self) -> bool:
        """Whether every story was read to its end and every reply could be read."""
        return all(story["scored"] and not story.get("partial") for story in self.stories)

    def left_in(self, story: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The findings in a story that have not been dismissed."""
        return [one for one in all_findings(story) if one["key"] not in self.dismissed]

    def to_dict(self) -> dict[str, Any]:
        """The result as `fabula check --json` prints it."""
        asked = self.bill.as_data() if self.bill is not None else {}
        shown = {"page": str(self.page), "dismissed": dict(self.dismissed), "left": len(self.findings)}
        return {**self.report, **shown, **asked}

    def _repr_html_(self) -> str:
        return findings_html(self.report, self.dismissed)


def reasons_in(folder: Path, report: Mapping[str, Any]) -> dict[str, str]:
    """The reasons for dismissing findings of a report, by key, from the dismissals in `folder`.

    Raises:
        UsageError: the dismissals cannot be read.
    """
    return {key: one.reason for key, one in _dismissed(folder, report).items()}


def _dismissed(folder: Path, report: Mapping[str, Any]) -> dict[str, Dismissal]:
    found = [one for story in report["details"]["stories"] for one in all_findings(story)]
    return dismissed_of(read_dismissed(folder).values(), found)


def stored_check(folder: Path) -> dict[str, Any]:
    """The report of the last check in `folder`, as plain data.

    Raises:
        UsageError: nothing was checked in the folder, or the file is not a report.
    """
    file = folder / "atlas.json"
    if not is_plain(file):
        raise UsageError(f"Nothing was checked in {folder} yet. Run `fabula check STORY` first.")
    with reading_report(folder):
        report: Any = json.loads(read_text(file, _MOST_BYTES))
        for story in report["details"]["stories"]:
            all_findings(story)
        return dict(report)


@contextmanager
def reading_report(folder: Path) -> Iterator[None]:
    """A stretch of code that reads the report in `folder`, which may contain anything.

    Raises:
        UsageError: something in the report is missing, or of the wrong kind.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{folder / 'atlas.json'} is not a report of a check. Run `fabula check STORY` to create a new one."
        ) from error


def story_called(folder: Path, name: str) -> str:
    """The displayed name of a checked story: the folder's name for a project's own story, else the story's name.

    Args:
        folder: the folder of the check's report.
        name: the story's name in the report.
    """
    place = folder.resolve()
    return name if name != _ALONE else place.parent.name if (place.parent / "brief.md").is_file() else place.name


def finding_id(story: str, key: str) -> str:
    """The id in `ratings.jsonl` of a finding in the story with that name."""
    return f"{slug(story)}/{key}"


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def dismiss(
    folder: Path, report: Mapping[str, Any], reasons: Mapping[str, str], now: Callable[[], str] = _utc_now
) -> None:
    """Keep the reasons for dismissing findings, by key; each one also becomes a rating, as in a study of findings.

    Raises:
        UsageError: a reason is missing, or the file of ratings cannot be read.
        UnknownNameError: there is no such finding.
    """
    sentences = {
        one["key"]: one["hallucination"] for story in report["details"]["stories"] for one in all_findings(story)
    }
    for key, reason in reasons.items():
        if not count_words(reason):
            raise UsageError(f"The reason for {key!r} is missing. Explain why it is not an error.")
        if key not in sentences:
            raise UnknownNameError("finding", key, sentences)
    stands, at, lines = _author_said(folder), now(), []
    for story in report["details"]["stories"]:
        called = story_called(folder, str(story["id"]))
        for key in (one["key"] for one in all_findings(story) if one["key"] in reasons):
            reason, before = one_line(reasons[key]), stands.get(key)
            if before is None or (before.answer, before.reason) != (GROUNDED, reason):
                said = _dismissal(finding_id(called, key), called, reason, at)
                lines.append(said if before is None else replace(said, amends=before.ended))
    kept = read_dismissed(folder)
    for key, one in _dismissed(folder, report).items():
        if key in reasons:
            del kept[one.key]
    new = [Dismissal(key, reason, sentences[key]) for key, reason in reasons.items()]
    write_dismissed(folder, [*kept.values(), *new])
    _append(folder, lines)


def take_dismissal_back(folder: Path, report: Mapping[str, Any], key: str, now: Callable[[], str] = _utc_now) -> None:
    """Count a dismissed finding again; its rating stays in the file, followed by a line that withdraws it.

    Raises:
        UsageError: the file of ratings cannot be read.
        UnknownNameError: no finding with that key was dismissed.
    """
    kept, stands = read_dismissed(folder), _dismissed(folder, report)
    if key not in stands:
        raise UnknownNameError("dismissed finding", key, stands)
    del kept[stands[key].key]
    before, at = _author_said(folder).get(stands[key].key), now()
    write_dismissed(folder, kept.values())
    if before is not None and before.answer is not None:
        said_back = replace(before, answer=None, shown="", unscored=_TAKEN_BACK, reason="")
        _append(folder, [replace(said_back, started=at, ended=at, amends=before.ended)])


def _dismissal(finding: str, story: str, reason: str, at: str) -> Rating:
    """The author's verdict on a finding, in the form of a study's rating."""
    return Rating(
        rater=AUTHOR,
        kind="person",
        items=(finding,),
        prompt=story,
        question=VERDICT,
        shown=GROUNDED,
        answer=GROUNDED,
        reason=reason,
        rubric=_RUBRIC,
        started=at,
        ended=at,
    )


def _author_said(folder: Path) -> dict[str, Rating]:
    """The author's current ratings of findings, by the findings' keys."""
    file = folder / RATINGS
    ratings = read_ratings(file) if file.is_file() else ()
    mine = (one for one in ratings if (one.rater, one.question, len(one.items)) == (AUTHOR, VERDICT, 1))
    return {one.items[0].rpartition("/")[2]: one for one in mine}


def _append(folder: Path, ratings: Sequence[Rating]) -> None:
    """Append ratings to the file."""
    if ratings:
        append_synced(folder / RATINGS, write_ratings(ratings).encode())
