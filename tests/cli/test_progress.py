from __future__ import annotations

from dataclasses import dataclass

import pytest

from fabula.app.bills import Bill, dollars
from fabula.cli.bill import bill_table
from fabula.cli.progress import ProgressDisplay, Waiting, counted, duration
from fabula.cli.terminal import Terminal, safe, table
from fabula.engine.dry_run import PlannedCall
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
from fabula.models.base import Usage
from fabula.models.budget import estimate_tokens


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def planned(role: str, reply: int) -> PlannedCall:
    return PlannedCall(f"{role}/section", role, "model", 10, reply, None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> ProgressDisplay:
    found = ProgressDisplay(Terminal(environ={}), clock, [planned("climax", 20), planned("ending", 40)])
    found(RunStarted("agents-room"))
    return found


def test_who_is_at_work_and_how_fast(progress: ProgressDisplay, clock: Clock) -> None:
    progress(CallStarted("climax/section", "climax", "model"))
    clock.now += 3
    call = progress.running["climax/section"]
    assert progress.call_line(call) == "▸ climax · model · reading, 3 s"
    progress(TextArrived("climax/section", "The storm broke the window "))
    clock.now += 2
    progress(TextArrived("climax/section", "and the lamp went out."))
    speed = estimate_tokens(call.text) / 2
    assert progress.call_line(call) == f"▸ climax · model · 10 words, {speed:.0f} tokens/s"


def test_what_remains_is_counted_down(progress: ProgressDisplay, clock: Clock) -> None:
    assert progress.rest_lines() == ["  0 of about 2 calls done", "  then climax, ending"]
    progress(CallStarted("climax/section", "climax", "model"))
    assert progress.rest_lines() == ["  0 of about 2 calls done", "  then ending"]
    clock.now += 10
    progress(CallFinished("climax/section", "climax", "model", Usage(10, 0, 20, 10.0), replayed=False))
    progress(Kept("climax", "story", "The storm broke.", "made"))
    assert progress.rest_lines() == [
        "  1 of about 2 calls done, about 20 s to go · 30 tokens, price unknown",
        "  3 words of story · then ending",
    ]
    progress(Kept("ending", "story", "Peace.", "pinned"))  # its call is not needed
    assert progress.rest_lines() == ["  1 of about 1 call done · 30 tokens, price unknown", "  4 words of story"]
    assert progress.seconds_left() is None


def test_what_it_cost_so_far_counts_what_came_to_nothing(progress: ProgressDisplay) -> None:
    progress(CallFinished("climax/section", "climax", "model", Usage(10, 0, 20, 1.0, cost=0.01), replayed=False))
    progress(CallLost("ending/section", "ending", "model", Usage(50, 0, 20, 1.0, cost=0.02)))
    assert "100 tokens, $0.0300" in progress.rest_lines()[0]


def test_how_long_is_read_and_written_is_told_apart(clock: Clock) -> None:
    calls = [PlannedCall(f"part/{n}", "writer", "model", 1000, 100, None) for n in range(3)]
    progress = ProgressDisplay(Terminal(environ={}), clock, calls)
    progress(RunStarted("end-to-end"))
    progress(CallStarted("part/0", "writer", "model"))
    clock.now += 5
    progress(TextArrived("part/0", "It was dark. "))
    assert progress.seconds_left() is None
    clock.now += 10
    progress(CallFinished("part/0", "writer", "model", Usage(1000, 0, 100, 15.0), replayed=False))
    assert progress.seconds_left() == pytest.approx(30)
    progress(CallStarted("part/1", "writer", "model"))
    clock.now += 5
    progress(TextArrived("part/1", "It was dark. " * 12))
    assert progress.seconds_left() == pytest.approx(15 + 10 * (1 - estimate_tokens("It was dark. " * 12) / 100))


def test_time_left_counts_what_is_asked_again(clock: Clock) -> None:
    """Each part is drawn twice, and only once was planned; what is announced halfway is a quarter off at most."""
    parts = [PlannedCall(f"part/{n}", "writer", "model", 500, 100, None) for n in range(8)]
    progress = ProgressDisplay(Terminal(environ={}), clock, parts)
    progress(RunStarted("agents-room"))
    said, began = 0.0, clock.now
    for n in range(8):
        for path in (f"part/{n}", f"part/{n}/again/1"):
            progress(CallStarted(path, "writer", "model"))
            clock.now += 15 if n else 75  # the engine starts
            used = Usage(600, 0, 120, 15.0, 3.0)
            progress(CallFinished(path, "writer", "model", used, replayed=False))
        progress(Kept(f"part/{n}", "story", f"Part {n}.", "made"))
        if n == 3:
            said, began = progress.seconds_left() or 0.0, clock.now
    assert said == pytest.approx(clock.now - began, rel=0.25)


def test_time_left_follows_a_machine_that_others_have_come_to_use(clock: Clock) -> None:
    parts = [PlannedCall(f"part/{n}", "writer", "model", 0, 100, None) for n in range(20)]
    progress = ProgressDisplay(Terminal(environ={}), clock, parts)
    progress(RunStarted("agents-room"))
    for n in range(12):
        progress(CallStarted(f"part/{n}", "writer", "model"))
        seconds = 5.0 if n < 6 else 30.0
        clock.now += seconds
        progress(CallFinished(f"part/{n}", "writer", "model", Usage(0, 0, 100, seconds, 0.0), replayed=False))
    assert progress.seconds_left() == pytest.approx(8 * 30, rel=0.25)


def test_calls_beside_each_other_take_their_time_together(clock: Clock) -> None:
    calls = [PlannedCall(f"part/{n}", "writer", "model", 0, 100, None) for n in range(4)]
    progress = ProgressDisplay(Terminal(environ={}), clock, calls)
    progress(RunStarted("end-to-end"))
    for n in range(2):
        progress(CallStarted(f"part/{n}", "writer", "model"))
    clock.now += 10
    for n in range(2):
        progress(CallFinished(f"part/{n}", "writer", "model", Usage(0, 0, 100, 10.0), replayed=False))
    assert progress.seconds_left() == pytest.approx(10)


def test_in_a_pipe_each_text_says_how_far_the_run_is(
    progress: ProgressDisplay, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress(CallStarted("climax/section", "climax", "model"))
    clock.now += 10
    progress(CallFinished("climax/section", "climax", "model", Usage(10, 0, 20, 10.0), replayed=False))
    progress(Kept("climax", "story", "The storm broke.", "made"))
    assert capsys.readouterr().err == (
        "  story/climax                  3 words   10 s, 2 tokens/s · 1 of about 2 calls done, about 20 s to go\n"
    )


def test_lines_say_where_a_text_comes_from(progress: ProgressDisplay, capsys: pytest.CaptureFixture[str]) -> None:
    progress(CallFinished("climax/section", "climax", "model", Usage(10, 0, 20, 4.0), replayed=False))
    progress(Kept("climax", "story", "The storm broke.", "made"))
    progress(CallFinished("ending/section", "ending", "model", Usage(), replayed=True))
    progress(Kept("ending", "story", "Peace.", "made"))
    progress(Kept("plot", "plan", "Mine.", "edited"))
    progress(Kept("plot", "plan", "Mine.", "edited"))
    progress(CallRetried("openai:x", 1, 2.0, "busy"))
    progress(Repaired("plot/plot", 1, "no JSON"))
    progress(Noted("plot", "too short"))
    progress(Removed("plot", "chatter", "Sure!"))
    for _ in range(41):
        progress(Removed("plot", "loop", "and on " * 200))
    progress(RunFinished("agents-room"))
    assert capsys.readouterr().err.splitlines() == [
        "  story/climax                  3 words   4 s, 5 tokens/s · 1 of about 2 calls done",
        "  story/ending                  1 words   from the journal · 1 of about 1 call done",
        "  plan/plot                     1 words   your text · 1 of about 1 call done",
        "  openai:x failed (busy); try 2 in 2 s",
        "  plot/plot: unreadable reply (no JSON). fabula asked for a correction",
        "  plot: too short",
        "  42 pieces of replies left out (loop 41, chatter 1). To see them, run `fabula show --removed`.",
    ]


def test_quiet_tells_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = ProgressDisplay(Terminal(quiet=True, environ={}), clock)
    progress(Kept("plot", "plan", "Mine.", "edited"))
    assert capsys.readouterr().err == ""


def test_the_picture_has_no_full_line_and_no_control_characters(progress: ProgressDisplay) -> None:
    from rich.console import Console  # noqa: PLC0415 - heavy, and only here

    progress(CallStarted("climax/section", "climax", "m" * 200))
    progress(TextArrived("climax/section", "The \x1b[2Jstorm " + "and rain " * 90))
    shown = Console(width=80)
    with shown.capture() as capture:
        shown.print(progress._picture())
    lines = capture.get().splitlines()
    assert max(len(line) for line in lines) < 80
    assert "\x1b" not in capture.get()
    assert len(lines) == 9  # the call, the last six lines of its words, what remains


def test_a_bill_counts_what_is_asked_and_what_is_replayed() -> None:
    bill = Bill()
    bill(CallFinished("a/a", "a", "m", Usage(10, 5, 20, 1.0, cost=0.5), replayed=False))
    bill(CallFinished("a/b", "a", "m", Usage(10, 0, 20, 1.0, cost=0.25), replayed=False))
    bill(CallFinished("b/b", "b", "m", Usage(1, 0, 2, 1.0, cost=None), replayed=False))
    bill(CallFinished("c/c", "c", "m", Usage(99, 0, 99), replayed=True))
    assert bill.roles["a"] == Usage(20, 5, 40, 2.0, None, 0.75)
    assert (bill.tokens, bill.replayed, bill.calls) == (63, 1, {"a": 2, "b": 1})
    lines = bill_table(bill.roles).splitlines()
    assert lines[1].split() == ["a", "20", "5", "40", "2.0", "$0.7500"]
    assert lines[-1].split() == ["all", "21", "5", "42", "3.0", "price", "unknown"]


def test_figures_for_people() -> None:
    assert [duration(s) for s in (0, 8.4, 60, 80, 3600, 7500)] == ["0 s", "8 s", "1 min", "1 min 20 s", "1 h 0 min",
                                                                  "2 h 5 min"]  # fmt: skip
    assert [dollars(c) for c in (None, 0.0, 0.01234, 1234.5)] == ["price unknown", "$0", "$0.0123", "$1,234.5000"]
    assert [counted(n, "call") for n in (0, 1, 1200)] == ["0 calls", "1 call", "1,200 calls"]
    assert table([("a", "12"), ("bcd", "3")], right=(1,)) == "a    12\nbcd   3"
    assert table([]) == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;AAAA\x1b\\after", "after"),
        ("a\rb\x08c\x7f\x00", "a\nbc"),
        ("\x9b2J\u202egnp", "gnp"),
        ("\x1b", ""),
    ],
)
def test_nothing_that_a_terminal_obeys_is_shown(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_keys_of_the_environment_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(environ={"OPENAI_API_KEY": "sk-12345678", "MY_TOKEN": "short", "HOME": "a-folder"})
    terminal.say("sk-12345678 and short and a-folder")
    assert capsys.readouterr().out == "[key] and short and a-folder\n"


@pytest.mark.parametrize(("json", "quiet", "told"), [(False, False, 1), (True, False, 0), (False, True, 0)])
def test_it_is_said_once_where_each_reply_in_a_file_belongs(
    json: bool,  # noqa: FBT001 - a case
    quiet: bool,  # noqa: FBT001 - a case
    told: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whether the output is a terminal or a log; not to a program."""
    listener = Waiting(Terminal(json=json, quiet=quiet))
    files = ("plot--plan--1.answer.md", "writer--one--1.answer.md")
    listener(AnswersAwaited("answers", files))
    listener(AnswersAwaited("answers", files[1:]))
    shown = capsys.readouterr().err
    for name in ("plot--plan--1", "writer--one--1"):
        line = f"waiting for the reply to answers/{name}.prompt.md: write it to {name}.answer.md in the same folder"
        assert shown.count(line) == told


def test_a_run_says_so_too(progress: ProgressDisplay, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        progress(AnswersAwaited("answers", ("plot--plan--1.answer.md",)))
    assert capsys.readouterr().err.count("waiting for the reply to answers/plot--plan--1.prompt.md") == 1
