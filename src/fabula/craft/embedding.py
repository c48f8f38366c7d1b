"""Sentence embeddings: texts as vectors, by a model that the user names, or by their words alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fabula.base.errors import UsageError
from fabula.base.extras import extra
from fabula.craft.memory import hashed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.memory import Vectors

_KEPT: Final = 4096  # texts whose vectors are kept, as a play asks for the same ones again and again


@dataclass(frozen=True, slots=True)
class Embedding:
    """A sentence-embedding model, or hashed words where none is named.

    Attributes:
        model: a folder, or the name of a model that is on this machine; empty compares words (`memory.hashed`).
    """

    model: str = ""

    @property
    def name(self) -> str:
        """What compares texts, for people."""
        return self.model or "hashed words"

    def check(self) -> None:
        """Find now whether the model can be opened.

        Raises:
            UsageError: the package or the model is not on this machine.
        """
        if self.model:
            self(["."])

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 for each text, shape (texts, dimensions).

        Raises:
            UsageError: the package or the model is not on this machine.
        """
        if not self.model:
            return hashed(texts)
        return np.array([_vector(self.model, text) for text in texts])


@lru_cache(maxsize=_KEPT)
def _vector(model: str, text: str) -> Vectors:
    found: Vectors = _opened(model).encode([text], normalize_embeddings=True, show_progress_bar=False)[0]
    return found


@lru_cache(maxsize=2)
def _opened(model: str) -> Any:  # noqa: ANN401 - a class of an optional package
    library = extra("sentence_transformers", "embeddings", "A sentence-embedding model")
    try:
        # Nothing is fetched, and no code of the model's folder is run.
        return library.SentenceTransformer(model, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        where = "That folder holds none" if Path(model).is_dir() else "No such folder or model is on this machine"
        raise UsageError(
            f"The sentence-embedding model {model!r} cannot be opened. {where}. Give a folder that holds one, or fetch "
            f"it first (`hf download sentence-transformers/all-MiniLM-L6-v2`)."
        ) from error
