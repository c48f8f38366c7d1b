"""A picture at the foot of the terminal that moves while work goes on; lines are printed above it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.live import Live

    from fabula.cli.terminal import Terminal


class LivePicture(ABC):
    """What a listener that shows progress has in common: lines shown, and the picture put up and taken away.

    Attributes:
        refreshes: of the picture, in a second.
    """

    refreshes: ClassVar[int] = 8
    terminal: Terminal
    _live: Live | None

    @abstractmethod
    def _picture(self) -> RenderableType:
        """What is shown now."""

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

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the live picture away while a person is asked."""
        was_live = self._live is not None
        self._stop()
        try:
            yield
        finally:
            if was_live:
                self._start()
