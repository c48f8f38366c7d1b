"""What a verb is, and what every door opens on: a function, its arguments, its result, and its place in HTTP.

A verb is written as plain Python: an async function with typed arguments and one result, in a file of its own. Its
first argument is the `project`, or the `shelf` that projects are on; `@verb` says under which method and address HTTP
has it, and changes nothing else::

    @verb("DELETE", "/pins/{artefact:path}")
    async def unpin(project: Workspace, artefact: ArtefactName) -> Artefacts:
        \"\"\"Let a pinned text change again.\"\"\"

The doors read the rest off the function, so that nothing about a verb is said twice: HTTP and OpenAPI
(`fabula.server.api.verbs`), the tools of the Model Context Protocol (`fabula.server.mcp_verbs`), Python here and far
away (`fabula.verbs.doors`), commands and their `--json` (`fabula.cli.verbs`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.remembering import remembered
from fabula.engine.events import Event
from fabula.engine.folders import is_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping

P = ParamSpec("P")
T = TypeVar("T")

Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]
OnEvent: TypeAlias = Callable[[Event], object]
HEARS: Final = "on_event"
"""The argument of a method that takes long: what hears what happens in it."""
LONGEST_NAME: Final = 300
LONG: Final = 10_000  # characters of a note or a reason
ArtefactName: TypeAlias = Annotated[
    str, Field(max_length=LONGEST_NAME, description="The artefact: its name, or its file.", examples=["exposition"])
]
ModelName: TypeAlias = Annotated[
    str, Field(max_length=500, description="The model of all roles; empty: as the project says.")
]
MostTokens: TypeAlias = Annotated[int | None, Field(ge=0, le=10**12, description="Most prompt and reply tokens.")]
MostDollars: TypeAlias = Annotated[
    float | None, Field(ge=0, le=10**9, allow_inf_nan=False, description="Most US dollars.", examples=[2.5])
]
_OTHER: Final = object()
OtherProject: TypeAlias = Annotated[
    str,
    Field(
        max_length=LONGEST_NAME, description="Another project: its name, or its folder at home.", examples=["the-ferry"]
    ),
    _OTHER,
]
OtherProjects: TypeAlias = Annotated[
    Sequence[str],
    Field(
        max_length=50, description="Other projects: their names, or their folders at home.", examples=[["the-ferry"]]
    ),
    _OTHER,
]
_NONE: Final = inspect.Parameter.empty
_IN_PATH: Final = re.compile(r"\{(\w+)(?::path)?\}")
_METHODS: Final = ("system", "evaluator")  # arguments that may name a folder of code, for who is at home
_VERB: Final = re.compile(r"^@verb\(.*?^async def (\w+)\(\s*(project|shelf)\b", re.MULTILINE | re.DOTALL)


class Body(BaseModel):
    """The body of a request: what it does not know, it refuses, and what is of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class ArtefactNames:
    """Names of artefacts."""

    artefacts: list[str]


class OwnersOnly:
    """Marks an argument that a tool does not have: a text that a model has read may not send a key somewhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file for readers: HTTP sends it as it is, a tool puts it into the project."""

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    name: str
    content: bytes

    def about(self) -> dict[str, Any]:
        """All that is said of it, without what is in it."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "content"}


@dataclass(frozen=True)
class Verb:
    """A verb, as doors see it.

    Attributes:
        function: what does it; its first argument is the project, or the shelf.
        method: of HTTP; `GET` for one that changes nothing and takes little.
        path: of HTTP, below the project's address where it is of one; names in braces are arguments.
        tag: the group that the reference of HTTP shows it in.
        command: of `fabula`, whose document with `--json` is the verb's result; empty for none.
        changes: whether it changes anything.
        long: it asks models, or takes long for another reason: HTTP makes a run of it, Python tells what happens in it.
        at_once: it asks a model too, and answers while one waits: no run is made of it.
    """

    function: Callable[..., Awaitable[Any]]
    method: Method
    path: str
    tag: str
    command: str
    changes: bool
    long: bool = False
    at_once: bool = False

    @property
    def name(self) -> str:
        """What doors call it."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return self._about[0].rstrip(".")

    @property
    def description(self) -> str:
        """What else is to be said of it; errors are every door's own matter."""
        return self._about[2].partition("\n\nRaises:")[0].strip() if self._about[2] else ""

    @property
    def _about(self) -> tuple[str, str, str]:
        return (inspect.getdoc(self.function) or "").partition("\n\n")

    @property
    def of_project(self) -> bool:
        """Whether it is done with a project; else with the shelf that projects are on."""
        return next(iter(inspect.signature(self.function).parameters)) == "project"

    @property
    def address(self) -> str:
        """Of HTTP, whole."""
        return f"/projects/{{project}}{self.path}" if self.of_project else self.path

    @cached_property
    def signature(self) -> inspect.Signature:
        """Its arguments without its first one, and its result, with their types as objects."""
        hints = get_type_hints(self.function, include_extras=True)
        _, *parameters = inspect.signature(self.function).parameters.values()
        return inspect.Signature(
            [one.replace(annotation=hints[one.name]) for one in parameters], return_annotation=hints["return"]
        )

    @property
    def method_signature(self) -> inspect.Signature:
        """Its signature as a method's, without what only doors need to know of its arguments."""
        hints = get_type_hints(self.function)
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        taken = [one.replace(annotation=hints[one.name]) for one in self.signature.parameters.values()]
        hears = inspect.Parameter(HEARS, inspect.Parameter.KEYWORD_ONLY, default=None, annotation="OnEvent | None")
        return self.signature.replace(parameters=[own, *taken, *([hears] if self.long else [])])

    @property
    def result(self) -> Any:  # noqa: ANN401 - a class
        """The class of what it gives."""
        return self.signature.return_annotation

    @property
    def in_path(self) -> list[str]:
        """The arguments that stand in its address."""
        return _IN_PATH.findall(self.path)

    @cached_property
    def body(self) -> type[Body] | None:
        """What HTTP sends: the arguments that are not in the address; `None` where it sends none."""
        sent = [one for one in self.signature.parameters if one not in self.in_path]
        if not sent or self.method in ("GET", "DELETE"):
            return None
        made = self._model("Body", sent)
        example = {name: info.examples[0] for name, info in made.model_fields.items() if info.examples}
        made.model_config["json_schema_extra"] = {"examples": [example]}
        made.model_rebuild(force=True)
        return made

    @cached_property
    def _arguments(self) -> type[Body]:
        return self._model("Arguments", self.signature.parameters)

    def _model(self, kind: str, names: Iterable[str]) -> type[Body]:
        """What checks these of its arguments."""
        of = self.signature.parameters
        fields = {name: (of[name].annotation, ... if of[name].default is _NONE else of[name].default) for name in names}
        name = "".join(part.capitalize() for part in self.name.split("_"))
        return create_model(f"{name}{kind}", __base__=Body, __doc__=f"{self.summary}.", **fields)  # type: ignore[call-overload,no-any-return] # names that only the verb knows

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by their names, those that were left out with their defaults.

        Raises:
            UsageError: one is not known, or its value does not fit.
        """
        try:
            found = self._arguments.model_validate(dict(arguments))
        except ValidationError as error:
            first = error.errors()[0]
            where = " ".join(str(part) for part in first["loc"])
            raise UsageError(f"`{self.name}` cannot be done as asked; {where}: {first['msg']}.") from None
        return {name: getattr(found, name) for name in type(found).model_fields}

    def from_outside(self, arguments: Mapping[str, Any], folder: Callable[[str], Path]) -> dict[str, Any]:
        """Arguments that a program elsewhere has given, with the `folder` of each other project that they name.

        Raises:
            UsageError: one names a folder of code, which is not run for who is elsewhere.
            FabulaError: there is no such project.
        """
        for name in _METHODS:
            if is_path(said := arguments.get(name) or ""):
                raise UsageError(f"{said!r} is a folder of code, which is not run from here. Name an installed {name}.")
        given = dict(arguments)
        for one in self.signature.parameters.values():
            if _OTHER in getattr(one.annotation, "__metadata__", ()) and (said := given.get(one.name)):
                named = [said] if isinstance(said, str) else list(dict.fromkeys(said))
                folders = [str(folder(name)) for name in named]
                given[one.name] = folders[0] if isinstance(said, str) else folders
        return given

    def bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments as Python gives them, by their names; a path may stand for its text.

        Raises:
            TypeError: one is not known, or missing.
            UsageError: the value of one does not fit.
        """
        try:
            given = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        return self.checked(
            {name: fspath(of) if isinstance(of, PathLike) else of for name, of in given.arguments.items()}
        )


def verb(
    method: Method,
    path: str,
    tag: str = "decisions",
    *,
    command: str = "",
    changes: bool = True,
    long: bool = False,
    at_once: bool = False,
) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, Awaitable[T]]]:
    """Make a function a verb that every door opens on; the function itself stays as it is."""

    def known(function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        vars(function)["verb"] = Verb(function, method, path, tag, command, changes and method != "GET", long, at_once)
        return function

    return known


@cache
def _homes() -> dict[str, tuple[str, bool]]:
    """The module of each verb by its name, and whether it is of a project; read off the files, so none is imported."""
    folder = Path(__file__).parent
    return {
        name: (f"{__package__}.{file.stem}", of == "project")
        for file in sorted(folder.glob("*.py"))
        for name, of in _VERB.findall(file.read_text(encoding="utf-8"))
    }


def names() -> dict[str, bool]:
    """The verbs by name, and whether each is of a project; none is imported."""
    return {name: of_project for name, (_, of_project) in sorted(_homes().items())}


def named(name: str) -> Verb:
    """The verb of that name, whose module is imported."""
    return vars(getattr(import_module(_homes()[name][0]), name))["verb"]  # type: ignore[no-any-return] # as `verb` leaves it


def every() -> dict[str, Verb]:
    """All verbs by name; the module of each is imported."""
    return {name: named(name) for name in names()}


def long_verb(name: str) -> Verb:
    """The verb of that name, which takes long.

    Raises:
        UnknownNameError: there is none.
    """
    if name in names() and (found := named(name)).long:
        return found
    raise UnknownNameError("verb that takes long", name, [one.name for one in every().values() if one.long])


def as_data(result: object) -> Any:  # noqa: ANN401 - JSON data
    """A verb's result as JSON data."""
    return adapter(type(result)).dump_python(result, mode="json")


@remembered(128)
def adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - a class
    """What reads and writes a class as JSON."""
    return TypeAdapter(kind)
