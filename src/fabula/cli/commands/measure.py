"""`fabula measure`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.bills import Bill
from fabula.app.corpora.numbers import STORIES, Found, write_numbers
from fabula.app.corpora.stories import Corpus
from fabula.app.corpora.working import CorpusTask, work_through
from fabula.app.item_files import Selection, read_all
from fabula.app.measuring import chosen_measures, measure_configs, measured_in, with_brief, with_references
from fabula.app.sources import items_of
from fabula.app.style import samples_of
from fabula.app.workers.spread import Spread
from fabula.app.writing import Options
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.help import MORE
from fabula.cli.opening import named_or_here, terminal_of
from fabula.cli.options import ProjectOptions, bundled
from fabula.cli.reports import say_report
from fabula.cli.session import near
from fabula.cli.spreading import Spreading, say_part
from fabula.cli.stopping import stoppable
from fabula.cli.stories import Selecting, named_stories, say_licences, stories_of
from fabula.craft.voice import Samples
from fabula.project.folder import VOICE, ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Brief

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.engine.methods import Preset
    from fabula.measure.items import Item
    from fabula.measure.report import Report


_SHOWN: Final = 40  # stories without a text that are named
Stories = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[STORY]...",
        help="Story files (.md, .txt), .jsonl or .csv files, projects, folders of these, data sets; - reads stdin.",
        show_default="the project here",
    ),
]


@dataclass(frozen=True, slots=True)
class Measures:
    """What to measure, which texts to compare with, and where to write the numbers."""

    reference: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="A reference for all stories, or a folder or .jsonl file with a reference for each prompt.",
        ),
    ] = ""
    voice: Annotated[
        str, typer.Option(metavar="PATH", help="Samples of an author; default: the project's.", rich_help_panel=MORE)
    ] = ""
    brief: Annotated[str, typer.Option(metavar="FILE", help="The brief from which all the stories were written.")] = ""
    bertscore: Annotated[
        bool, typer.Option("--bertscore", help="Also compute BERTScore; requires the extra `bertscore`.")
    ] = False
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder for the numbers of many stories.", rich_help_panel=MORE
        ),
    ] = ""
    csv: Annotated[str, typer.Option("--csv", metavar="FILE|-", help="Write every number as a line of CSV.")] = ""
    seed: Annotated[int, typer.Option(help="Seed for the random sample of --limit.")] = 0
    preset: Annotated[
        str,
        typer.Option(
            autocompletion=completing.presets,
            metavar="faithful|improved",
            help="Measures to compute: the papers' measures only, or ours too.",
        ),
    ] = "improved"
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A setting, such as tokens=words or rouge.stemmer=true."),
    ] = None


@bundled
def measure(
    common: ProjectOptions, asked: Measures, selecting: Selecting, spreading: Spreading, stories: Stories = None
) -> None:
    """Measure words, openings, repetition, overlap and dialogue in stories, and compute ROUGE and BERTScore.

    Only BERTScore calls a model. Nothing is saved unless you use --out. None of these numbers shows how good a story
    is.
    """
    terminal = terminal_of(common)
    if asked.seed and selecting.limit is None:
        raise UsageError("--seed requires --limit, which samples the texts. Add --limit, or leave --seed out.")
    if asked.csv == "-" and common.json:
        raise UsageError("--csv - and --json both print to stdout. Use only one of them, or --csv FILE.")
    if asked.out or spreading.is_asked:
        _measure_corpus(terminal, common, asked, selecting, spreading, stories or ())
        return
    items, empty = _items(terminal, common, asked, stories or (), selecting.selection(asked.seed))
    say_licences(terminal, items)
    configs = measure_configs(_preset(asked), dict(_settings(asked)), chosen_measures(items, bertscore=asked.bertscore))
    samples = _samples(terminal, common, asked, stories or ())
    found = asyncio.run(measured_in(items, configs, Options(environ=terminal.environ), empty, samples))
    if asked.csv:
        _write_csv(asked.csv, found.csv, terminal)
    if asked.csv != "-":
        _show(terminal, found.items, found.reports)
    _say_left_out(terminal, empty, len(items))
    terminal.document(found.to_dict())


def _say_left_out(terminal: Terminal, problems: Sequence[str], measured: int) -> None:
    for problem in problems[:_SHOWN]:
        terminal.message(f"Left out: {problem}")
    if problems:
        terminal.message(f"{len(problems)} of {len(problems) + measured} stories have no text and were left out.")


def _measure_corpus(
    terminal: Terminal,
    common: ProjectOptions,
    asked: Measures,
    selecting: Selecting,
    spreading: Spreading,
    stories: Sequence[str],
) -> None:
    """Measure any number of stories one by one, in a folder where the same command continues."""
    if not asked.out:
        raise UsageError("Several processes need a folder for the numbers. Specify it with --out DIR.")
    if not stories or common.folder:
        raise UsageError("Specify the files, folders or data sets to measure for --out.")
    if asked.voice:
        raise UsageError("--voice cannot be combined with --out. Measure the stories without --out.")
    corpus = Corpus([Path(one) for one in stories], selecting.selection(asked.seed), _adapting(terminal, asked))
    chosen = chosen_measures(list(islice(corpus, _SHOWN)), bertscore=asked.bertscore)
    configs = measure_configs(_preset(asked), dict(_settings(asked)), chosen)
    finding = Found(configs)
    task = CorpusTask(corpus, finding, Settings(), spreading.folder(Path(asked.out)), spreading.part)
    options, spread = Options(environ=terminal.environ), spreading.spread or Spread(1)
    count = asyncio.run(stoppable(work_through(task, options, spread), "the same command"))
    if spreading.shard:
        say_part(terminal, spreading, count, asked.out, Bill())
        return
    found = write_numbers(task, finding, Path(asked.csv) if asked.csv not in ("", "-") else None)
    for report in found.reports:
        say_report(terminal, report, ())
    _say_left_out(terminal, corpus.left_out, found.sources.total())
    terminal.advise(f"{near(task.folder / STORIES)} lists the numbers for each story.")
    terminal.document(found.to_dict(task))


def _adapting(terminal: Terminal, asked: Measures) -> Callable[[Item], Item]:
    """A function that gives each story the named brief and reference."""
    brief = Brief.read(Path(asked.brief)) if asked.brief else None
    references = stories_of(terminal, [asked.reference]) if asked.reference else ()
    known = {item.prompt or item.id: item.story for item in references}

    def adapted(item: Item) -> Item:
        named = references[0].story if len(references) == 1 else known.get(item.prompt) or known.get(item.id)
        return replace(item, brief=brief or item.brief, reference=named or item.reference)

    return adapted


# what is measured ---------------------------------------------------------------------------------------------------


def _items(
    terminal: Terminal, common: ProjectOptions, asked: Measures, stories: Sequence[str], selection: Selection
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The stories to measure, and why some cannot be measured."""
    if not (stories or common.folder or Path("brief.md").is_file()):
        raise UsageError(
            "Specify a story to measure: a .md, .txt, .jsonl or .csv file, a project, a data set or a folder."
        )
    sources = named_stories(named_or_here(common, stories))
    files = [source for source in sources if isinstance(source, Path)]
    items, empty = read_all(files, selection) if len(files) == len(sources) else (items_of(sources, selection), ())
    if asked.brief:
        items = with_brief(items, Brief.read(Path(asked.brief)), f"--brief {asked.brief}")
    if asked.reference:
        items = with_references(items, stories_of(terminal, [asked.reference]), asked.reference)
    return items, empty


def _samples(terminal: Terminal, common: ProjectOptions, asked: Measures, stories: Sequence[str]) -> Samples | None:
    """The samples in the named place, or those of the only project that is measured."""
    if asked.voice:
        return Samples(item.story.text for item in stories_of(terminal, [asked.voice]))
    named = named_or_here(common, stories)
    place = Path(named[0]) if len(named) == 1 else Path()
    if len(named) != 1 or not (place / VOICE).is_dir():
        return None
    try:
        return samples_of(ProjectFolder.open(place))
    except UsageError as error:
        terminal.message(f"The distance from your samples was not measured. {error}")
        return None


def _preset(asked: Measures) -> Preset:
    preset: Preset = "faithful" if asked.preset == "faithful" else "improved"
    if asked.preset != preset:
        raise UnknownNameError("preset", asked.preset, ("faithful", "improved"))
    return preset


def _settings(asked: Measures) -> Iterator[tuple[str, str]]:
    """The settings in `--set`."""
    for value in asked.set_ or ():
        name, equals, text = (part.strip() for part in value.partition("="))
        if not (name and equals and text):
            raise UsageError(f"--set {value!r} does not have the form FIELD=VALUE, such as --set tokens=rouge.")
        yield name, text


# where the numbers go -----------------------------------------------------------------------------------------------


def _write_csv(where: str, text: str, terminal: Terminal) -> None:
    if where == "-":
        terminal.say(text.rstrip("\n"))
        return
    write_atomically(Path(where), text)
    terminal.advise(f"Every number is in {where}.")


def _show(terminal: Terminal, items: Sequence[Item], reports: Sequence[Report]) -> None:
    for report in reports:
        say_report(terminal, report, items)
        settings = ", ".join(f"{name} {_value(value)}" for name, value in report.how.items())
        terminal.say(terminal.wrapped(f"\n{report.evaluator}: {settings}\n"))
    terminal.advise("To get every number with its n, interval and method, use --json or --csv FILE.")


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
