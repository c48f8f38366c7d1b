"""Options that several commands share, as dataclasses that a command receives as single parameters.

`bundled` turns the fields of a dataclass into options that typer sees, so no command has twenty parameters::

    @bundled
    def status(common: Common, where: Where = ".") -> None: ...
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

import typer

from fabula.base.errors import UsageError
from fabula.cli import completing
from fabula.cli.help import EVERYWHERE, MORE
from fabula.models.budget import Budget

SETTINGS, _LIMITS = "What and who", "SpendingLimits and approval"
DATA_FOLDER: Any = typer.Option(
    "--data",
    metavar="DIR",
    help="Folder of the data sets, which `fabula lab reproduce --fetch` downloads.",
    show_default="FABULA_DATA",
    envvar="FABULA_DATA",
    rich_help_panel=SETTINGS,
)
Where: TypeAlias = Annotated[
    str, typer.Argument(metavar="[PROJECT]", help="Project folder.", show_default="this folder")
]
Artefact: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        autocompletion=completing.artefacts,
        metavar="[PROJECT] ARTEFACT",
        help="A text, specified by its path (such as characters) or file name.",
    ),
]


def maybe_artefact(default: str = "") -> Any:  # noqa: ANN401 - typer's record of an argument
    """Return the argument `[PROJECT] [ARTEFACT]`, whose help describes the `default` artefact."""
    return typer.Argument(
        autocompletion=completing.artefacts,
        metavar="[PROJECT] [ARTEFACT]",
        help="A text, specified by its path or file name.",
        show_default=default or False,
    )


@dataclass(frozen=True, slots=True)
class Output:
    """The output options of every command."""

    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON to stdout, and the rest to stderr.",
            rich_help_panel=EVERYWHERE,
        ),
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Hide progress and advice.", rich_help_panel=EVERYWHERE)
    ] = False


@dataclass(frozen=True, slots=True)
class ProjectOptions(Output):
    """The options of every command that uses a project."""

    folder: Annotated[
        str,
        typer.Option(
            "-C", "--project", metavar="DIR", help="Project folder; default: here.", rich_help_panel=EVERYWHERE
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Performers:
    """The performers of a method, and how they work."""

    preset: Annotated[
        str | None,
        typer.Option(
            metavar="faithful|improved",
            help="Follow the paper as it is, or add our checks.",
            rich_help_panel=SETTINGS,
            autocompletion=completing.presets,
        ),
    ] = None
    aids: Annotated[
        Literal["auto", "on", "off"] | None,
        typer.Option(
            help="Help for small models; auto turns it on for models that are known to be small.", rich_help_panel=MORE
        ),
    ] = None
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]SPEC",
            help="Model for all roles or one role. Repeatable.",
            rich_help_panel=SETTINGS,
            autocompletion=completing.models,
        ),
    ] = None
    adapter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=PATH|ROOM",
            help="A tuned adapter for one role, or a room of adapters for all roles. Repeatable.",
            rich_help_panel=MORE,
        ),
    ] = None
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL[,URL]...",
            help="Address of the model's server, or addresses of several servers with the same model.",
            rich_help_panel=MORE,
        ),
    ] = None
    play: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=me|FILE.py:FUNCTION",
            help="Let a person or program play a role. Repeatable.",
            rich_help_panel=SETTINGS,
            autocompletion=completing.players,
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Setting of the system or evaluator. Repeatable.",
            rich_help_panel=SETTINGS,
            autocompletion=completing.settings,
        ),
    ] = None
    sampling: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE.]NAME=VALUE",
            help="A sampling value, such as temperature=0.7. Repeatable.",
            rich_help_panel=MORE,
            autocompletion=completing.sampling,
        ),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Seed of all random choices.", rich_help_panel=MORE)] = None
    prompts: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Folder with prompt files that replace the method's prompts.", rich_help_panel=MORE
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Choices(Performers):
    """Settings. A new project saves these choices in its `fabula.toml`; in an existing project, they override it."""

    system: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help="Writing system, or your own (./FOLDER); default: by model and length.",
            rich_help_panel=SETTINGS,
            autocompletion=completing.systems,
        ),
    ] = None
    words: Annotated[
        str | None, typer.Option(metavar="N|A-B|~N", help="Length of the story in words.", rich_help_panel=SETTINGS)
    ] = None


@dataclass(frozen=True, slots=True)
class RunMemory:
    """Whether to reuse the options of the last run."""

    forget: Annotated[
        bool,
        typer.Option(
            "--forget",
            help="Use only fabula.toml, without the options of the last run.",
            rich_help_panel=MORE,
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class Judges(Performers):
    """How to judge stories, and where to save calls, verdicts and the report."""

    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for the calls, verdicts and report.",
            show_default="evaluation",
            rich_help_panel=SETTINGS,
        ),
    ] = "evaluation"


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits on what a command can spend."""

    budget_tokens: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Maximum tokens for this run.", rich_help_panel=MORE)
    ] = None
    budget_usd: Annotated[
        float | None,
        typer.Option(min=0, metavar="X", help="Maximum US dollars for this run.", rich_help_panel=_LIMITS),
    ] = None

    @property
    def budget(self) -> Budget:
        """Return a new budget with these limits."""
        return Budget(self.budget_tokens, self.budget_usd)


@dataclass(frozen=True, slots=True)
class SpendingLimits(Caps):
    """The limits on what a run can spend, and whether it can make calls."""

    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Estimate the calls and their cost.", rich_help_panel=_LIMITS),
    ] = False
    frozen: Annotated[
        bool,
        typer.Option(
            "--frozen", help="Only replay calls; a call that is not recorded is an error.", rich_help_panel=MORE
        ),
    ] = False

    @property
    def waits_for(self) -> Literal["plans", "all"] | None:
        """Return the texts that a person must approve before the run continues."""
        return None


@dataclass(frozen=True, slots=True)
class WritingLimits(SpendingLimits):
    """The limits on what a writing run can spend, and when it waits for a person."""

    approve: Annotated[
        Literal["plans", "all"] | None,
        typer.Option(help="Wait for your approval of the plan or of every text.", rich_help_panel=_LIMITS),
    ] = None

    @property
    def waits_for(self) -> Literal["plans", "all"] | None:
        """Return the texts that a person must approve before the run continues."""
        return self.approve


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """Return `command` with each dataclass parameter replaced by its fields, for typer."""
    hints = get_type_hints(command, include_extras=True)
    flat: list[inspect.Parameter] = []
    bundles: dict[str, tuple[type[Any], list[str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint) and isinstance(hint, type):
            spread = _fields_of(hint)
            bundles[parameter.name] = (hint, [p.name for p in spread])
            flat += spread
        else:
            flat.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401 - typer gives the values by name
        whole = {name: kind(**{part: given.pop(part) for part in parts}) for name, (kind, parts) in bundles.items()}
        command(**whole, **given)

    # Arguments keep their order; the shared options come after a command's own.
    shared = {part for _, parts in bundles.values() for part in parts}
    flat.sort(key=lambda parameter: parameter.name in shared)
    called.__annotations__ = {p.name: p.annotation for p in flat} | {"return": None}
    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined] # read by inspect.signature
    return called


def refuse(why: str, *bundles: Any, but: Collection[str] = ()) -> None:  # noqa: ANN401 - dataclasses of options
    """Check that none of the options in the bundles is given, except the fields in `but`.

    Raises:
        UsageError: an option is given; the message explains `why` it has no effect.
    """
    given = [
        _flag(name, about)
        for bundle in bundles
        for name, about in _about(type(bundle)).items()
        if name not in but
        and (value := getattr(bundle, name)) != type(bundle).__dataclass_fields__[name].default
        and value != os.environ.get(str(about.envvar))
    ]
    if given:
        raise UsageError(
            f"{' and '.join(given)} would have no effect: {why}. Leave {'them' if len(given) > 1 else 'it'} out."
        )


def _about(bundle: type[Any]) -> dict[str, Any]:
    """What typer knows of each option of a bundle, by the field's name."""
    return {name: get_args(hint)[1] for name, hint in get_type_hints(bundle, include_extras=True).items()}


def _flag(name: str, about: Any) -> str:  # noqa: ANN401 - typer's record of an option
    """An option as typed."""
    said = [one for one in about.param_decls or () if one.startswith("--")]
    return said[0].partition("/")[0] if said else f"--{name.rstrip('_').replace('_', '-')}"


def _fields_of(bundle: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(bundle)
    ]
