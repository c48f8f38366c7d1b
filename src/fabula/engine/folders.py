"""A method in its own folder, given by its path: a digest of its contents, and its code as a package.

Such a folder may come from somebody else. Its code is imported only when it is first used, and only from the text of
its `.py` files. Compiled files next to them or in `__pycache__` are neither run nor counted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from hashlib import file_digest, sha256
from importlib.abc import MetaPathFinder
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.base.errors import PluginError

if TYPE_CHECKING:
    from types import CodeType, ModuleType


_PREFIX: Final = "fabula_folder_"  # of the packages that folders are imported as
_UNCOUNTED: Final = frozenset({"__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
_MOST_FILES: Final = 2_000
_MOST_BYTES: Final = 50_000_000


def is_path(name: str) -> bool:
    """Whether the name of a method is the path of its folder: it starts with a dot or `~`, or contains a slash."""
    return name.startswith((".", "~")) or "/" in name or "\\" in name


def whole_path(path: str, base: Path) -> str:
    """A path relative to `base`; an impossible path is returned as it is, and opening it then fails."""
    try:
        return str((base / Path(path).expanduser()).resolve())
    except (OSError, RuntimeError, ValueError):  # too long, nobody's home, or with a NUL
        return path


def digest_of(folder: Path) -> str:
    """A SHA-256 over the names and contents of all files in a folder, except caches, which are never run.

    Raises:
        PluginError: the folder holds a link, too many files for a method, or a file that cannot be read.
    """
    digest, size = sha256(), 0
    try:
        for number, file in enumerate(_files(folder)):
            size += file.stat().st_size
            if number >= _MOST_FILES or size > _MOST_BYTES:
                raise PluginError(
                    f"{folder} holds more than {_MOST_FILES:,} files or {_MOST_BYTES // 10**6} MB, so it is not "
                    "a system or evaluator. Give only the folder with its paper.toml."
                )
            with file.open("rb") as content:
                inner = file_digest(content, "sha256").hexdigest()
            digest.update(f"{file.relative_to(folder).as_posix()}\0{inner}\0".encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise PluginError(f"{folder} cannot be read: {error.strerror}. Correct its permissions.") from error
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """All files below a folder, in the order of their names.

    Raises:
        PluginError: something in it is a link, or no file.
    """
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = Path(entry.path)
        if entry.name in _UNCOUNTED:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(path)
        elif entry.is_file(follow_symlinks=False):
            yield path
        else:
            raise PluginError(
                f"{path} is not a plain file. The folder of a system or evaluator may hold only plain files."
            )


def package_of(folder: Path) -> str:
    """The package name under which a folder's code is imported; it changes when the contents change.

    Raises:
        PluginError: see `digest_of`.
    """
    folder = folder.resolve()
    name = f"{_PREFIX}{sha256(f'{folder} {digest_of(folder)}'.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    if name in sys.modules:
        return name
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    start = folder / "__init__.py"
    if not start.is_file():
        raise PluginError(f"{folder} has no __init__.py, so its modules cannot be imported. Add an empty file.")
    loader = _Source(name, str(start))
    spec = ModuleSpec(name, loader, origin=str(start), is_package=True)
    spec.submodule_search_locations = [str(folder)]
    spec.has_location = True
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return name


class _Source(SourceFileLoader):
    """Runs a file's text, whatever lies compiled next to it."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Finder(MetaPathFinder):
    """Finds the modules of such packages, and nothing else: `.py` files in their folder."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's place.

        Raises:
            ModuleNotFoundError: the folder has no such file; the usual way of finding would take compiled ones.
        """
        del target
        if not fullname.startswith(_PREFIX) or path is None:
            return None
        inner = fullname.rpartition(".")[2]
        if inner.isidentifier() and inner != "__pycache__":
            for place in path:
                if spec := FileFinder(place, (_Source, [".py"])).find_spec(fullname):
                    return spec
        raise ModuleNotFoundError(f"No module named {inner!r}", name=inner)
