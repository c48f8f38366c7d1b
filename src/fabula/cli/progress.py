"""The progress that a person sees during a run: a line for each finished text, and the current work below."""

from __future__ import annotations

import re
import textwrap
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from fabula.app.bills import dollars
from fabula.cli.stopping import clears_screen
from fabula.engine.events import (
    AnswersAwaited,
    CallFinished,
    CallLost,
    CallRetried,
    CallStarted,
    Kept,
    Noted,
    Removed,
    Repaired,
    RunFinished,
    RunStarted,
    TextArrived,
)
from fabula.models.answer_files import ANSWER, PROMPT
from fabula.models.base import NOTHING_USED, Usage
from fabula.models.budget import estimate_tokens
from fabula.story import count_words, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType
    from rich.live import Live

    from fabula.cli.terminal import Terminal
    from fabula.engine.dry_run import PlannedCall
    from fabula.engine.events import Event

_MOST_CALLS: Final = 4
_MOST_LINES: Final = 6  # of the words of one call
_AROUND: Final = 4  # lines of the screen that are not for words
_TAIL: Final = 1_000  # letters of a reply of which the last lines are shown
_KNOWN: Final = 200  # tokens that count as written as planned, before there are others
_FADES: Final = 0.8  # what an earlier call says of the speed, beside the one after it
_SOON: Final = 10  # seconds of writing after which its speed says something
_MINUTE: Final = 60
_DIGEST: Final = re.compile(r"@[0-9a-f]{8,}$")  # of the weights, in a model's identity
_PATIENT: Final = ("files", "paste", "client")  # models whose speed says nothing
_RECORDS: Final = frozenset({"drafts/edits", "drafts/refused"})
_SOURCES: Final = {"edited": "your text", "pinned": "pinned"}


class LivePicture(ABC):
    """The base class of listeners that show progress: printed lines, and a live display.

    Attributes:
        refreshes: how often the display is refreshed per second.
    """

    refreshes: ClassVar[int] = 8
    terminal: Terminal
    _live: Live | None

    @abstractmethod
    def _picture(self) -> RenderableType:
        """The current picture."""

    def _show(self, line: str) -> None:
        if self.terminal.quiet:
            return
        if self._live is None:
            self.terminal.message(line)
        else:
            from rich.text import Text  # noqa: PLC0415 - only where progress is live

            self._live.console.print(Text(self.terminal.shown(line)))

    def _start(self) -> None:
        if self.terminal.quiet or not self.terminal.lively or self._live is not None:
            return
        from rich.console import Console  # noqa: PLC0415 - only where progress is live
        from rich.live import Live  # noqa: PLC0415 - only where progress is live

        self._live = Live(
            console=Console(stderr=True, highlight=False),
            get_renderable=self._picture,
            transient=True,
            refresh_per_second=self.refreshes,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        clears_screen(self._stop)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Hide the live display while a person is being asked."""
        was_live = self._live is not None
        self._stop()
        try:
            yield
        finally:
            if was_live:
                self._start()


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: "1 call", "1,200 calls"."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def duration(seconds: float) -> str:
    """Return a duration in everyday form: "8 s", "1 min 20 s", "2 h 5 min"."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    minutes, rest = divmod(whole, _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // _MINUTE} h {minutes % _MINUTE} min"


@dataclass
class Speaking:
    """A running call: the text received so far, and the start time."""

    role: str
    performer: str
    began: float
    text: str = ""
    first: float | None = None
    planned: PlannedCall | None = None

    def left(self, usual: float) -> float:
        """Return how many tokens are missing from the planned reply or, if none was planned, from a `usual` reply."""
        return max(0.0, (self.planned.reply if self.planned else usual) - estimate_tokens(self.text))


@dataclass
class _Pace:
    """The pace of this run's calls: how fast they were read and written, and how many were not planned.

    Unplanned calls, made since a text is asked for again, count as more of what was planned. Later calls count most for
    the speed, since the load of a machine changes.
    """

    reading: float = 0.0
    read: float = 0.0
    writing: float = 0.0
    written: float = 0.0
    busy: float = 0.0
    asked: Usage = NOTHING_USED
    prompts: int = 0
    replies: int = 0

    def finished(self, call: Speaking, usage: Usage, now: float) -> None:
        """Add a finished call."""
        reading = (now if call.first is None else call.first) - call.began
        writing = now - call.began - reading
        if usage.first is not None:  # without the start of an engine, and the wait for a turn
            reading, writing = usage.first, usage.seconds - usage.first
        self.reading, self.read = self.reading * _FADES + reading, self.read * _FADES + usage.prompt
        self.writing, self.written = self.writing * _FADES + writing, self.written * _FADES + usage.reply
        self.busy += reading + writing
        self.asked += usage
        if call.planned is not None:
            self.prompts, self.replies = self.prompts + call.planned.prompt, self.replies + call.planned.reply

    def seconds(self, prompt: float, reply: float) -> float:
        """Return the seconds needed to read and write this part of the plan."""
        prompt *= (self.asked.prompt + _KNOWN) / (self.prompts + _KNOWN)
        reply *= (self.asked.reply + _KNOWN) / (self.replies + _KNOWN)
        if not self.writing:  # replies that come in one piece
            return reply * self.reading / max(self.written, 1)
        return prompt * self.reading / max(self.read, 1) + reply * self.writing / max(self.written, 1)


@dataclass
class Waiting:
    """A listener that says once for which file each prompt in a folder waits."""

    terminal: Terminal
    _awaited: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False)

    def __call__(self, event: Event) -> None:
        """Print what a model in files waits for, as a run does; also into a log, where nobody else says so."""
        if isinstance(event, AnswersAwaited) and not self.terminal.quiet:
            for said in self.new(event):
                self.terminal.message(said)

    def new(self, event: AnswersAwaited) -> list[str]:
        """A line for each file that was not awaited before; none if the output is for a program."""
        before, self._awaited[event.folder] = self._awaited.get(event.folder, ()), event.files
        new = [] if self.terminal.json else [file for file in event.files if file not in before]
        prompts = [(file, Path(event.folder, f"{file.removesuffix(ANSWER)}{PROMPT}")) for file in new]
        return [f"  waiting for the reply to {asked}: write it to {file} in the same folder" for file, asked in prompts]


@dataclass
class ProgressDisplay(LivePicture):
    """A listener that shows the progress of a run on a terminal.

    Attributes:
        terminal: prints the lines to stderr.
        clock: returns seconds.
        expected: the calls that the run will make, according to a dry run.
    """

    terminal: Terminal
    clock: Callable[[], float]
    expected: Sequence[PlannedCall] = ()
    running: dict[str, Speaking] = field(default_factory=dict, init=False)
    words: dict[str, int] = field(default_factory=dict, init=False)
    replayed: int = field(default=0, init=False)
    asked: int = field(default=0, init=False)
    waiting: Waiting = field(init=False)
    _left: list[PlannedCall] = field(default_factory=list, init=False)
    _done: list[CallFinished] = field(default_factory=list, init=False)
    _removed: Counter[str] = field(default_factory=Counter, init=False)
    _rendered: set[tuple[str, str]] = field(default_factory=set, init=False)
    _began: float = field(default=0.0, init=False)
    _pace: _Pace = field(default_factory=_Pace, init=False)
    _paid: Usage = field(default=NOTHING_USED, init=False)
    _live: Live | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.waiting = Waiting(self.terminal)

    def __call__(self, event: Event) -> None:
        """Handle an event, and show what it changes."""
        self._hear(event)

    # events ---------------------------------------------------------------------------------------------------------

    @singledispatchmethod
    def _hear(self, event: Any) -> None:  # noqa: ANN401 - any event; those not named below change nothing here
        del event

    @_hear.register
    def _(self, event: RunStarted) -> None:
        del event
        self._left, self._done, self.running, self._pace = list(self.expected), [], {}, _Pace()
        self._began = self.clock()
        self._start()

    @_hear.register
    def _(self, event: RunFinished) -> None:
        del event
        self._stop()
        if self._removed:
            rules = ", ".join(f"{rule} {count:,}" for rule, count in self._removed.most_common())
            self._show(
                f"  {counted(self._removed.total(), 'piece')} of replies left out ({rules}). To see them, run `fabula "
                "show --removed`."
            )
            self._removed.clear()

    @_hear.register
    def _(self, event: CallStarted) -> None:
        planned = next((one for one in self._left if one.path == event.path), None)
        if planned is not None:
            self._left.remove(planned)
        self.running[event.path] = Speaking(event.role, event.performer, self.clock(), planned=planned)

    @_hear.register
    def _(self, event: TextArrived) -> None:
        call = self.running.get(event.path)
        if call is not None:
            call.first = self.clock() if call.first is None else call.first
            call.text += event.text

    @_hear.register
    def _(self, event: CallFinished) -> None:
        call = self.running.pop(event.path, None)
        self._done.append(event)
        if event.replayed:
            self.replayed += 1
            return
        self.asked += 1
        self._paid += event.usage
        if call is not None:
            self._pace.finished(call, event.usage, self.clock())

    @_hear.register
    def _(self, event: CallLost) -> None:
        self._paid += event.usage

    @_hear.register
    def _(self, event: CallRetried) -> None:
        self._show(f"  {event.model} failed ({event.reason}); try {event.attempt + 1} in {duration(event.wait)}")

    @_hear.register
    def _(self, event: AnswersAwaited) -> None:
        for said in self.waiting.new(event):
            self._show(said)

    @_hear.register
    def _(self, event: Repaired) -> None:
        self._show(f"  {event.path}: unreadable reply ({event.problem}). fabula asked for a correction")

    @_hear.register
    def _(self, event: Noted) -> None:
        self._show(f"  {event.path}: {event.text}")

    @_hear.register
    def _(self, event: Removed) -> None:
        self._removed[event.rule] += 1

    @_hear.register
    def _(self, event: Kept) -> None:
        words = count_words(event.text)
        if event.folder == "story":
            self.words[event.path] = words
        under = f"{event.path}/"
        self._left = [planned for planned in self._left if not planned.path.startswith(under)]
        calls = [call for call in self._done if call.path.startswith(under)]
        self._done = [call for call in self._done if not call.path.startswith(under)]
        shown = event.path, event.text
        name = event.path if event.path.startswith(f"{event.folder}/") else f"{event.folder}/{event.path}"
        if shown not in self._rendered:  # a run that starts over, after a retake, repeats what stands
            self._rendered.add(shown)
            size = f"{words:>6,} words" if name not in _RECORDS else f"{'a record':>12}"
            rest = f" · {self._to_go()}" if self._live is None and self._to_go() else ""
            self._show(f"  {name:<24} {size}   {_how(event, calls)}{rest}")

    # showing --------------------------------------------------------------------------------------------------------

    def _picture(self) -> RenderableType:
        from rich.console import Group  # noqa: PLC0415 - only where progress is live
        from rich.text import Text  # noqa: PLC0415 - only where progress is live

        lines: list[Text] = []
        calls = list(self.running.values())[:_MOST_CALLS]
        for call in calls:
            lines.append(Text(self.terminal.shown(self.call_line(call)), style="bold"))
            lines += [Text(f"    {line}", style="dim") for line in self._last_lines(call, len(calls))]
        lines += [Text(self.terminal.shown(line), style="cyan") for line in self.rest_lines()]
        for line in lines:  # a full line would wrap when the terminal echoes ^C after it, and leave traces
            line.truncate(self._room() + 5, overflow="ellipsis")
        return Group(*lines)

    def _room(self) -> int:
        return max((self._live.console.width if self._live else 80) - 9, 20)

    def _last_lines(self, call: Speaking, calls: int) -> list[str]:
        """The last lines of the text that has arrived, as many as fit next to other calls."""
        height = self._live.console.height if self._live else 24
        most = max(1, min(_MOST_LINES, (height - _AROUND) // (2 * calls) - 1))
        at = max(0, len(call.text) - _TAIL)
        at -= at % (_TAIL // 2)  # so that lines break where they broke before
        tail = self.terminal.shown(one_line(call.text[at:]))
        return textwrap.wrap(tail, self._room(), break_on_hyphens=False)[-most:]

    def call_line(self, call: Speaking) -> str:
        """Return a line that shows who is working, for how long, how much is done, and how fast."""
        now, who = self.clock(), _DIGEST.sub("", call.performer)
        if call.first is None:
            doing = "waiting" if call.performer.partition(":")[0] in _PATIENT else "reading"
            return f"▸ {call.role} · {who} · {doing}, {duration(now - call.began)}"
        tokens, seconds = estimate_tokens(call.text), now - call.first
        speed = f", {tokens / seconds:.0f} tokens/s" if seconds > 1 else ""
        return f"▸ {call.role} · {who} · {count_words(call.text):,} words{speed}"

    def rest_lines(self) -> list[str]:
        """Return lines about the run: its progress, cost and remaining time, and what is written and what remains."""
        done = [self._to_go()] if self._to_go() else []
        if self._paid.prompt or self._paid.reply:
            done.append(f"{self._paid.prompt + self._paid.reply:,} tokens, {dollars(self._paid.cost)}")
        left = list(dict.fromkeys(planned.role for planned in self._left))
        parts = [f"{sum(self.words.values()):,} words of story"] if self.words else []
        if self.replayed:
            parts.append(f"{counted(self.replayed, 'call')} from the journal")
        if left:
            parts.append("then " + ", ".join(left))
        return [f"  {' · '.join(line)}" for line in (done, parts) if line]

    def _to_go(self) -> str:
        """How many calls are done, of how many, and how long the others need."""
        coming = len(self._left) + len(self.running)
        if not self.asked and not coming:
            return ""
        parts = [f"{self.asked} of about {counted(self.asked + coming, 'call')} done"]
        if (seconds := self.seconds_left()) is not None and seconds >= 1:
            parts.append(f"about {_roughly(seconds)} to go")
        return ", ".join(parts)

    def seconds_left(self) -> float | None:
        """Estimate the remaining seconds from the pace of this run; `None` at the beginning."""
        now, running = self.clock(), list(self.running.values())
        if not (self._left or running):
            return None
        pace = replace(self._pace)
        for call in running:  # what a long one says is not waited for
            if call.first is not None and now - call.first > _SOON and not self.asked:
                pace.writing, pace.written = pace.writing + now - call.first, pace.written + estimate_tokens(call.text)
        elapsed = now - self._began
        if not pace.written or elapsed <= 0:
            return None
        beside = max(1.0, pace.busy / elapsed)  # calls at once
        prompt = sum(call.prompt for call in self._left)
        usual = pace.asked.reply / max(self.asked, 1)
        reply = sum(call.reply for call in self._left) + sum(call.left(usual) for call in running)
        return pace.seconds(prompt, reply) / beside


def _roughly(seconds: float) -> str:
    """An estimated duration: in minutes from two minutes."""
    return duration(round(seconds / _MINUTE) * _MINUTE if seconds >= 2 * _MINUTE else seconds)


def _how(event: Kept, calls: Sequence[CallFinished]) -> str:
    """The source of a finished text, and how fast it was written."""
    if event.source in _SOURCES:
        return _SOURCES[event.source]
    if calls and all(call.replayed for call in calls):
        return "from the journal"
    usage = sum((call.usage for call in calls if not call.replayed), Usage(cost=0.0))
    waited_for = calls and calls[-1].performer.partition(":")[0] in _PATIENT
    if waited_for or not usage.seconds or not usage.reply:
        return _DIGEST.sub("", calls[-1].performer) if calls else ""
    return f"{duration(usage.seconds)}, {usage.reply / usage.seconds:.0f} tokens/s"
