"""Supervised fine-tuning of an agent on examples: the loss is on the completion alone, and nothing is cut in silence.

A prompt that is longer than the limit loses lines from its middle, which is the older part of a scratchpad: what comes
first and last (persona and instruction) stays. A completion that is too long is learnt up to the last end of a
sentence, without the mark that ends a reply. No example is left out.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.base.extras import extra
from fabula.story.sentences import whole_sentences
from fabula.training.base import in_template, prompt_text
from fabula.training.running import EXTRA, WHAT, Schedule, arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fabula.models.base import Message
    from fabula.training.examples import Example
    from fabula.training.presets import Sft
    from fabula.training.running import Machine

FEWEST: Final = 8  # examples of an agent
GAP: Final = "[...]\n"
"""Stands in a prompt where lines were cut out."""
_MASKED: Final = -100  # of labels that count for no loss, by the library's convention
_PROBE: Final = "fabula"


@dataclass(frozen=True, slots=True)
class Encoded:
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


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a prompt and a completion may be, in tokens, and both together."""

    prompt: int
    completion: int
    context: int


def digest_of(examples: Sequence[Example]) -> str:
    """What distinguishes these examples from others."""
    lines = (json.dumps(asdict(example), sort_keys=True) for example in examples)
    return sha256("\n".join(lines).encode()).hexdigest()[:12]


def check_enough(agent: str, train: int, development: int) -> None:
    """See that there are examples enough to train an agent, and to see whether it helps.

    Raises:
        UsageError: there are not.
    """
    if train < FEWEST:
        raise UsageError(
            f"{agent} has {train} examples to train on, and {FEWEST} are the fewest. Make data from more stories, or "
            "name the agents to train with --agents."
        )
    if not development:
        raise UsageError(
            f"{agent} has no development examples, so nobody could say whether training helps. Make the data with more "
            "stories or a larger share for development."
        )


# tokens ---------------------------------------------------------------------------------------------------------------


def encode(tokenizer: Any, example: Example, limits: Limits) -> Encoded:  # noqa: ANN401 - the library's own type
    """An example as tokens, cut where it is too long.

    Raises:
        UsageError: its prompt cannot be made short enough.
    """

    def count(text: str) -> int:
        return len(ids_of(tokenizer, text))

    completion, completion_cut = _within(
        example.completion, limits.completion, lambda text: len(reply_ids(tokenizer, text))
    )
    end = () if completion_cut else end_of_turn(tokenizer)
    learnt = (*reply_ids(tokenizer, completion), *end)
    room = min(limits.prompt, limits.context - len(learnt)) if limits.context else limits.prompt
    messages, prompt = example.messages, prompt_text(tokenizer, example.messages)
    whole = count(prompt)
    if whole > room:
        messages = shortened(messages, lambda tried: count(prompt_text(tokenizer, tried)) <= room)
        prompt = prompt_text(tokenizer, messages)
    ids = ids_of(tokenizer, prompt)
    if len(ids) > room:
        raise UsageError(
            f"The prompt of {example.id} has {whole:,} tokens and cannot be cut to {max(room, 0):,}. Set prompt_tokens "
            "higher, completion_tokens lower, or take a base with a longer context."
        )
    return Encoded(example, (*ids, *learnt), len(ids), whole - len(ids), completion_cut)


def ids_of(tokenizer: Any, text: str) -> list[int]:  # noqa: ANN401 - as above
    """The tokens of a text, without any of the model's own around it."""
    found: list[int] = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return found


def reply_ids(tokenizer: Any, text: str) -> list[int]:  # noqa: ANN401 - as above
    """The tokens of a reply: a mark of the model's template that stands in it is text, and ends or begins no turn."""
    found: list[int] = tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    return found


def end_of_turn(tokenizer: Any) -> tuple[int, ...]:  # noqa: ANN401 - as above
    """The token that ends a reply in the model's template; that which ends a text where it has none."""
    said = [{"role": "user", "content": _PROBE}, {"role": "assistant", "content": _PROBE}]
    _, _, after = in_template(tokenizer, said).rpartition(_PROBE)
    ids = ids_of(tokenizer, after)
    if ids and ids[0] in tokenizer.all_special_ids:
        return (ids[0],)
    return () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)


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


def schedule_of(config: Sft, examples: int) -> Schedule:
    """How long is trained on so many examples."""
    paper, ours = config.paper, config.ours
    steps = paper.steps or max(1, ours.epochs) * -(-examples // paper.batch)
    return Schedule(
        steps=steps,
        batch=paper.batch,
        learning_rate=paper.learning_rate,
        decay=ours.decay,
        warmup=min(ours.warmup, steps - 1),
        evaluate_every=min(max(1, paper.evaluate_every), steps),
        patience=ours.patience,
        weight_decay=ours.weight_decay,
        clip=ours.clip,
        seed=ours.seed,
    )


def with_adapter(model: Any, config: Sft) -> Any:  # noqa: ANN401 - the library's own type
    """The model with new LoRA matrices beside every linear layer; they change nothing yet."""
    torch, peft = (extra(name, EXTRA, WHAT) for name in ("torch", "peft"))
    torch.manual_seed(config.ours.seed)
    model.config.use_cache = False
    return peft.get_peft_model(
        model,
        peft.LoraConfig(
            r=config.paper.rank,
            lora_alpha=config.ours.alpha,
            lora_dropout=config.ours.dropout,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        ),
    )


def trainer_of(
    model: Any,  # noqa: ANN401 - the library's own type
    folder: Path,
    schedule: Schedule,
    machine: Machine,
    train: Sequence[Encoded],
    development: Sequence[Encoded],
    pad: int,
) -> Any:  # noqa: ANN401 - as above
    """The library's trainer of a model with an adapter."""
    library = extra("transformers", EXTRA, WHAT)
    return library.Trainer(
        model,
        library.TrainingArguments(**arguments(folder, schedule, machine)),
        train_dataset=[_row(one) for one in train],
        eval_dataset=[_row(one) for one in development],
        data_collator=lambda rows: batch_of(rows, pad),
    )


def _row(encoded: Encoded) -> dict[str, list[int]]:
    masked = [_MASKED] * encoded.prompt
    return {"input_ids": list(encoded.ids), "labels": [*masked, *encoded.ids[encoded.prompt :]]}


def batch_of(rows: Sequence[Mapping[str, list[int]]], pad: int) -> dict[str, Any]:
    """Rows filled up to one length, as tensors."""
    torch = extra("torch", EXTRA, WHAT)
    longest = max(len(row["input_ids"]) for row in rows)

    def filled(values: Sequence[Sequence[int]], filler: int) -> Any:  # noqa: ANN401 - a tensor
        return torch.tensor([[*value, *[filler] * (longest - len(value))] for value in values])

    return {
        "input_ids": filled([row["input_ids"] for row in rows], pad),
        "labels": filled([row["labels"] for row in rows], _MASKED),
        "attention_mask": filled([[1] * len(row["input_ids"]) for row in rows], 0),
    }


def losses_of(
    model: Any,  # noqa: ANN401 - the library's own type
    encoded: Sequence[Encoded],
    machine: Machine,
    hear: Callable[[int], None] = lambda _done: None,
) -> dict[str, float]:
    """The mean loss of a completion's tokens under the model, by example."""
    torch = extra("torch", EXTRA, WHAT)
    found: dict[str, float] = {}
    model.eval()
    for number, one in enumerate(encoded, 1):
        batch = {name: values.to(model.device) for name, values in batch_of([_row(one)], 0).items()}
        with torch.no_grad(), torch.autocast(machine.device, dtype=torch.bfloat16, enabled=machine.bfloat16):
            found[one.example.id] = float(model(**batch).loss)
        hear(number)
    return found


def answer(model: Any, tokenizer: Any, prompt: Sequence[int], tokens: int, seed: int) -> str:  # noqa: ANN401 - as above
    """What the model says to a prompt, drawn with this seed."""
    torch = extra("torch", EXTRA, WHAT)
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
            pad_token_id=tokenizer.pad_token_id,
        )
    said: str = tokenizer.decode(made[0][len(prompt) :], skip_special_tokens=True)
    return said.strip()
