"""Models of installed packages: entry points of the group `fabula.models`, each with its own prefix.

The entry point `tiny = "tiny_models:Tiny"` makes `tiny:NAME` a model: `Tiny(NAME, settings)` must return a `Model`, or
any object with a method `reply(prompt) -> str`. If you install a package, you trust its code.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ModelError, PluginError
from fabula.base.plugins import Plugin, faults_of, plugins
from fabula.engine.roles import own_model

if TYPE_CHECKING:
    from fabula.models.base import Capabilities, Model, OnText, Reply, Request
    from fabula.project.settings import ModelTable


GROUP: Final = "fabula.models"


def brought_kinds() -> dict[str, Plugin]:
    """The prefixes of installed packages, with their sources."""
    return plugins(GROUP).found


def brought_model(kind: str, name: str, table: ModelTable) -> Model:
    """The model `kind:name` from the package of that kind; `table` says how to reach it (`[models.NAME]`).

    Raises:
        PluginError: it cannot be imported or created, or is not a model.
    """
    plugin = brought_kinds()[kind]
    factory, spec = plugin.load(), f"{kind}:{name}"
    with faults_of(f"{spec} (from {plugin.source})"):
        made = _made(factory, name, table)
    if callable(getattr(made, "ask", None)):
        missing = [part for part in ("name", "identity", "capabilities", "close") if not hasattr(made, part)]
        if missing:
            raise PluginError(f"{spec} (from {plugin.source}) has no {', '.join(missing)}, which every Model requires.")
        return Brought(made, made.name, made.identity, plugin.source)
    if callable(getattr(made, "reply", None)):
        own = own_model(made)
        return Brought(own, spec, f"{spec}@{own.version}" if own.version else spec, plugin.source)
    raise PluginError(
        f"{spec} (from {plugin.source}) is not a model: it has neither `ask` nor `reply`. Its author can find the "
        "requirements in docs/how-to/own-provider.md."
    )


def _made(factory: Any, name: str, table: ModelTable) -> Any:  # noqa: ANN401 - whatever a package gives
    """The result of the factory, which takes the name and the settings, only the name, or nothing."""
    takes = inspect.signature(factory)
    for given in ((name, table), (name,)):
        try:
            takes.bind(*given)
        except TypeError:
            continue
        return factory(*given)
    return factory()


@dataclass(frozen=True)
class Brought:
    """A model from elsewhere: any error that is not a model's is reported as one, with its source."""

    model: Model
    name: str
    identity: str
    source: str

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return self.model.capabilities

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's reply.

        Raises:
            ModelError: it did not answer, or failed.
        """
        try:
            with faults_of(f"{self.name} (from {self.source})"):
                reply = await self.model.ask(request, on_text)
        except PluginError as error:
            raise ModelError(str(error), model=self.name) from error
        return replace(reply, model=self.identity)

    async def close(self) -> None:
        """Free what the model holds."""
        await self.model.close()
