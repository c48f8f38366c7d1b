"""Pairs from what an author did with the texts of a project: kept, replaced, edited, taken back.

The texts of an artefact come in *episodes*. One begins where a model wrote the text from what stood above it, and goes
on as long as only the author's own decisions replace it: an edit, a rewritten passage, another take, a note. It ends
where something above the text changed, since a later text then answers another prompt. The text that an episode ends
with is what the author let stand. It is preferred to every other text of the episode that a model wrote, under the
prompt that asked for that one. A decision that was taken back needs no rule of its own: its text is one of the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rapidfuzz.distance import LCSseq

from fabula.base.characters import readable
from fabula.craft import CONVERSATIONS
from fabula.craft.conversation.log import Log
from fabula.craft.final_reading import EDITS, REFUSED, Edit, read_edits, read_refused
from fabula.engine.journal import Call, CallFilter, Decision, Journal, Version
from fabula.engine.making import DRAFTS, WISHES
from fabula.models.base import Message
from fabula.project.folder import BRIEF, STORY, ProjectFolder
from fabula.story import one_line, plain
from fabula.training.examples import PreferencePair
from fabula.training.pairs import SAME, FoundPairs, agents_of, changed_share, named, same_words

OWN: Final = ("edited", "rewritten", "imported")  # sources of versions that are the author's own
_REPLACING: Final = ("edit", "rewrite", "retake", "revise")
_KINDS: Final = {"edit": "edit", "rewrite": "rewrite", "retake": "retake", "revise": "note"}
_REFUSED: Final = f"{DRAFTS}/{REFUSED}"
_PLANS: Final = ("plan/", "role-play/", "so-far/")
_MOST_OF_IT: Final = 0.7  # of a text's words that stand in a reply in their order, for the reply to have given it
_PASSAGE: Final = 40  # characters of a line that stands in two texts by no chance
_LARGEST: Final = 200_000  # characters of a reply; of a prompt ten times as many

TOGETHER = "several replies made the text, and none of them stands in it as a whole and was changed"
WAITING = "another text was asked for, and none came that answers the same prompt"
BRIEF_CHANGED = "the brief was changed with the edit, or before it"
PLAN_CHANGED = "the plan was changed together with the edit"
MOVED = "a passage of it was moved into another text"
TOO_LARGE = "the texts are too large"


def history_pairs(project: ProjectFolder, name: str) -> FoundPairs:
    """The pairs that an author's decisions in a project give; `name` is what the project is called in them.

    Raises:
        JournalDamagedError: the journal cannot be read.
        JournalError: it is gone.
        JournalVersionError: a newer fabula wrote it.
        UsageError: the project's files cannot be read.
    """
    with project.journal as journal:
        project.check_journal(journal)
        made = history_of(journal, project.brief_digest, readable(name))
        for log in sorted((project.folder / CONVERSATIONS).glob("*.jsonl")):
            made += _History(journal, "", readable(name)).drawn_anew(log)
    return FoundPairs(
        tuple(m for m in made if isinstance(m, PreferencePair)),
        tuple(m for m in made if not isinstance(m, PreferencePair)),
    )


def history_of(journal: Journal, brief: str, name: str) -> list[PreferencePair | Mapping[str, Any]]:
    """The pairs that the texts in a journal give, and what gives none, with the reason.

    Args:
        journal: of a project.
        brief: the digest of its brief as it is now.
        name: what the project is called in the pairs.
    """
    history = _History(journal, brief, name)
    made = [one for path in history.paths for one in (*history.pairs_of(path), *history.declined(path))]
    return [*made, *history.refused()]


@dataclass
class _Episode:
    """The texts of an artefact from one writing to the next, and the decisions that each of them followed on.

    `waits`: another text was asked for after the last one. `joined`: it goes on from a text that was there before.
    `undone`: what was taken back until it ended.
    """

    texts: list[Version] = field(default_factory=list)
    causes: list[tuple[Decision, ...]] = field(default_factory=list)
    joined: bool = False
    waits: bool = False
    undone: frozenset[int] = frozenset()

    def has(self, text: str) -> bool:
        """Whether a text is one of the episode's."""
        return any(one.text == text for one in self.texts)

    @property
    def last(self) -> Version:
        """The text that the author let stand; what was taken back and not gone through again does not."""
        at = len(self.texts) - 1
        while at and any(one.id in self.undone for one in self.causes[at]):
            at -= 1
        return self.first(self.texts[at].text)

    def first(self, text: str) -> Version:
        """The version with which a text came."""
        return next(one for one in self.texts if one.text == text)


@dataclass
class _History:
    """What a project's journal says about its texts."""

    journal: Journal
    brief: str
    name: str
    _known: dict[tuple[str, int, bool], tuple[Call, float] | None] = field(default_factory=dict)

    @cached_property
    def events(self) -> list[Version | Decision]:
        """All versions and decisions, in order."""
        decisions, found = self.journal.decisions.find(undone=True), list[Version | Decision]()
        for version in self.journal.artefacts.versions():
            while decisions and decisions[0].version < version.id:
                found.append(decisions.pop(0))
            found.append(version)
        return [*found, *decisions]

    @cached_property
    def paths(self) -> list[str]:
        """The artefacts that a person decided anything about, in order."""
        decided = {one.path for one in self.events if isinstance(one, Decision) and one.kind in _REPLACING}
        return sorted(path for path in decided if path not in (STORY, _REFUSED) and path in self.files)

    @cached_property
    def files(self) -> dict[str, str]:
        """The file of each artefact."""
        return self.journal.artefacts.places()

    @cached_property
    def undone(self) -> frozenset[int]:
        """The decisions that were taken back."""
        return frozenset(d.target or 0 for d in self.events if isinstance(d, Decision) and d.kind == "undo")

    @cached_property
    def replies(self) -> list[Call]:
        """The free texts that were given."""
        return [reply for reply in self.journal.calls.find() if reply.free]

    @cached_property
    def by_text(self) -> dict[str, list[Call]]:
        """The same by what they say."""
        found: dict[str, list[Call]] = {}
        for reply in self.replies:
            found.setdefault(plain(readable(reply.text)), []).append(reply)
        return found

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first."""
        return self.journal.runs()

    @cached_property
    def briefs(self) -> dict[int, str]:
        """The brief of each run, as far as that was recorded."""
        return {run["id"]: str(run["settings"].get(BRIEF, "")) for run in self.runs}

    @cached_property
    def agent_of(self) -> Callable[[str], str]:
        """The agent that a role is played by: a character's is the system's open role."""
        return agents_of(self.runs)

    # what a text came from ------------------------------------------------------------------------------------------

    def reply_of(self, version: Version, *, whole: bool = False) -> tuple[Call, float] | None:
        """The reply that a text is, or most of it, and how much of it that is; `whole` takes nothing less than all."""
        key = version.path, version.number, whole
        if key not in self._known:
            self._known[key] = self._looked_up(version, whole=whole)
        return self._known[key]

    def _looked_up(self, version: Version, *, whole: bool) -> tuple[Call, float] | None:
        text = plain(version.text)
        same = [one for one in self.by_text.get(text, ()) if _is_asked_for(one, version.path)]
        same = same or self.by_text.get(text, [])
        if same:
            return same[-1], 1.0
        if whole:
            return None
        words = text.split()
        near = [
            (LCSseq.similarity(one.text.split(), words) / max(len(words), 1), one)
            for one in self.replies
            if _is_asked_for(one, version.path)
        ]
        share, best = max(near, key=lambda one: (one[0], one[1].id), default=(0.0, None))
        return (best, share) if best is not None and share >= _MOST_OF_IT else None

    def prompt_of(self, reply: Call) -> tuple[Message, ...]:
        """What was asked for a reply; first words that its model was given are part of the reply."""
        asked = self.journal.calls.find(CallFilter(number=reply.id), prompts=True)[0]
        messages = tuple(Message(who, text) for who, text in asked.messages)
        return messages[:-1] if messages[-1].role == "assistant" else messages

    # episodes -------------------------------------------------------------------------------------------------------

    def episodes(self, path: str) -> Iterator[_Episode]:
        """The episodes of an artefact, oldest first."""
        now = _Episode()
        since: list[Decision] = []
        undone: set[int] = set()
        for event in self.events:
            if event.path != path:
                continue
            if isinstance(event, Decision):
                since.append(event)
                undone |= {event.target or 0} if event.kind == "undo" else set()
                continue
            if now.texts and not self._goes_on(now, event, since):
                yield _ended(now, since, undone)
                now = _Episode(joined=any(one.kind == "continue" for one in since))
            now.texts.append(event)
            now.causes.append(tuple(one for one in since if one.kind in _REPLACING and one.id not in undone))
            since = []
        if now.texts:
            yield _ended(now, since, undone)

    def _goes_on(self, now: _Episode, version: Version, since: Sequence[Decision]) -> bool:
        """Whether a version belongs to an episode: the author's own, one of its texts, or asked for by them alone."""
        if version.source in OWN or now.has(version.text):
            return True
        if not any(one.kind in (*_REPLACING, "undo") for one in since):
            return False
        found = self.reply_of(version, whole=now.joined)
        if found is None:
            return False
        asked = self.prompt_of(found[0])
        for text in now.texts:
            before = self.reply_of(text, whole=now.joined)
            asked_before = self.prompt_of(before[0]) if before else ()
            if _shows(asked, text.text) or _shows(asked_before, version.text):  # the one is a revision of the other
                return True
            both = sorted((_without_wishes(asked_before), _without_wishes(asked)), key=len)
            if both[0] and both[1][: len(both[0])] == both[0]:  # a revision's prompt begins with that of its text
                return True
        return False

    # pairs ----------------------------------------------------------------------------------------------------------

    def pairs_of(self, path: str) -> Iterator[PreferencePair | Mapping[str, Any]]:
        """The pairs that an artefact gives, and what gives none."""
        for episode in self.episodes(path):
            last = episode.last
            for at, one in enumerate(episode.texts):
                if one.source not in OWN and one == episode.first(one.text) and one != last:
                    yield from self._made(episode, at, last)

    def _made(self, episode: _Episode, at: int, last: Version) -> Iterator[PreferencePair | Mapping[str, Any]]:
        """The pairs of a text that a model wrote and the one that stands instead; else why there is none."""
        rejected = episode.texts[at]
        kind, source = self._source(episode, at, last)
        found = self.reply_of(rejected, whole=episode.joined)
        if found is not None and _shows(self.prompt_of(found[0]), last.text):  # it was revised, in vain
            found = self.reply_of(last, whole=episode.joined)
        elif found is not None and any(one.id in episode.undone for one in episode.causes[at]):
            found = self._before_a_wish(episode, at, found)
        reason = self._objection(episode, rejected, last, found[0] if found else None)
        if reason:
            yield {**source, "kind": kind, "reason": reason}
            return
        if found is not None:
            more = {"of_reply": round(found[1], 4)} if found[1] < 1 else {}
            yield self._pair(found[0], (rejected, rejected.text), (last, last.text), kind, source | more)
            return
        pieces = list(self._pieces(rejected, last)) if last.source in OWN else []
        for reply, old, new in pieces:
            yield self._pair(reply, (rejected, old), (last, new), kind, source | {"piece": readable(reply.path)})
        if not pieces:
            yield {**source, "kind": kind, "reason": TOGETHER}

    def _before_a_wish(self, episode: _Episode, at: int, found: tuple[Call, float]) -> tuple[Call, float]:
        """The reply that a text was a revision of, where that was taken back: nothing else was to meet its wish."""
        shown = [one for one in episode.texts[:at] if _shows(self.prompt_of(found[0]), one.text)]
        return (self.reply_of(shown[-1], whole=episode.joined) if shown else None) or found

    def _source(self, episode: _Episode, at: int, last: Version) -> tuple[str, dict[str, Any]]:
        """What preferred a text to another one, and where that comes from."""
        rejected, decision = episode.texts[at], self._decided(episode, at)
        kind = _KINDS[decision.kind] if decision else "edit"
        if kind == "retake" and self._is_approved(last):
            kind = "approval"
        source: dict[str, Any] = {
            "project": self.name,
            "path": readable(rejected.path),
            "rejected_version": rejected.number,
            "chosen_version": last.number,
            "at": decision.at if decision else last.at,
            "judge": "author",
        }
        if decision and decision.text and decision.kind in ("retake", "revise"):
            source["note"] = readable(decision.text)
        return kind, source

    def _pair(
        self,
        reply: Call,
        rejected: tuple[Version, str],
        chosen: tuple[Version, str],
        kind: str,
        source: dict[str, Any],
    ) -> PreferencePair:
        """A pair under the prompt of a reply."""
        (before, old), (after, new) = rejected, chosen
        place = f"{self.name}/{source['path']}"
        piece = f"/{reply.id}" if "piece" in source else ""
        return PreferencePair(
            id=f"{place}/{before.number}-{after.number}{piece}",
            agent=self.agent_of(reply.role),
            group=place,
            messages=tuple(Message(one.role, readable(one.content)) for one in self.prompt_of(reply)),
            chosen=readable(new),
            rejected=readable(old),
            kind=kind,
            chosen_first=after.number < before.number,
            source=source | {"by": named(reply.performer), "changed": round(changed_share(old, new), 4)},
        )

    def _pieces(self, rejected: Version, last: Version) -> Iterator[tuple[Call, str, str]]:
        """The replies that stand in a text and were changed there: each with its text and what it is after the edit."""
        old, new = _lines(rejected.text), _lines(last.text)
        to, between = _moved(old, new), "\n\n" if "\n\n" in rejected.text else "\n"
        seen: set[int] = set()
        for reply in reversed(self.replies):
            said = plain(readable(reply.text)) if _is_asked_for(reply, rejected.path) else ""
            places = _places(said, old) if said else []
            if len(places) != 1:
                continue
            begin, end = places[0]
            if begin in seen or begin not in to or end not in to or to[begin] == to[end]:
                continue
            seen.add(begin)
            before, now = between.join(old[begin:end]), between.join(new[to[begin] : to[end]])
            changed = _with_change(said, before, now)
            if changed and not same_words(said, changed):
                yield reply, said, changed

    def declined(self, path: str) -> Iterator[PreferencePair]:
        """Passages that the author had rewritten until one of them was taken: that one before each of the others."""
        taken = [d for d in self.events if isinstance(d, Decision) and (d.path, d.kind) == (path, "rewrite")]
        offers = [one for one in self.replies if one.path.startswith(f"{path}/rewrite/")]
        for decision in taken:
            given = [one for one in offers if plain(readable(one.text)) in (decision.text or "")]
            if decision.id in self.undone or not given:
                continue
            best, asked = given[-1], self.prompt_of(given[-1])
            source = {"project": self.name, "path": readable(path), "at": decision.at, "judge": "author", "piece": ""}
            before = (Version(path, 0, "", "made", ""), ""), (Version(path, 1, "", "made", ""), plain(best.text))
            for one in offers:
                other = plain(one.text)
                if one.id < best.id and not same_words(other, best.text) and self.prompt_of(one) == asked:
                    yield self._pair(one, (before[0][0], other), before[1], "rewrite", source)

    def drawn_anew(self, log: Path) -> Iterator[PreferencePair]:
        """Turns of a conversation that were drawn anew: the one that stands before each that it replaced."""
        found = Log.read(log)
        records, stands = found.records, set(found.kept)
        replaced: list[int] = []
        for number, record in enumerate(records):
            if record.get("do") not in ("turn", "retry"):
                continue
            replaced = replaced if record["do"] == "retry" else []
            if number in stands:
                for other in replaced:
                    yield from self._turns(log.stem, number, record, records[other])
            replaced = [*replaced, number]

    def _turns(
        self, conversation: str, number: int, record: Mapping[str, Any], other: Mapping[str, Any]
    ) -> Iterator[PreferencePair]:
        """The pair of a turn that stands and one that it replaced, where both answer one prompt."""
        best, worse = (self._reply_of_turn(conversation, one) for one in (record, other))
        if best and worse and not same_words(best.text, worse.text) and self.prompt_of(best) == self.prompt_of(worse):
            path = f"{CONVERSATIONS}/{conversation}"
            source = {"project": self.name, "path": readable(path), "at": best.at, "judge": "author", "piece": number}
            old, new = Version(path, 0, "", "made", ""), Version(path, 1, "", "made", "")
            yield self._pair(worse, (old, plain(worse.text)), (new, plain(best.text)), "retake", source)

    def _reply_of_turn(self, conversation: str, record: Mapping[str, Any]) -> Call | None:
        """The reply that a turn of a conversation is."""
        turn = record.get("turn")
        line = turn.get("line") if isinstance(turn, dict) else None
        words = str(line[-1]) if isinstance(line, list) and line else ""
        place = f"{CONVERSATIONS}/{conversation}/cell-{turn.get('cell')}/" if isinstance(turn, dict) else ""
        given = [one for one in self.replies if words and one.path.startswith(place) and words in one.text]
        return given[-1] if given else None

    def refused(self) -> list[PreferencePair | Mapping[str, Any]]:
        """The final reading's reply without the edits that the author refused, before the whole reply."""
        path = f"{DRAFTS}/{EDITS}"
        gone = self._unwanted(path)
        source = {"project": self.name, "path": path, "judge": "author", "piece": ""}
        found: list[PreferencePair | Mapping[str, Any]] = []
        replies = [one for one in self.journal.calls.find() if one.path.startswith(f"{path}/")] if gone else []
        last = {(one.path, one.run): one for one in replies}
        for reply in last.values():
            whole = _edits_in(reply.text)
            left = [one for one in whole if not any(_is_edit(one, edit) for edit in gone)]
            if len(left) < len(whole):
                old, new = (json.dumps({"edits": some}, ensure_ascii=False) for some in (whole, left))
                versions = Version(path, 0, "", "made", ""), Version(path, 1, "", "edited", "")
                more = {**source, "at": reply.at, "refused": len(whole) - len(left)}
                found.append(self._pair(reply, (versions[0], old), (versions[1], new), "refused", more))
        return found

    def _unwanted(self, path: str) -> list[Edit]:
        """The edits that the author refuses, and those that were refused when the story was read again."""
        unwanted: frozenset[str] = frozenset()
        found: list[Edit] = []
        edits: tuple[Edit, ...] = ()
        for event in self.events:
            if not isinstance(event, Version):
                continue
            if event.path == _REFUSED:
                unwanted = read_refused(event.text)
            elif event.path == path:
                found += [edit for edit in edits if edit.id in unwanted] if _is_made(event) else []
                edits = read_edits(event.text)
        found += [edit for edit in edits if edit.id in unwanted]
        return list(dict.fromkeys(found))

    def _objection(self, episode: _Episode, rejected: Version, last: Version, reply: Call | None) -> str:
        """Why two texts are no pair, whatever was asked for them; empty if they may be one."""
        if episode.waits:
            return WAITING
        if same_words(rejected.text, last.text):
            return SAME
        asked = sum(len(one.content) for one in self.prompt_of(reply)) if reply else 0
        if max(len(rejected.text), len(last.text), asked // 10) > _LARGEST:
            return TOO_LARGE
        if last.source in OWN:
            if self._was_moved(episode, last):
                return MOVED
            return self._changed_beside(rejected, last, reply.run if reply else rejected.run)
        return ""

    def _was_moved(self, episode: _Episode, last: Version) -> bool:
        """Whether a line that the text had came into another text by the author's hand, as where a part is split."""
        gone = {line for one in episode.texts for line in _lines(one.text) if len(line) >= _PASSAGE}
        gone -= set(_lines(last.text))
        others = [one for one in self.events if isinstance(one, Version) and one.path not in (last.path, STORY)]
        stood = {(one.path, line) for one in others if one.source not in OWN for line in _lines(one.text)}
        return any(
            line in gone and (one.path, line) not in stood
            for one in others
            if one.source in OWN
            for line in _lines(one.text)
        )

    def _changed_beside(self, rejected: Version, last: Version, asked_in: int) -> str:
        """What else the author changed since a run, so that the edit may follow from that; empty where nothing was."""
        at = self.events.index(last)
        done = max((one.run for one in self.events[:at] if isinstance(one, Version)), default=0)
        later = (run["id"] for run in self.runs if run["id"] > max(done, asked_in) and run["at"] >= last.at)
        before, after = self.briefs.get(asked_in), self.briefs.get(next(later, 0), self.brief)
        if before and after and before != after:
            return BRIEF_CHANGED
        return PLAN_CHANGED if self._plan_changed_around(last, rejected) else ""

    def _plan_changed_around(self, edit: Version, rejected: Version) -> bool:
        """Whether the author changed a plan that the text was written from, between the same two runs."""
        begin = end = self.events.index(edit)
        while begin and not _is_made(self.events[begin - 1]):
            begin -= 1
        while end + 1 < len(self.events) and not _is_made(self.events[end + 1]):
            end += 1
        there = {one.path for one in self.events[: self.events.index(rejected)] if isinstance(one, Version)}
        return any(
            isinstance(one, Version)
            and one.source in OWN
            and one.path != rejected.path
            and one.path in there
            and self.files.get(one.path, "").startswith(_PLANS)
            for one in self.events[begin : end + 1]
        )

    def _decided(self, episode: _Episode, at: int) -> Decision | None:
        """The decision by which a text was replaced: the one that was taken back, or the next one."""
        for one in episode.causes[at]:
            if one.id in episode.undone:
                return one
        for version, causes in zip(episode.texts[at + 1 :], episode.causes[at + 1 :], strict=True):
            stand = [one for one in causes if one.id not in episode.undone]
            own = [one for one in stand if (one.kind in ("edit", "rewrite")) == (version.source in OWN)]
            if stand:  # another take may have been asked for, and the text changed by hand before it came
                return (own or stand)[0]
        return None

    def _is_approved(self, version: Version) -> bool:
        return any(
            one.kind == "approve" and one.path == version.path and one.text == version.text
            for one in self.events
            if isinstance(one, Decision) and one.id not in self.undone
        )


def _is_asked_for(reply: Call, path: str) -> bool:
    """Whether a reply was asked for while an artefact, or its draft, was made; not to rewrite a passage of it."""
    above, _, name = path.rpartition("/")
    draft = f"{above}/{DRAFTS}/{name}" if above else f"{DRAFTS}/{name}"
    return reply.path.startswith((f"{path}/", f"{draft}/")) and not reply.path.startswith(f"{path}/rewrite/")


def _lines(text: str) -> list[str]:
    """The lines of a text that hold something."""
    return [line for line in plain(text).split("\n") if line]


def _places(said: str, lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where a reply stands in a text: as whole lines, or as the words of a line that has a name before them.

    Or the line stands in the reply, which has marks around it.
    """
    own = _lines(said)
    whole = [(n, n + len(own)) for n in range(len(lines) - len(own) + 1) if list(lines[n : n + len(own)]) == own]
    if whole:
        return whole
    inner = [(n, n + 1) for n, line in enumerate(lines) if said in line]
    return inner or [
        (n, n + 1) for n, line in enumerate(lines) if line in said and len(line) >= _MOST_OF_IT * len(said)
    ]


def _with_change(said: str, before: str, now: str) -> str:
    """A reply with the change that an author made to the place where it stands; empty where that is not plain."""
    if _lines(said) == _lines(before):
        return now
    if before in said:
        return said.replace(before, now, 1)
    start, _, end = before.partition(said)
    stays = now.startswith(start) and now.endswith(end) and len(now) > len(start) + len(end)
    return now[len(start) : len(now) - len(end)] if stays else ""


def _moved(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Where the borders between lines are in a changed text, as far as that is plain: at lines that stayed."""
    borders = {0: 0, len(old): len(new)}
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        borders |= {a: c, b: d}
        if kind == "equal" or (kind == "replace" and b - a == d - c):
            borders |= {a + n: c + n for n in range(b - a)}
    return borders


def _ended(episode: _Episode, since: Sequence[Decision], undone: set[int]) -> _Episode:
    """An episode as it ended, with what was decided since its last text."""
    episode.waits = any(one.kind in ("retake", "revise") and one.id not in undone for one in since)
    episode.undone = frozenset(undone)
    return episode


def _is_made(event: Version | Decision) -> bool:
    return isinstance(event, Version) and event.source not in OWN


def _edits_in(reply: str) -> list[dict[str, Any]]:
    """The entries of a final reading's reply; none where it cannot be read."""
    try:
        entries = json.loads(reply)["edits"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []


def _is_edit(entry: Mapping[str, Any], edit: Edit) -> bool:
    """Whether an entry of the reply became an edit; where its words stand twice, the edit is of the paragraph."""
    old, new = one_line(str(entry.get("old", ""))), one_line(str(entry.get("new", "")))
    return bool(old) and old in one_line(edit.old) and new in one_line(edit.new) and entry.get("why", "") == edit.why


def _shows(messages: Sequence[Message], text: str) -> bool:
    """Whether a text stands in a prompt as a whole."""
    return any(plain(text) in message.content for message in messages)


def _without_wishes(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A prompt without the author's wishes that stand behind it."""
    return tuple(Message(one.role, one.content.partition(f"\n\n{WISHES}")[0]) for one in messages)
