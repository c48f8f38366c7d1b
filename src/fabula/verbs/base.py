"""The definition of a verb that every door offers: a function, its arguments, its result, and its HTTP address.

A verb is plain Python: an async function with typed arguments and one result, in its own file. Its first argument is
the `project`, or the `shelf` that contains projects. `@verb` sets the verb's HTTP method and address, and changes
nothing else::

    @verb("DELETE", "/pins/{artefact:path}")
    async def unpin(project: Workspace, artefact: ArtefactName) -> Artefacts:
        \"\"\"Let a pinned text change again.\"\"\"

The doors derive everything else from the function, so each fact about a verb is written only once: HTTP and OpenAPI
(`fabula.server.api.verbs`), the tools of the Model Context Protocol (`fabula.server.mcp_server`), Python, local or
remote (`fabula.verbs.doors`), commands and their `--json` (`fabula.cli.verbs`).
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
from fabula.base.invalid import fault_of, sentence
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
"""The argument of a long method that receives the method's events."""
LONGEST_NAME: Final = 300
LONG: Final = 10_000  # characters of a note or a reason
ArtefactName: TypeAlias = Annotated[
    str, Field(max_length=LONGEST_NAME, description="The artefact, by name or file.", examples=["exposition"])
]
ModelName: TypeAlias = Annotated[
    str, Field(max_length=500, description="The model for all roles; empty: the project's model.")
]
MostTokens: TypeAlias = Annotated[int | None, Field(ge=0, le=10**12, description="Maximum prompt and reply tokens.")]
MostDollars: TypeAlias = Annotated[
    float | None, Field(ge=0, le=10**9, allow_inf_nan=False, description="Maximum US dollars.", examples=[2.5])
]
_OTHER: Final = object()
PAGE_ONLY: Final = object()
"""Marks an argument that only a page has a use for; the help of commands leaves it out."""
OtherProject: TypeAlias = Annotated[
    str,
    Field(max_length=LONGEST_NAME, description="Another project, by name or local folder.", examples=["the-ferry"]),
    _OTHER,
]
OtherProjects: TypeAlias = Annotated[
    Sequence[str],
    Field(max_length=50, description="Other projects, by name or local folder.", examples=[["the-ferry"]]),
    _OTHER,
]
_NONE: Final = inspect.Parameter.empty
_IN_PATH: Final = re.compile(r"\{(\w+)(?::path)?\}")
_METHODS: Final = ("system", "evaluator")  # arguments that may name a folder of code, for who is at home
_VERB: Final = re.compile(r"^@verb\(.*?^async def (\w+)\(\s*(project|shelf)\b", re.MULTILINE | re.DOTALL)


class Body(BaseModel):
    """The body of a request. Unknown fields and values of another type are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class ArtefactNames:
    """Names of artefacts."""

    artefacts: list[str]


class OwnersOnly:
    """Marks an argument that tools do not offer, because a text that a model has read must never redirect a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file for readers: HTTP sends it unchanged; a tool saves it in the project."""

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    name: str
    content: bytes

    def about(self) -> dict[str, Any]:
        """Return all fields except the content."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "content"}


@dataclass(frozen=True)
class Verb:
    """A verb as the doors see it.

    Attributes:
        function: does the work; its first argument is the project, or the shelf.
        method: the HTTP method; `GET` for a quick verb that changes nothing.
        path: the HTTP path, below the project's address for a verb of a project; names in braces are arguments.
        tag: its group in the HTTP reference.
        command: the `fabula` command whose `--json` document is the verb's result; empty for none.
        changes: whether it changes anything.
        long: it calls models or takes long for another reason: HTTP makes a run of it, and Python reports its events.
        here: a server makes its runs in its own process, since a person waits for them at the cursor.
        at_once: it calls a model, but answers while the caller waits: HTTP makes no run of it.
    """

    function: Callable[..., Awaitable[Any]]
    method: Method
    path: str
    tag: str
    command: str
    changes: bool
    long: bool = False
    here: bool = False
    at_once: bool = False

    @property
    def name(self) -> str:
        """The verb's name in every door."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """A one-line summary of the verb."""
        return self._about[0].rstrip(".")

    @property
    def description(self) -> str:
        """The rest of the docstring, without the errors, which each door describes separately."""
        return self._about[2].partition("\n\nRaises:")[0].strip() if self._about[2] else ""

    @property
    def _about(self) -> tuple[str, str, str]:
        return (inspect.getdoc(self.function) or "").partition("\n\n")

    @property
    def of_project(self) -> bool:
        """Whether the verb works on a project rather than on the shelf that contains projects."""
        return next(iter(inspect.signature(self.function).parameters)) == "project"

    @property
    def address(self) -> str:
        """The whole HTTP address."""
        return f"/projects/{{project}}{self.path}" if self.of_project else self.path

    @cached_property
    def signature(self) -> inspect.Signature:
        """The verb's arguments except the first, and its result, with types as objects."""
        hints = get_type_hints(self.function, include_extras=True)
        _, *parameters = inspect.signature(self.function).parameters.values()
        return inspect.Signature(
            [one.replace(annotation=hints[one.name]) for one in parameters], return_annotation=hints["return"]
        )

    @property
    def method_signature(self) -> inspect.Signature:
        """The verb's signature as a method, without argument details that only the doors need."""
        hints = get_type_hints(self.function)
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        taken = [one.replace(annotation=hints[one.name]) for one in self.signature.parameters.values()]
        hears = inspect.Parameter(HEARS, inspect.Parameter.KEYWORD_ONLY, default=None, annotation="OnEvent | None")
        return self.signature.replace(parameters=[own, *taken, *([hears] if self.long else [])])

    @property
    def result(self) -> Any:  # noqa: ANN401 - a class
        """The class of the verb's result."""
        return self.signature.return_annotation

    @property
    def in_path(self) -> list[str]:
        """The arguments in the verb's address."""
        return _IN_PATH.findall(self.path)

    @cached_property
    def body(self) -> type[Body] | None:
        """The body of the HTTP request: the arguments that are not in the address; `None` if all are."""
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
        """A model that checks these arguments."""
        of = self.signature.parameters
        fields = {name: (of[name].annotation, ... if of[name].default is _NONE else of[name].default) for name in names}
        name = "".join(part.capitalize() for part in self.name.split("_"))
        return create_model(f"{name}{kind}", __base__=Body, __doc__=f"{self.summary}.", **fields)  # type: ignore[call-overload,no-any-return] # names that only the verb knows

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by name, with defaults for the missing ones.

        Raises:
            UsageError: an argument is unknown, or its value does not fit.
        """
        try:
            found = self._arguments.model_validate(dict(arguments))
        except ValidationError as error:
            said = sentence(fault_of(error, self._arguments))
            raise UsageError(f"The arguments of `{self.name}` do not fit. {said}") from None
        return {name: getattr(found, name) for name in type(found).model_fields}

    def from_outside(self, arguments: Mapping[str, Any], folder: Callable[[str], Path]) -> dict[str, Any]:
        """Return arguments from a remote program, with the `folder` of each other project that they name.

        Raises:
            UsageError: an argument names a folder of code, which remote callers cannot run.
            FabulaError: a project does not exist.
        """
        for name in _METHODS:
            if is_path(said := arguments.get(name) or ""):
                raise UsageError(
                    f"{said!r} is a folder of code, which cannot be run from here. Use the name of an installed {name}."
                )
        given = dict(arguments)
        for one in self.signature.parameters.values():
            if _OTHER in getattr(one.annotation, "__metadata__", ()) and (said := given.get(one.name)):
                named = [said] if isinstance(said, str) else list(dict.fromkeys(said))
                folders = [str(folder(name)) for name in named]
                given[one.name] = folders[0] if isinstance(said, str) else folders
        return given

    def bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments passed in Python by name; a path may replace its text.

        Raises:
            TypeError: an argument is unknown or missing.
            UsageError: a value does not fit.
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
    here: bool = False,
    at_once: bool = False,
) -> Callable[[Callable[P, Awaitable[T]]], Callable[P, Awaitable[T]]]:
    """Make a function a verb that every door offers, and return the function unchanged."""

    def known(function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        changed = changes and method != "GET"
        vars(function)["verb"] = Verb(function, method, path, tag, command, changed, long, here, at_once)
        return function

    return known


@cache
def _homes() -> dict[str, tuple[str, bool]]:
    """The module of each verb by name, and whether the verb works on a project; read from the files without imports."""
    folder = Path(__file__).parent
    return {
        name: (f"{__package__}.{file.stem}", of == "project")
        for file in sorted(folder.glob("*.py"))
        for name, of in _VERB.findall(file.read_text(encoding="utf-8"))
    }


def names() -> dict[str, bool]:
    """Return the verbs by name, and whether each works on a project, without importing them."""
    return {name: of_project for name, (_, of_project) in sorted(_homes().items())}


def named(name: str) -> Verb:
    """Import and return the verb with that name."""
    return vars(getattr(import_module(_homes()[name][0]), name))["verb"]  # type: ignore[no-any-return] # as `verb` leaves it


def every() -> dict[str, Verb]:
    """Import all verbs and return them by name."""
    return {name: named(name) for name in names()}


def long_verb(name: str) -> Verb:
    """Return the long verb with that name.

    Raises:
        UnknownNameError: the verb does not exist or is not long.
    """
    if name in names() and (found := named(name)).long:
        return found
    raise UnknownNameError("verb that takes long", name, [one.name for one in every().values() if one.long])


def as_data(result: object) -> Any:  # noqa: ANN401 - JSON data
    """Return a verb's result as JSON data."""
    return adapter(type(result)).dump_python(result, mode="json")


@remembered(128)
def adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - a class
    """Return a JSON reader and writer for a class."""
    return TypeAdapter(kind)
