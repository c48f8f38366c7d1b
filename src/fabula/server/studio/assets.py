"""The files that pages load, read once and found by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/static/"
_KINDS: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK: Final = "no-cache"


@dataclass(frozen=True)
class Asset:
    """A file.

    Attributes:
        content: the bytes of the file.
        kind: the media type of the file.
        tag: a tag that identifies the content.
    """

    content: bytes
    kind: str
    tag: str


@dataclass(frozen=True)
class Assets:
    """All files, by their names below `static`.

    A page names them below the version of all files, so a browser may cache them forever. Modules import each
    other relatively (`import { onEvent } from "./events.js"`), so that they come from the same version.
    """

    files: dict[str, Asset]
    version: str

    @classmethod
    def of(cls, folder: Path = FOLDER) -> Assets:
        """The files of a folder."""
        files = {}
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix in _KINDS:
                content = file.read_bytes()
                tag = sha256(content).hexdigest()[:16]
                files[file.relative_to(folder).as_posix()] = Asset(content, _KINDS[file.suffix], tag)
        version = sha256("".join(name + asset.tag for name, asset in files.items()).encode()).hexdigest()[:12]
        return cls(files, version)

    def address(self, name: str) -> str:
        """The address from which a page loads a file.

        Raises:
            KeyError: there is no file of that name.
        """
        _ = self.files[name]
        return f"{PREFIX}{self.version}/{name}"

    def find(self, path: str) -> tuple[Asset, str] | None:
        """The file at a path below `PREFIX`, and how long it may be cached."""
        version, _, name = path.partition("/")
        if version == self.version and name in self.files:
            return self.files[name], _FOR_EVER
        return (self.files[path], _ASK) if path in self.files else None


@cache
def studio_assets() -> Assets:
    """The files of the studio."""
    return Assets.of()
