"""Splitting, merging and moving the texts of a book whose parts are listed in `plan/chapters.md`.

The list and the texts change together, so that one undo takes both back, and `story.md` and the numbers of the files
follow at once. All texts must be the author's own, or pinned: then the next run has nothing to write again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.app.deciding import newest_of, source_of
from fabula.app.exporting import as_it_stands
from fabula.app.plan_cards import CHAPTERS, PlanCards, moved_volumes, plan_cards
from fabula.app.rewriting import place_of
from fabula.app.titles import HeadedText, Titles
from fabula.base.errors import UsageError
from fabula.craft.chapters import Chapter, chapters_text, read_chapters
from fabula.craft.headings import has_number
from fabula.project.folder import FileChange, note_on
from fabula.project.telling import ORDER, file_after
from fabula.story import count_words, one_line, plain, slug
from fabula.story.export.prose import is_break
from fabula.story.words import BLANKLESS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fabula.engine.journal import Journal
    from fabula.project.folder import ProjectFolder
    from fabula.story import Story

_OWN: Final = ("edited", "rewritten", "pinned")
_WORDS: Final = re.compile(r"\(about \d{1,7} words\)")
_WORD: Final = re.compile(r"\w+(?:['\u2019-]\w+)*")
_BREAK: Final = "* * *"
_LONGEST: Final = 50  # characters of the name of a new text, before its number


@dataclass(frozen=True, slots=True)
class ListedTexts:
    """The texts that `plan/chapters.md` lists.

    Attributes:
        cards: the list.
        names: the name of each card's text, whether it is written or not.
    """

    cards: PlanCards
    names: tuple[str, ...]

    @classmethod
    def of(cls, journal: Journal) -> ListedTexts | None:
        """The list; `None` if there is none."""
        text = journal.artefacts.newest(CHAPTERS)
        if text is None or CHAPTERS not in journal.artefacts.places():
            return None
        names = tuple(one.name or f"chapter-{n}" for n, one in enumerate(read_chapters(text), 1))
        cards = plan_cards({CHAPTERS: text}, ())
        if not names or len(cards.cards) != len(names):
            return None
        return cls(cls._named(cards, names), names)

    @staticmethod
    def _named(cards: PlanCards, names: Sequence[str]) -> PlanCards:
        """The list with the name of its text in each heading, so that a new place does not change it."""
        if all("{#" in card.text.partition("\n")[0] for card in cards.cards):
            return cards
        blocks = []
        for card, name in zip(cards.cards, names, strict=True):
            head, line_end, body = card.text.partition("\n")
            called = "" if "{#" in head else f" {{#{name}}}"
            blocks.append(f"{head.rstrip()}{called}{line_end}{body}")
        return plan_cards({CHAPTERS: cards.with_blocks(blocks)}, ())

    def not_own(self, journal: Journal) -> str:
        """The first written text, or the list, that a run might write again; empty if all stay as they are."""
        written = (name for name in self.names if journal.artefacts.newest(name) is not None)
        return next((name for name in (CHAPTERS, *written) if source_of(journal, name) not in _OWN), "")

    def place(self, path: str) -> int:
        """The place of a text in the list, from 0.

        Raises:
            UsageError: it is not in the list.
        """
        if path not in self.names:
            raise UsageError(f"{path} is not listed in plan/chapters.md. Add it there, or change its file.")
        return self.names.index(path)


def arrangeable(journal: Journal) -> ListedTexts:
    """The listed texts, which may be split, merged and moved.

    Raises:
        UsageError: there is no list, or a run would write a text again.
    """
    listed = ListedTexts.of(journal)
    if listed is None:
        raise UsageError(
            "The parts of this story are not listed in plan/chapters.md, so they follow the plan of its system. To "
            "split a part, or to tell the parts in another order, edit story.md, where a line <!-- scene: NAME --> "
            "begins a part."
        )
    if name := listed.not_own(journal):
        raise UsageError(
            f"“{Titles.in_(journal)(name)}” was written for you, so the next run would write it again, and you would "
            "pay for it again. To keep all texts as they are, run `fabula text pin --all`. Then repeat this."
        )
    return listed


def assemble(project: ProjectFolder, journal: Journal) -> None:
    """Write `story.md` of the newest texts, in the order of the list if all listed texts are the author's own.

    Otherwise its parts and their order stay, as a run decides about them.
    """
    listed = ListedTexts.of(journal)
    if not project.story_file.exists() or project.is_emptied(journal):
        return
    if listed is not None and not listed.not_own(journal):
        project.retell(journal, [name for name in listed.names if journal.artefacts.newest(name) is not None])
        return
    stands = project.story()
    if (story := as_it_stands(journal, stands)) != stands:
        project.begin(journal)
        project.write_manuscript(journal, story)


def is_assembled(journal: Journal, story: Story) -> bool:
    """Whether a story has all listed texts in their order, if `assemble` puts it together."""
    listed = ListedTexts.of(journal)
    if listed is None or listed.not_own(journal):
        return True
    names = [listed.names[place] for place in _order_told(journal, listed)]
    labels = [slug(name) for name in names if journal.artefacts.newest(name) is not None]
    return [label for label in map(slug, (scene.label for scene in story.scenes)) if label in labels] == labels


def retitled(journal: Journal, path: str, title: str) -> dict[str, str]:
    """The list with another title for a text, by its name; nothing if the list was written for the author.

    Then the plan stays, as the next run would write again what depends on it.
    """
    listed = ListedTexts.of(journal)
    if listed is None or path not in listed.names or source_of(journal, CHAPTERS) not in _OWN:
        return {}
    place = listed.place(path)
    blocks = [card.text for card in listed.cards.cards]
    head, line_end, body = blocks[place].partition("\n")
    count = "" if has_number(title) and not title[:1].isdecimal() else f"{place + 1}."
    words = _WORDS.search(head)
    new = " ".join(filter(None, ("##", count, title, words and words[0], f"{{#{path}}}")))
    blocks[place] = f"{new}{line_end}{body}"
    return {CHAPTERS: listed.cards.with_blocks(blocks)}


# splitting and merging ------------------------------------------------------------------------------------------------


def split(project: ProjectFolder, journal: Journal, name: str, passage: str, at: int | None, title: str) -> str:
    """Divide a text before a passage, or after so many characters; returns the name of the second text.

    Raises:
        UsageError: the text cannot be divided there.
        UnknownNameError: there is no such text.
    """
    listed, path = arrangeable(journal), project.artefact(journal, name)
    place, text = listed.place(path), newest_of(journal, path)
    if not passage.strip() and at is None:
        raise UsageError('Specify where the second text begins, by its first words: --passage "On Saturday".')
    cut, whole = place_of(text, passage, at)[0], HeadedText.of(text)
    first, second = plain(text[:cut]), plain(text[cut:])
    if cut < len(text) - len(whole.body) or not count_words(HeadedText.of(first).body) or not count_words(second):
        raise UsageError("There are no words before or after that place. Choose a place inside the text.")
    if not BLANKLESS.search(text[cut - 1 : cut + 1]) and _is_in_word(text, cut):
        raise UsageError("That place is inside a word. Choose a place between two words.")
    title = one_line(title)
    if title:  # its heading says what the break between the scenes said
        before, _, last = first.rpartition("\n")
        first = plain(before) if is_break(last) else first
        second = f"{'#' * (whole.level or 2)} {title}\n\n{second}"
    new = _free(slug(title) if title else path, {*journal.artefacts.paths(), *listed.names})
    block = chapters_text([Chapter(title, name=new, words=count_words(second))], None)
    blocks = [card.text for card in listed.cards.cards]
    blocks[place] = _with_words(blocks[place], first)
    kept = plan_cards({CHAPTERS: listed.cards.with_blocks(blocks)}, ())
    places = journal.artefacts.places()
    file = file_after(places[path], new, places.values())
    _take(project, journal, {path: first, CHAPTERS: kept.with_block(place + 1, block)}, FileChange(new, file, second))
    return new


def _is_in_word(text: str, place: int) -> bool:
    """Whether a place is between two characters of one word, which may have apostrophes and hyphens in it."""
    begin = max(text.rfind(" ", 0, place), text.rfind("\n", 0, place)) + 1
    word = next((one for one in _WORD.finditer(text, begin) if one.end() >= place), None)
    return word is not None and word.start() < place < word.end()


def merge(project: ProjectFolder, journal: Journal, name: str) -> str:
    """Add the next text and its notes to a text and its notes; returns the name of the next text, which is no more.

    Raises:
        UsageError: there is no next text, or it begins a volume.
        UnknownNameError: there is no such text.
    """
    listed, path = arrangeable(journal), project.artefact(journal, name)
    place, places = listed.place(path), journal.artefacts.places()
    gone = listed.names[place + 1] if place + 1 < len(listed.names) else ""
    text = journal.artefacts.newest(gone) if gone else None
    if text is None:
        what = f"{gone} is not written yet" if gone else "it is the last one"
        raise UsageError(f"{path} cannot be merged with the next text: {what}.")
    after = HeadedText.of(text)
    if after.above:
        raise UsageError(f"“{after.title}” begins the volume “{after.volume}”. Move its heading first, then merge.")
    between = "" if not after.heading or is_break(after.body.partition("\n")[0]) else f"{_BREAK}\n\n"
    joined = f"{newest_of(journal, path)}\n\n{between}{after.body}"
    blocks = [card.text for card in listed.cards.cards]
    blocks[place] = _with_words("\n".join(filter(None, [blocks[place], blocks[place + 1].partition("\n")[2]])), joined)
    kept = plan_cards({CHAPTERS: listed.cards.with_blocks(blocks)}, ())
    new = {path: joined, CHAPTERS: kept.removed(place + 2)}
    if (orphan := note_on(gone)) not in places:
        _take(project, journal, new, withdrawn=[gone])
        return gone
    notes = [journal.artefacts.newest(one) or "" for one in (note_on(path), orphan) if one in places]
    note = FileChange(note_on(path), f"{note_on(path)}.md", "\n\n".join(notes))
    _take(project, journal, new, note, withdrawn=[gone, orphan])
    return gone


def _free(name: str, taken: set[str]) -> str:
    """A name for a new text that no other text has or had."""
    return next(
        one for n in range(1, len(taken) + 3) if (one := name if n == 1 else f"{name[:_LONGEST]}-{n}") not in taken
    )


def _with_words(block: str, text: str) -> str:
    """A block of the list with the number of words of its text, if it has a number."""
    head, line_end, body = block.partition("\n")
    return f"{_WORDS.sub(f'(about {count_words(text)} words)', head)}{line_end}{body}"


# moving ---------------------------------------------------------------------------------------------------------------


def move(project: ProjectFolder, journal: Journal, name: str, after: str) -> bool:
    """Give a text another place: after another text, or the first if `after` is empty; returns whether it moved.

    Volumes keep their headings.

    Raises:
        UsageError: a text is not listed, or both are the same.
        UnknownNameError: there is no such text.
    """
    listed, path = arrangeable(journal), project.artefact(journal, name)
    place = listed.place(path)
    before = _order_told(journal, listed)
    order = [one for one in before if one != place]
    behind = listed.place(project.artefact(journal, after)) if after else -1
    if behind == place:
        raise UsageError(f"{path} cannot come after itself. Specify another text.")
    order.insert(order.index(behind) + 1 if after else 0, place)
    if order == before:
        return False
    names = [listed.names[place] for place in before]
    texts = [journal.artefacts.newest(one) or "" for one in names]
    changed = _with_volumes(texts, [before.index(place) for place in order])
    told = [ORDER] if journal.decisions.override(ORDER) is not None else []
    chapters = listed.cards.ordered([place + 1 for place in order])
    new = {names[place]: text for place, text in changed.items()}
    _take(project, journal, {**new, CHAPTERS: chapters}, withdrawn=told)
    return True


def _order_told(journal: Journal, listed: ListedTexts) -> list[int]:
    """The places of the listed texts in the order of telling, which the author may have changed in `story.md`."""
    told = journal.decisions.override(ORDER)
    places = {slug(label): n for n, label in enumerate(told[0].split("\n"))} if told else {}
    keys: list[tuple[int, int]] = []
    for n, name in enumerate(listed.names):
        keys.append((places[slug(name)], 0) if slug(name) in places else (keys[-1][0] if keys else -1, n + 1))
    return sorted(range(len(keys)), key=lambda n: keys[n])


def _with_volumes(texts: Sequence[str], order: Sequence[int]) -> dict[int, str]:
    """The texts that get or lose the heading of a volume in a new order, by their old places."""
    headed, volumes, above = [HeadedText.of(text) for text in texts], list[int](), dict[int, str]()
    top = 0
    for n, one in enumerate(headed):
        begins = n == 0 or one.above or 0 < one.level <= top
        volumes.append(n if begins else volumes[-1])
        if begins:
            above[n], top = one.above, one.top
    changed, begun = dict[int, str](), set[int]()
    for place, volume in zip(order, moved_volumes([volumes[place] for place in order], order), strict=True):
        own = "" if volume in begun or not texts[place] else above[volume]
        begun |= {volume} if texts[place] else set()
        if own != headed[place].above:
            changed[place] = str(HeadedText(own, headed[place].heading, headed[place].body))
    return changed


def _take(
    project: ProjectFolder,
    journal: Journal,
    texts: Mapping[str, str],
    *new: FileChange,
    withdrawn: Collection[str] = (),
) -> None:
    """Record the new texts as the author's, and put the book together."""
    places = journal.artefacts.places()
    changes = [FileChange(path, places[path], plain(text)) for path, text in texts.items()]
    project.take_over(journal, [*changes, *new], withdrawn=withdrawn)
    assemble(project, journal)
