"""`fabula export`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import read_text, write_atomically
from fabula.cli import completing
from fabula.cli.opening import STDIN, project_of, terminal_of
from fabula.cli.options import Common, Where, bundled
from fabula.cli.session import near
from fabula.cli.terminal import read_by_others
from fabula.project.folder import MAX_FILE
from fabula.story import Story, slug
from fabula.story.export import Meta, find, without_comments
from fabula.story.language import language_of

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.project.folder import Project


@bundled
def export(
    common: Common,
    where: Where = "",
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            autocompletion=completing.formats,
            metavar="md|epub|docx|fountain|txt|json",
            help="Default: of -o, else md.",
        ),
    ] = "",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="- writes to stdout; default: in the project.")
    ] = "",
) -> None:
    """Make a Markdown, EPUB, DOCX, Fountain, text or JSON file of the story."""
    terminal, project = terminal_of(common), project_of(common, where)
    chosen = find(format_ or (Path(out).suffix if out not in {"", "-"} else "") or "md")
    if not project.story_file.exists():
        raise ProjectError(f"There is no story yet. Write it with `fabula write {near(project.folder)}`.")
    story = without_comments(Story.parse(read_text(project.story_file, MAX_FILE)))
    meta = _meta(project, story, terminal)
    content = chosen.render(story, meta)
    if out == STDIN and common.json:
        raise UsageError("--out - and --json both print on stdout. Give one of them.")
    if out == STDIN:
        with read_by_others():
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
        return
    file = Path(out) if out else project.folder / (slug(meta.title) + chosen.suffix)
    write_atomically(file, content)
    terminal.say(f"{near(file)}: {story.words:,} words, {len(content):,} bytes")
    terminal.document({"file": str(file), "format": chosen.name, "words": story.words, "bytes": len(content)})


def _meta(project: Project, story: Story, terminal: Terminal) -> Meta:
    """Title page data; the date is that of the last run, so that the same story gives the same file."""
    settings, brief = project.settings, project.brief
    with project.journal as journal:
        runs = journal.runs()
        if any(change.file != "story.md" for change in project.changes(journal)):
            terminal.advise(
                f"Some texts changed since story.md was written: `fabula update {near(project.folder)}` first?"
            )
    ended = [run["ended"] for run in runs if run["ended"]]
    return Meta(
        title=story.title or brief.title or project.folder.resolve().name,
        author=settings.author.name,
        created=datetime.fromisoformat(ended[-1]) if ended else datetime.now(UTC),
        words=story.words,
        language=settings.author.language or language_of(story.text, language_of(brief.text)),
        brief=brief.text,
        contact=settings.author.contact,
    )
