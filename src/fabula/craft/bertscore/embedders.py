"""Who gives tokens their vectors: a model of the package transformers, a program of the user's, or letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import numpy as np

from fabula.base.errors import UsageError
from fabula.base.extras import extra
from fabula.craft.bertscore.scoring import Embedder, Vectors
from fabula.engine.roles import load_function

# The layer that agrees best with people, where the authors of BERTScore found one; else the last.
LAYERS: Final = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "distilbert-base-uncased": 5,
    "roberta-base": 10,
    "roberta-large": 17,
}
_SPACED: Final = ("Roberta", "GPT2")  # their tokens hold the blank before a word
_ENDLESS: Final = 1_000_000  # what tokenisers without a limit say is larger than this
_SIZE: Final = 128


def open_embedder(kind: str, model: str, layer: int = 0, *, fetch: bool, fields: str = "bertscore.") -> Embedder:
    """The embedder that the settings name.

    Args:
        kind: transformers, letters, or FILE.py:FUNCTION.
        model: what is opened.
        layer: of the model; 0 takes the one that is best by BERTScore's authors, else the last.
        fetch: a model that is not on this machine may be fetched.
        fields: what the names of these settings begin with where a user sets them, for messages.

    Raises:
        UsageError: a package or the model is not on this machine; says what to do.
        ConfigError, UnknownNameError: the user's program is not there.
    """
    if kind == "letters":
        return Letters()
    if kind != "transformers":
        made: Embedder = load_function(kind)(model)
        return made
    return _transformers(model, layer, fields, fetch=fetch)


def _transformers(model: str, layer: int, fields: str, *, fetch: bool) -> Transformers:
    torch = extra("torch", "bertscore", "BERTScore")
    library = extra("transformers", "bertscore", "BERTScore")
    try:
        tokeniser = library.AutoTokenizer.from_pretrained(model, local_files_only=not fetch, trust_remote_code=False)
        network = library.AutoModel.from_pretrained(model, local_files_only=not fetch, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"The model {model!r} cannot be read. Give a folder with a model with `--set {fields}model=FOLDER`, or "
            f"use `--set {fields}fetch=true` to fetch it from its public source."
        ) from error
    network.eval()
    layers = int(network.config.num_hidden_layers)
    chosen = layer or min(LAYERS.get(model.rstrip("/").rpartition("/")[2], layers), layers)
    if not 0 < chosen <= layers:
        raise UsageError(f"{model} has layers 1 to {layers}, but no layer {chosen}. Set {fields}layer to one of them.")
    return Transformers(torch, tokeniser, network, model, chosen)


@dataclass(frozen=True)
class Transformers:
    """A model of the package transformers, read at one layer."""

    torch: Any
    tokeniser: Any
    network: Any
    model: str
    layer: int

    @property
    def name(self) -> str:
        """Model and layer."""
        return f"{self.model}, layer {self.layer}"

    @property
    def limit(self) -> int:
        """Its longest input less the marks; Roberta's table of places begins behind the padding."""
        config = self.network.config
        places = int(config.max_position_embeddings)
        if type(self.network).__name__.startswith(_SPACED[0]):
            places -= int(config.pad_token_id) + 1
        longest = int(self.tokeniser.model_max_length)
        return min(places, longest if longest < _ENDLESS else places) - len(self._marked([]))

    def tokens(self, text: str) -> Sequence[int]:
        """The numbers of the text's tokens."""
        blank = " " if type(self.tokeniser).__name__.startswith(_SPACED) else ""
        found = self.tokeniser(blank + text.strip(), add_special_tokens=False, verbose=False)["input_ids"]
        return [int(number) for number in found]

    def embed(self, tokens: Sequence[int]) -> Vectors:
        """Their vectors in the layer, with those of the marks at both ends."""
        numbers = self._marked(list(tokens))
        with self.torch.no_grad():
            read = self.network(self.torch.tensor([numbers]), output_hidden_states=True)
        rows = np.asarray(read.hidden_states[self.layer][0].float().cpu().numpy(), dtype=np.float64)
        before = len(self._marked([])) // 2
        counts = np.zeros(len(numbers), dtype=np.bool_)
        counts[before : before + len(tokens)] = True
        return Vectors(rows, counts)

    def _marked(self, tokens: list[int]) -> list[int]:
        """The tokens between the marks that the model wants at both ends."""
        marks = [int(number) for number in self.tokeniser("", add_special_tokens=True)["input_ids"]]
        before = len(marks) // 2
        return [*marks[:before], *tokens, *marks[before:]]


class Letters:
    """Words by their letters, without surroundings: for trying the command and for tests. It is no BERTScore."""

    name = "letters (a stand-in, no BERTScore)"
    limit = 100

    def __init__(self) -> None:
        self._words: list[str] = []

    def tokens(self, text: str) -> Sequence[int]:
        """One number a word."""
        words = text.lower().split()
        self._words += words
        return range(len(self._words) - len(words), len(self._words))

    def embed(self, tokens: Sequence[int]) -> Vectors:
        """How often each word has each run of three letters, in one of 128 places."""
        rows = np.zeros((len(tokens), _SIZE))
        for row, token in zip(rows, tokens, strict=True):
            word = f" {self._words[token]} "
            for start in range(len(word) - 2):
                row[crc32(word[start : start + 3].encode()) % _SIZE] += 1
        return Vectors(rows, np.ones(len(tokens), dtype=np.bool_))
