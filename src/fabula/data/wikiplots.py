"""WikiPlots: plots of books, films and games from the English Wikipedia (Riedl 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.data.archives import lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAX_BYTES: Final = 2_000_000_000
_END: Final = "<EOS>"


@dataclass(frozen=True, slots=True)
class WikiPlot:
    """A plot: the title of its article, and its sentences."""

    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences in one paragraph."""
        return " ".join(self.sentences)


def plots(path: Path) -> Iterator[WikiPlot]:
    """The plots in `plots.zip`, or in a folder that holds its files `plots` and `titles`; one at a time.

    Raises:
        UsageError: a file is absent, damaged or too large, or there are not as many titles as plots.
    """
    path = path / "plots.zip" if (path / "plots.zip").is_file() else path
    titles = lines(path, "titles", _MAX_BYTES)
    for number, sentences in _plots(path):
        found = next(titles, None)
        if found is None:
            raise UsageError(f"{path}: the plot that ends in line {number} of 'plots' has no title. Fetch it again.")
        yield WikiPlot(found[1], sentences)
    if more := [number for number, title in titles if title.strip()]:
        raise UsageError(f"{path}: the title in line {more[0]} of 'titles' has no plot. Fetch it again.")


def _plots(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    sentences: list[str] = []
    number = 0
    for number, line in lines(path, "plots", _MAX_BYTES):
        if line.strip() == _END:
            yield number, tuple(sentences)
            sentences = []
        elif line.strip():
            sentences.append(line.strip())
    if sentences:
        raise UsageError(f"{path}: 'plots' ends in line {number} within a plot. Fetch it again.")
