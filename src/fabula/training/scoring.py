"""How likely replies are under a base and under its tuned form, and which of two replies either would rather write.

The model is PEFT's: with its adapter it is the tuned one, without it the base. Log-probabilities are natural.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.data.reading import Record, json_lines
from fabula.stats.intervals import FEWEST, share_among
from fabula.training.base import prompt_text
from fabula.training.libraries import library
from fabula.training.pairs import RULES, could_tell
from fabula.training.report import difference_of
from fabula.training.sft import end_of_turn, ids_of, reply_ids, shortened

if TYPE_CHECKING:
    from fabula.models.base import Json, Message
    from fabula.stats.estimate import Scored
    from fabula.training.examples import PreferencePair


Native: TypeAlias = Any  # a module of the training libraries, or what they make; they have no types here

_ROWS: Final = 8  # texts that are read at once
_PLACES: Final = 1024  # replies' tokens whose likelihoods over the whole vocabulary are held at once
_HALF: Final = 0.5


@dataclass(frozen=True, slots=True)
class ScoredTokens:
    """A prompt as the embedded engine writes it, and the reply up to the mark that ends it."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]


def tokens_of(tokeniser: Native, messages: Sequence[Message], reply: str) -> ScoredTokens:
    """The tokens of a prompt and of a reply to it, which are made apart, as a model writes its reply apart."""
    prompt = ids_of(tokeniser, prompt_text(tokeniser, messages))
    return ScoredTokens(tuple(prompt), (*reply_ids(tokeniser, reply), *end_of_turn(tokeniser)))


@dataclass(frozen=True, slots=True)
class PairTokens:
    """The prompt of a pair and both replies.

    Attributes:
        prompt: what a model reads of it.
        chosen: the preferred reply.
        rejected: the other.
        unread: tokens that were taken out of the middle of the prompt.
    """

    prompt: tuple[int, ...]
    chosen: tuple[int, ...]
    rejected: tuple[int, ...]
    unread: int = 0

    @property
    def longest(self) -> int:
        """Tokens of the prompt with the longer reply."""
        return len(self.prompt) + max(len(self.chosen), len(self.rejected))

    def record(self) -> Json:
        """The row as the library names its parts."""
        return {"prompt_ids": [*self.prompt], "chosen_ids": [*self.chosen], "rejected_ids": [*self.rejected]}


def pair_tokens(tokeniser: Native, pair: PreferencePair, most: int | None = None) -> PairTokens:
    """The tokens of a pair; a prompt of more than `most` loses lines from its middle, as in supervised fine-tuning."""

    def length(messages: Sequence[Message]) -> int:
        return len(ids_of(tokeniser, prompt_text(tokeniser, messages)))

    messages, whole = pair.messages, length(pair.messages)
    if most is not None and whole > most:
        messages = shortened(messages, lambda tried: length(tried) <= most)
    chosen, rejected = (tokens_of(tokeniser, messages, text) for text in (pair.chosen, pair.rejected))
    return PairTokens(chosen.prompt, chosen.reply, rejected.reply, whole - len(chosen.prompt))


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The log-probability of a whole reply, and how many tokens it has.

    Attributes:
        base: under the base.
        tuned: under the base with the adapter.
        tokens: of the reply, the mark that ends it included.
    """

    base: float
    tuned: float
    tokens: int


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A pair and how likely its replies are."""

    pair: PreferencePair
    chosen: Likelihood
    rejected: Likelihood

    @property
    def margin(self) -> float:
        """By how much training has raised the preferred reply above the other: DPO's implicit reward, without beta."""
        return (self.chosen.tuned - self.chosen.base) - (self.rejected.tuned - self.rejected.base)

    @property
    def token_margins(self) -> tuple[float, float]:
        """By how much base and tuned model find a token of the preferred reply likelier, on average."""
        chosen, rejected = self.chosen, self.rejected
        return (
            chosen.base / chosen.tokens - rejected.base / rejected.tokens,
            chosen.tuned / chosen.tokens - rejected.tuned / rejected.tokens,
        )

    def record(self) -> Json:
        """The pair for `evaluation.jsonl`: numbers and where they belong, without the texts."""
        sides = {"chosen": self.chosen, "rejected": self.rejected}
        return {
            "id": self.pair.id,
            "agent": self.pair.agent,
            "group": self.pair.group,
            "margin": self.margin,
            **{f"{name}_{under}": getattr(side, under) for name, side in sides.items() for under in ("base", "tuned")},
            **{f"{name}_tokens": side.tokens for name, side in sides.items()},
        }


def read_scores(path: Path, pairs: Sequence[PreferencePair]) -> tuple[ScoredPair, ...]:
    """The pairs with what `evaluation.jsonl` says of them; those that it does not know are left out.

    Raises:
        UsageError: the file cannot be read.
    """
    known = {record.text("id"): record for record in json_lines(path)}

    def side(record: Record, name: str) -> Likelihood:
        base, tuned = (record.number(f"{name}_{under}") for under in ("base", "tuned"))
        return Likelihood(base, tuned, record.integer(f"{name}_tokens"))

    found = [(pair, known[pair.id]) for pair in pairs if pair.id in known]
    return tuple(ScoredPair(pair, side(record, "chosen"), side(record, "rejected")) for pair, record in found)


def score_pairs(
    model: Native, pairs: Sequence[PreferencePair], rows: Sequence[PairTokens], *, bf16: bool = False
) -> tuple[ScoredPair, ...]:
    """How likely both replies of each pair are under base and adapter.

    Args:
        model: PEFT's, with one adapter in use; its mode (training or not) is put back.
        pairs: what is scored.
        rows: their `pair_tokens`.
        bf16: whether to compute with 16 bits, as training did.
    """
    texts = [ScoredTokens(row.prompt, reply) for row in rows for reply in (row.chosen, row.rejected)]
    tuned = log_probabilities(model, texts, bf16=bf16)
    with model.disable_adapter():
        base = log_probabilities(model, texts, bf16=bf16)
    sides = [Likelihood(below, above, len(row.reply)) for below, above, row in zip(base, tuned, texts, strict=True)]
    return tuple(map(ScoredPair, pairs, sides[::2], sides[1::2]))


def log_probabilities(model: Native, rows: Sequence[ScoredTokens], *, bf16: bool = False) -> list[float]:
    """The log-probability of each reply given its prompt, as the model stands.

    Rows of like length are read together; the numbers do not depend on which.
    """
    torch = library("torch")
    device = next(model.parameters()).device
    found, training = [0.0] * len(rows), model.training
    model.eval()
    narrow = torch.autocast(device.type, dtype=torch.bfloat16) if bf16 else nullcontext()
    try:
        with torch.inference_mode(), narrow:
            for batch in _batches(rows):
                sums = _sums(torch, model, [rows[index] for index in batch], device)
                for index, value in zip(batch, sums, strict=True):
                    found[index] = value
    finally:
        model.train(training)
    return found


def _batches(rows: Sequence[ScoredTokens]) -> Iterator[list[int]]:
    """Indices of rows that are read together, longest first, so that what does not fit the memory fails at once."""
    batch: list[int] = []
    longest = 0
    for index in sorted(range(len(rows)), key=lambda at: -len(rows[at].prompt) - len(rows[at].reply)):
        longest = max(longest, len(rows[index].reply))
        if batch and (len(batch) == _ROWS or longest * (len(batch) + 1) > _PLACES):
            yield batch
            batch, longest = [], len(rows[index].reply)
        batch.append(index)
    if batch:
        yield batch


def _sums(torch: Native, model: Native, rows: Sequence[ScoredTokens], device: Native) -> list[float]:
    """Of rows filled up at the front, so that all replies end at the last place and only these need likelihoods."""
    texts = [[*row.prompt, *row.reply] for row in rows]
    wide, kept = max(map(len, texts)), max(len(row.reply) for row in rows)
    ids = torch.tensor([[0] * (wide - len(text)) + text for text in texts], device=device)
    mask = torch.tensor([[0] * (wide - len(text)) + [1] * len(text) for text in texts], device=device)
    places = (mask.cumsum(dim=1) - 1).clamp(min=0)
    logits = model(
        input_ids=ids, attention_mask=mask, position_ids=places, use_cache=False, logits_to_keep=kept + 1
    ).logits
    sums = []
    for row, own, written in zip(rows, logits, ids, strict=True):
        count = len(row.reply)
        before = own[-count - 1 : -1].float()
        said = before.gather(1, written[wide - count :, None])[:, 0]
        sums.append(float((said - before.logsumexp(dim=1)).double().sum()))
    return sums


# which of two replies is preferred ------------------------------------------------------------------------------------

_Answer: TypeAlias = "Callable[[ScoredPair], float | None]"


def _right(better: float, worse: float) -> float:
    return _HALF if better == worse else float(better > worse)


def _by(rule: str) -> _Answer:
    """What a trivial rule says; nothing where it could not have gone the other way."""
    return lambda one: RULES[rule](one.pair) if could_tell(rule, one.pair) else None


_RULES: Final[Mapping[str, _Answer]] = {name: _by(name) for name in ("longer", "shorter", "first", "later")}
"""What reads nothing: more words, fewer words, shown or written first, later. A tie is a half, an unknown nothing."""

_SUM: Final[Mapping[str, _Answer]] = {
    "base": lambda one: _right(one.chosen.base, one.rejected.base),
    "tuned": lambda one: _right(one.chosen.tuned, one.rejected.tuned),
}
_MEAN: Final[Mapping[str, _Answer]] = {
    "base": lambda one: _right(one.token_margins[0], 0.0),
    "tuned": lambda one: _right(one.token_margins[1], 0.0),
}
_REWARD: Final = "implicit reward"
_WAYS: Final[Mapping[str, Mapping[str, _Answer]]] = {
    "log-probability": _SUM,
    "log-probability a token": _MEAN,
}
_ANSWERS: Final[Mapping[str, _Answer]] = {
    _REWARD: lambda one: _right(one.margin, 0.0),
    **{f"{way}, {who}": answer for way, both in _WAYS.items() for who, answer in both.items()},
    **{f"rule: {name}": answer for name, answer in _RULES.items()},
}


def accuracies(pairs: Sequence[ScoredPair]) -> dict[str, Scored]:
    """How often each way of choosing prefers the reply that was preferred; a tie is a half.

    Ways are DPO's implicit reward, the log-probability of the whole reply and that of a token on average, each under
    base and tuned, and trivial rules. Intervals are over groups. n is the number of pairs; rules of position leave out
    pairs where no other one was possible.
    """
    return {name: _accuracy(pairs, answer, name) for name, answer in _ANSWERS.items()}


def gains(pairs: Sequence[ScoredPair], tried: int = 1) -> dict[str, Scored]:
    """By how much the tuned model's accuracy is above the base's, and that of its implicit reward above each rule's.

    The differences are taken pair by pair, so an interval above 0 says that it is better on others like these.

    Args:
        pairs: that were not trained on.
        tried: checkpoints of which these pairs chose the best.
    """
    ways = {f"{way}: tuned less base": (both["tuned"], both["base"]) for way, both in _WAYS.items()}
    rules = {f"{_REWARD} less {name}": (_ANSWERS[_REWARD], rule) for name, rule in _RULES.items()}
    return {name: _difference(pairs, *both, name, tried) for name, both in (ways | rules).items()}


def _accuracy(pairs: Sequence[ScoredPair], answer: _Answer, name: str) -> Scored:
    known = [(one.pair.group, value) for one in pairs if (value := answer(one)) is not None]
    return share_among([value for _, value in known], [group for group, _ in known], method=f"accuracy of {name}")


def _difference(pairs: Sequence[ScoredPair], first: _Answer, second: _Answer, name: str, tried: int) -> Scored:
    known = [
        (one.pair.group, a - b) for one in pairs if (a := first(one)) is not None and (b := second(one)) is not None
    ]
    groups = [group for group, _ in known]
    alone = len(set(groups)) < FEWEST
    return difference_of(
        [value for _, value in known], None if alone else groups, f"accuracy, {name}", tried, limits=(-1.0, 1.0)
    )
