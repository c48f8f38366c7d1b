"""A conversation at the terminal: lines typed, turns printed as they arrive, and commands that start with a slash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.app.conversations import ended
from fabula.app.writing import first_error
from fabula.base.errors import FabulaError, UnknownNameError, UsageError
from fabula.base.files import PRIVATE, write_atomically
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.engine.events import CallStarted, Event

if TYPE_CHECKING:
    from fabula.app.bills import Bill
    from fabula.cli.terminal import Terminal
    from fabula.craft.conversation import Conversation, Turn, Where
    from fabula.project.folder import ProjectFolder


HELP: Final = """\
  /plan             what is to happen in this cell, and where we are
  /where            how far the story is
  /next             let the story continue: to the next point, or the next cell
  /greeting [N]     list the greetings of the character card; begin with another one
  /undo             undo the last turn
  /retry            get another answer
  /edit TEXT        change the last answer to TEXT
  /freedom LEVEL    rails, guided or loose
  /leave NAME, /join NAME   who is present, if you talk with several
  /save [FILE]      save the conversation as Markdown
  /quit             end; the same command continues from here"""
_PREPARING: Final = frozenset({"labeller", "planner", "summariser"})
_DIGITS: Final = 6  # of the number of a greeting
_SHOWN: Final = 3  # turns of a conversation that goes on


@dataclass
class TerminalChat:
    """A conversation at the terminal; prepare it, then call `run`. `greeting` is a 0-based index."""

    terminal: Terminal
    project: ProjectFolder
    bill: Bill
    conversation: Conversation = field(init=False)
    greeting: int = 0
    _prepares: bool = False
    _midline: bool = False
    _present: tuple[str, ...] = ()

    def hear(self, event: Event) -> None:
        """Listen to the run, and announce when a cell is being prepared, because that takes a while."""
        if isinstance(event, CallStarted) and event.role in _PREPARING and not self._prepares:
            self._prepares = True
            self.terminal.advise("... the next part of the story is being prepared")

    async def run(self, automatic: int) -> None:
        """Run the conversation; `automatic` limits the turns between two models, and is 0 if a person takes part."""
        self._greet()
        try:
            if automatic:
                await self._alone(automatic)
            else:
                await self._with_person()
        finally:
            self._end_line()
            self.conversation.log.write_transcript()
        self._farewell()

    async def _alone(self, most: int) -> None:
        for _ in range(most):
            if self.conversation.state.over:
                return
            self.show(await self.conversation.play(None), with_said=True)
        where = self.conversation.where
        if not where.over:
            at = f" at point {where.step} of {where.steps}" if where.steps else ""
            self.terminal.advise(
                f"-- Stopped in cell {where.cell}{at}, after {counted(most, 'exchange')} (--turns). --"
            )

    async def _with_person(self) -> None:
        if not self.conversation.turns or self.greeting:
            await self._try(self._begin)
        while (line := await self.terminal.line(f"{self.conversation.parties.player}: ")) is not None:
            if not line.strip():
                continue
            if line.strip() in {"/quit", "/exit"}:
                return
            if line.startswith("/"):
                await self._try(lambda line=line: self._command(line))  # type: ignore[misc] # a default binds the line
            else:
                await self._try(lambda line=line: self.conversation.say(line, self._piece))  # type: ignore[misc] # a default binds the line

    async def _begin(self) -> Turn:
        """The first turn, after the list of those present. A greeting is shown before anything is prepared."""
        if self.conversation.greetings or self.greeting:
            begin = self.conversation.greet if self.greeting else self.conversation.begin
            return await begin(greeting=max(self.greeting, 1), on_text=self._piece)
        self._tell_present(await self.conversation.gather())
        return await self.conversation.begin(self._piece)

    async def _try(self, move: Callable[[], Awaitable[Turn | None]]) -> None:
        """Make a move. If it fails and a person can try another, the conversation continues."""
        self._prepares = False
        try:
            turn = await _single(move)
        except UsageError as problem:
            self._end_line()
            self.terminal.message(str(problem))
        except FabulaError as problem:
            self._end_line()
            if not self.terminal.interactive:
                raise
            self.terminal.message(f"{problem}\nThe conversation is unchanged. Say that again, or say something else.")
        else:
            if turn is not None:
                self.show(turn)

    # commands -------------------------------------------------------------------------------------------------------

    async def _command(self, line: str) -> Turn | None:
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if word == "/next":
            return await self.conversation.go_on(self._piece)
        if word == "/retry":
            return await self.conversation.retry(self._piece)
        if word == "/greeting" and rest:
            if not (rest.isascii() and rest.isdigit() and len(rest) < _DIGITS):
                raise UsageError(f"/greeting takes a number, not {rest[:40]!r}. /greeting alone lists them.")
            return await self.conversation.greet(int(rest), self._piece)
        if word == "/undo":
            last = await self.conversation.undo()
            self.terminal.message(
                "Undone."
                if last
                else "The last turn was undone, and the conversation is empty. To begin it, type /next."
            )
            if last:
                self._show_old(last)
            return None
        await self._quiet_command(word, rest)
        return None

    async def _quiet_command(self, word: str, rest: str) -> None:
        """A command that makes no turn."""
        commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/plan": self._plan,
            "/where": self._where,
            "/freedom": self._freedom,
            "/leave": self._leave,
            "/join": self._join,
            "/edit": self._edit,
            "/save": self._save,
            "/greeting": self._greetings,
            "/help": self._help,
        }
        if word not in commands:
            raise UnknownNameError("command", word, [*commands, "/next", "/retry", "/undo", "/quit"])
        await commands[word](rest)

    async def _plan(self, _: str) -> None:
        where = self.conversation.where
        if not self.conversation.plan:
            self.terminal.say("There is no plan: the character knows the whole story and improvises.")
        for number, step in enumerate(self.conversation.plan, 1):
            mark = ">" if number == where.step else " "
            self.terminal.say(self.terminal.wrapped(f"{mark} {number}. {step.title}"))
            if step.detail:
                self.terminal.say(self.terminal.wrapped(f"     {step.detail}"))

    async def _greetings(self, _: str) -> None:
        found = self.conversation.greetings
        if not found:
            self.terminal.say("None of the characters' cards has a greeting.")
        for number, text in enumerate(found, 1):
            self.terminal.say(f"{number}. {text}")

    async def _where(self, _: str) -> None:
        where = self.conversation.where
        headline = f": {where.headline}" if where.headline else ""
        at = f", point {where.step} of {where.steps}{headline}" if where.steps else ""
        self.terminal.say(f"Cell {where.cell} of {where.cells}{at}")
        if where.present:
            self.terminal.say(self._who_is_there(where))
        self.terminal.say(f"{counted(where.turns, 'turn')}; {where.share:.0%} of the story.")

    def _who_is_there(self, where: Where) -> str:
        absent = f" Absent: {', '.join(where.absent)}." if where.absent else ""
        return f"Present: {', '.join((self.conversation.parties.player, *where.present))}.{absent}"

    def _tell_present(self, where: Where) -> None:
        """Say who is present, if that has changed."""
        if where.present and where.present != self._present:
            self._present = where.present
            self.terminal.advise(self._who_is_there(where))

    async def _freedom(self, rest: str) -> None:
        self.terminal.message(f"Freedom is now {await self.conversation.set_freedom(rest)}.")

    async def _leave(self, rest: str) -> None:
        there = [name for name in self.conversation.state.present if name.casefold() != rest.casefold()]
        if len(there) == len(self.conversation.state.present):
            raise UnknownNameError("character who is there", rest, self.conversation.state.present)
        await self.conversation.set_present(there)
        self._show_present()

    async def _join(self, rest: str) -> None:
        await self.conversation.set_present((*self.conversation.state.present, rest))
        self._show_present()

    def _show_present(self) -> None:
        self._present = self.conversation.state.present
        self.terminal.message(self._who_is_there(self.conversation.where))

    async def _edit(self, rest: str) -> None:
        if not rest:
            raise UsageError("/edit takes the new answer: `/edit (laughs) There is none.`")
        self._show_old(await self.conversation.edit(rest))

    async def _save(self, rest: str) -> None:
        log = self.conversation.log
        if log.file is None:
            return
        target = _free(rest) if rest else log.file.with_suffix(".md")
        write_atomically(target, log.markdown, mode=PRIVATE)
        self.terminal.message(f"Saved as {near(target)}.")

    async def _help(self, _: str) -> None:
        self.terminal.message(HELP)

    # showing --------------------------------------------------------------------------------------------------------

    def show(self, turn: Turn, *, with_said: bool = False) -> None:
        """Print a new turn; its words may already be on the screen."""
        if with_said and turn.said:
            self.terminal.say(f"{self.conversation.parties.player}: {turn.said}")
        if self._midline:
            self._end_line()
        elif turn.line is not None:
            self.terminal.say(f"{turn.line.name}: {turn.line.text}")
        self._tell_present(self.conversation.where)
        if turn.ends_story:
            self.terminal.advise("-- The story has ended. /undo undoes the last turn, /quit ends. --")
        elif turn.ends_cell:
            self.terminal.advise(
                f"-- Cell {turn.cell} of {self.conversation.where.cells} ends. Say something, or /next. --"
            )

    def _show_old(self, turn: Turn) -> None:
        for who, words in turn.lines(self.conversation.parties.player):
            self.terminal.say(f"{who}: {words}")

    def _piece(self, text: str) -> None:
        """A piece of an answer, as it arrives."""
        if self.terminal.json:
            return
        if not self._midline:
            self._midline = True
            text = f"{self.conversation.speaker}: {text}"
        self.terminal.piece(text)

    def _end_line(self) -> None:
        if self._midline:
            self._midline = False
            self.terminal.piece("\n")

    def _greet(self) -> None:
        parties, where = self.conversation.parties, self.conversation.where
        self.terminal.advise(
            f"{parties.player} talks with {', '.join(parties.others)}; {counted(where.cells, 'cell')}. "
            f"Conversation {self.conversation.name!r}. /help lists the commands."
        )
        if self.conversation.turns:
            self.terminal.advise(f"Continuing after {counted(len(self.conversation.turns), 'turn')}:")
            for turn in self.conversation.turns[-_SHOWN:]:
                self._show_old(turn)
            self._tell_present(where)

    def _farewell(self) -> None:
        where = self.conversation.where
        folder, asked = near(self.project.folder), sum(self.bill.calls.values())
        self.terminal.advise(
            f"{counted(len(self.conversation.turns), 'turn')}, {where.share:.0%} of the story, "
            f"{counted(asked, 'call')}, {self.bill.tokens:,} tokens. To continue, run `fabula chat {folder} --session "
            f"{self.conversation.name}`."
        )
        self.terminal.document(ended(self.project, self.conversation, self.bill))


async def _single(move: Callable[[], Awaitable[Turn | None]]) -> Turn | None:
    """Make a move; of several errors raised together, the first of fabula's is raised."""
    try:
        return await move()
    except BaseExceptionGroup as group:
        raise first_error(group) from group


def _free(name: str) -> Path:
    """The path of a file that does not exist yet."""
    target = Path(name).expanduser()
    if target.exists():
        raise UsageError(f"{target} exists. Give /save another name.")
    return target
