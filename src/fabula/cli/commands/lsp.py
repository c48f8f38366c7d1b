"""`fabula lsp`."""

from __future__ import annotations

from fabula.base.extras import require
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled


@bundled
def lsp(common: Output) -> None:
    """Show findings, facts and stale texts in an editor, over stdin and stdout (Language Server Protocol)."""
    terminal = terminal_of(common)
    require("pygls", "lsp", "fabula lsp")
    from fabula.server.lsp import server  # noqa: PLC0415 - half a second of imports

    if terminal.interactive:
        terminal.advise("Serving over stdin and stdout. Editors start this command themselves. Ctrl-C ends it.")
    server(terminal.environ, terminal.shown).start_io()
