"""Settings of training: each paper's values with their sections, and what the papers leave open or we do otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, TypeVar

from fabula.base.errors import ConfigError
from fabula.engine.methods import Preset, Presets, settings_of, values_of, with_values

T = TypeVar("T", bound=Presets)
Decay: TypeAlias = Literal["constant", "linear", "cosine"]
Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
Device: TypeAlias = Literal["auto", "cpu", "cuda", "mps"]
Checkpointing: TypeAlias = Literal["auto", "on", "off"]
Keep: TypeAlias = Literal["last", "best"]


@dataclass(frozen=True, slots=True)
class Computing:
    """What every kind of training lets a user say of the machine; its settings of these names mean the same."""

    device: Device = "auto"
    precision: Precision = "auto"
    micro_batch: int = 0
    checkpointing: Checkpointing = "auto"


def computing_of(config: Presets) -> Computing:
    """What the settings of a training say of the machine."""
    values = values_of(config)
    return Computing(**{field.name: values[field.name] for field in fields(Computing)})


@dataclass(frozen=True, slots=True)
class OfAll:
    """Settings of all kinds of training that no paper states.

    Attributes:
        patience: measurements without a lower development loss after which training ends; 0 never ends it early.
        weight_decay: of AdamW.
        clip: the longest gradient; 0 leaves it as it is.
        device: what it is computed on; "auto" takes a GPU where there is one.
        checkpointing: activations are computed twice to save memory; "auto" where the memory would not do without.
        samples: development texts whose answers by base and tuned model stand in the model card.
    """

    patience: int = 0
    weight_decay: float = 0.0
    clip: float = 1.0
    device: Device = "auto"
    checkpointing: Checkpointing = "auto"
    samples: int = 2


@dataclass(frozen=True, slots=True)
class SftPaper:
    """Values of Agents' Room; section 5, "Implementation".

    Attributes:
        rank: of the LoRA matrices (section 5).
        learning_rate: the highest (section 5, chosen among 1e-4, 1e-5, 1e-6 and 1e-7).
        batch: examples in one step (section 5).
        steps: in all (section 5); 0 goes by `epochs`.
        evaluate_every: steps between checkpoints (section 5); each is measured on the development examples, and the one
            with the lowest loss is taken.
        prompt_tokens: lengths of a prompt (section 5: one of these, "depending on the length of the scratchpad"). Here
            each step is as long as its longest example, so the largest counts: a longer prompt loses its middle.
        completion_tokens: the longest reply that is learnt (section 5, target length); what is longer is learnt up to
            the last end of a sentence in it.
    """

    rank: int = 4
    learning_rate: float = 1e-6
    batch: int = 16
    steps: int = 250
    evaluate_every: int = 20
    prompt_tokens: tuple[int, ...] = (1024, 2048, 4096, 8192)
    completion_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Ours(OfAll):
    """Settings that the papers do not state, and settings of the machine.

    Attributes:
        alpha: of LoRA: its matrices count alpha / rank.
        dropout: share of a LoRA input that is left out while it learns.
        epochs: how often every example is seen, where `steps` is 0.
        decay: how the rate goes down from its highest after the warm-up.
        warmup: steps in which the rate rises to its highest.
        seed: of the first weights, the order of the examples and the samples.
        precision: of the computation; LoRA's own weights are always float32. "auto" takes bfloat16 where it is faster.
        micro_batch: examples that are computed at once; 0 takes the most that fit the memory, up to `batch`. The result
            is that of the whole batch.
        sample_tokens: of the longest answer in the model card.
    """

    alpha: int = 8
    dropout: float = 0.0
    epochs: int = 0
    decay: Decay = "linear"
    warmup: int = 0
    seed: int = 0
    precision: Precision = "auto"
    micro_batch: int = 0
    sample_tokens: int = 80


@dataclass(frozen=True, slots=True)
class Sft(Presets):
    """Settings of supervised fine-tuning."""

    paper: SftPaper = SftPaper()
    ours: Ours = Ours()

    @classmethod
    def improved(cls) -> Sft:
        """For some tens of stories: a rate that moves the weights, as many steps as the data has, and an early stop."""
        paper = SftPaper(rank=8, learning_rate=5e-4, batch=8, steps=0, evaluate_every=5)
        return cls(paper, Ours(alpha=16, epochs=4, patience=3, decay="cosine", warmup=3))


@dataclass(frozen=True, slots=True)
class DpoPaper:
    """Values of MAGNET; appendix A.1, "DPO Hyperparameters".

    Attributes:
        rank: of the LoRA matrices (section A.1, "r").
        alpha: of LoRA: its matrices count alpha / rank (section A.1).
        dropout: share of a LoRA input that is left out while it learns (section A.1).
        beta: how firmly the tuned model is held to the base; higher is nearer to it (section A.1).
        learning_rate: the highest (section A.1).
        decay: how the rate goes down after the warm-up (section A.1, "scheduler").
        warmup: steps in which the rate rises to its highest (section A.1).
        epochs: how often every pair is seen (section A.1); 1 is 127 steps for the paper's 1,012 pairs.
        batch: pairs in one step (section A.1, "effective batch size").
        micro_batch: pairs that are computed at once (section A.1, "batch size"; the rest of the batch are its
            accumulation steps); 0 takes the most that fit the memory. The result is that of the whole batch.
        sequence_tokens: the longest prompt and reply together (section A.1); a pair with a longer one is left out.
        prompt_tokens: the longest prompt (section A.1); what is longer loses its middle.
        precision: of the computation (section A.1); LoRA's own weights are always float32. "auto" takes bfloat16 where
            it is faster.
        seed: of the first weights and the order of the pairs (section A.1).
    """

    rank: int = 16
    alpha: int = 16
    dropout: float = 0.0
    beta: float = 0.1
    learning_rate: float = 5e-5
    decay: Decay = "cosine"
    warmup: int = 10
    epochs: int = 1
    batch: int = 8
    micro_batch: int = 1
    sequence_tokens: int = 2048
    prompt_tokens: int = 1024
    precision: Precision = "bfloat16"
    seed: int = 42


@dataclass(frozen=True, slots=True)
class DpoOurs(OfAll):
    """Settings that the paper does not state, and settings of the machine.

    Attributes:
        evaluate_every: steps between checkpoints; each is measured on the development pairs.
        keep: which weights are taken: those of the last step, or of the lowest development loss.
        sample_tokens: of the longest answer in the model card.
    """

    evaluate_every: int = 20
    keep: Keep = "last"
    sample_tokens: int = 80


@dataclass(frozen=True, slots=True)
class Dpo(Presets):
    """Settings of training on preferences (DPO)."""

    paper: DpoPaper = DpoPaper()
    ours: DpoOurs = DpoOurs()

    @classmethod
    def improved(cls) -> Dpo:
        """For few pairs, with which the paper's steps end in its warm-up: a higher rate, more epochs, an early stop."""
        paper = DpoPaper(learning_rate=2e-4, epochs=4, warmup=3, micro_batch=0, precision="auto")
        return cls(paper, DpoOurs(evaluate_every=10, keep="best", patience=3))


@dataclass(frozen=True, slots=True)
class SummariserPaper:
    """Values of the summary model; SNAP says that BART is fine-tuned on DialogSum (sections 3.2 and 4.6) and no value.

    These are the values of DialogSum's authors for their BART (their repository's baseline, after Chen et al., 2021).

    Attributes:
        learning_rate: the highest (not in SNAP's section 4.6; DialogSum's authors).
        epochs: how often every dialogue is seen (not in SNAP's section 4.6; DialogSum's authors).
        batch: dialogues in one step (not in SNAP's section 4.6; DialogSum's authors).
        dialogue_tokens: the longest dialogue that is read (not in SNAP's section 4.6; DialogSum's authors); of a longer
            one the beginning is.
        summary_tokens: the longest summary that is learnt (not in SNAP's section 4.6; DialogSum's authors).
    """

    learning_rate: float = 3e-5
    epochs: int = 5
    batch: int = 16
    dialogue_tokens: int = 256
    summary_tokens: int = 128


@dataclass(frozen=True, slots=True)
class SummariserOurs(OfAll):
    """Settings that neither SNAP nor DialogSum's authors state, and settings of the machine.

    Attributes:
        evaluate_every: steps between checkpoints; each is measured on the development dialogues.
        keep: which weights are taken: those of the last step, or of the lowest development loss.
        decay: how the rate goes down after the warm-up.
        warmup: steps in which the rate rises to its highest.
        beams: that the search for the likeliest summary keeps.
        measured: development dialogues whose summaries are written and compared, the first ones; 0 takes all.
        seed: of the order of the dialogues and of dropout.
        precision: of the computation; "auto" takes bfloat16 where it is faster.
        micro_batch: dialogues that are computed at once; 0 takes the most that fit the memory, up to `batch`.
    """

    evaluate_every: int = 200
    keep: Keep = "last"
    decay: Decay = "linear"
    warmup: int = 0
    beams: int = 4
    measured: int = 100
    seed: int = 42
    precision: Precision = "auto"
    micro_batch: int = 0


@dataclass(frozen=True, slots=True)
class Summariser(Presets):
    """Settings of training a summary model."""

    paper: SummariserPaper = SummariserPaper()
    ours: SummariserOurs = SummariserOurs()

    @classmethod
    def improved(cls) -> Summariser:
        """Dialogues are read further, and the weights with the lowest development loss are taken."""
        return cls(SummariserPaper(dialogue_tokens=512), SummariserOurs(keep="best", patience=3, warmup=100))


KINDS: Final[Mapping[str, type[Presets]]] = {"sft": Sft, "dpo": Dpo, "summariser": Summariser}
"""The settings of each kind of training, by the command's name."""

_AT_LEAST_ONE: Final = (
    *("rank", "alpha", "batch", "evaluate_every", "prompt_tokens", "completion_tokens", "sequence_tokens"),
    *("dialogue_tokens", "summary_tokens", "sample_tokens", "beams"),
)
_ABOVE_NOTHING: Final = ("learning_rate", "beta")
_NOT_BELOW: Final = ("weight_decay", "clip", "dropout")
_MOST_STEPS: Final = 1_000_000
_MOST_RANK: Final = 1024


def config_of(kind: type[T], preset: Preset, values: Mapping[str, Any]) -> T:
    """The settings of a preset with values on top.

    Raises:
        UnknownNameError: there is no such setting.
        ConfigError: a value does not fit, or nothing can be trained with it.
    """
    own = getattr(kind, preset)()
    config: T = with_values(own, values, "training")
    for setting in settings_of(config):
        if bounds := _bounds_broken(setting.name, setting.value):
            said = values.get(setting.name, setting.value)
            usual = values_of(own)[setting.name]
            raise ConfigError(
                f"training.{setting.name} = {said!r} does not fit: it must be {bounds}. Leave it out for "
                f"{usual}, which is {preset}'s, or give another."
            )
    return config


def _bounds_broken(name: str, value: Any) -> str:  # noqa: ANN401 - of any setting
    """What a value must be and is not; empty where nothing is wrong."""
    numbers = value if isinstance(value, tuple) else (value,)
    bounds = {
        "1 or more": name in _AT_LEAST_ONE and not all(one >= 1 for one in numbers),
        "above 0": name in _ABOVE_NOTHING and not value > 0,
        "0 or more": name in _NOT_BELOW and value < 0,
        "below 1": name == "dropout" and value >= 1,
        f"{_MOST_STEPS:,} or less": name == "steps" and value > _MOST_STEPS,
        f"{_MOST_RANK:,} or less": name == "rank" and value > _MOST_RANK,
    }
    return next((said for said, broken in bounds.items() if broken), "")
