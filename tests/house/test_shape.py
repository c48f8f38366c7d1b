"""How the package hangs together: who imports, prints, swallows errors."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

import grimp

from tree import PACKAGE, ROOT, Module, modules, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

_STREAMS: Final = frozenset({"stdout", "stderr", "stdin"})
_CLI: Final = "fabula.cli"


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether it swallows any error; one that only clears up and raises the same error again does not."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {node.id for node in caught if isinstance(node, ast.Name)}
    again = isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None
    return (handler.type is None or bool(names & {"Exception", "BaseException"})) and not again


def broad(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and is_broad(node):
            yield f"{module.name}:{node.lineno}"
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("suppress")
            and {"Exception", "BaseException"} & {ast.unparse(arg) for arg in node.args}
        ):
            yield f"{module.name}:{node.lineno}"


def printing(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"print", "input"}:
            yield f"{module.name}:{node.lineno}: {node.func.id}()"
        if isinstance(node, ast.Attribute) and node.attr in _STREAMS and ast.unparse(node.value) == "sys":
            yield f"{module.name}:{node.lineno}: sys.{node.attr}"


def test_the_command_line_alone_catches_everything_and_once() -> None:
    found = [place for module in modules() for place in broad(module)]
    # A user's program that plays a role may raise anything; the error says where in it. Providers' client libraries
    # raise anything too, where a server sends what they do not expect; and so may what other packages bring. What is
    # raised in a thread goes to who waits for it. A command that is stopped says so in whatever state the rest is.
    # A server looks at folders again, whatever one look met, and records how its own runs end, whatever ended them.
    expected = ["base.plugins", "cli.main", *["cli.stopping"] * 2, "engine.roles", "models.providers", "models.threads"]
    expected += ["server.runs.children", "server.runs.looking"]
    assert [place.partition(":")[0].removeprefix("fabula.") for place in found] == expected, found


def test_what_clears_up_and_raises_again_is_not_broad() -> None:
    def handler(body: str) -> ast.ExceptHandler:
        tried = ast.parse(f"try:\n    f()\nexcept {body}").body[0]
        assert isinstance(tried, ast.Try)
        return tried.handlers[0]

    assert is_broad(handler("Exception:\n    pass"))
    assert is_broad(handler("(OSError, Exception) as e:\n    raise ValueError from e"))
    assert not is_broad(handler("BaseException:\n    g()\n    raise"))
    assert not is_broad(handler("OSError:\n    pass"))


def test_nothing_below_the_command_line_prints_or_reads_the_terminal() -> None:
    assert not [p for m in modules() if not m.name.startswith((_CLI, "fabula.__main__")) for p in printing(m)]


def test_no_file_imports_itself_by_a_detour_also_not_for_annotations() -> None:
    graph = grimp.build_graph("fabula", exclude_type_checking_imports=False, cache_dir=None)
    left = {name: graph.find_modules_directly_imported_by(name) - {name} for name in graph.modules}
    while ready := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in ready:
            del left[name]
    # What is left is in a cycle or imports one; follow it until a name comes again.
    trail: list[str] = sorted(left)[:1]
    while trail and len(set(trail)) == len(trail):
        trail.append(min(left[trail[-1]] & left.keys()))
    assert not trail


def test_there_are_at_most_eighteen_rooms() -> None:
    rooms = [path for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()]
    assert len(rooms) <= 18  # `verbs` takes the place of `app`, verb by verb (docs/design/0060)
    loose = {path.name for path in PACKAGE.glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "errors.py", "events.py", "plugin.py"}  # these are public names


def test_nobody_above_the_engine_knows_of_dry_runs() -> None:
    # Whether a run is dry, and which texts are stale in it, is the engine's affair (docs/design/0058). Independent work
    # is done `side_by_side`, which knows of it; plain tasks do not.
    private = {"fabula.engine.lines", "fabula.engine.dry_run"}
    found = []
    for module in modules():
        if not module.name.startswith(("fabula.systems.", "fabula.evaluators.", "fabula.craft.", "fabula.continuity.")):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module in private:
                found.append(f"{module.name}:{node.lineno}: {ast.unparse(node)}")
            if isinstance(node, ast.Attribute) and (
                node.attr in {"dry_run", "TaskGroup", "gather"}
                or (node.attr == "mode" and ast.unparse(node.value).endswith("context"))
            ):
                found.append(f"{module.name}:{node.lineno}: {ast.unparse(node)}")
    assert not found


def test_only_replies_decide_by_searching_model_text() -> None:
    # Systems are where it tempts: `"yes" in reply`, or a pattern searched in what a model said.
    found = []
    for module in modules():
        if module.name.startswith(("fabula.systems.", "fabula.evaluators.")):
            for node in ast.walk(module.tree):
                if not isinstance(node, (ast.Compare, ast.Import)):
                    continue
                searches = isinstance(node, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
                patterns = isinstance(node, ast.Import) and any(alias.name == "re" for alias in node.names)
                if patterns or (searches and "reply" in ast.unparse(node)):
                    found.append(f"{module.name}:{node.lineno}: {ast.unparse(node)}")
    assert not found


def test_no_file_names_a_folder_of_one_machine() -> None:
    folders = "work|root|tmp|home|Users"
    machine = re.compile(r"(?<![\w.:/~$})<-])/(?:" + folders + r")(?:/|\b)|\b[A-Z]:\\Users")
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts()
        if name != "tests/house/test_shape.py"
        for number, line in enumerate(text.splitlines(), 1)
        if machine.search(line)
    ]
    assert not found


def test_what_settings_name_is_found_with_trust() -> None:
    # A file's settings may name a folder with code; `system_of` asks whether that is allowed, `find` does not.
    found = [
        f"{module.name}:{node.lineno}: {ast.unparse(node)}"
        for module in modules()
        if module.name != "fabula.systems"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"find", "find_system"}
        for given in node.args
        if isinstance(given, ast.Attribute) and given.attr == "system" and ast.unparse(given) != "choices.system"
        if "Settings()" not in ast.unparse(given)
    ]
    assert not found


def test_the_typed_marker_ships() -> None:
    assert (PACKAGE / "py.typed").is_file()
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").count("Apache License") > 1
