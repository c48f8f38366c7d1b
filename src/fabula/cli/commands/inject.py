"""`fabula inject`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.item_files import MAX_STORY_BYTES
from fabula.base.errors import UsageError
from fabula.base.files import make_folder, read_text, write_atomically
from fabula.cli.opening import terminal_of
from fabula.cli.options import Common, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.continuity import split
from fabula.continuity.inject import ERROR_KINDS
from fabula.continuity.inject import inject as injected

if TYPE_CHECKING:
    from fabula.continuity.inject import Injected

_WIDE = 40


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be put in."""

    kinds: Annotated[
        str, typer.Option(metavar="KIND,KIND", help=f"Kinds of errors: {', '.join(ERROR_KINDS)}.", show_default="all")
    ] = ",".join(ERROR_KINDS)
    n: Annotated[int, typer.Option("--n", min=1, max=1000, metavar="N", help="Errors of each kind.")] = 1
    distance: Annotated[
        int | None,
        typer.Option(min=1, metavar="WORDS", help="Words between fact and contradiction.", show_default="any"),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 1
    negatives: Annotated[
        bool,
        typer.Option(
            "--negatives/--no-negatives", help="For each error also a change that looks like one and is none."
        ),
    ] = True


@bundled
def inject(
    common: Common,
    wanted: Wanted,
    story: Annotated[str, typer.Argument(metavar="STORY", help="A story: text, Markdown, Fountain, JSON of scenes.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the changed story and its labels.")],
) -> None:
    """Put labelled errors into a story, to test checkers with."""
    terminal = terminal_of(common)
    source = Path(story)
    chosen = [kind.strip() for kind in wanted.kinds.split(",") if kind.strip()]
    if not chosen:
        raise UsageError(f"--kinds names none. Give some of {', '.join(ERROR_KINDS)}.")
    text = _text(source)
    made = injected(text, chosen, n=wanted.n, distance=wanted.distance, seed=wanted.seed, negatives=wanted.negatives)
    if not made.labels:
        raise UsageError(f"{source} has no place for {', '.join(chosen)}. Give a longer story or other kinds.")
    folder = Path(out)
    asked = {"source": source.name, **asdict(wanted), "kinds": chosen, "missing": made.missing}
    file = _write(folder, source, made, asked)
    terminal.say(_table(made))
    for kind, count in made.missing.items():
        terminal.message(f"The story gives no place for {count} of the {counted(wanted.n, 'error')} of kind {kind}.")
    terminal.advise(f"{near(file)} is the changed story, {near(folder / 'labels.jsonl')} says what was changed.")
    terminal.document({"story": str(file), **asked, "labels": [label.data() for label in made.labels]})


def _text(source: Path) -> str:
    """The story as plain text; the scenes of a JSON file are put together."""
    if source.is_dir():
        source = source / "story.md"
    text = read_text(source, MAX_STORY_BYTES)
    scenes = split(text)
    return "\n\n".join(scene.text for scene in scenes.scenes) + "\n" if scenes.form == "json" else text


def _write(folder: Path, source: Path, made: Injected, asked: dict[str, object]) -> Path:
    """The changed story, one label a line, and what was asked for; the story's file."""
    make_folder(folder, "Choose another with --out.")
    suffix = source.suffix if source.suffix in (".md", ".txt", ".fountain") else ".txt"
    file = folder / f"story{suffix if source.is_file() else '.md'}"
    write_atomically(file, made.text)
    lines = "".join(json.dumps(label.data(), ensure_ascii=False) + "\n" for label in made.labels)
    write_atomically(folder / "labels.jsonl", lines)
    write_atomically(folder / "injected.json", json.dumps(asked, indent=2, ensure_ascii=False) + "\n")
    return file


def _table(made: Injected) -> str:
    rows = [("id", "error", "story's own", "put in", "words apart")]
    for label in made.labels:
        verdict = "yes" if label.error else f"no: {label.reason}"
        rows.append((label.id, verdict, label.fact.quote[:_WIDE], label.place.quote[:_WIDE], str(label.distance)))
    return table([tuple(" ".join(cell.split()) for cell in row) for row in rows], right=(4,))
