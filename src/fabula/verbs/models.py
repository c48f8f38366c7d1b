"""`models`: the models that you can use here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.base.plugins import plugins
from fabula.models.finding import ServedModel, Server, look
from fabula.models.hub import HubModel, fetched
from fabula.models.known import KNOWN, KnownModel, installed, local_path, models_home
from fabula.models.providers import KINDS, OWN_KINDS, keys_set
from fabula.project.brought import GROUP, brought_kinds
from fabula.project.casting import KINDS as PREFIXES
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = (
    ("embedded:NAME or PATH.gguf", "on this machine, with llama.cpp; free"),
    ("hf:OWNER/REPO:QUANT", "a model from a hub, after `fabula models pull hf:OWNER/REPO`"),
    *((f"{name}:NAME", f"{KINDS[name].title}, on this machine ({KINDS[name].address})") for name in OWN_KINDS),
    *((f"{name}:NAME", kind.title) for name, kind in KINDS.items() if not kind.own and name != "openai-chat"),
    ("openai-chat:NAME", "any other server of the chat dialect, with --base-url"),
    ("seq2seq:FOLDER", "an encoder-decoder (BART, T5) in this process, for SNAP's summaries; needs fabula[seq2seq]"),
    ("scripted:FILE.toml", "replies from a file, for tests"),
    ("replay:PROJECT", "replies from another project's journal"),
    ("paste", "your chat window: prompts are copied there, replies pasted here"),
    ("client", "the client's own model, in `fabula mcp`"),
    ("files:FOLDER", "a person or program that answers each prompt in a folder"),
    ("hand", "texts written by hand, as in `fabula sample`; calls no model"),
)


@dataclass(frozen=True, slots=True)
class KnownView(KnownModel):
    """A model that fabula knows; `file` is the path for it, downloaded or not."""

    installed: bool = False

    @classmethod
    def at(cls, home: Path, one: KnownModel) -> Self:
        """Return a model with its path in the folder of downloaded models."""
        about = {field.name: getattr(one, field.name) for field in fields(one)} | {
            "file": str(local_path(one.name, home))
        }
        return cls(**about, installed=installed(one.name, home))


@dataclass(frozen=True, slots=True)
class ServedView(ServedModel):
    """A model on a server; `spec` is its name for `--model`."""

    spec: str = ""


@dataclass(frozen=True, slots=True)
class ServerView(Server):
    """A model server on this machine."""

    models: tuple[ServedView, ...] = ()
    answers: bool = False

    @classmethod
    def of(cls, one: Server) -> Self:
        """Return a server with the names of its models."""
        served = tuple(ServedView(**_fields(model), spec=one.spec(model)) for model in one.models)
        return cls(**_fields(one) | {"models": served, "answers": bool(served)})


@dataclass(frozen=True, slots=True)
class KindOfModel:
    """How to name models of this kind, and what they are."""

    form: str
    what: str


@dataclass(frozen=True, slots=True)
class ModelList:
    """Known, downloaded and served models, the kinds of models, and which API keys are set.

    Attributes:
        folder: the folder of downloaded models.
        problems: why some kinds from other packages cannot be used.
        keys: whether each provider's key is set, by the name of its environment variable.
    """

    folder: str
    known: list[KnownView]
    fetched: list[HubModel]
    servers: list[ServerView]
    kinds: list[KindOfModel]
    problems: list[str]
    keys: Mapping[str, bool]


@verb("GET", "/models", "methods")
async def models(shelf: Shelf) -> ModelList:
    """List the known models, and the running servers on this machine."""
    environ = os.environ if shelf.environ is None else shelf.environ
    home, brought = models_home(environ), brought_kinds()
    theirs = [(f"{name}:NAME", f"from {one.source}") for name, one in brought.items() if name not in PREFIXES]
    return ModelList(
        folder=str(home),
        known=[KnownView.at(home, one) for one in KNOWN.values()],
        fetched=list(fetched(home)),
        servers=[ServerView.of(one) for one in await look(environ)],
        kinds=[KindOfModel(form, what) for form, what in (*_KINDS, *theirs)],
        problems=list(plugins(GROUP, PREFIXES, "kind of model").problems.values()),
        keys=keys_set(environ),
    )


def _fields(one: KnownModel | Server | ServedModel) -> dict[str, Any]:
    return {field.name: getattr(one, field.name) for field in fields(one)}
