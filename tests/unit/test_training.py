"""Training as far as it needs no torch: settings, what is cut, memory, losses and the card."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.app.training import Listener
from fabula.app.training_examples import ExamplesAsked, prepare
from fabula.base.errors import ConfigError, UnknownNameError, UsageError
from fabula.base.extras import installing
from fabula.cli.training import given_values
from fabula.engine.methods import settings_of, with_values
from fabula.models.base import Message
from fabula.stats.estimate import Estimate
from fabula.training.examples import (
    DataCard,
    Example,
    ExampleSource,
    PreferencePair,
    check_apart,
    data_digest,
    held_aside,
    read_examples,
    read_pairs,
    write_data,
)
from fabula.training.memory import Load, Shape, needed
from fabula.training.presets import KINDS, Dpo, Sft, config_of
from fabula.training.report import (
    CardFacts,
    MeasuredExample,
    Sample,
    differences,
    escaped,
    evaluation_lines,
    losses_svg,
    model_card,
    quoted,
)
from fabula.training.running import Machine, Point, best_of, losses_csv, points_of, schedule_of
from fabula.training.sft import GAP, TokenLimits, encode, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

END = 7
# What the papers and DialogSum's authors print, written down from them by hand: data, setting, value.
PRINTED = """
examples rank 4
examples learning_rate 1e-6
examples batch 16
examples steps 250
examples evaluate_every 20
examples prompt_tokens 1024, 2048, 4096, 8192
examples completion_tokens 4096
pairs rank 16
pairs alpha 16
pairs dropout 0.0
pairs beta 0.1
pairs learning_rate 5e-5
pairs decay cosine
pairs warmup 10
pairs epochs 1
pairs batch 8
pairs micro_batch 1
pairs sequence_tokens 2048
pairs prompt_tokens 1024
pairs precision bfloat16
pairs seed 42
dialogues learning_rate 3e-5
dialogues epochs 5
dialogues batch 16
dialogues dialogue_tokens 256
dialogues summary_tokens 128
"""


class Words:
    """A tokenizer whose tokens are runs of letters, blanks and single signs."""

    all_special_ids = (END,)
    eos_token_id = END

    def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
        pieces = re.findall(r"<end>|\w+|\s+|[^\w\s]", text)
        return {"input_ids": [END if piece == "<end>" else 100 + hash(piece) % 1000 for piece in pieces]}

    def apply_chat_template(self, messages: Sequence[Mapping[str, str]], **_: object) -> str:
        return "".join(f"{one['role']}:{one['content']}<end>" for one in messages)


def count(text: str) -> int:
    return len(Words()(text)["input_ids"])


def example(prompt: str, completion: str, system: str = "You plan.") -> Example:
    return Example("a", "plot", "story", (Message("system", system), Message("user", prompt)), completion)


# settings


def test_the_faithful_presets_have_the_values_that_are_printed() -> None:
    rows = [line.split(maxsplit=2) for line in PRINTED.strip().splitlines()]
    for name, kind in zip(("examples", "pairs", "dialogues"), KINDS.values(), strict=True):
        config: Any = kind.faithful()
        said = {setting: value for data, setting, value in rows if data == name}
        assert list(said) == [setting.name for setting in settings_of(config) if setting.group == "paper"]
        same: Any = with_values(kind.improved(), said, "training")
        assert same.paper == config.paper
    assert len(rows) == sum(one.group == "paper" for kind in KINDS.values() for one in settings_of(kind.faithful()))


def test_every_setting_of_every_kind_is_described_and_every_one_of_a_paper_has_its_section() -> None:
    for kind in KINDS.values():
        config: Any = kind.faithful()
        whole = (type(config.paper).__doc__ or "").partition("Attributes:")[0].casefold()
        for setting in settings_of(config):
            assert setting.about, setting.name
            there = f"{whole} {setting.about}"
            assert setting.group != "paper" or "section" in there or "appendix" in there, setting.name


def test_settings_are_set_by_name_and_refused_with_a_sentence() -> None:
    config = config_of(Sft, "improved", given_values(["rank=2", "ours.patience=1", "prompt_tokens=512"]))
    assert (config.paper.rank, config.ours.patience, config.paper.prompt_tokens) == (2, 1, (512,))
    with pytest.raises(UnknownNameError, match=r"Unknown training setting 'rnak'\. Did you mean 'rank'\?"):
        config_of(Sft, "improved", {"rnak": "2"})
    with pytest.raises(ConfigError, match=r"`training\.rank` must be a whole number, not 'two'"):
        config_of(Sft, "improved", {"rank": "two"})
    with pytest.raises(UsageError, match=r"--set rank does not have the form FIELD=VALUE, such as --set rank=8\."):
        given_values(["rank"])


@pytest.mark.parametrize(
    ("kind", "value", "bounds"),
    [
        *(
            (Sft, f"{name}=0", "1 or more")
            for name in ("rank", "alpha", "batch", "evaluate_every", "completion_tokens")
        ),
        (Sft, "prompt_tokens=512,0", "1 or more"),
        (Sft, "learning_rate=-1", "above 0"),
        (Sft, "dropout=1", "below 1"),
        (Sft, "clip=-0.5", "0 or more"),
        (Sft, "weight_decay=-0.5", "0 or more"),
        (Sft, "steps=9999999", "1,000,000 or less"),
        (Sft, "rank=100000", "1,024 or less"),
        (Dpo, "beta=0", "above 0"),
    ],
)
def test_settings_with_which_nothing_can_be_trained_are_refused(kind: type[Sft | Dpo], value: str, bounds: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"does not fit: it must be {bounds}\. Leave it out for .+, which is improved's, or"
    ):
        config_of(kind, "improved", given_values([value]))


def test_steps_go_by_epochs_where_none_are_given() -> None:
    improved = schedule_of(Sft.improved(), 33)
    assert (improved.steps, improved.batch, improved.evaluate_every) == (4 * 5, 8, 5)
    assert schedule_of(Sft.faithful(), 33).steps == 250
    assert schedule_of(config_of(Sft, "improved", {"epochs": 1}), 8).warmup == 0  # one step has no room for a warm-up


def test_without_torch_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.base.extras.find_spec", lambda _name: None)
    with pytest.raises(UsageError) as caught:
        prepare(ExamplesAsked(tmp_path, "smollm2", tmp_path / "out"), {}, Listener())
    assert str(caught.value) == (
        f"Training needs the package torch, which is not installed. Run `{installing('train')}`."
    )


# what is cut


def test_prompt_and_completion_are_whole_where_there_is_room() -> None:
    made = encode(Words(), example("Write the plot.", "It ends well."), TokenLimits(100, 100, 300))
    assert (made.prompt_cut, made.completion_cut) == (0, 0)
    assert made.ids[-1] == END
    assert made.completion == count("It ends well.") + 1


def test_a_long_prompt_loses_its_middle_and_keeps_first_line_and_instruction() -> None:
    notes = "\n".join(f"Note {n}: the lamp was lit again." for n in range(100))
    prompt = f"Here is what the others wrote.\n{notes}\nNow write the climax."
    whole = example(prompt, "Short.")
    made = encode(Words(), whole, TokenLimits(300, 100, 0))
    assert made.prompt <= 300
    assert made.prompt_cut > 500
    assert made.prompt + made.prompt_cut == count(Words().apply_chat_template(_said(whole)))
    kept = shortened(whole.messages, lambda tried: sum(count(one.content) for one in tried) <= 280)
    text = kept[-1].content
    assert kept[0] == whole.messages[0]
    assert text.startswith("Here is what the others wrote.\nNote 0:")
    assert text.endswith("Note 99: the lamp was lit again.\nNow write the climax.")
    assert text.count(GAP) == 1
    assert set(text.splitlines()) <= {*prompt.splitlines(), GAP.strip()}


def _said(one: Example) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in one.messages]


def test_a_prompt_without_lines_is_cut_between_words() -> None:
    made = encode(Words(), example(" ".join(f"word{n}" for n in range(500)), "Short."), TokenLimits(120, 100, 0))
    assert 60 < made.prompt <= 120


def test_a_long_completion_is_learnt_up_to_a_sentence_and_without_its_end() -> None:
    text = "The boat came in. The lamp went out. Nobody spoke of it again that year."
    made = encode(Words(), example("Write.", text), TokenLimits(100, 18, 0))
    assert made.completion == count("The boat came in. The lamp went out.")
    assert made.ids[-1] != END
    assert made.completion + made.completion_cut == count(text)


def test_the_context_bounds_both_together() -> None:
    made = encode(Words(), example("\n".join(["line of words"] * 200), "It ends well."), TokenLimits(1000, 100, 90))
    assert len(made.ids) <= 90


@given(st.lists(st.text(alphabet="ab \n.", max_size=40), min_size=1, max_size=20), st.integers(30, 200))
def test_whatever_is_cut_the_ends_stay_and_the_limit_holds(lines: list[str], limit: int) -> None:
    prompt = "\n".join(["First.", *lines, "Last."])
    made = encode(Words(), example(prompt, "Yes."), TokenLimits(limit, 50, 0))
    assert made.prompt <= limit
    assert made.prompt_cut >= 0
    kept = shortened(
        (Message("user", prompt),), lambda tried: count(Words().apply_chat_template(_messages(tried))) <= limit
    )
    assert kept[0].content.startswith("First.")
    assert kept[0].content.endswith("Last.")


def _messages(tried: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in tried]


def test_a_prompt_that_cannot_be_short_enough_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        encode(Words(), example("a b c d e f g", "Yes."), TokenLimits(5, 10, 0))
    assert str(caught.value) == (
        "The prompt of a has 23 tokens and cannot be cut to 5. Set prompt_tokens higher or completion_tokens lower, or "
        "use a base with a longer context."
    )


def test_the_digest_of_data_is_of_every_field() -> None:
    one = example("Write.", "Yes.")
    assert data_digest([one]) == data_digest([example("Write.", "Yes.")])
    assert len({data_digest([one]), data_digest([example("Write.", "No.")]), data_digest([one, one])}) == 3


# memory


@pytest.mark.parametrize(
    ("micro_batch", "tokens", "bfloat16", "checkpointing", "measured"),
    [
        (1, 200, False, False, 1.45),
        (4, 200, False, False, 3.39),
        (4, 200, False, True, 2.21),
        (4, 200, True, False, 2.82),
        (1, 1000, False, True, 2.45),
        (1, 1000, True, True, 2.15),
        (1, 2000, False, False, 6.79),
    ],
)
def test_the_memory_said_is_that_measured(
    micro_batch: int,
    tokens: int,
    bfloat16: bool,  # noqa: FBT001 - a column of the table above
    checkpointing: bool,  # noqa: FBT001 - as above
    measured: float,
) -> None:
    smollm2 = Shape(134_515_008, layers=30, hidden=576, inner=1536, vocabulary=49_152, heads=9)
    machine = Machine("cpu", bfloat16=bfloat16, micro_batch=micro_batch, checkpointing=checkpointing)
    assert needed(smollm2, Load(4, tokens), machine) / 1e9 == pytest.approx(measured, rel=0.2)


# losses


def test_losses_are_read_from_the_log_once_for_each_step() -> None:
    log: list[dict[str, Any]] = [
        {"step": 1, "loss": 3.0, "learning_rate": 0.1},
        {"step": 1, "eval_loss": 2.9},
        {"step": 2, "loss": 2.0, "learning_rate": 0.05},
        {"step": 2, "loss": 2.5, "learning_rate": 0.05},
        {"step": 2, "train_runtime": 3.0},
        {"step": 3, "eval_loss": float("nan")},
    ]
    points = points_of(log)
    assert [(point.step, point.train, point.development) for point in points[:2]] == [(1, 3.0, 2.9), (2, 2.5, None)]
    assert best_of(points) == 1
    assert best_of(points, [2, 3]) == 0
    assert losses_csv(points).splitlines()[:3] == ["step,train,development,rate", "1,3.0,2.9,0.1", "2,2.5,,0.05"]


def rows(fall: Sequence[float], agent: str = "plot") -> list[MeasuredExample]:
    return [
        MeasuredExample(f"{agent}-{n}", agent, f"story-{n}", 10, 3.0, 3.0 + change) for n, change in enumerate(fall)
    ]


@pytest.mark.parametrize(
    ("fall", "verdict"),
    [
        ((-0.4, -0.5, -0.45, -0.42), "better"),
        ((0.4, 0.5, 0.45, 0.42), "worse"),
        ((-0.4, 0.5, -0.1, 0.2), "not better"),
        ((-0.4, -0.5), "not better"),  # two stories have no interval
    ],
)
def test_a_difference_says_whether_its_interval_holds_none(fall: Sequence[float], verdict: str) -> None:
    found = differences(rows(fall))
    assert [one.verdict for one in found] == [verdict]
    assert found[0].tuned - found[0].base == pytest.approx(sum(fall) / len(fall))


def test_stories_that_chose_the_checkpoint_have_a_wider_interval_which_says_so() -> None:
    fall = (-0.1, -0.5, -0.3, -0.02)
    (one,), (of_nine,) = differences(rows(fall)), differences(rows(fall), 9)
    assert isinstance(one.fell, Estimate)
    assert isinstance(of_nine.fell, Estimate)
    assert (one.fell.value, one.fell.level) == (of_nine.fell.value, of_nine.fell.level)
    assert of_nine.fell.method == f"{one.fell.method} and for the choice among 9 checkpoints"
    assert one.fell.low is not None
    assert of_nine.fell.low is not None
    assert of_nine.fell.low < one.fell.low


def test_each_agent_has_its_difference_and_each_example_its_line() -> None:
    measured = [*rows((-0.1, -0.2, -0.3)), *rows((0.1, 0.2, 0.3), "climax")]
    assert [one.agent for one in differences(measured)] == ["plot", "climax"]
    assert evaluation_lines(measured).count("\n") == 6


def test_the_curve_is_a_picture_with_a_text_also_where_a_loss_is_no_number() -> None:
    points = [Point(n, 3.0 - n / 10, 2.9 if n == 5 else None) for n in range(1, 6)] + [Point(6, float("nan"))]
    svg = losses_svg(points, 3.1, 5, "Losses of <plot>")
    assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own
    assert "nan" not in svg
    assert "&lt;plot&gt;" in svg
    assert "lowest: 2.9 at 5" in svg
    assert "prefers-color-scheme:dark" in svg
    ET.fromstring(losses_svg([], None, 0, "none"))  # noqa: S314 - as above


# the card


def facts(**changes: object) -> CardFacts:
    given: dict[str, Any] = {
        "agents": ("climax",),
        "base": "embedded:smollm2",
        "base_digest": "ab12",
        "licence": "Apache-2.0",
        "data": DataCard("examples", {"system": "agents-room"}, (ExampleSource("own", "Own stories", "CC0-1.0", 40),)),
        "data_digest": "cd34",
        "counts": {"examples": 30},
        "preset": "improved",
        "settings": {"learning_rate": 5e-4, "prompt_tokens": (1024, 2048)},
        "machine": {"device": "cpu"},
        "minutes": 3.0,
        "ended": "Training took 20 steps.",
        "differences": differences(rows((-0.4, -0.5, -0.45, -0.42))),
        "samples": (Sample("climax", "Write.", "Before.", "After."),),
        "engine": True,
    }
    return CardFacts(**given | changes)


def test_the_card_says_what_the_adapter_is_and_how_to_use_it() -> None:
    card = model_card(facts())
    for said in (
        "| plot | 3 | 2.558 |",
        "| better |",
        "| Own stories | CC0-1.0 | 40 |",
        "Licence: Apache-2.0.",
        "fabula write BRIEF --model embedded:smollm2 --adapter climax=THIS_FOLDER",
        "whose BASE must be embedded:smollm2 (digest `ab12`):",
        "--enable-lora --lora-modules climax=THIS_FOLDER",
        "| learning_rate | 0.0005 |",
        "> After.",
        "In 3.0 minutes.",
    ):
        assert said in card
    assert "adapter.gguf" in model_card(facts(engine=False))
    assert "no interval from 2 units" in model_card(facts(differences=differences(rows((-0.4, -0.5)))))


HOSTILE = "<script>x</script> [a](http://evil.example) | `b` \x1b[31m *c* ![i](u)\n# Heading\n---"


def test_texts_of_others_stand_in_the_card_letter_by_letter() -> None:
    source = ExampleSource("own", HOSTILE, HOSTILE, 1)
    card = model_card(
        facts(
            agents=(HOSTILE,),
            licence=HOSTILE,
            data=DataCard("examples", {HOSTILE: HOSTILE}, (source,)),
            samples=(Sample("climax", HOSTILE, HOSTILE, HOSTILE),),
        )
    )
    prose = "\n".join(line for line in card.splitlines() if not line.startswith("    "))  # the rest shows as it is
    assert "<script>" not in prose
    assert "\x1b" not in card
    assert not re.search(r"(?<!\\)\]\(http", prose)
    assert "\n# Heading" not in card
    assert "\n> # Heading" not in card
    assert "\n> ---" not in card
    assert escaped("learning_rate _a_ 1. b") == r"learning_rate \_a\_ 1. b"
    assert quoted("") == "> (nothing)"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"completion": " \n"}, r"train\.jsonl, line 1: there is no text in 'completion'\. Remove the line\."),
        ({"messages": ()}, r"train\.jsonl, line 1: 'prompt' has no message of the user\. Remove the line\."),
        ({"messages": (Message("user", ""),)}, r"'prompt' has no message of the user"),
    ],
)
def test_examples_that_teach_nothing_are_refused(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    fields = {
        "id": "a",
        "agent": "plot",
        "group": "lamp",
        "messages": (Message("user", "Plan."),),
        "completion": "A boat.",
    }
    example = Example(**{**fields, **changes})
    write_data(tmp_path, DataCard("examples", {}), {"train": [example], "development": []})
    with pytest.raises(UsageError, match=told):
        read_examples(tmp_path, "train")


@pytest.mark.parametrize(
    ("kind", "replies"),
    [("examples", {"completion": "A boat."}), ("pairs", {"chosen": "A boat.", "rejected": "A ship."})],
)
def test_a_line_is_a_conversation_as_trl_has_it_and_the_first_version_is_still_read(
    tmp_path: Path, kind: Literal["examples", "pairs"], replies: dict[str, str]
) -> None:
    prompt = (Message("system", "You plan."), Message("user", "Plan."))
    one: Any = Example if kind == "examples" else PreferencePair
    one = one(
        id="a", agent="plot", group="lamp", messages=prompt, **replies, **({"kind": "edit"} if kind == "pairs" else {})
    )
    write_data(tmp_path, DataCard(kind), {"train": [one], "development": []})
    line = json.loads((tmp_path / "train.jsonl").read_text(encoding="utf-8"))
    asked = [{"role": "system", "content": "You plan."}, {"role": "user", "content": "Plan."}]
    assert line["prompt"] == asked
    assert {name: line[name] for name in replies} == {
        name: [{"role": "assistant", "content": text}] for name, text in replies.items()
    }
    assert not {"messages", "text"} & line.keys()  # TRL takes these for something else
    read: Any = read_examples if kind == "examples" else read_pairs
    assert read(tmp_path, "train") == (one,)
    card = json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))
    (tmp_path / "data.json").write_text(json.dumps(card | {"version": 1}), encoding="utf-8")
    old = {name: value for name, value in line.items() if name != "prompt"} | {"messages": asked, **replies}
    (tmp_path / "train.jsonl").write_text(json.dumps(old), encoding="utf-8")
    assert read(tmp_path, "train") == (one,)


def test_a_reply_that_is_no_single_message_is_refused(tmp_path: Path) -> None:
    write_data(tmp_path, DataCard("examples"), {"train": [Example("a", "plot", "lamp", (Message("user", "?"),), "A.")]})
    line = json.loads((tmp_path / "train.jsonl").read_text(encoding="utf-8"))
    line["completion"] *= 2
    (tmp_path / "train.jsonl").write_text(json.dumps(line), encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 1: 'completion' must be one message, of the assistant"):
        read_examples(tmp_path, "train")


def test_the_share_held_aside_is_the_one_asked_for_whatever_the_order() -> None:
    groups = [f"story-{number}" for number in range(20)]
    aside = held_aside(groups, 0.2)
    assert len(aside) == 4
    assert held_aside(reversed(groups), 0.2) == aside != held_aside(groups, 0.2, seed=1)
    assert [len(held_aside(groups, share)) for share in (0, 0.001, 0.5, 0.999, 1)] == [0, 1, 10, 19, 20]
    assert held_aside(["only"], 0.2) == set()


def test_a_story_on_both_sides_is_refused(tmp_path: Path) -> None:
    one, other = (Example(name, "plot", group, (), "") for name, group in (("a", "lamp"), ("b", "boat")))
    check_apart([one], [other], tmp_path)
    with pytest.raises(UsageError, match=r"has 'lamp' in train\.jsonl and in development\.jsonl"):
        check_apart([one, other], [one], tmp_path)
