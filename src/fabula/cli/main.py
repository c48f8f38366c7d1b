from __future__ import annotations
import typer
from fabula.cli.lazy import LazyGroup
def main(argv=None):
    app = typer.Typer(cls=LazyGroup, add_completion=True, rich_markup_mode="rich", help="x", no_args_is_help=False)
    @app.callback()
    def fabula() -> None: ...
    return app(argv, standalone_mode=False, prog_name="fabula")
