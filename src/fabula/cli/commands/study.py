"""`fabula study`: `new`, `assign`, `serve`, `report`."""

from __future__ import annotations

import asyncio
import csv
import io
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from fabula.app.beginning import check
from fabula.app.studies import (
    StudyMade,
    assign,
    character_settings,
    check_trusted,
    new_version,
    own_key,
    study_of_characters,
    study_of_comments,
    study_of_findings,
    study_of_stories,
)
from fabula.app.study_report import study_report, write_report
from fabula.app.writing import Options
from fabula.base.addresses import is_loopback_host
from fabula.base.errors import UsageError
from fabula.base.files import PRIVATE, write_atomically
from fabula.cli.help import MORE
from fabula.cli.opening import terminal_of
from fabula.cli.options import Caps, Output, bundled
from fabula.cli.progress import counted
from fabula.cli.reports import rows_tables
from fabula.cli.serving import check_packages
from fabula.cli.session import near
from fabula.cli.stopping import stoppable
from fabula.cli.stories import Selecting, stories_of
from fabula.measure.ratings import read_ratings
from fabula.measure.studies.assigning import AssignmentOptions
from fabula.measure.studies.study import ORGANISER, Study
from fabula.server.running import listening
from fabula.stats.verdicts import JUDGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.cli.terminal import Terminal
    from fabula.measure.report import Report, Row
    from fabula.measure.studies.assigning import Shares

_HELP: Final = "Have people rate stories, talk with characters, or verify findings and comments, and see the results."
PORT: Final = 8732
_LISTED: Final = 12  # links in the terminal
_SHORT: Final = ("pairs: accuracy", "stories: spearman", "systems: spearman", "questions: spearman")
study = typer.Typer(help=_HELP, rich_markup_mode="rich", add_completion=False)


@dataclass(frozen=True, slots=True)
class _Making:
    """The subject of a new study."""

    kind: Annotated[
        Literal["pairwise", "chat", "findings", "comments", "rubric"],
        typer.Option(
            help="What raters see: two stories side by side, two characters to talk with, findings of `fabula check`, "
            "comments of `fabula evaluate editorial`, or one story at a time."
        ),
    ] = "pairwise"
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title that raters see.")] = "A reading study"
    from_: Annotated[
        str, typer.Option("--from", metavar="DIR", help="Make a new version of this study.", show_default=False)
    ] = ""
    player: Annotated[str, typer.Option("--as", metavar="NAME", help="Character that raters play (chat).")] = ""
    partner: Annotated[str, typer.Option("--with", metavar="NAME", help="Character that raters talk with (chat).")] = ""


@study.command("new")
@bundled
def _new(
    common: Output,
    making: _Making,
    selecting: Selecting,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the study.")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Stories, as for `fabula evaluate` (DIR/SYSTEM/PROMPT.md, files, projects or experiments); for chat "
            "and findings, projects; or the folder of a check or review.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make the folder of a study, with its questions and the items to rate."""
    terminal = terminal_of(common)
    made = _made(terminal, making, selecting, Path(folder), sources or [])
    form, entries = made.study.form, made.study.entries
    systems = sorted({entry.system for entry in entries.values() if entry.system})
    prompts = {entry.prompt for entry in entries.values()}
    of = f" of {counted(len(systems), 'system')}" if systems else ""
    terminal.say(
        f"{near(made.study.folder)} is a study ({form.kind}, version {form.version}): "
        f"{counted(len(entries), 'item')}{of} on {counted(len(prompts), 'prompt')}."
    )
    if made.left_out:
        terminal.say(f"Left out because they have stories by only one system: {', '.join(made.left_out)}.")
    terminal.advise(
        f"Check the consent text, instructions, questions and pay in {near(made.study.folder / 'study.toml')}. Next: "
        f"run `fabula study assign {near(made.study.folder)}` to see how many raters and hours the study needs."
    )
    terminal.document(
        {
            "study": str(made.study.folder),
            "kind": form.kind,
            "version": form.version,
            "items": len(entries),
            "systems": systems,
            "prompts": len(prompts),
            "left_out": list(made.left_out),
        }
    )


def _made(terminal: Terminal, making: _Making, selecting: Selecting, folder: Path, sources: Sequence[str]) -> StudyMade:
    if making.from_:
        if sources:
            raise UsageError("--from uses the items of another study. Leave the other sources out.")
        return new_version(folder, Path(making.from_))
    if not sources:
        raise UsageError("There is nothing to rate. Specify stories or projects, or another study with --from.")
    if making.kind != "chat" and (making.player or making.partner):
        raise UsageError("--as and --with are for chat studies. Add --kind chat, or leave them out.")
    if making.kind == "findings":
        return study_of_findings(folder, making.title, map(Path, sources))
    if making.kind == "comments":
        return study_of_comments(folder, making.title, map(Path, sources))
    if making.kind == "chat":
        return study_of_characters(folder, making.title, map(Path, sources), making.player, making.partner)
    return study_of_stories(folder, making.kind, making.title, stories_of(terminal, sources, selecting.selection()))


@dataclass(frozen=True, slots=True)
class _Assigning:
    """How tasks are distributed."""

    raters: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of raters.", show_default="as many as needed"),
    ] = None
    overlap: Annotated[
        int, typer.Option(min=1, metavar="K", help="Number of raters of each shared task, to measure agreement.")
    ] = 1
    shared: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Tasks that --overlap raters share.", show_default="all"),
    ] = None
    most: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Most tasks of one rater.", show_default="all prompts"),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Seed of all random choices.", show_default="random"),
    ] = None


@study.command("assign")
@bundled
def _assign(
    common: Output,
    assigning: _Assigning,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the study.")],
) -> None:
    """Assign tasks to raters, and show hours and pay; repeatable until the first rating."""
    terminal = terminal_of(common)
    if assigning.shared is not None and assigning.overlap == 1:
        raise UsageError(
            "--shared sets how many tasks have several raters. To set the number of raters, use --overlap."
        )
    # Who knows the seed and the stories can compute which side is which system; raters never see it.
    seed = secrets.randbelow(2**48) if assigning.seed is None else assigning.seed
    wanted = AssignmentOptions(assigning.raters, assigning.overlap, assigning.shared, assigning.most, seed)
    assigned, shares = assign(Study.open(Path(folder)), wanted, datetime.now(UTC))
    for line in _said(assigned, shares):
        terminal.say(line)
    terminal.advise(f"Next: run `fabula study serve {near(assigned.folder)}` to get a link for each rater.")
    terminal.document(_shares_data(assigned, shares))


def _said(assigned: Study, shares: Shares) -> list[str]:
    """What a study costs, in lines."""
    form, tasks = assigned.form, len(shares.tasks)
    sittings = max(-(-len(mine) // form.sitting) for mine in assigned.tasks_of.values())
    cost = f"; {shares.cost:,.2f} {form.currency} at {form.pay_an_hour:g} an hour" if form.pay_an_hour else ""
    who = f"{counted(tasks, 'task')} for {counted(shares.raters, 'rater')}"
    return [
        f"{who}, in at most {counted(sittings, 'sitting')} of {form.sitting}.",
        f"Rated: {shares.covered:,} of {shares.cells:,} cells, {shares.shared:,} of them by several raters.",
        (
            f"It needs about {shares.hours:,.1f} hours in total, including {shares.longest:,.1f} from the busiest "
            f"rater{cost}."
        ),
    ]


def _shares_data(assigned: Study, shares: Shares) -> dict[str, Any]:
    return {
        "study": str(assigned.folder),
        "tasks": len(shares.tasks),
        "raters": shares.raters,
        "cells": shares.cells,
        "covered": shares.covered,
        "shared": shares.shared,
        "hours": shares.hours,
        "longest": shares.longest,
        "cost": shares.cost,
        "currency": assigned.form.currency,
    }


@dataclass(frozen=True, slots=True)
class _Listening:
    """Where raters reach the study."""

    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 chooses a free port.")] = PORT
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; any address except loopback requires --allow-remote."
        ),
    ] = "127.0.0.1"
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Accept connections from other machines that have a link.")
    ] = False
    address: Annotated[
        str,
        typer.Option(
            metavar="URL", help="Address of a proxy in front of this server, for the links.", show_default=False
        ),
    ] = ""
    until: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            metavar="DAY",
            help="Date on which links expire, e.g. 2026-12-31.",
            show_default="as assigned",
            rich_help_panel=MORE,
        ),
    ] = None
    parallel: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Maximum number of characters that answer at once (chat).", rich_help_panel=MORE
        ),
    ] = 8


@study.command("serve")
@bundled
def _serve(
    common: Output,
    listen: _Listening,
    caps: Caps,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the study.")],
) -> None:
    """Serve the study to its raters, each with their own link."""
    terminal = terminal_of(common)
    check_packages("A study")
    served = Study.open(Path(folder))
    if served.design is None:
        place = near(served.folder)
        raise UsageError(f"No rater has a task in {place} yet. Run `fabula study assign {place}` first.")
    if not is_loopback_host(listen.host) and not listen.allow_remote:
        raise UsageError(
            f"{listen.host} is open to other machines. Add --allow-remote to give raters on other machines access, or "
            "leave --host out."
        )
    asyncio.run(stoppable(_served(terminal, listen, caps, served), "the same command"))


async def _served(terminal: Terminal, listen: _Listening, caps: Caps, served: Study) -> None:
    """Serve until a signal comes; print the links once the server accepts requests."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - beside what needs it

    from fabula.server.browser import link_to  # noqa: PLC0415 - a second of imports
    from fabula.server.study.conversations import RatersConversations  # noqa: PLC0415 - as above
    from fabula.server.study.running import StudyOffer, serve_study  # noqa: PLC0415 - as above

    name = urlsplit(listen.address).hostname or ""
    options = Options(environ=terminal.environ, whole=caps.budget)
    if served.form.kind == "chat":
        check_trusted(served)
        for entry in served.entries.values():
            check(character_settings(served, entry), terminal.environ)  # what is missing is said before raters meet it
    conversations = (
        RatersConversations(served, lambda: options, listen.parallel) if served.form.kind == "chat" else None
    )
    until = _until(listen.until)
    if own_key(served):
        terminal.message(
            f"{near(served.folder)} had a key from another machine, whose owner could have opened every rater's page. "
            "It has a new key now, and earlier links no longer work. Send raters the links below."
        )
    offer = StudyOffer(served, listen.host, [name] if name else [], conversations, until)
    with listening(listen.host, listen.port) as opened:
        if not is_loopback_host(listen.host):
            terminal.message(
                f"Warning: {listen.host} is open to other machines. Answers are sent unencrypted. Put a TLS proxy in "
                "front of this server, and specify its address with --address."
            )

        def link(who: str, page: str) -> str:
            made = link_to(opened, served.token(who), page)
            return f"{listen.address.rstrip('/')}{made[made.index('/login') :]}" if listen.address else made

        links = {rater: link(rater, "/") for rater in served.raters}
        file = _kept_links(served, links)

        def ready() -> None:
            expires = until or (served.design.expires if served.design else "")
            _show(terminal, links, link(ORGANISER, "/organiser"), file, expires)
            terminal.document(
                {
                    "study": str(served.folder),
                    "organiser": link(ORGANISER, "/organiser"),
                    "raters": [{"rater": rater, "link": own} for rater, own in links.items()],
                    "expires": expires,
                }
            )

        await serve_study(offer, opened, ready)


def _until(day: datetime | None) -> str:
    """The time at which links expire; empty if no day is given."""
    if day is None:
        return ""
    end = day.replace(hour=23, minute=59, tzinfo=UTC)
    if end < datetime.now(UTC):
        raise UsageError(f"{end:%Y-%m-%d} is in the past, so no link would work. Specify a later date with --until.")
    return end.isoformat()


def _kept_links(served: Study, links: dict[str, str]) -> Path:
    """The file with all links, for a mail to each rater."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("rater", "link"))
    rows.writerows(links.items())
    served.token(ORGANISER)  # makes the folder, where it is not there yet
    write_atomically(served.private / "links.csv", out.getvalue(), mode=PRIVATE)
    return served.private / "links.csv"


def _show(terminal: Terminal, links: dict[str, str], organiser: str, file: Path, expires: str) -> None:
    if datetime.fromisoformat(expires) < datetime.now(UTC):
        terminal.say(
            f"The links expired on {expires[:10]}. Raters can no longer answer, but they can withdraw. To reopen the "
            "study, use --until DAY. The links:"
        )
    else:
        terminal.say(f"The study is open until {expires[:10]}. Each rater has a link:")
    for rater, link in list(links.items())[:_LISTED]:
        terminal.say(f"  {rater}  {link}")
    if len(links) > _LISTED:
        terminal.say(f"  ... and {len(links) - _LISTED} more")
    terminal.say(f"Progress: {organiser}")
    terminal.advise(
        f"All links: {near(file)}. To stop the server, press Ctrl-C. All answers are kept, and the links stay valid."
    )


@study.command("report")
@bundled
def _report(
    common: Output,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the study.")],
    judge: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="A judge's ratings.jsonl, to compare with people's ratings.", show_default=False
        ),
    ] = "",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIR", help="Folder for page and numbers.", show_default="the study's")
    ] = "",
) -> None:
    """Report what people found: strengths, agreement, how raters worked, and a judge compared with them."""
    terminal = terminal_of(common)
    rated = Study.open(Path(folder))
    report = study_report(rated, read_ratings(Path(judge)) if judge else (), judge or "the study's judge")
    found = write_report(rated, report, Path(out or folder))
    terminal.say(rows_tables(_main_rows(report)) + "\n")
    for note in report.notes:
        terminal.say(terminal.wrapped(f"Note: {note}"))
    terminal.advise(f"\n{near(found.files[0])} contains the comments and every number with its interval.")
    terminal.document(found.to_dict())


def _main_rows(report: Report) -> Iterator[Row]:
    """What people found, next to the main numbers of a judge. The page shows how each rater worked."""
    raters, start = {one["rater"] for one in report.details["raters"]}, "judge beside people/"
    for row in report.rows:
        if row.what.startswith(start):
            question, _, measure = row.what.removeprefix(start).partition(": ")
            if row.of == JUDGE and row.what.endswith(_SHORT):
                yield replace(row, what=f"{measure}/{question}")
        elif row.of not in raters:
            yield row
