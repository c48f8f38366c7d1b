"""`fabula show` and `fabula history`."""

from __future__ import annotations

from difflib import unified_diff
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.cli.bill import told
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import Artefact, Common, bundled
from fabula.cli.terminal import table
from fabula.errors import ProjectError
from fabula.files import read_text
from fabula.project import MAX_FILE
from fabula.story import Story, count_words

if TYPE_CHECKING:
    from fabula.journal import Call, Version


@bundled
def show(
    common: Common,
    artefact: Annotated[str, typer.Argument(help="An artefact: path or file name.", show_default="the story")] = "",
    *,
    prompts: Annotated[bool, typer.Option("--prompts", help="What was asked, and what was answered.")] = False,
) -> None:
    """Print the story, an artefact, or what was asked to make it."""
    terminal, project = terminal_of(common), project_of(common)
    with project.journal as journal:
        path = project.artefact(journal, artefact) if artefact else ""
        if prompts:
            calls = journal.calls(path)
            terminal.say("\n\n".join(_call(call) for call in calls) or "Nothing was asked.")
            terminal.document({"artefact": path, "calls": [_call_data(call) for call in calls]})
            return
        if path:
            text = journal.newest(path) or ""
            terminal.say(text)
            terminal.document(
                {"artefact": path, "file": journal.places()[path], "text": text, "words": count_words(text)}
            )
            return
    if not project.story_file.exists():
        raise ProjectError("There is no story yet. Write it with `fabula write`, or see `fabula status`.")
    story = Story.parse(read_text(project.story_file, MAX_FILE))
    terminal.say((f"{story.title}\n\n" if story.title else "") + story.text)
    scenes = [{"label": scene.label, "text": scene.text, "words": scene.words} for scene in story.scenes]
    terminal.document({"title": story.title, "words": story.words, "scenes": scenes})


def _call(call: Call) -> str:
    head = f"=== {call.path}  role {call.role}, by {call.performer}, {call.at}"
    asked = "\n".join(f"--- {who}\n{text}" for who, text in call.messages)
    return f"{head}\n{asked}\n--- reply ({call.reply.finish})\n{call.reply.text}"


def _call_data(call: Call) -> dict[str, Any]:
    return {
        "path": call.path,
        "role": call.role,
        "performer": call.performer,
        "at": call.at,
        "messages": [{"role": who, "content": text} for who, text in call.messages],
        "reply": call.reply.text,
        "finish": call.reply.finish,
        "sampling": dict(call.reply.sent),
        "usage": told(call.reply.usage),
    }


@bundled
def history(
    common: Common,
    artefact: Artefact,
    *,
    diff: Annotated[bool, typer.Option("--diff", help="Show what changed from version to version.")] = False,
) -> None:
    """List the versions of an artefact, or their differences."""
    terminal, project = terminal_of(common), project_of(common)
    with project.journal as journal:
        path = project.artefact(journal, artefact)
        versions = journal.versions(path)
    if diff:
        terminal.say(_diffs(versions) or f"{path} has one version.")
    else:
        rows = [("version", "words", "source", "at")]
        rows += [(str(v.number), f"{count_words(v.text):,}", v.source, v.at) for v in versions]
        terminal.say(table(rows, right=(0, 1)))
        terminal.advise(f"`fabula edit {path} --to N` goes back to one of them.")
    terminal.document(
        {
            "artefact": path,
            "versions": [
                {"number": v.number, "source": v.source, "at": v.at, "words": count_words(v.text), "text": v.text}
                for v in versions
            ],
        }
    )


def _diffs(versions: list[Version]) -> str:
    parts = []
    for old, new in pairwise(versions):
        names = f"version {old.number} ({old.source})", f"version {new.number} ({new.source})"
        parts.append("\n".join(unified_diff(old.text.splitlines(), new.text.splitlines(), *names, lineterm="")))
    return "\n\n".join(parts)
