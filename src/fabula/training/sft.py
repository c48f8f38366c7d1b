"""Supervised fine-tuning of an agent on examples: the loss is on the completion alone, and nothing is cut in silence.

A prompt that is longer than the limit loses lines from its middle, which is the older part of a scratchpad: what comes
first and last (persona and instruction) stays. A completion that is too long is learnt up to the last end of a
sentence, without the mark that ends a reply. No example is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.engine.methods import Presets, values_of
from fabula.story.sentences import whole_sentences
from fabula.training.base import in_template, prompt_text
from fabula.training.batches import MASKED, Row, batch_of
from fabula.training.examples import LEAST, Example
from fabula.training.libraries import library
from fabula.training.running import Machine, TrainingSchedule, arguments

if TYPE_CHECKING:
    from fabula.models.base import Message
    from fabula.training.presets import Sft


GAP: Final = "[...]\n"
"""Stands in a prompt where lines were cut out."""
_PROBE: Final = "fabula"


@dataclass(frozen=True, slots=True)
class EncodedExample:
    """An example as tokens.

    Attributes:
        example: what it was made of.
        ids: tokens of prompt and completion.
        prompt: how many of them are the prompt's.
        prompt_cut: tokens that the prompt lost.
        completion_cut: tokens that the completion lost.
    """

    example: Example
    ids: tuple[int, ...]
    prompt: int
    prompt_cut: int = 0
    completion_cut: int = 0

    @property
    def completion(self) -> int:
        """Tokens that are learnt."""
        return len(self.ids) - self.prompt

    @property
    def row(self) -> Row:
        """The tokens as a trainer reads them; the prompt's count for no loss."""
        return {"input_ids": list(self.ids), "labels": [*[MASKED] * self.prompt, *self.ids[self.prompt :]]}


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """How long a prompt and a completion may be, in tokens, and both together."""

    prompt: int
    completion: int
    context: int


def check_enough(agent: str, train: int, development: int) -> None:
    """See that there are examples enough to train an agent, and to see whether it helps.

    Raises:
        UsageError: there are not.
    """
    if train < LEAST:
        raise UsageError(
            f"{agent} has {train} examples to train on, but needs at least {LEAST}. Make data from more stories, or "
            "name the agents to train with --agents."
        )
    if not development:
        raise UsageError(
            f"{agent} has no development examples, so nothing would show whether training helps. Make the data with "
            f"more "
            "stories or a larger share for development."
        )


# tokens ---------------------------------------------------------------------------------------------------------------


def encode(tokeniser: Any, example: Example, limits: TokenLimits) -> EncodedExample:  # noqa: ANN401 - the library's own type
    """An example as tokens, cut where it is too long.

    Raises:
        UsageError: its prompt cannot be made short enough.
    """

    def count(text: str) -> int:
        return len(ids_of(tokeniser, text))

    completion, completion_cut = _within(
        example.completion, limits.completion, lambda text: len(reply_ids(tokeniser, text))
    )
    end = () if completion_cut else end_of_turn(tokeniser)
    learnt = (*reply_ids(tokeniser, completion), *end)
    room = min(limits.prompt, limits.context - len(learnt)) if limits.context else limits.prompt
    messages, prompt = example.messages, prompt_text(tokeniser, example.messages)
    whole = count(prompt)
    if whole > room:
        messages = shortened(messages, lambda tried: count(prompt_text(tokeniser, tried)) <= room)
        prompt = prompt_text(tokeniser, messages)
    ids = ids_of(tokeniser, prompt)
    if len(ids) > room:
        raise UsageError(
            f"The prompt of {example.id} has {whole:,} tokens and cannot be cut to {max(room, 0):,}. Set prompt_tokens "
            "higher or completion_tokens lower, or use a base with a longer context."
        )
    return EncodedExample(example, (*ids, *learnt), len(ids), whole - len(ids), completion_cut)


def ids_of(tokeniser: Any, text: str) -> list[int]:  # noqa: ANN401 - as above
    """The tokens of a text, without any of the model's own around it."""
    found: list[int] = tokeniser(text, add_special_tokens=False, verbose=False)["input_ids"]
    return found


def reply_ids(tokeniser: Any, text: str) -> list[int]:  # noqa: ANN401 - as above
    """The tokens of a reply: a mark of the model's template that stands in it is text, and ends or begins no turn."""
    found: list[int] = tokeniser(text, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    return found


def end_of_turn(tokeniser: Any) -> tuple[int, ...]:  # noqa: ANN401 - as above
    """The token that ends a reply in the model's template; that which ends a text where it has none."""
    said = [{"role": "user", "content": _PROBE}, {"role": "assistant", "content": _PROBE}]
    _, _, after = in_template(tokeniser, said).rpartition(_PROBE)
    ids = ids_of(tokeniser, after)
    if ids and ids[0] in tokeniser.all_special_ids:
        return (ids[0],)
    return () if tokeniser.eos_token_id is None else (tokeniser.eos_token_id,)


def _within(text: str, limit: int, count: Callable[[str], int]) -> tuple[str, int]:
    """As many whole sentences of a text as the limit has room for, and the tokens that were cut."""
    whole = count(text)
    if whole <= limit:
        return text, 0
    low, high = 0, len(text)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= limit else (low, middle - 1)
    kept = whole_sentences(text[:low]) or text[:low]
    return kept, whole - count(kept)


def shortened(messages: Sequence[Message], fits: Callable[[Sequence[Message]], bool]) -> tuple[Message, ...]:
    """The messages with lines taken out of the middle of the longest one, as few as make them fit."""
    longest = max(range(len(messages)), key=lambda at: len(messages[at].content))

    def without(pieces: Sequence[str], kept: int) -> tuple[Message, ...]:
        text = _ends(pieces, kept)
        return (*messages[:longest], replace(messages[longest], content=text), *messages[longest + 1 :])

    text = messages[longest].content
    for pieces in (text.splitlines(keepends=True), text.split(" "), list(text)):
        parts = [f"{piece} " for piece in pieces[:-1]] + pieces[-1:] if pieces == text.split(" ") else pieces
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(without(parts, middle)) else (low, middle - 1)
        if fits(found := without(parts, low)):
            return found
    return without([text], 0)


def _ends(pieces: Sequence[str], kept: int) -> str:
    """The first and last pieces, at least one of each, in up to `kept` letters, half of them on either side."""
    sizes = [len(piece) for piece in pieces]
    if sum(sizes) <= kept or len(pieces) <= 2:  # noqa: PLR2004 - a beginning and an end
        return "".join(pieces)
    half = kept // 2
    front = max(1, sum(size <= half for size in accumulate(sizes)))
    back = max(1, sum(size <= half for size in accumulate(reversed(sizes))))
    if front + back >= len(pieces):
        return "".join(pieces)
    head = "".join(pieces[:front])
    return f"{head}{'' if head.endswith(chr(10)) else chr(10)}{GAP}{''.join(pieces[-back:])}"


# the trainer ----------------------------------------------------------------------------------------------------------


def lora_of(config: Presets) -> Any:  # noqa: ANN401 - the library's own type
    """LoRA matrices next to every linear layer, as the settings have them."""
    values = values_of(config)
    return library("peft").LoraConfig(
        r=values["rank"],
        lora_alpha=values["alpha"],
        lora_dropout=values["dropout"],
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def with_adapter(model: Any, config: Sft) -> Any:  # noqa: ANN401 - the library's own type
    """The model with new LoRA matrices next to every linear layer; they change nothing yet."""
    torch, peft = library("torch"), library("peft")
    torch.manual_seed(config.ours.seed)
    model.config.use_cache = False
    return peft.get_peft_model(model, lora_of(config))


def trainer_of(
    model: Any,  # noqa: ANN401 - the library's own type
    folder: Path,
    schedule: TrainingSchedule,
    machine: Machine,
    train: Sequence[EncodedExample],
    development: Sequence[EncodedExample],
    pad: int,
) -> Any:  # noqa: ANN401 - as above
    """The library's trainer of a model with an adapter."""
    transformers = library("transformers")
    return transformers.Trainer(
        model,
        transformers.TrainingArguments(**arguments(folder, schedule, machine)),
        train_dataset=[one.row for one in train],
        eval_dataset=[one.row for one in development],
        data_collator=lambda rows: batch_of(rows, pad),
    )


def answers(model: Any, tokeniser: Any, prompt: Sequence[int], tokens: int, seed: int) -> tuple[str, str]:  # noqa: ANN401 - as above
    """What base and tuned model say to a prompt, drawn with this seed."""
    with model.disable_adapter():
        base = _answer(model, tokeniser, prompt, tokens, seed)
    return base, _answer(model, tokeniser, prompt, tokens, seed)


def _answer(model: Any, tokeniser: Any, prompt: Sequence[int], tokens: int, seed: int) -> str:  # noqa: ANN401 - as above
    """What the model says to a prompt, drawn with this seed."""
    torch = library("torch")
    model.eval()
    torch.manual_seed(seed)
    ids = torch.tensor([list(prompt)], device=model.device)
    with torch.no_grad():
        made = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=tokens,
            do_sample=True,
            temperature=0.7,
            top_p=0.95,
            use_cache=True,
            pad_token_id=tokeniser.pad_token_id,
        )
    said: str = tokeniser.decode(made[0][len(prompt) :], skip_special_tokens=True)
    return said.strip()
