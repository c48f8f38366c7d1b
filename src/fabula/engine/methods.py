"""The common parts of systems and evaluators: each is a folder with a `paper.toml`.

The folder is next to fabula's own, in an installed package that names it as an entry point, or at a given path.
"""

from __future__ import annotations

import tomllib
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from math import inf, isfinite
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from fabula.base.errors import ConfigError, PluginError, UnknownNameError
from fabula.base.kept import of_file
from fabula.base.plugins import faults_of, is_plain, plain_name, plugins
from fabula.base.remembering import remembered
from fabula.engine.folders import is_path, package_of, whole_path
from fabula.engine.papers import PAPER, read_paper

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabula.base.plugins import Plugin

Preset: TypeAlias = Literal["faithful", "improved"]

_HOTTEST: Final = 5.0
_OURS: Final = "ours"


IMPROVED: Final = "improved"


class Presets:
    """The base of every method's `Config`, with two presets. Its defaults are the paper's values.

    A method that does more than its paper has two programs. Its `Config` has a field `ours`, which is `None` in the
    preset `faithful`. Otherwise `improved.py` runs instead of `algorithm.py`, and the prompts in `prompts/improved`
    take precedence over those of the paper.
    """

    __slots__ = ()

    @classmethod
    def faithful(cls) -> Self:
        """The settings of the paper."""
        return cls()

    @classmethod
    def improved(cls) -> Self:
        """The recommended settings; a `Config` overrides this to set what differs from the paper."""
        return cls()


@dataclass(frozen=True, slots=True)
class Method:
    """A method from a paper, found in its folder.

    Attributes:
        name: the name that users type, with hyphens.
        paper: the contents of `paper.toml`: title, authors, year, venue, summary, roles, deviations.
        package: its package, whose modules `config` and `algorithm` hold the `Config` and the function; empty if there
            is none.
        source: its origin, if it does not come with fabula: the installed package with its version, or its folder.
    """

    name: str
    folder: Path
    paper: Mapping[str, Any]
    package: str
    source: str = ""

    @property
    def by_path(self) -> bool:
        """Whether the method was given by the path of its folder, not by a name."""
        return self.source == str(self.folder)

    @property
    def spec(self) -> str:
        """The method as settings refer to it: its name, or the path of its folder."""
        return self.source if self.by_path else self.name

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the roles that the method may call."""
        return tuple(self.paper["roles"])

    @property
    def open_role(self) -> str:
        """The role that plays the story's characters, who can be cast by name; empty if there is none."""
        return str(self.paper.get("open_role", ""))

    @property
    def prompts(self) -> Path:
        """The folder of the paper's prompts."""
        return self.folder / "prompts"

    def prompt_folders(self, preset: Preset) -> tuple[Path, ...]:
        """The folders of a preset's prompts; a file in an earlier folder replaces files of the same name."""
        own = self.prompts / IMPROVED
        return (own, self.prompts) if preset == IMPROVED and own.is_dir() else (self.prompts,)

    def program(self, config: Any) -> Any:  # noqa: ANN401 - each method has its own Config, and a module no better type
        """The module that runs with these settings: `improved` if it exists and `ours` is set, otherwise `algorithm`.

        Raises:
            PluginError: the code of a method that does not come with fabula fails.
        """
        both = (self.folder / f"{IMPROVED}.py").is_file()
        return self.module(IMPROVED) if both and config.ours is not None else self.algorithm

    @property
    def algorithm(self) -> Any:  # noqa: ANN401 - a module has no better type
        """The module `algorithm`, imported on first use."""
        return self.module("algorithm")

    @property
    def settings_type(self) -> type[Any]:
        """The `Config` in the module `config`."""
        module = self.module("config")
        with self.blamed():
            config: type[Any] = module.Config
        return config

    def module(self, name: str) -> Any:  # noqa: ANN401 - a module has no better type
        """One of the method's modules, imported on first use.

        Raises:
            PluginError: the code of a method that does not come with fabula fails.
        """
        with self.blamed():
            above = () if self.by_path else (self.package, self.folder.name)
            package = ".".join(part for part in above if part) or package_of(self.folder)
            return import_module(f"{package}.{name}")

    def blamed(self) -> AbstractContextManager[None]:
        """A context that adds the method's name and source to errors in code that does not come with fabula."""
        return faults_of(f"{self.name} (from {self.source})") if self.source else nullcontext()

    def config(self, preset: Preset = "improved", values: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - each method has its own Config
        """The method's `Config`: a preset changed by `values`; texts are converted to the field's type.

        A value is named by its field, with or without its group (`paper`, `ours`): "stall_steps" or
        "paper.stall_steps". A table can set several fields of a group: `{"paper": {"stall_steps": 9}}`.

        Raises:
            UnknownNameError: there is no such field or preset.
            ConfigError: a value does not fit its field.
        """
        if preset not in get_args(Preset):
            raise UnknownNameError("preset", preset, get_args(Preset))
        settings_type = self.settings_type
        with self.blamed():
            config = getattr(settings_type, preset)()
            return with_values(config, values or {}, self.name)


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a `Config`: its group ("paper", "ours", or none), value, type and description."""

    name: str
    group: str
    value: Any
    hint: Any
    about: str

    @property
    def full_name(self) -> str:
        """The name with its group."""
        return f"{self.group}.{self.name}" if self.group else self.name

    def set_in(self, config: Any, value: object) -> Any:  # noqa: ANN401 - each method has its own Config
        """`config` with another value in this field.

        Raises:
            ConfigError: `config` is for the paper alone and has no such field.
        """
        if not self.group:
            return replace(config, **{self.name: value})
        if getattr(config, self.group) is None:
            raise ConfigError(
                f"{self.name} is a setting of fabula's additions, which the preset faithful does not have. Use the "
                f"preset improved, or leave {self.name} out."
            )
        return replace(config, **{self.group: replace(getattr(config, self.group), **{self.name: value})})


def with_values(config: Any, values: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - each method has its own Config
    """`config` with `values` set as in `Method.config`; `name` is the name of the method, for messages.

    Raises:
        UnknownNameError: there is no such field.
        ConfigError: a value does not fit its field.
    """
    known = {setting.name: setting for setting in (*settings_of(type(config).improved()), *settings_of(config))}
    given: dict[str, str] = {}
    for said, value in _spread(values, {setting.group for setting in known.values()}):
        group, dot, last = said.rpartition(".")
        setting = known.get(last)
        if setting is None:
            raise UnknownNameError(f"{name} setting", said, known)
        if f"{group}{dot}{last}" not in {setting.name, setting.full_name}:
            raise ConfigError(f"{said!r} is not a setting of {name}. Write {setting.full_name} or {setting.name}.")
        if (other := given.setdefault(setting.name, said)) != said:
            raise ConfigError(f"{name}: {other!r} and {said!r} are the same setting. Keep one of them.")
        config = setting.set_in(config, _converted(value, setting.hint, f"{name}.{said}"))
    return config


def _spread(values: Mapping[str, Any], groups: set[str]) -> Iterator[tuple[str, Any]]:
    """The values, those in the table of a whole group named one by one."""
    for name, value in values.items():
        if name and name in groups and isinstance(value, dict):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def settings_of(config: Any, group: str = "") -> list[Setting]:  # noqa: ANN401 - each method has its own Config
    """The settings in a `Config`, including those in its groups, in order."""
    kind: Any = type(config)
    hints, about = _told(kind)
    found: list[Setting] = []
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value) and not group:
            found += settings_of(value, field.name)
        elif value is None and not group and field.name == _OURS:  # the paper alone
            continue
        else:
            found.append(Setting(field.name, group, value, hints[field.name], about.get(field.name, "")))
    return found


@remembered(100, 100)
def _told(config: type[Any]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """The types of a `Config`'s fields, and what its docstring says of them."""
    return get_type_hints(config, include_extras=True), attributes_of(config)


def of_presets(config: type[Any]) -> list[tuple[Setting, Any, Any]]:
    """Each setting of a `Config` class, with its value in the paper (`None` if the paper has none), and with ours."""
    paper = {setting.full_name: setting.value for setting in settings_of(config.faithful())}
    return [(one, paper.get(one.full_name), one.value) for one in settings_of(config.improved())]


def values_of(config: object) -> dict[str, Any]:
    """Every setting of a `Config` by name, in the form used in reports and records."""
    return {setting.name: setting.value for setting in settings_of(config)}


def attributes_of(kind: type) -> dict[str, str]:
    """The `Attributes:` in the docstrings of a class and its base classes, by name, each on one line."""
    about = {name: said for base in kind.__bases__ for name, said in attributes_of(base).items()}
    _, _, listed = cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    name = ""
    for line in listed.splitlines():
        if not line.strip():
            break
        if line.startswith("    ") and not line.startswith("     "):
            name, _, said = line.strip().partition(": ")
            about[name] = said
        elif name:
            about[name] += f" {line.strip()}"
    return about


def _converted(value: object, hint: Any, name: str) -> object:  # noqa: ANN401 - any annotation
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - keeps `fabula --help` fast

    if isinstance(value, str) and value.casefold() == "none" and type(None) in get_args(hint):
        return None
    said = str(value) if hint is str and type(value) is int else value  # words = 300
    if isinstance(value, str) and get_origin(hint) is tuple:  # "1,2,3" on the command line
        said = [part.strip() for part in value.strip("()[] ").split(",")]
    try:
        found = TypeAdapter(hint).validate_python(said)
    except ValidationError as error:
        from fabula.base.invalid import fault  # noqa: PLC0415 - as above

        raise ConfigError(f"{fault(error.errors()[0], loc=(name,))}.") from error
    _check_bounds(found, value, name)
    return found


def _check_bounds(found: object, value: object, name: str) -> None:
    """Refuse numbers that no setting has a meaning for: below 0, none, or a temperature above a model's.

    Raises:
        ConfigError: there is one.
    """
    numbers = [one for one in (found if isinstance(found, tuple) else (found,)) if type(one) in (int, float)]
    most = _HOTTEST if name.endswith("temperature") else inf
    least = -1 if isinstance(found, float) and most == inf else 0  # a likeness (a cosine) may be below 0
    if not all(least <= one <= most and isfinite(one) for one in numbers):
        bounds = f"from 0 to {most:g}" if isfinite(most) else f"{least} or more"
        raise ConfigError(f"{name} = {value!r} does not fit: it must be a number, {bounds}.")


def folders(home: Path) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """Name, folder and `paper.toml` of every method below `home`, by name."""
    for paper in sorted(home.glob(f"*/{PAPER}")):
        yield plain_name(paper.parent.name), paper.parent, of_file(paper, "paper", partial(_read, paper))


def _read(paper: Path) -> Mapping[str, Any]:
    """What a paper's file says."""
    return tomllib.loads(paper.read_text(encoding="utf-8"))


_M = TypeVar("_M", bound=Method)


@dataclass(frozen=True, slots=True)
class MethodCatalogue(Generic[_M]):
    """All methods of a kind: fabula's own, those of installed packages, and folders by their path.

    Attributes:
        kind: the class of the methods.
        noun: the word for one of them, "system" or "evaluator".
        home: the folder of fabula's own methods.
        package: the package that this folder is.
        group: the group of entry points under which other packages register their methods.
    """

    kind: type[_M]
    noun: str
    home: Path
    package: str
    group: str

    def own(self) -> dict[str, _M]:
        """Fabula's own methods, by name."""
        return {name: self.kind(name, folder, paper, self.package) for name, folder, paper in folders(self.home)}

    def all(self) -> dict[str, _M]:
        """Fabula's own methods and the complete ones of installed packages, by name. None of their code is run."""
        return self._all()[0]

    def problems(self) -> dict[str, str]:
        """Why methods of installed packages are missing from `all`, in sentences by name."""
        return self._all()[1]

    def _all(self) -> tuple[dict[str, _M], dict[str, str]]:
        found = self.own()
        brought = plugins(self.group, found, self.noun)
        problems = dict(brought.problems)
        for plugin in brought.found.values():
            try:
                found[plugin.name] = self._installed(plugin)
            except PluginError as problem:
                problems[plugin.name] = f"The {self.noun} {plugin.name!r} of {plugin.source} is left out: {problem}"
        return found, problems

    def find(self, name: str) -> _M:
        """The method with that name (underscores count as hyphens), or in the folder whose path is `name`.

        Give only the path of a folder that you trust: its code runs as soon as the method is used.

        Raises:
            UnknownNameError: there is no such method; the message names the nearest one.
            PluginError: the method of another package, or the folder, cannot be used.
        """
        if is_path(name):
            return self._in_folder(Path(whole_path(name, Path())))
        wanted = plain_name(name)
        folder = self.home / wanted.replace("-", "_")
        if is_plain(wanted):
            with suppress(OSError):  # without looking at others, which takes longer
                paper = of_file(folder / PAPER, "paper", partial(_read, folder / PAPER))
                return self.kind(wanted, folder, paper, self.package)
        found, problems = self._all()
        if wanted in found:
            return found[wanted]
        if wanted in problems:
            raise PluginError(problems[wanted])
        if (Path(name) / PAPER).is_file():
            raise UnknownNameError(self.noun, name, [f"./{name}"])
        advice = ""
        if self.noun == "evaluator" and Path(name).exists():
            advice = f"{name} is a file or folder: name the evaluator first, as in `fabula evaluate rubric {name}`."
        raise UnknownNameError(self.noun, name, found, advice)

    def _in_folder(self, folder: Path) -> _M:
        paper, name = read_paper(folder), plain_name(folder.name)
        if not is_plain(name):
            raise PluginError(f"{folder.name!r} cannot be the name of a {self.noun}. Use letters, digits and _.")
        if name in self.own():
            raise PluginError(f"{folder} has the same name as fabula's own {self.noun} {name!r}. Rename the folder.")
        return self.kind(name, folder, paper, "", str(folder))

    def _installed(self, plugin: Plugin) -> _M:
        """The method that an entry point names by its package; the package is found without being run."""
        top, *inner = plugin.value.strip().split(".")
        spec = find_spec(top) if top.isidentifier() else None
        places = spec.submodule_search_locations if spec else None
        if not places or ":" in plugin.value:
            raise PluginError(f"its entry point {plugin.value!r} is not a package that can be imported.")
        folder = Path(places[0], *inner)
        return self.kind(plugin.name, folder, read_paper(folder), ".".join((top, *inner)[:-1]), plugin.source)
