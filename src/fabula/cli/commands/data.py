"""`fabula data`: commands for data sets and training data."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from fabula.app.back_translating import (
    UNKNOWN,
    BackTranslating,
    BackTranslation,
    BackTranslationTask,
    StoriesOf,
    Usable,
    back_translate_in,
    dry_run_back_translation,
    write_stories,
)
from fabula.app.choosing import ChoiceOptions, PromptChoice, choose
from fabula.app.corpora.rows import StoryRows
from fabula.app.corpora.stories import Corpus
from fabula.app.corpora.working import CorpusTask, work_through
from fabula.app.evaluating import journal_in
from fabula.app.item_files import Selection, notices, read_all
from fabula.app.parts import merge_parts
from fabula.app.preferences import HOW, Gathered, check_folder, gather, ratings_at, write_pairs
from fabula.app.prompt_files import read_prompts
from fabula.app.rated_pairs import PairOptions
from fabula.app.workers.spread import Spread
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.cli.asked import changes_of
from fabula.cli.asking import Asking
from fabula.cli.bill import say_bill
from fabula.cli.help import MORE
from fabula.cli.opening import terminal_of
from fabula.cli.options import DATA_FOLDER, Choices, Output, Performers, SpendingLimits, bundled, refuse
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.spreading import Spreading, say_part
from fabula.cli.stories import Selecting, say_licences
from fabula.cli.terminal import Terminal, table
from fabula.data.sets import SETS, Holds, SetHere, SetList
from fabula.models.base import Capabilities
from fabula.models.known import is_small
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable, Settings
from fabula.stats.estimate import estimate_cells
from fabula.story import Brief
from fabula.systems.agents_room.back_translation import METHOD
from fabula.training.examples import LEAST, LEFT_OUT
from fabula.training.pairs import LESSONS, Lesson, Teaching

if TYPE_CHECKING:
    from fabula.app.bills import Bill
    from fabula.measure.items import Item


_HELP: Final = "List data sets, choose prompts and make training data."
data = typer.Typer(help=_HELP, rich_markup_mode="rich", add_completion=False)


# fabula data list ----------------------------------------------------------------------------------------------------

_STORIES: Final = ("measure", "check", "evaluate", "data backtranslate")
_USES: Final[Mapping[Holds, tuple[str, ...]]] = {
    "stories and prompts": (*_STORIES, "data choose", "lab experiment"),
    "stories": _STORIES,
    "dialogues": ("measure", "evaluate", "train"),
    "numbers": ("lab reproduce",),
}


@data.command("list")
@bundled
def list_sets(common: Output, data: Annotated[str, DATA_FOLDER] = "") -> None:
    """List the known data sets, their licences, and whether they are installed on this machine."""
    terminal = terminal_of(common)
    folder = Path(data) if data else None
    rows: list[tuple[str, ...]] = [("set", "what it holds", "licence", "here", "for")]
    sets = [SetHere.of(one, folder, _USES[one.holds]) for one in SETS.values()]
    rows += [_row(one) for one in sets]
    terminal.say(table(rows))
    terminal.advise(
        "\nWrite the name of a set as tell-me-a-story, or of a split as tell-me-a-story:test. To download a public "
        "set, run `fabula lab reproduce --fetch SET`. Put any other set into DIR/SET yourself."
        + ("" if folder else " To set the folder of the data sets, use --data DIR or FABULA_DATA.")
    )
    terminal.document(SetList(str(folder) if folder else None, sets))


def _row(found: SetHere) -> tuple[str, ...]:
    one, size, uses = found.set, found.bytes, found.used_by
    splits = f" ({', '.join(one.splits)})" if one.splits else ""
    fetched = "no, can be fetched" if one.files else "no"
    here = f"{size / 1_000_000:,.1f} MB" if size is not None else fetched if found.folder else "not known"
    shown = ", ".join(uses)
    if len(uses) >= len(_STORIES):
        shown = "stories: " + ", ".join(("measure ...", *uses[len(_STORIES) - 1 :]))
    return one.name, one.title + splits, one.licence, here, shown


# fabula data choose --------------------------------------------------------------------------------------------------

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


@data.command("choose")
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
        choosing.n, _groups(choosing.clusters), choosing.embed or "", choosing.reduce or "", choosing.seed
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
    _say_choice(terminal, choice, wanted)
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


def _groups(text: str) -> int:
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


def _say_choice(terminal: Terminal, choice: PromptChoice, wanted: ChoiceOptions) -> None:
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


# fabula data backtranslate, fabula data merge ------------------------------------------------------------------------

_SHOWN: Final = 5  # reasons for which stories are left out; unknown names


@dataclass(frozen=True, slots=True)
class BackTranslationOptions:
    """Which data to make, for which model, and from how many stories."""

    system: Annotated[
        str, typer.Option(metavar="NAME", help="agents-room (its variant by --set variant=...), or end-to-end.")
    ] = "agents-room"
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="MODEL|DIR",
            help="The model to train. Small models get simpler prompts.",
            show_default="the default writing model",
            rich_help_panel=MORE,
        ),
    ] = ""
    brief: Annotated[str, typer.Option(metavar="FILE", help="The brief from which all the stories were written.")] = ""
    ask_tasks: Annotated[
        bool,
        typer.Option(
            "--ask-tasks", help="Ask the teacher to write a task for each story that has none.", rich_help_panel=MORE
        ),
    ] = False
    development: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.9,
            metavar="SHARE",
            help="Share of stories to reserve for evaluation.",
            rich_help_panel=MORE,
        ),
    ] = 0.2


@data.command("backtranslate")
@bundled
def backtranslate(
    common: Output,
    performers: Performers,
    limits: SpendingLimits,
    wanted: BackTranslationOptions,
    selecting: Selecting,
    spreading: Spreading,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for the training data and the record of all calls."),
    ],
    stories: Annotated[
        list[str],
        typer.Argument(metavar="STORY...", help="Story files (.md, .txt, .jsonl, .csv), projects, folders, data sets."),
    ],
) -> None:
    """Make training data for Agents' Room: a teacher model reconstructs each agent's text from finished stories.

    The prompts are the same as those of `fabula write` with the same --system, --preset, --set and --aids.
    """
    terminal = terminal_of(common)
    teacher, learner = _settings(performers, wanted)
    learns = wanted.for_ or Settings().model
    selection, able = selecting.selection(performers.seed), _able(learns, terminal)
    task = BackTranslationTask((), Path(out), learner, able, learns, wanted.development, wanted.ask_tasks)
    if spreading.is_asked:
        _spread(terminal, spreading, _corpus(stories, wanted, selection), task, performers, teacher, limits)
        return
    items, empty = _items(stories, wanted, selection)
    say_licences(terminal, items)
    task = replace(task, items=items, empty=empty)
    asking = Asking(terminal, METHOD, performers, teacher, limits, task.folder)
    made = asking.run(
        counted(len(items), "story", "stories"),
        lambda options: dry_run_back_translation(task, teacher, options),
        lambda options: back_translate_in(task, teacher, options),
    )
    _say(terminal, task.folder, made, asking.bill)


def _spread(
    terminal: Terminal,
    spreading: Spreading,
    corpus: Corpus,
    stated: BackTranslationTask,
    performers: Performers,
    teacher: Settings,
    limits: SpendingLimits,
) -> None:
    """Have workers question a teacher about any number of stories, and make data from the answers."""
    out, stated = stated.folder, replace(stated, folder=spreading.folder(stated.folder))
    say_licences(terminal, corpus)
    usable = Usable(stated, corpus)
    task = CorpusTask(corpus, BackTranslating(stated, usable), teacher, stated.folder, spreading.part)
    sample = replace(stated, items=task.sample())
    asking = Asking(terminal, METHOD, performers, teacher, spreading.limits(limits), stated.folder)
    count = asking.run(
        f"For the first {counted(len(sample.items), 'story', 'stories')}",
        lambda options: dry_run_back_translation(sample, teacher, options),
        lambda options: work_through(task, options, spreading.spread or Spread(1)),
    )
    if spreading.shard:
        say_bill(terminal, asking.bill)
        say_part(terminal, spreading, count, str(out), asking.bill)
        return
    with journal_in(stated.folder) as journal, StoryRows(stated.folder) as rows:
        stories = StoriesOf(rows)
        stated = replace(stated, empty=tuple(corpus.left_out))
        made = write_stories(stated, stories, usable.left_out, teacher.seed, journal.calls.performers())
    _say(terminal, stated.folder, made, asking.bill)


def _corpus(stories: list[str], wanted: BackTranslationOptions, selection: Selection) -> Corpus:
    brief = Brief.read(Path(wanted.brief)) if wanted.brief else None
    return Corpus([Path(one) for one in stories], selection, lambda item: replace(item, brief=brief or item.brief))


@data.command("merge")
@bundled
def merge_data(
    common: Output,
    out: Annotated[str, typer.Argument(metavar="DIR", help="Folder for the training data.", show_default=False)],
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PART]...", help="Folders of parts; default: the ones next to it (DIR-1-of-8, ...)."),
    ] = None,
) -> None:
    """Merge parts, finished or not, that `backtranslate`, `measure` or `check` made with --shard."""
    terminal = terminal_of(common)
    taken = merge_parts(Path(out), [Path(part) for part in parts or ()])
    for part, one in taken.items():
        terminal.say(f"{part}: {counted(one.calls, 'call')}, {counted(one.stories, 'story', 'stories')} merged")
    terminal.advise("Next: run the command that made the parts again, without --shard.")
    calls, stories = ({part: getattr(one, name) for part, one in taken.items()} for name in ("calls", "stories"))
    terminal.document({"folder": out, "parts": calls, "stories": stories})


def _settings(performers: Performers, wanted: BackTranslationOptions) -> tuple[Settings, Settings]:
    """The settings of the teacher, and those of the system that is trained."""
    given = {field.name: getattr(performers, field.name) for field in fields(performers)}
    trained = {"preset": given["preset"], "aids": given["aids"], "set_": given["set_"], "system": wanted.system}
    learner = Settings().with_(changes_of(Choices(**trained, prompts=given["prompts"]), Settings()))
    teacher = Settings().with_(changes_of(Choices(**(given | {"set_": None})), Settings()))
    return teacher, learner


def _able(spec: str, terminal: Terminal) -> Capabilities:
    """What the model to train can do; it is not started. A folder of weights is small if its name says so."""
    path = Path(spec).expanduser()
    if path.is_dir():
        return Capabilities(continues=True, small=is_small(path.resolve().name))
    name = f"embedded:{spec}" if path.suffix == ".gguf" and path.is_file() else spec
    return open_model(name, ModelTable(), Environment(terminal.environ)).capabilities


def _items(
    stories: list[str], wanted: BackTranslationOptions, selection: Selection
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The stories, and why some of them have no text."""
    items, empty = read_all([Path(story) for story in stories], selection)
    if wanted.brief:
        brief = Brief.read(Path(wanted.brief))
        items = tuple(replace(item, brief=brief) for item in items)
    return items, empty


def _say(terminal: Terminal, folder: Path, made: BackTranslation, bill: Bill) -> None:
    sides = {name: made.card.counts[name] for name in ("train", "development")}
    agents = list(dict.fromkeys(agent for side in sides.values() for agent in side["agents"]))
    rows = [("agent", *sides)]
    rows += [(agent, *(str(side["agents"].get(agent, 0)) for side in sides.values())) for agent in agents]
    rows.append(("stories", *(str(side["stories"]) for side in sides.values())))
    terminal.say(table(rows, right=(1, 2)))
    for one in made.left_out[:_SHOWN]:
        name = f"{one['group']}. " if one["group"] else ""
        terminal.message(f"Left out: {name}{one['reason']}")
    if len(made.left_out) > _SHOWN:
        terminal.message(f"... and {len(made.left_out) - _SHOWN} more; left-out.jsonl lists them all.")
    if unknown := made.card.counts[UNKNOWN]:
        names = ", ".join(f"{name} {count}" for name, count in list(unknown.items())[:_SHOWN])
        terminal.message(
            "Capitalised words in the notes that occur in neither the story nor the task, with the number of "
            f"examples that contain them: {names}{', ...' if len(unknown) > _SHOWN else ''}. If the teacher invented "
            "people, use another teacher."
        )
    say_bill(terminal, bill)
    if sides["train"]["stories"]:
        terminal.advise(f"Next: `fabula train {near(folder)} --base MODEL --out ROOM`.")
    else:
        terminal.message(f"No story produced an example. {near(folder / LEFT_OUT)} lists the reasons.")
    terminal.document(
        {
            "data": str(folder),
            "card": asdict(made.card),
            "left_out": list(made.left_out),
            **bill.as_data(),
        }
    )


# fabula data preferences ---------------------------------------------------------------------------------------------

_KINDS: Final = {
    "edit": "edit",
    "rewrite": "rewritten passage",
    "retake": "retake",
    "note": "note",
    "refused": "refused edit",
    "approval": "approval",
    "candidates": "choice of a judge",
    "ratings": "rated pair",
}
_RATED: Final = "Ratings"


@dataclass(frozen=True, slots=True)
class Rated:
    """Which ratings to use, and which stories they rate."""

    stories: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="The rated stories. Repeatable.", rich_help_panel=_RATED),
    ] = None
    question: Annotated[
        str, typer.Option(metavar="NAME", help="Use only this question; default: all.", rich_help_panel=_RATED)
    ] = ""
    margin: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Minimum lead in the share of votes for a pair.", rich_help_panel=_RATED),
    ] = 0.0
    preset: Annotated[
        Literal["faithful", "improved"],
        typer.Option(help="Preset of end-to-end whose prompt produced the rated stories.", rich_help_panel=_RATED),
    ] = "improved"


@data.command("preferences")
@bundled
def preferences(
    common: Output,
    rated: Rated,
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Projects, and ratings.jsonl files.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the pairs.")],
    *,
    leave_out: Annotated[
        str, typer.Option(metavar="length,position,near", help="Leave out pairs that teach only this property.")
    ] = "",
    development: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of texts whose pairs are reserved for measurement.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of this choice.")] = 0,
) -> None:
    """Make preference pairs from your decisions in projects and from ratings."""
    terminal, folder, lessons = terminal_of(common), Path(out), lessons_of(leave_out)
    check_folder(folder)
    wanted = PairOptions(rated.question, rated.margin, rated.preset)
    stories = [Path(story) for story in rated.stories or ()]
    places = [Path(source) for source in sources]
    if not any(ratings_at(place) for place in places):
        refuse("no ratings are among the sources", rated)
    gathered = asyncio.run(
        gather(places, lessons, stories, wanted, lambda name: terminal.advise(f"Reading {name} ..."))
    )
    if not gathered.pairs:
        raise UsageError(_nothing(gathered))
    made = {"command": "fabula data preferences", "leave_out": list(lessons)}
    card = write_pairs(folder, gathered, made, development, seed)
    terminal.say(_rendered(gathered, card.counts, folder, lessons))
    for name in gathered.empty:
        terminal.message(f"{name} gave no pair. {HOW}")
    if len(gathered.pairs) < LEAST:
        terminal.message(
            f"This is a small number of pairs. Training needs at least {LEAST}, and useful learning "
            "starts with hundreds."
        )
    else:
        terminal.advise(f"Next: `fabula train {near(folder)} --base MODEL --out DIR`.")
    terminal.document({"out": str(folder), **card.counts})


def lessons_of(named: str) -> tuple[Lesson, ...]:
    """Return the lessons in a comma-separated list.

    Raises:
        UnknownNameError: a lesson does not exist.
    """
    asked = [name.strip() for name in named.split(",") if name.strip()]
    for name in asked:
        if name not in LESSONS:
            raise UnknownNameError("lesson", name, LESSONS)
    return tuple(lesson for lesson in LESSONS if lesson in asked)


def _nothing(gathered: Gathered) -> str:
    """The message if there is no pair."""
    if not gathered.left_out:
        return f"No decision gives a pair. {HOW}"
    reasons = "; ".join(f"{reason} ({n})" for reason, n in gathered.counts["left_out"].items())
    return f"No pair is left: {reasons}. {HOW}"


def _rendered(gathered: Gathered, counts: Mapping[str, Any], folder: Path, lessons: Sequence[Lesson]) -> str:
    """The result, as a person reads it."""
    teaching = gathered.teaching
    kinds = ", ".join(_of_kind(kind, n) for kind, n in counts["kinds"].items())
    lines = [f"{counted(counts['pairs'], 'pair')} of {counted(counts['groups'], 'text')} in {near(folder)}: {kinds}."]
    lines.append(f"{counts['train']:,} for training, {counts['development']:,} for measurement.")
    if counts["left_out"]:
        lines += ["", "Left out, with the reason (left-out.jsonl):"]
        lines += [f"  {n:>4}  {reason}" for reason, n in counts["left_out"].items()]
    lines += ["", _teaching(teaching)]
    if more := [lesson for lesson in teaching.only if lesson not in lessons]:
        named = ",".join(more)
        lines += ["", f"These pairs may teach only {' and '.join(more)}. To balance them, use `--leave-out {named}`."]
    return "\n".join(lines)


def _of_kind(kind: str, n: int) -> str:
    return counted(n, "choice of a judge", "choices of a judge") if kind == "candidates" else counted(n, _KINDS[kind])


def _teaching(teaching: Teaching) -> str:
    rows = [("what rules that read nothing say", "value", "95 % interval", "n")]
    rows.append(("chosen text: words more", *estimate_cells(teaching.words)))
    rows += [(f"the rule '{name}' is right", *estimate_cells(share)) for name, share in teaching.rules.items()]
    rows.append(("a judge saw the chosen one first", *estimate_cells(teaching.first)))
    rows.append(("texts that hardly differ", str(teaching.near), "", str(teaching.pairs)))
    return table(rows, right=(1, 3))
