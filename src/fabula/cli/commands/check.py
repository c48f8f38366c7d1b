"""`fabula check`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.evaluating import Task
from fabula.app.item_files import MAX_STORY_BYTES, TABLES, named_set
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import read_text, write_atomically
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import named_or_here, terminal_of
from fabula.cli.options import Common, Judges, Limits, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.cli.terminal import table
from fabula.continuity import split
from fabula.evaluators import find
from fabula.evaluators.atlas.dismissed import FILE, read_dismissed, write_dismissed
from fabula.evaluators.atlas.page import all_findings, as_markdown, as_page, dismissed_in, headline, shown_value
from fabula.measure.items import Item
from fabula.project.folder import Project
from fabula.story import Scene, Story, count_words, slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.item_files import Selection
    from fabula.cli.terminal import Terminal

_CHECKING: Final = "Checking"
_MOST_BYTES: Final = 200_000_000
_DEFAULT_OUT: Final = "evaluation"
_ALONE: Final = "story"  # what a project's story is called in its own report, wherever the folder is copied or moved
_DATA: Final = (".json", ".yaml", ".yml")
_WIDE: Final = 140
_INDENT: Final = " " * 12


@dataclass(frozen=True, slots=True)
class Checks:
    """How stories are checked, and what is done about findings."""

    no_model: Annotated[
        bool,
        typer.Option("--no-model", hidden=True, help="Says that a model is needed: no rule was worth its findings."),
    ] = False
    gold: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Known errors (JSON) to score against, or `planted.json` of `inject`.",
            rich_help_panel=_CHECKING,
        ),
    ] = ""
    dismiss: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=REASON", help="A finding that is none, and why; kept. Repeatable.", rich_help_panel=_CHECKING
        ),
    ] = None
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 1 where findings are left, or none could be looked for.",
            rich_help_panel=_CHECKING,
        ),
    ] = False


@bundled
def check(
    common: Common,
    judges: Judges,
    limits: Limits,
    selecting: Selecting,
    checks: Checks,
    stories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STORY]...",
            help="Text, Markdown, Fountain, JSON of scenes, a project or folder.",
            show_default="the project here",
        ),
    ] = None,
) -> None:
    """Find where a story contradicts itself: both passages, quoted."""
    terminal = terminal_of(common)
    if checks.no_model:
        raise UsageError(
            "A check needs a model that reads. The rules that looked without one found none of 101 errors in stories "
            "that nobody had tuned them to, and are gone. Leave --no-model out, and choose a model with --model."
        )
    stories = named_or_here(common, stories)
    command, judges = _command(stories, judges), _of_project(stories, judges)
    folder = Path(judges.out)
    if checks.dismiss and limits.dry_run:
        raise UsageError("--dismiss asks nobody, so there is nothing to say of it. Leave --dry-run out.")
    if checks.dismiss:
        report, bill = _stored(folder), dict[str, Any]()
        _dismiss(folder, report, checks.dismiss)
    else:
        report, bill = _checked(
            terminal, _items(terminal, stories, selecting.selection(judges.seed)), judges, limits, checks
        )
    dismissed = read_dismissed(folder)
    pages = _write(folder, report, dismissed, command)
    left = _say(terminal, report, dismissed)
    terminal.advise(f"Both passages of each: {near(pages)}. One that is none: --dismiss ID=REASON.")
    terminal.document({**report, "page": str(pages), "dismissed": dismissed, "left": left, **bill})
    missing = [story["id"] for story in report["details"]["stories"] if story.get("partial") or not story["scored"]]
    if missing or (checks.strict and left):
        raise typer.Exit(1)


def _of_project(stories: Sequence[str], judges: Judges) -> Judges:
    """The options for a single project: its report stands in its own folder, and its model reads it.

    What was said on the command line goes before both. A model whose address the project names has to be named here.
    """
    if not _is_alone(stories):
        return judges
    project = Project.open(Path(stories[0]))
    settings, said = project.settings, judges.model or []
    named = settings.model in settings.models or any("=" not in model for model in said)
    out = str(project.folder / _DEFAULT_OUT) if judges.out == _DEFAULT_OUT else judges.out
    return replace(judges, out=out, model=said if named else [settings.model, *said])


def _is_alone(stories: Sequence[str]) -> bool:
    """Whether what is checked is one project and nothing else."""
    return len(stories) == 1 and (Path(stories[0]) / "brief.md").is_file()


def _checked(
    terminal: Terminal, items: Sequence[Item], judges: Judges, limits: Limits, checks: Checks
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report of a new check, as data, and its bill."""
    said = [*(judges.set_ or ()), *([f"gold={checks.gold}"] if checks.gold else [])]
    evaluator = find("atlas")
    evaluating = Evaluating(terminal, evaluator, replace(judges, set_=said), limits)
    task = Task(evaluator, items, evaluating.config, Path(judges.out))
    report = evaluating.finish(task)
    evaluating.show_bill()
    return report.as_data(), evaluating.data()


def _items(terminal: Terminal, stories: Sequence[str], selection: Selection) -> tuple[Item, ...]:
    """The stories; a single file is taken as it is, so that scenes, headings and places in it stay its own.

    Raises:
        UsageError: one cannot be read, or has no words.
    """
    several = [
        story
        for story in stories
        if Path(story).is_dir() or story.endswith(TABLES) or named_set(Path(story), selection.data)
    ]
    found = stories_of(terminal, several, selection) if several else ()
    if _is_alone(stories) and len(found) == 1:
        found = (replace(found[0], id=_ALONE),)
    return (*found, *(_whole(Path(story)) for story in stories if story not in several))


def _whole(path: Path) -> Item:
    whole = read_text(path, MAX_STORY_BYTES)
    if not count_words(whole):
        raise UsageError(f"The story in {path} is empty. Give one with text in it.")
    if path.suffix.casefold() in _DATA:
        _check_data(path, whole)
    return Item(path.resolve().stem, Story("", (Scene("story", whole),)))


def _check_data(path: Path, whole: str) -> None:
    """Stop where a file of data is no story, instead of reading its marks as prose.

    Raises:
        UsageError: it is YAML, or JSON that is broken or holds no scenes.
    """
    if path.suffix.casefold() != ".json":
        raise UsageError(
            f"{path} is YAML, which is not read as a story. Give text, Markdown, Fountain or JSON of scenes."
        )
    try:
        json.loads(whole.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is no valid JSON ({error}). Correct it; or give the text in a file named .txt to have it read as "
            "prose."
        ) from error
    split(whole, "json")


def _stored(folder: Path) -> dict[str, Any]:
    """The report of the last check in `folder`."""
    file = folder / "atlas.json"
    if not file.is_file():
        raise UsageError(f"Nothing was checked in {near(folder)} yet. Say `fabula check STORY` first.")
    try:
        report: Any = json.loads(read_text(file, _MOST_BYTES))
        for story in report["details"]["stories"]:
            all_findings(story)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{near(file)} is no report of a check. Say `fabula check STORY` to make it anew.") from error
    return dict(report)


def _dismiss(folder: Path, report: Mapping[str, Any], said: Sequence[str]) -> None:
    """Keep the reasons of findings that are dismissed."""
    sentences = {
        one["key"]: one["hallucination"] for story in report["details"]["stories"] for one in all_findings(story)
    }
    reasons = read_dismissed(folder)
    for value in said:
        key, equals, reason = (part.strip() for part in value.partition("="))
        if not equals or not key or not count_words(reason):
            raise UsageError(f"--dismiss {value!r} is not of the form ID=REASON. Say why it is no error.")
        if key not in sentences:
            raise UnknownNameError("finding", key, sentences)
        reasons[key] = reason
    write_dismissed(folder, reasons, sentences)


def _command(stories: Sequence[str], judges: Judges) -> list[str]:
    out = ["--out", judges.out] if judges.out != _DEFAULT_OUT else []
    return ["fabula", "check", *stories, *out]


def _write(folder: Path, report: Mapping[str, Any], dismissed: Mapping[str, str], command: Sequence[str]) -> Path:
    """The page, and for each story its findings in the paper's format and as Markdown."""
    file = folder / "atlas.html"
    write_atomically(file, as_page(report, dismissed, command))
    for story in report["details"]["stories"]:
        shown = json.dumps(all_findings(story), indent=2, ensure_ascii=False)
        write_atomically(folder / f"findings-{slug(story['id'])}.json", shown + "\n")
        write_atomically(folder / f"findings-{slug(story['id'])}.md", as_markdown(story, dismissed))
    return file


def _say(terminal: Terminal, report: Mapping[str, Any], dismissed: Mapping[str, str]) -> int:
    """Print what is left, what was dismissed and the numbers; how many findings are left."""
    stories, left = report["details"]["stories"], 0
    for story in stories:
        open_ = [one for one in all_findings(story) if one["key"] not in dismissed]
        gone = len(all_findings(story)) - len(open_)
        left += len(open_)
        shown = f", {gone} dismissed (see {FILE})" if gone else ""
        part = ", partial (see below)" if story.get("partial") else ""
        terminal.say(f"{story['id']}: {counted(len(open_), 'finding')}{shown}{part}")
        for one in open_:
            for line in _told(one):
                terminal.say(line)
        terminal.say("")
    numbers = dismissed_in(report, dismissed)
    rows = [("of", "measure", "value"), *((r["of"], _what(r), _value(r, numbers)) for r in report["rows"])]
    terminal.say(table(rows))
    for note in report["notes"]:
        terminal.say(f"\n{note}")
    return left


def _told(one: Mapping[str, Any]) -> tuple[str, ...]:
    """A finding in a few lines: by paragraphs and with the reason, where these are known."""
    if not one.get("paragraph_x"):
        places = f"scene {one['x']}", f"scene {one['y']}"
        head, why = one["hallucination"], tuple[str, ...]()
    else:
        places = f"paragraph {one['paragraph_x']}", f"paragraph {one['paragraph_y']}"
        head = f"{headline(one)} ({one['category']}, {one['sure']})"
        why = (f"{_INDENT}{one['reason']}",) if one["reason"] else ()
    quoted = (f"{_INDENT}{at}: {_quoted(one[quote])}" for at, quote in zip(places, ("quote_x", "quote_y"), strict=True))
    return f"\n  {one['key']}  {head}", *quoted, *why


def _quoted(words: str) -> str:
    return f'"{words if len(words) <= _WIDE else words[: _WIDE - 5] + " ..."}"'


def _what(row: Mapping[str, Any]) -> str:
    return f"{row['what']} (baseline)" if row.get("baseline") else str(row["what"])


def _value(row: Mapping[str, Any], gone: Mapping[str, int]) -> str:
    if row.get("unscored"):
        return f"not scored: {row['unscored']}"
    interval = "" if row.get("low") is None else f" [{row['low']:z.2f}, {row['high']:z.2f}]"
    return f"{shown_value(row, gone)}{interval} (n {row['n']})"
