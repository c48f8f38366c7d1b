"""A studio in a process of its own, which tests can kill: `python studio_process.py FOLDER PORT`.

Its runs are done by `long_work.py`. It writes one line when it takes requests; then, on each line that it gets, the
number of connections that listen to events, and how many there have ever been.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio import There

HERE = Path(__file__).parent


def main(folder: Path, port: int) -> None:
    """Serve until killed."""
    from fabula.server.api import events  # noqa: PLC0415 - the parent imports this module, too
    from fabula.server.running import listening  # noqa: PLC0415 - as above
    from fabula.server.studio.running import StudioOffer, serve_studio  # noqa: PLC0415 - as above
    from studio import TOKEN, state_of  # noqa: PLC0415 - as above

    state = state_of(folder)
    state.runs.command = (sys.executable, str(HERE / "long_work.py"))
    now, ever, followed = [0], [0], events._followed

    async def counted(*arguments: Any) -> Any:  # noqa: ANN401 - as the function that it stands in for
        now[0], ever[0] = now[0] + 1, ever[0] + 1
        try:
            async for piece in followed(*arguments):
                yield piece
        finally:
            now[0] -= 1

    events._followed = counted  # type: ignore[assignment] # counts as well

    def say() -> None:
        for _ in sys.stdin:
            _say(f"{now[0]} {ever[0]}")

    threading.Thread(target=say, daemon=True).start()
    with listening("127.0.0.1", port) as opened:
        _say(str(opened.getsockname()[1]))
        asyncio.run(serve_studio(StudioOffer(state, [TOKEN]), opened, lambda: None))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Killable:
    """A studio that can be killed, and started again at the same address."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder, self.environ, self.port = folder, environ, 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it; at the address that it had before, if it had one."""
        line = [sys.executable, str(Path(__file__)), str(self.folder), str(self.port)]
        path = os.pathsep.join([str(HERE), *sys.path])
        self.process = subprocess.Popen(
            line,
            env={**os.environ, **self.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        """Kill it, as the system would."""
        assert self.process is not None
        self.process.kill()
        self.process.communicate()

    def listening(self) -> tuple[int, int]:
        """How many connections listen to events, and how many there have ever been."""
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        now, ever = self.process.stdout.readline().split()
        return int(now), int(ever)

    @property
    def address(self) -> str:
        """Without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def there(self) -> There:
        """As tests know a studio; what it knows is in its own process."""
        from studio import TOKEN, There  # noqa: PLC0415 - as above

        return There(self.address, f"{self.address}/login?token={TOKEN}", None)  # type: ignore[arg-type] # not looked at


@contextmanager
def killable(folder: Path, **environ: str) -> Iterator[Killable]:
    """A studio that serves `folder` in a process of its own."""
    studio = Killable(folder, environ)
    studio.start()
    try:
        yield studio
    finally:
        studio.kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
