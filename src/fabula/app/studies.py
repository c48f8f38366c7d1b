"""Making a study with people from stories, findings or characters, and assigning its tasks.

A study may come from someone else. Its characters are projects, so anything that they could do beyond writing texts
requires trust, as in any project. A project outside the study also requires trust: otherwise the author of the study
could have raters talk with private texts. The study's `study.toml` is trusted for all of this at once.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.checking import OUT, finding_id, stored_check
from fabula.app.people import narrative_in, people_in
from fabula.app.sources import read_story
from fabula.base.errors import FabulaError, UsageError
from fabula.base.files import PRIVATE, held, is_plain, make_folder, read_text, write_atomically
from fabula.craft.narratives import parties_of
from fabula.craft.quoting import located
from fabula.data.corpora import prompt_id
from fabula.evaluators.atlas.page import all_findings
from fabula.evaluators.editorial.agreement import annotations_of
from fabula.evaluators.editorial.report import Annotation, annotation_id
from fabula.measure.report import Report
from fabula.measure.studies.assigning import AssignmentOptions, Shares, design_of, share_out
from fabula.measure.studies.study import DECOYS, Study, StudyItem, form_of, form_text, write_assignments, write_study
from fabula.project.folder import ProjectFolder
from fabula.project.trust import Act, Trust, TrustError, state_home
from fabula.story import one_line, plain, slug

if TYPE_CHECKING:
    from fabula.measure.items import Item
    from fabula.project.settings import Settings


CHARACTERS: Final = "characters"
_LARGEST_FORM: Final = 1_000_000
_REVIEW: Final = "editorial.json"
_LARGEST_REVIEW: Final = 200_000_000
_EVERY: Final = 5  # a decoy for so many annotations
_MARK: Final = "**"
_BREAK: Final = "\n\n"  # between paragraphs


@dataclass(frozen=True, slots=True)
class StudyMade:
    """A study that was made.

    Attributes:
        study: the study in its folder.
        left_out: prompts answered by only one system, for which nothing can be compared.
    """

    study: Study
    left_out: tuple[str, ...] = ()


def study_of_stories(folder: Path, kind: str, title: str, items: Sequence[Item]) -> StudyMade:
    """A new study of stories, in pairs ("pairwise") or one by one ("rubric").

    Raises:
        UsageError: the folder already contains a study, or there is nothing to compare.
    """
    entries = [
        StudyItem(
            id=item.id,
            system=item.system,
            prompt=item.prompt or (prompt_id(item.brief.text) if item.brief else ""),
            asked=plain(item.brief.text) if item.brief else "",
            text=plain(item.story.text),
        )
        for item in items
    ]
    return _made(folder, kind, title, entries)


def study_of_findings(folder: Path, title: str, places: Iterable[Path]) -> StudyMade:
    """A new study of the findings in folders with a report of `fabula check`.

    Raises:
        UsageError: nothing was checked there, or nothing was found.
    """
    entries = []
    for place, called in _named(places):
        is_project = (place / "brief.md").is_file()
        checked = place / OUT if is_project else place
        if is_plain(checked / _REVIEW) and not is_plain(checked / "atlas.json"):
            raise UsageError(
                f"No story has been checked in {checked} yet. The folder contains a review: verify its comments "
                "with --kind comments, or run `fabula check STORY` first."
            )
        text = _text_of(place) if is_project else ""
        for story in stored_check(checked)["details"]["stories"]:
            told = called if story["id"] == "story" else str(story["id"])
            entries += [_finding(told, one, text) for one in all_findings(story)]
    if not entries:
        raise UsageError("Nothing was found in these stories, so there is nothing to verify.")
    return _made(folder, "findings", title, entries)


def study_of_comments(folder: Path, title: str, places: Iterable[Path]) -> StudyMade:
    """A new study of an editor's comments in folders with a report of `fabula evaluate editorial`.

    The study includes decoys: a decoy shows a quotation with a comment on another passage.

    Raises:
        UsageError: there is no such report, or the editor made no comment.
    """
    entries: list[StudyItem] = []
    for place, called in _named(places):
        report = stored_review(place / OUT if (place / "brief.md").is_file() else place)
        texts = {(one["item"], one["level"], one["place"]): str(one["text"]) for one in report.details["passages"]}
        ids = [str(story["id"]) for story in report.details["stories"]]
        real = annotations_of(report)
        decoys = _decoys_of(real)
        lures = {one.id for one in decoys}
        for one in sorted((*real, *decoys), key=lambda one: (one.item, one.id)):  # an order that shows nothing
            story = called if len(ids) == 1 else one.item
            group = DECOYS if one.id in lures else one.level
            entries.append(
                _comment(f"{slug(called)}/{one.id}", story, one, group, texts[one.item, one.level, one.place])
            )
    if not entries:
        raise UsageError("The editor did not comment on these stories, so there is nothing to verify.")
    return _made(folder, "comments", title, entries)


def _decoys_of(annotations: Sequence[Annotation]) -> tuple[Annotation, ...]:
    """A decoy for every fifth annotation: its quotation with the comment on another passage of the same level."""
    found = []
    for n in range(0, len(annotations), _EVERY):
        one = annotations[n]
        others = (*annotations[n + 1 :], *annotations[:n])
        other = next((a for a in others if a.level == one.level and (a.item, a.place) != (one.item, one.place)), None)
        if other is not None:
            name = annotation_id("decoy", one.id, other.id)
            found.append(Annotation(name, one.item, one.level, one.place, other.category, other.comment, one.quote))
    return tuple(found)


def stored_review(folder: Path) -> Report:
    """The report of the last review in `folder`.

    Raises:
        UsageError: nothing was reviewed there, or the file is not a report of comments with their passages.
    """
    file = folder / _REVIEW
    if not is_plain(file):
        raise UsageError(
            f"Nothing has been reviewed in {folder} yet. Run `fabula evaluate editorial STORY --out {folder}` first."
        )
    problem = UsageError(
        f"{file} has no comments with the passages that they refer to. Run `fabula evaluate editorial` for this "
        "folder again: its calls are recorded and cost nothing."
    )
    try:
        details: Any = json.loads(read_text(file, _LARGEST_REVIEW))["details"]
        known = {(one["item"], one["level"], one["place"]) for one in details["passages"] if str(one["text"])}
        report = Report("editorial", details=details)
        missing = {(one.item, one.level, one.place) for one in annotations_of(report)} - known
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise problem from error
    if missing or not details.get("stories"):
        raise problem
    return report


def _comment(name: str, story: str, one: Annotation, group: str, passage: str) -> StudyItem:
    return StudyItem(
        id=name,
        prompt=story,
        claim=one_line(one.comment),
        label=f"{one.level}, {one.category}",
        passages=(_marked(plain(passage), one.quote),),
        group=group,
    )


def _marked(passage: str, quote: str) -> str:
    """A passage with the quoted words marked, if it contains them exactly as quoted."""
    found = located(passage, quote)
    if not found:
        return passage
    low, high = found[0]
    return f"{passage[:low]}{_MARK}{passage[low:high]}{_MARK}{passage[high:]}"


def study_of_characters(folder: Path, title: str, places: Iterable[Path], player: str, partner: str) -> StudyMade:
    """A new study of characters to talk with: projects of several systems that play the same narrative.

    Each project is copied into the study, so that raters' conversations stay there and can be deleted. Projects of one
    system, which may differ in model or settings, are distinguished by their folders.

    Raises:
        UsageError: a project has no narrative, or nobody to talk with.
        ProjectError: a folder is not a project.
    """
    named = _named(places)
    projects = [ProjectFolder.open(place) for place, _ in named]
    systems = Counter(project.settings.system for project in projects)
    entries = []
    for number, (project, (_, name)) in enumerate(zip(projects, named, strict=True), 1):
        system = project.settings.system
        narrative = plain(narrative_in(project))
        people = [name for names in people_in(project) for name in names]
        parties = parties_of(narrative, player, (partner,) if partner else (), people=people)
        entries.append(
            StudyItem(
                id=name,
                system=system if systems[system] == 1 else name,
                prompt=prompt_id(narrative),
                text=narrative,
                project=f"{CHARACTERS}/{number}",
                player=parties.player,
                partner=parties.others[0],
            )
        )
    _check_comparable(entries)
    make_folder(folder)
    for project, entry in zip(projects, entries, strict=True):
        shutil.copytree(project.folder, folder / entry.project, symlinks=True, dirs_exist_ok=True)
    made = _made(folder, "chat", title, entries)
    if not any(_refused(project.settings) for project in projects):
        _trust(made.study)  # whoever trusts the projects trusts their copies
    return made


def _named(places: Iterable[Path]) -> list[tuple[Path, str]]:
    """Folders with their names; if several have the same name, the parent folder is added before it.

    Raises:
        UsageError: two folders are the same, or their parent folders also have the same name.
    """
    whole = [(place, place.resolve()) for place in places]
    counts = Counter(full.name for _, full in whole)
    named = [
        (place, full.name if counts[full.name] == 1 else f"{full.parent.name}-{full.name}") for place, full in whole
    ]
    again = next((name for name, count in Counter(name for _, name in named).items() if count > 1), None)
    if again:
        raise UsageError(f"Two folders are called {again!r}, so they cannot be distinguished. Rename one of them.")
    return named


def new_version(folder: Path, before: Path) -> StudyMade:
    """A study with the items and questions of another, without ratings, to be changed and assigned again.

    Raises:
        UsageError: there is no study to copy, or the folder already contains one.
        TrustError: the new study would copy or do something that the other study is not trusted with.
    """
    text = read_text(before / "study.toml", _LARGEST_FORM)
    form = form_of(text, str(before / "study.toml"))
    study = Study.read(before)
    check_trusted(study)
    lines = [
        f"version = {form.version + 1}" if line.partition("=")[0].strip() == "version" else line
        for line in text.split("\n")
    ]
    copies: dict[str, str] = {}
    for entry in study.entries.values():
        if entry.project and entry.project not in copies:
            copies[entry.project] = f"{CHARACTERS}/{len(copies) + 1}"
            make_folder(folder)
            shutil.copytree(character(study, entry).folder, folder / copies[entry.project], symlinks=True)
    entries = [one.model_copy(update={"project": copies.get(one.project, "")}) for one in study.entries.values()]
    write_study(folder, "\n".join(lines), entries)
    made = StudyMade(Study.open(folder))
    _trust(made.study)
    return made


# the characters of a study, which may be somebody else's --------------------------------------------------------------


def character(study: Study, entry: StudyItem) -> ProjectFolder:
    """The project of a character.

    Raises:
        TrustError: the project is not part of the study, and showing it has not been allowed.
        UsageError: its name is not valid, or the study would be copied into itself.
        ProjectError: there is no such project.
    """
    folder, acts = _place(study, entry)
    Trust().check(study.form_file, acts)
    return ProjectFolder.open(folder)


def character_settings(study: Study, entry: StudyItem) -> Settings:
    """The settings of a character. Its actions are allowed by the trust in its project or in the study.

    Raises:
        FabulaError: see `character`, or the settings are not valid.
    """
    settings = character(study, entry).settings
    return settings.said_by(study.form_file) if _refused(settings) else settings


def acts_of_study(study: Study) -> frozenset[Act]:
    """The actions of a study that require trust: those outside it that its characters' projects are not trusted with.

    Raises:
        FabulaError: a character has no project, or its settings are not valid.
    """
    acts: set[Act] = set()
    for entry in study.entries.values():
        if entry.project:
            folder, shown = _place(study, entry)
            acts |= shown | _refused(ProjectFolder.open(folder).settings)
    return frozenset(acts)


def own_key(study: Study) -> bool:
    """Make sure that nobody else knows the key for links, and return whether a key from elsewhere was replaced.

    A key counts as ours if it was made here, which is recorded outside the study's folder.

    Raises:
        ProjectError: the record cannot be written.
    """
    came, notes = study.has_key, state_home() / "studies"
    if came and (notes / study.key_digest).is_file():
        return False
    study.renew_key()
    make_folder(notes, "Set XDG_STATE_HOME to a folder with write access.", mode=0o700)
    write_atomically(notes / study.key_digest, "", mode=PRIVATE)
    return came


def check_trusted(study: Study) -> None:
    """Check that a study shows and does only what is allowed.

    Raises:
        TrustError: the study would do more.
        FabulaError: a character has no project, or its settings are not valid.
    """
    Trust().check(study.form_file, acts_of_study(study))


def _trust(study: Study) -> None:
    if acts := acts_of_study(study):
        Trust().give(study.form_file, acts)


def _place(study: Study, entry: StudyItem) -> tuple[Path, frozenset[Act]]:
    """The folder of a character, and the act of showing it if it is outside the study."""
    if not entry.project or not entry.project.isprintable():
        raise UsageError(
            f"{study.folder}: the item {entry.id!r} does not specify the folder of a project. Correct `project`."
        )
    home = study.folder.resolve()
    try:
        folder = (home / entry.project).resolve()
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{home / entry.project} cannot be resolved. Correct the item {entry.id!r}.") from error
    if home.is_relative_to(folder):
        raise UsageError(
            f"The item {entry.id!r} refers to {folder}, which contains the study itself. Specify another project."
        )
    hidden = any(folder.is_relative_to(one.resolve()) for one in (study.private, study.conversations))
    own = folder.is_relative_to(home) and not hidden
    return folder, frozenset() if own else frozenset({Act("project", str(folder))})


def _refused(settings: Settings) -> frozenset[Act]:
    """The actions in the settings that have not been allowed."""
    acts: set[Act] = set()
    for check in (settings.check_trusted, settings.check_folder_trusted):
        try:
            check()
        except TrustError as error:
            acts |= set(error.acts)
    return frozenset(acts)


# who gets what --------------------------------------------------------------------------------------------------------


def assign(study: Study, wanted: AssignmentOptions, now: datetime) -> tuple[Study, Shares]:
    """Assign the tasks and write the assignment into the study's folder; it replaces an earlier assignment.

    Raises:
        UsageError: someone has already rated, or there is nothing to rate.
        LockedError: the study is being served, and its raters have their tasks.
    """
    shares = share_out(study, wanted)
    expires = now + timedelta(days=study.form.days)
    design = design_of(shares, wanted, now.isoformat(timespec="seconds"), expires.isoformat(timespec="seconds"))
    with held(study.private, f"The study {study.folder}"):
        write_assignments(study, design, shares.tasks)
    return Study.open(study.folder), shares


def _made(folder: Path, kind: str, title: str, entries: Sequence[StudyItem]) -> StudyMade:
    form = form_text(kind, one_line(title))
    two_sided = form_of(form, kind).two_sided
    if two_sided:
        _check_comparable(entries)
    kept = list(_comparable(entries)) if two_sided else list(entries)
    write_study(folder, form, kept)
    prompts = {entry.prompt for entry in kept}
    left_out = dict.fromkeys(entry.prompt for entry in entries if entry.prompt not in prompts)
    return StudyMade(Study.open(folder), tuple(left_out))


def _check_comparable(entries: Sequence[StudyItem]) -> None:
    if not list(_comparable(entries)):
        raise UsageError(
            "No two items by different systems answer the same prompt, so there is nothing to compare. Provide "
            "folders with files named DIR/SYSTEM/PROMPT.md, projects, or JSON lines with `system` and `prompt`."
        )


def _comparable(entries: Sequence[StudyItem]) -> Iterator[StudyItem]:
    """The items whose prompt another system also answers."""
    systems: dict[str, set[str]] = {}
    for entry in entries:
        systems.setdefault(entry.prompt, set()).add(entry.system or entry.id)
    return (entry for entry in entries if len(systems[entry.prompt]) > 1)


def _text_of(project: Path) -> str:
    """The story of a project; empty if it no longer exists."""
    with suppress(FabulaError):
        return plain(read_story(project / "story.md").text)
    return ""


def _finding(story: str, one: Mapping[str, Any], text: str) -> StudyItem:
    return StudyItem(
        id=finding_id(story, str(one["key"])),
        prompt=story,
        claim=one_line(str(one["hallucination"])),
        label=str(one.get("category") or one.get("attribute") or ""),
        passages=tuple(_passage(one, place, text) for place in ("x", "y")),
    )


def _passage(one: Mapping[str, Any], place: str, story: str) -> str:
    """A passage with the text around it and with the relevant words marked."""
    passage = one.get(f"passage_{place}")
    if not isinstance(passage, dict) or not passage.get("text"):
        return str(one.get(f"quote_{place}", ""))
    text, (low, high) = str(passage["text"]), passage["focus"]
    inner = text[low:high].strip()
    start = text.find(inner, low) if inner else -1
    marked = text if start < 0 else f"{text[:start]}{_MARK}{inner}{_MARK}{text[start + len(inner) :]}"
    before, after = _around(text, story)
    return f"{before}{marked if before or after or inner != text.strip() else text}{after}"


def _around(passage: str, story: str) -> tuple[str, str]:
    """The text before and after a passage in its story, to the ends of the neighbouring paragraphs."""
    if story.count(passage) != 1:
        return "", ""
    before, _, after = story.partition(passage)
    return _BREAK.join(before.split(_BREAK)[-2:]), _BREAK.join(after.split(_BREAK)[:2])
