"""`fabula text card`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import read_bytes, read_text, write_atomically
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.terminal import Terminal, table
from fabula.story import one_line, slug
from fabula.story.cards import CharacterCard, card_of, left_out, persona_of, read_card
from fabula.story.cards.card import MAX_FILE_BYTES
from fabula.story.personas import MAX_PERSONAS, Persona, Personas, parse_personas, write_personas

_MAX_PERSONAS_BYTES: Final = 2_000_000
_WIDE: Final = 88
_SHOWN: Final = (
    ("description", "description"),
    ("personality", "personality"),
    ("scenario", "scenario"),
    ("first_mes", "first message"),
    ("creator", "by"),
    ("creator_notes", "its maker says"),
)


@dataclass(frozen=True, slots=True)
class CardOptions:
    """What to convert the card into, and where to save the result."""

    to: Annotated[
        Literal["personas", "json", "png"] | None,
        typer.Option("--to", help="Write the character as personas for `fabula write`, or as a card."),
    ] = None
    from_: Annotated[
        tuple[str, str] | None,
        typer.Option("--from", metavar="PERSONAS NAME", help="Read the character from a file of personas."),
    ] = None
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="With --to: a new file.")] = ""
    picture: Annotated[
        str, typer.Option("--picture", metavar="PNG", help="With --to png: the picture in which to store the card.")
    ] = ""


@bundled
def card(
    common: Output,
    making: CardOptions,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="Character cards (PNG, JSON or .charx files).")
    ] = None,
) -> None:
    """Show a character card, or convert between cards and personas."""
    terminal = terminal_of(common)
    _check(files or [], making)
    cards = [read_card(Path(file)) for file in files or []]
    if making.from_:
        cards = [card_of(_persona(*making.from_), *cards)]
    if making.to:
        _write(terminal, cards, making)
        return
    for number, one in enumerate(cards):
        terminal.say(("\n" if number else "") + _rendered(one))
    if len(cards) == 1:
        terminal.advise(f"Next: `fabula text card {(files or ['FILE'])[0]} --to personas --out personas.yaml`.")
    terminal.document({"cards": [_data(one) for one in cards]})


def _check(files: Sequence[str], making: CardOptions) -> None:
    """Refuse options that cannot be combined."""
    to, one = making.to, len(files) <= 1
    wrong = {
        "Specify a character card, or a character with --from PERSONAS NAME.": not files and not making.from_,
        "--from makes one card. Specify at most one card to overwrite.": making.from_ and not one,
        "--from requires --to json or --to png.": making.from_ and to not in ("json", "png"),
        "--out and --picture require --to. Specify the format with --to.": (making.out or making.picture) and not to,
        "--picture requires --to png.": making.picture and to != "png",
        "Cards are written one at a time. Specify one card. Only personas can share a file.": to in ("json", "png")
        and not one,
        "A picture cannot be printed. Specify a file with --out FILE.": to == "png" and not making.out,
    }
    for shown, holds in wrong.items():
        if holds:
            raise UsageError(shown)


def _persona(file: str, name: str) -> Persona:
    found = parse_personas(read_text(Path(file), _MAX_PERSONAS_BYTES, kind="personas (a YAML file)"), file)
    known = {slug(persona.name): persona for persona in found.people}
    if slug(name) not in known:
        raise UnknownNameError("persona", name, found.names)
    return known[slug(name)]


def _write(terminal: Terminal, cards: Sequence[CharacterCard], making: CardOptions) -> None:
    """Write or print the result."""
    if making.to == "personas":
        data = write_personas(_personas(cards)).encode()
        lost = [f"{one.name}: {shown}" for one in cards for shown in left_out(one)]
    else:
        data, lost = _card_bytes(cards[0], making), []
    about = {"names": [one.name for one in cards], "left_out": lost}
    if not making.out:
        text = data.decode("utf-8-sig")
        terminal.say(text.rstrip("\n"))
        terminal.document({**about, "text": text, "file": None})
        return
    file = Path(making.out)
    if file.exists():
        raise UsageError(f"{near(file)} already exists. Choose another file, or remove this one first.")
    write_atomically(file, data)
    terminal.say(f"{', '.join(about['names'])}: written to {near(file)}.")
    for shown in lost:
        terminal.advise(f"Left out: {shown}")
    terminal.document({**about, "text": None, "file": str(file)})


def _personas(cards: Sequence[CharacterCard]) -> Personas:
    personas = tuple(map(persona_of, cards))
    if len(personas) > MAX_PERSONAS:
        raise UsageError(f"{len(personas)} cards are too many for one file. The maximum is {MAX_PERSONAS}.")
    if len({slug(persona.name) for persona in personas}) < len(personas):
        raise UsageError("Two of the cards have the same name. Rename one of them, or write them to two files.")
    return Personas("", personas)


def _card_bytes(one: CharacterCard, making: CardOptions) -> bytes:
    if making.to == "json":
        return one.as_json()
    picture = read_bytes(Path(making.picture), MAX_FILE_BYTES, kind="a PNG picture") if making.picture else b""
    return one.as_png(picture)


def _rendered(one: CharacterCard) -> str:
    """A card in lines: the beginning of each field, as plain text."""
    rows = [("name", one.name), ("version", str(one.version))]
    rows += [(label, _short(one.text(name))) for name, label in _SHOWN if one.text(name)]
    if len(one.greetings) > 1:
        rows.append(("other greetings", str(len(one.greetings) - 1)))
    if one.texts("tags"):
        rows.append(("tags", _short(", ".join(one.texts("tags")))))
    if one.book:
        rows.append(("lorebook", counted(len(one.book.entries), "entry", "entries")))
    notes = [*one.notes, *(one.book.notes if one.book else ())]
    return "\n".join([table(rows), *notes])


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _WIDE else f"{line[:_WIDE].rstrip()} ... ({len(text):,} characters)"


def _data(one: CharacterCard) -> dict[str, Any]:
    book = one.book
    return {
        "name": one.name,
        "version": one.version,
        **{name: one.text(name) for name, _ in _SHOWN},
        "greetings": list(one.greetings),
        "tags": list(one.texts("tags")),
        "lorebook": len(book.entries) if book else 0,
        "notes": [*one.notes, *(book.notes if book else ())],
        "left_out": list(left_out(one)),
    }
