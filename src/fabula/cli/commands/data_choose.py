"""`fabula data choose`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from fabula.app.choosing import ChoiceOptions, PromptChoice, choose
from fabula.app.item_files import Selection, notices
from fabula.app.prompt_files import read_prompts
from fabula.base.errors import UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.cli.opening import terminal_of
from fabula.cli.options import DATA_FOLDER, Output, bundled
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.data.sets import SETS

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal

_MANY: Final = 2000
_TRIED: Final = 5  # numbers of groups that are named
_LONGEST: Final = 60  # of a prompt in the table


@dataclass(frozen=True, slots=True)
class Choosing:
    """How many prompts to choose, from how many groups, and by which methods."""

    n: Annotated[int, typer.Option("--n", min=1, metavar="N", help="Prompts to choose.")] = 28
    clusters: Annotated[
        str, typer.Option(metavar="N|auto", help="Number of groups; auto tries 2 to 30 and picks the best.")
    ] = "auto"
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE|DIR",
            help="Where to save the chosen prompts and a picture of them: FILE.jsonl, or a folder for .md files.",
        ),
    ] = ""
    embed: Annotated[
        Literal["minilm", "tf-idf"] | None,
        typer.Option(help="How prompts are compared.", show_default="minilm if it is installed"),
    ] = None
    reduce: Annotated[
        Literal["umap", "svd"] | None,
        typer.Option(help="How their vectors are reduced.", show_default="umap if it is installed"),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0
    data: Annotated[str, DATA_FOLDER] = ""
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Draw this many prompts first.")] = None


@bundled
def choose_prompts(
    common: Output,
    choosing: Choosing,
    prompts: Annotated[
        list[str],
        typer.Argument(metavar="PROMPTS...", help="Briefs (.md, .txt), .jsonl or .csv files, folders, data sets."),
    ],
) -> None:
    """Choose prompts that represent a large set: those nearest to the centre of each group.

    This is the method of Character Simulation, section 4.1: sentence embeddings, UMAP, k-means. Prompts that differ in
    only a few words count as one.
    """
    terminal = terminal_of(common)
    wanted = ChoiceOptions(
        choosing.n, _clusters(choosing.clusters), choosing.embed or "", choosing.reduce or "", choosing.seed
    )
    selection = Selection(Path(choosing.data) if choosing.data else None, choosing.limit, choosing.seed)
    read = read_prompts([Path(path) for path in prompts], selection)
    licences = notices(prompt.source for prompt in read)
    for notice in licences:
        terminal.message(f"Data: {notice}")
    if len(read) > _MANY:
        terminal.advise(f"Comparing {len(read):,} prompts. This takes a minute or longer.")
    choice = choose(read, wanted)
    files = _write(choice, choosing.out) if choosing.out else []
    _say(terminal, choice, wanted)
    for name in dict.fromkeys(one.prompt.source for one in choice.chosen if one.prompt.source):
        if files and SETS[name].note:
            terminal.message(f"{name}: {SETS[name].note}")
    if files:
        shown = choosing.out
        terminal.advise(
            f'\nWritten: {", ".join(str(near(file)) for file in files)}. Next: briefs = ["{shown}"] in an experiment.'
        )
    else:
        terminal.advise(
            "\nNo file was written. To save the prompts and a picture of them, use --out FILE.jsonl or --out DIR."
        )
    terminal.document(_data(choice, licences, files))


def _clusters(text: str) -> int:
    """The number of groups; 0 for the number that fits best."""
    if text == "auto":
        return 0
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UsageError(f"--clusters {text!r} is neither a positive number nor 'auto'.")
    return int(text)


def _write(choice: PromptChoice, out: str) -> list[Path]:
    """Write the prompts and the picture. Returns the files written, the prompts first."""
    target = Path(out)
    if target.suffix == ".jsonl":
        make_folder(target.parent)
        files = {target: choice.lines(), target.with_suffix(".svg"): choice.picture}
    elif target.suffix:
        raise UsageError(f"--out {out} is neither a .jsonl file nor a folder. Specify one of these.")
    else:
        if target.is_dir() and any(target.iterdir()):
            raise UsageError(f"{target} is not empty, and its files would also count as prompts. Choose a new folder.")
        make_folder(target)
        files = {target / f"{one.prompt.id}.md": one.prompt.brief.write() for one in choice.chosen}
        files[target / "clusters.svg"] = choice.picture
    for file, content in files.items():
        write_atomically(file, content)
    return [target, next(file for file in files if file.suffix == ".svg")]


def _say(terminal: Terminal, choice: PromptChoice, wanted: ChoiceOptions) -> None:
    rows: list[tuple[str, ...]] = [("group", "prompts", "chosen", "its words")]
    rows += [(str(c.number), str(c.size), str(c.chosen), ", ".join(c.words)) for c in choice.clusters]
    terminal.say(table(rows, right=(0, 1, 2)))
    chosen: list[tuple[str, ...]] = [("group", "chosen", "distance", "")]
    chosen += [
        (str(one.cluster), one.prompt.id, f"{one.distance:.3f}", _short(one.prompt.brief.titled))
        for one in choice.chosen
    ]
    terminal.say("\n" + table(chosen, right=(0, 2)))
    terminal.say(terminal.wrapped(f"\n{_counted(choice)}"))
    how = choice.how
    terminal.say(
        terminal.wrapped(
            f"Embeddings: {how['embeddings']}. Reduced to {how['dimensions']} dimensions with {how['reduction']}. "
            f"Clustered with k-means, seed {how['seed']}."
        )
    )
    if choice.scores:
        best = sorted(choice.scores.items(), key=lambda one: (-one[1], one[0]))[:_TRIED]
        tried = ", ".join(f"{count} ({score:.3f})" for count, score in best)
        terminal.say(
            terminal.wrapped(f"Tried 2 to {max(choice.scores)} groups. The best number by mean silhouette is {tried}.")
        )
    if len(choice.clusters) > wanted.number:
        terminal.message(
            f"There are {len(choice.clusters)} groups but only {wanted.number} prompts to choose, so only the largest "
            "groups get one. Use fewer --clusters or a larger --n."
        )


def _counted(choice: PromptChoice) -> str:
    same = choice.prompts - choice.unlike
    differ = f"; {same:,} near-duplicates are left out" if same else ""
    return f"{choice.prompts:,} prompts, {choice.unlike:,} of which differ from each other{differ}."


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _data(choice: PromptChoice, licences: tuple[str, ...], files: list[Path]) -> dict[str, Any]:
    return {
        "prompts": choice.prompts,
        "unlike": choice.unlike,
        "data": list(licences),
        "how": dict(choice.how),
        "silhouettes": {str(count): score for count, score in choice.scores.items()},
        "clusters": [asdict(one) for one in choice.clusters],
        "chosen": [
            {"id": one.prompt.id, "prompt": one.prompt.brief.titled, "cluster": one.cluster, "distance": one.distance}
            for one in choice.chosen
        ],
        "alike": [[prompt.id for prompt in group] for group in choice.groups if len(group) > 1],
        "files": [str(file) for file in files],
    }
