"""What was announced is the most that is asked; before more is, the person is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

SHORT = "Mara lit the first lamp before the storm came over the harbour wall."
BRIEF = "Write a story of about 60 words about Mara, who keeps a lighthouse."
PRICE = '\n[prices."scripted:{}"]\ninput = 1.0\noutput = 2.0\n'


@pytest.fixture
def terse(here: Path) -> tuple[str, ...]:
    """A model that gives a few words at a time, so that its story takes more calls than anybody announced."""
    texts = ", ".join(f'"Mara lit lamp number {number} and waited."' for number in range(1, 30))
    (here / "terse.toml").write_text(f'[replies]\nwriter = "{SHORT}"\n"writer:extend" = [{texts}]\n')
    (here / "task.md").write_text(BRIEF)
    return ("--system", "end-to-end", "--model", "scripted:terse.toml")


@pytest.fixture
def priced(cli: Cli, here: Path, terse: tuple[str, ...]) -> Path:
    """A project whose model costs money."""
    cli("new", "tale", "--brief", "task.md", *terse)
    settings = here / "tale" / "fabula.toml"
    settings.write_text(settings.read_text() + PRICE.format(here / "terse.toml"))
    return here / "tale"


def test_a_run_that_passes_its_estimate_stops_without_a_terminal(cli: Cli, priced: Path) -> None:
    ran = cli("write", "tale")
    assert ran.code == 1
    assert "Stopped before exceeding what was announced: " in ran.err
    assert "All finished work is kept. To continue, use `fabula write tale --yes`." in ran.err
    assert cli("write", "tale", "--yes").code == 0
    assert (priced / "story.md").exists()


def test_at_a_terminal_the_person_is_asked_and_told_what_is_to_come(cli: Cli, priced: Path) -> None:
    cli.at_terminal()
    ran = cli("write", "tale", stdin="n\n")
    assert ran.code == 1
    assert "announced" in ran.err
    assert "Still to come: about" in ran.err
    assert "Continue? [y]es or [n]o:" in ran.err
    assert cli("write", "tale", stdin="y\n" * 30).code == 0


def test_where_nothing_costs_money_it_is_only_said(cli: Cli, terse: tuple[str, ...]) -> None:
    ran = cli("write", "task.md", "--out", "free", *terse)
    assert ran.code == 0
    announced = re.search(r"about (?:[\d,]+ to )?([\d,]+) calls? to make", ran.err)
    assert announced is not None, ran.err
    warned = ran.err.count(f"This run needs more calls than the {announced[1]} announced.")
    assert warned == 1, "the number that was said"


def test_a_quiet_run_announced_nothing_and_asks_nothing(cli: Cli, priced: Path) -> None:
    assert cli("write", "tale", "--quiet").code == 0


WRITER = """
def write(request):
    said = request.messages[-1].content
    words = 12 if "Jonas" in said else 120
    return " ".join(f"Mara lit lamp number {request.path} {n}." for n in range(words // 6))
"""


@pytest.fixture
def edited(cli: Cli, here: Path) -> Path:
    """A written project whose brief was changed, after which its writer gives far less at a time."""
    (here / "writer.py").write_text(WRITER)
    (here / "task.md").write_text(BRIEF.replace("60", "120"))
    assert (
        cli("write", "task.md", "--out", "tale", "--system", "end-to-end", "--play", "writer=writer.py:write").code == 0
    )
    brief = here / "tale" / "brief.md"
    brief.write_text(brief.read_text().replace("Mara", "Jonas"))
    return here / "tale"


def test_before_an_update_makes_more_calls_than_it_said_at_most_the_person_is_asked(cli: Cli, edited: Path) -> None:
    cli.at_terminal()
    ran = cli("update", "tale", stdin="y\nn\n")
    assert ran.code == 1
    assert "1 call to make, at most 5 (" in ran.out
    assert "at most 5 calls were announced, 5 have been made, and more are to come." in ran.err
    assert "The next call would be story/extend/" in ran.err
    assert "To continue, use `fabula update tale --yes`" in ran.err
    ran = cli("update", "tale", "--json", "--yes")
    assert ran.code == 0
    assert ran.json["replayed"] == 5  # what was made before it stopped is kept


def test_an_update_that_was_agreed_to_twice_goes_on_to_its_end(cli: Cli, edited: Path) -> None:
    cli.at_terminal()
    ran = cli("update", "tale", stdin="y\n" * 20)
    assert ran.code == 0
    assert ran.err.count("Continue?") >= 1


def test_an_estimate_says_what_it_is_worth(cli: Cli, terse: tuple[str, ...]) -> None:
    ran = cli("write", "--dry-run", "task.md", *terse)
    assert ran.code == 0
    assert "In total, about" in ran.err
    assert "most estimates were within a quarter of the actual cost." in ran.err


@pytest.mark.parametrize("asked", ["3,000,000 words", "300 chapters of 10,000 words each", "9000 pages long"])
def test_more_words_than_a_story_can_have_are_refused_with_the_bound(cli: Cli, here: Path, asked: str) -> None:
    (here / "vast.md").write_text(f"Write a novel of {asked} about Mara, who keeps a lighthouse.")
    ran = cli("write", "--dry-run", "vast.md", "--system", "end-to-end", "--model", "scripted:script.toml")
    assert ran.code == 2
    assert "words, but a story has 1,000,000 at most. Ask for fewer" in ran.err
    said = cli(
        "write", "--dry-run", "vast.md", "--words", "500", "--system", "end-to-end", "--model", "scripted:script.toml"
    )
    assert said.code == 0
