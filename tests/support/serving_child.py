"""A server as a process of its own, for tests that kill it: prints its address once it listens."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from fabula.app.conversing import settings_for
from fabula.app.writing import Options
from fabula.server.chat.running import Offer, base_url, serve
from fabula.server.running import listening
from serving import PEOPLE, TOKEN, Engine, project

if TYPE_CHECKING:
    from fabula.models.base import OnText, Reply, Request

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are started with it ignored
    folder, hangs_at = Path(sys.argv[1]), int(sys.argv[2])

    class Hanging(Engine):
        """From its n-th call on it does not answer, and says so."""

        async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
            if hangs_at and self.started + 1 >= hangs_at:
                self.started += 1
                sys.stdout.write("hangs\n")
                sys.stdout.flush()
                await asyncio.Event().wait()
            return await super().ask(request, on_text)

    async def main() -> None:
        made = project(folder, PEOPLE)
        with listening("127.0.0.1", 0) as opened:
            address = base_url(opened)

            def ready(_: object) -> None:
                sys.stdout.write(f"{address}\n")
                sys.stdout.flush()

            await serve(Offer([(made, settings_for(made.settings))], Options(), [TOKEN]), opened, ready)

    with mock.patch("fabula.project.casting.open_model", return_value=Hanging()):
        asyncio.run(main())
