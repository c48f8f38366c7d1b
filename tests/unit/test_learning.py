"""From pairs to an adapter in use, with a trainer that trains nothing: parts, going on, reports, forgetting."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from fabula.app.learning import LearningProposal, PairTrainer, learn, of_project, with_known
from fabula.app.training import Listener
from fabula.base.errors import ProjectError, UsageError
from fabula.models.adapters import GGUF
from fabula.models.base import Message
from fabula.project.learned import LearnedFolder, learned_home, place_of, places, the_author
from fabula.training.examples import PreferencePair, read_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.app.training import TrainingAsked


def pair(number: int) -> PreferencePair:
    long, short = f"She walked {number} miles and then she stopped.", f"She walked {number} miles. She stopped. Then?"
    texts = (long, short) if number % 2 else (short, long)
    source = {"project": "/books/lamp"}
    return PreferencePair(
        f"p{number:03}", "writer", f"scene/{number // 2}", (Message("user", "Write."),), *texts, "retake", None, source
    )


def proposal(count: int = 40, *, quick: bool = False) -> LearningProposal:
    pairs = tuple(map(pair, range(count)))
    return LearningProposal("Ann", "embedded:smollm2", "b179c9523d0e", pairs, (), {"rank": 16}, quick)


@dataclass
class Fake:
    """A trainer whose adapters rank every pair as the author did (or none); it can be stopped before a training."""

    right: bool = True
    stop_before: int = 0
    too_long: bool = False
    trained: list[Path] = field(default_factory=list)
    seen: list[set[str]] = field(default_factory=list)

    def tune(self, data: Path, out: Path) -> None:
        if self.stop_before and len(self.trained) + 1 == self.stop_before:
            self.stop_before = 0
            raise KeyboardInterrupt
        self.trained.append(out)
        self.seen.append({one.id for split in ("train", "development") for one in read_pairs(data, split)})
        out.mkdir(parents=True)
        (out / GGUF).write_text(f"{len(self.seen[-1])} pairs\n")

    def margins(self, adapter: Path, pairs: Sequence[PreferencePair]) -> dict[str, tuple[float, float]]:
        assert (adapter / GGUF).is_file()
        assert not self.seen[-1] & {one.id for one in pairs}, "a held-out pair was learned from"
        right = 1.0 if self.right else -1.0
        return {one.id: (-1.0 if n % 3 else 1.0, right) for n, one in enumerate(pairs) if n or not self.too_long}


@pytest.fixture
def place(tmp_path: Path) -> LearnedFolder:
    return LearnedFolder(tmp_path / "learned" / "ann")


def quiet(_: str) -> None:
    """Nobody listens."""


def test_every_pair_is_held_out_once_and_the_adapter_in_use_is_of_all(place: LearnedFolder) -> None:
    trainer, wanted = Fake(), proposal()
    learned = learn(wanted, place, trainer, "2026-11-12", quiet)
    assert len(trainer.trained) == wanted.trainings == 6
    assert trainer.seen[-1] == {one.id for one in wanted.pairs}
    assert (learned.better, learned.in_use, learned.pairs) == (True, True, 40)
    assert learned.found["n"] == 40
    assert place.read() == learned
    assert (place.adapter(learned.adapter) / GGUF).read_text() == "40 pairs\n"
    assert {one.id for one in read_pairs(place.data, "train")} == {one.id for one in wanted.pairs}
    assert not place.next.exists()
    text = place.report.read_text()
    assert text.startswith("Better. The tuned model ranks 100% of the held-out pairs as you did")
    assert "Each of 40 pairs from 20 places was held out once" in text
    assert "<svg" in place.page.read_text()


def test_what_is_no_better_is_not_used_unless_one_wants_it(place: LearnedFolder) -> None:
    learned = learn(proposal(), place, Fake(right=False), "2026-11-12", quiet)
    assert not learned.in_use
    assert place.report.read_text().startswith("Not better. It is not above the model as it was")
    trainer = Fake()
    again = learn(proposal(), place, trainer, "2026-11-13", quiet, anyway=True)
    assert again.in_use
    assert not trainer.trained, "nothing has changed, so nothing is trained"


def test_what_was_learned_and_is_gone_is_learned_again(place: LearnedFolder) -> None:
    learned = learn(proposal(), place, Fake(), "2026-11-12", quiet)
    shutil.rmtree(place.folder / "adapters")
    assert not place.has(learned)
    again = Fake()
    assert place.has(learn(proposal(), place, again, "2026-11-13", quiet))
    assert len(again.trained) == 6


def test_known_pairs_that_are_damaged_can_be_forgotten(place: LearnedFolder) -> None:
    learn(proposal(), place, Fake(), "2026-11-12", quiet)
    (place.data / "train.jsonl").write_text('{"id": ')
    with pytest.raises(
        UsageError, match=r"Alternatively, remove everything that was learned with `fabula learn --forget`"
    ):
        with_known(place, [], [])


def test_quick_puts_one_part_aside_and_uses_the_adapter_that_has_not_seen_it(place: LearnedFolder) -> None:
    trainer = Fake()
    learned = learn(proposal(80, quick=True), place, trainer, "2026-11-12", quiet)
    assert len(trainer.trained) == 1
    assert learned.found["n"] == 16
    assert "The adapter has seen none of them" in place.report.read_text()
    assert (place.adapter(learned.adapter) / GGUF).is_file()


def test_a_held_out_pair_that_the_model_cannot_read_is_not_counted(place: LearnedFolder) -> None:
    learned = learn(proposal(), place, Fake(too_long=True), "2026-11-12", quiet)
    assert learned.found["n"] == 35
    assert "5 pairs were too long for the model to read" in place.report.read_text()


@pytest.mark.parametrize("stop", range(1, 7))
def test_a_learning_that_was_stopped_goes_on(place: LearnedFolder, stop: int) -> None:
    trainer = Fake(stop_before=stop)
    with pytest.raises(KeyboardInterrupt):
        learn(proposal(), place, trainer, "2026-11-12", quiet)
    assert place.read() is None
    learn(proposal(), place, trainer, "2026-11-12", quiet)
    assert len(trainer.trained) == 6


def test_the_adapter_before_stays_in_use_until_the_new_one_is_whole(place: LearnedFolder) -> None:
    first = learn(proposal(40), place, Fake(), "2026-11-12", quiet)
    with pytest.raises(KeyboardInterrupt):
        learn(proposal(50), place, Fake(stop_before=3), "2026-11-20", quiet)
    assert place.read() == first
    second = learn(proposal(50), place, Fake(), "2026-11-20", quiet)
    assert place.read() == second
    assert second.adapter != first.adapter
    assert (place.adapter(first.adapter) / GGUF).is_file(), "projects keep the adapter that they were begun with"


def test_other_pairs_than_those_it_was_begun_with_begin_anew(place: LearnedFolder) -> None:
    with pytest.raises(KeyboardInterrupt):
        learn(proposal(40), place, Fake(stop_before=4), "2026-11-12", quiet)
    trainer = Fake()
    learn(proposal(42), place, trainer, "2026-11-12", quiet)
    assert len(trainer.trained) == 6


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ((), "No pairs of texts say what you prefer. Learning requires 12 or more,"),
        ((pair(0),), "1 pair of texts says what you prefer"),
        (tuple(map(pair, range(7))), "7 pairs of texts say what you prefer"),
        (tuple(replace(pair(n), group="one") for n in range(20)), "All 20 pairs come from one place"),
        (tuple(replace(pair(n), group=f"{n > 2}") for n in range(12)), "requires more than 12, from more places,"),
    ],
)
def test_too_little_says_how_much_there_is_and_how_to_get_more(
    place: LearnedFolder, pairs: tuple[PreferencePair, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as problem:
        learn(replace(proposal(), pairs=pairs), place, Fake(), "2026-11-12", quiet)
    assert "fabula text retake" in str(problem.value)
    assert not place.folder.exists()


def test_what_the_held_out_pairs_could_show_is_said_before() -> None:
    assert "an improvement can be shown if the tuned model corrects at least" in proposal().could_show
    few = replace(proposal(), pairs=tuple(replace(pair(n), group=str(n % 2)) for n in range(20)))
    assert "cannot show an improvement" in few.could_show


def test_nobody_else_can_read_what_was_learned(place: LearnedFolder) -> None:
    learn(proposal(), place, Fake(), "2026-11-12", quiet)
    assert place.folder.stat().st_mode & 0o777 == 0o700
    assert place.data.stat().st_mode & 0o777 == 0o700


def test_forgetting_leaves_nothing(place: LearnedFolder) -> None:
    learn(proposal(), place, Fake(), "2026-11-12", quiet)
    assert place.size > 1000
    place.forget()
    assert not place.folder.exists()
    assert place.read() is None


def test_what_is_being_learned_from_is_not_forgotten(place: LearnedFolder) -> None:
    with place.hold(), pytest.raises(ProjectError, match="what is learned from ann is in use by process"):
        place.forget()


def test_a_link_is_forgotten_and_what_it_leads_to_is_not(place: LearnedFolder, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "book.md").write_text("mine")
    place.folder.parent.mkdir()
    place.folder.symlink_to(other)
    place.forget()
    assert (other / "book.md").is_file()
    assert not place.folder.exists()


@pytest.mark.parametrize("text", ["{}", "[]", "no", '{"version": 1, "agents": 3}', '{"agents": [], "more": 1}'])
def test_a_damaged_record_says_what_to_do(place: LearnedFolder, text: str) -> None:
    place.make()
    (place.folder / "learned.json").write_text(text)
    with pytest.raises(UsageError, match="fabula learn --forget"):
        place.read()


def test_a_newer_record_is_refused(place: LearnedFolder) -> None:
    place.make()
    (place.folder / "learned.json").write_text(json.dumps({"version": 9, "agents": []}))
    with pytest.raises(UsageError, match="Update fabula"):
        place.read()


def test_pairs_of_other_projects_are_kept_and_those_of_these_read_anew(place: LearnedFolder, tmp_path: Path) -> None:
    lamp, sea = tmp_path / "lamp", tmp_path / "sea"
    known = tuple(of_project(lamp, pair(n)) for n in range(20)) + tuple(of_project(sea, pair(n)) for n in range(50, 70))
    learn(replace(proposal(), pairs=known), place, Fake(), "2026-11-12", quiet)
    now = [of_project(lamp, pair(n)) for n in range(30)]
    found, twice = with_known(place, now, [lamp])
    assert len(found) == 50
    assert len({one.id for one in found}) == 50
    assert not twice


def test_a_project_that_was_renamed_or_copied_gives_its_pairs_once(place: LearnedFolder, tmp_path: Path) -> None:
    lamp, renamed, copy = tmp_path / "lamp", tmp_path / "renamed", tmp_path / "copy"
    known = tuple(of_project(lamp, pair(n)) for n in range(20))
    learn(replace(proposal(), pairs=known), place, Fake(), "2026-11-12", quiet)
    now = [of_project(folder, pair(n)) for folder in (renamed, copy) for n in range(20)]
    found, twice = with_known(place, now, [renamed, copy])
    assert {one.source["project"] for one in found} == {str(renamed)}
    assert len(found) == 20
    assert {one["reason"] for one in twice} == {"occurs twice"}


def test_pairs_of_a_copy_that_was_edited_on_are_put_aside_together(tmp_path: Path) -> None:
    lamp = [of_project(tmp_path / "lamp", pair(n)) for n in range(20)]
    copy = [replace(of_project(tmp_path / "copy", pair(n)), chosen=f"Otherwise {n}.") for n in range(20)]
    wanted = replace(proposal(), pairs=tuple(lamp + copy))
    assert len(set(wanted.units)) == 10
    for part in wanted.parts:
        aside = {wanted.pairs[index].rejected for index in part}
        assert not aside & {one.rejected for one in wanted.without(part)}


def test_where_nothing_can_be_kept_it_says_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "fabula").write_text("a file")
    with pytest.raises(ProjectError, match=r"Not a directory\. Set XDG_DATA_HOME to a folder that you can write to\."):
        place_of("Ann", {"XDG_DATA_HOME": str(tmp_path)}).make()


def test_each_author_has_a_place(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    assert place_of("Ann Ö. Lee", environ).folder == tmp_path / "fabula" / "learned" / "ann-o-lee"
    assert place_of("", environ).folder.name == "author"
    assert learned_home({"HOME": "/ann", "XDG_DATA_HOME": "relative"}).is_relative_to("/ann")
    assert places(environ) == []
    place_of("Ann", environ).make()
    assert [one.folder.name for one in places(environ)] == ["ann"]


def test_projects_of_several_authors_are_not_mixed_unasked() -> None:
    assert the_author(["", " Ann ", "Ann"]) == "Ann"
    assert the_author(["", ""]) == ""
    with pytest.raises(UsageError, match=r"2 authors \(Ann, Bo\).*--author NAME"):
        the_author(["Ann", "Bo"])


def test_the_report_names_all_ways_of_ranking(place: LearnedFolder) -> None:
    learn(proposal(), place, Fake(), "2026-11-12", quiet)
    text = place.report.read_text()
    for name in ("the tuned model", "the model as it was", "“longer”", "“shorter”", "“later”"):
        assert name in text


def test_texts_that_are_too_long_are_told_to_an_author_in_words_that_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(asked: TrainingAsked, *_: object) -> None:
        raise UsageError(
            f"{asked.data} has 0 pairs to train on; 9 left out, since prompt and reply are longer than 2,048 tokens. "
            "It takes 8: make more with `fabula data preferences`."
        )

    monkeypatch.setattr("fabula.app.learning.prepare_pairs", fails)
    with pytest.raises(
        UsageError, match=r"fabula makes pairs from what you do .* With a larger --set sequence_tokens, the model reads"
    ):
        PairTrainer("smollm2", {}, {}, Listener()).tune(tmp_path / "data", tmp_path / "adapter")


def test_an_error_of_a_training_names_no_folder_that_the_author_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(asked: TrainingAsked, *_: object) -> None:
        raise UsageError(f"{asked.data} has 3 pairs to train on. Take a lower rate and --fresh.")

    monkeypatch.setattr("fabula.app.learning.prepare_pairs", fails)
    trainer = PairTrainer("smollm2", {}, {}, Listener())
    with pytest.raises(UsageError, match=r"^What you chose has 3 pairs to train on\. Take a lower rate\.$"):
        trainer.tune(tmp_path / "data", tmp_path / "adapter")
