"""The scenes of a project's plan as cards, and the changes that an author makes to them: move, add, remove, edit.

Systems plan in different forms. A plan of scenes (`plan/plan.yaml`) has fields. Dramatron's lists
(`plan/scenes.md`) and chapters (`plan/chapters.md`) are blocks of text, which can be moved, too. If a system plans in
other texts, or not at all, the cards are the parts of the story and can only be viewed.

Every change returns the whole new text of the plan's file; the caller saves it like any other edit. Unchanged parts
stay as their author wrote them, with comments and blank lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, TypeAlias, TypeVar

from fabula.base import yamltext
from fabula.base.errors import PlanError, UsageError
from fabula.base.kept import of_text
from fabula.craft.chapters import read_chapters
from fabula.craft.headings import has_number
from fabula.story import one_line, plain, slug
from fabula.story.plan import Event, Plan, Presence, ScenePlan
from fabula.story.plan_check import check_plan
from fabula.story.plan_file import unchecked_plan, write_plan

T = TypeVar("T")
Form: TypeAlias = Literal["scenes", "list", "chapters", "parts", "none"]
PLAN, CHAPTERS, LISTED, PLOT = "plan", "chapters", "scenes", "plot"
_LABELS: Final = {"Place": "place", "Plot element": "element", "Beat": "summary"}
_CHAPTER: Final = re.compile(r"##[ \t]+(?:(?P<number>\d{1,6})\.[ \t]*)?(?P<title>[^\n]*)")
_SECTION: Final = re.compile(r"^##[ \t]+([^\n]*)$", re.MULTILINE)
BLOCK: Final = re.compile(r"^##?[ \t]", re.MULTILINE)  # a chapter, or the line of a volume
_ABOUT: Final = re.compile(r"\(about \d{1,8} words\)")
_CALLED: Final = re.compile(r"\{#([a-z0-9-]{1,80})\}[ \t]*$", re.MULTILINE)  # the name of a chapter's text
_NEW_EVENT: Final = "The events of this scene have not been written yet."
_DETAIL: Final = re.compile(r"^(Point of view|Present|When|Where|Planted|Due):[ \t]*([^\n]*)\n?", re.MULTILINE)
_BETWEEN_NAMES: Final = re.compile(r"[,;\n]")
_NO_CARD: Final = "The plan has no card {number}: it has {count}. Reload the page."


@dataclass(frozen=True, slots=True)
class PlanPart:
    """The properties of a part of the story that cards show; its name is empty if it is not written."""

    name: str = ""
    words: int = 0
    state: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanCard:
    """A scene of the plan. In plans that are blocks of text, fields that a block does not give are empty.

    Attributes:
        number: its number in the order of telling, from 1.
        part: the part of the story that tells the scene.
        problems: problems of the scene, one sentence each.
        text: the card's own block, in plans that are blocks of text.
        volume: the line above its block that begins a part of the book, in a list of chapters; may be empty.
        viewpoint: the character whose point of view it has; may be empty.
        planted: what the reader is shown because it matters later; may be empty.
        due: what was planted earlier and is resolved in it; may be empty.
    """

    number: int
    scene: ScenePlan
    part: PlanPart = PlanPart()
    problems: tuple[str, ...] = ()
    text: str = ""
    volume: str = ""
    viewpoint: str = ""
    planted: str = ""
    due: str = ""

    @property
    def title(self) -> str:
        """The scene's name."""
        return self.scene.name

    @property
    def name(self) -> str:
        """The artefact of the scene's part of the story; empty if it is not written."""
        return self.part.name

    @property
    def outline(self) -> tuple[str, ...]:
        """The events of the scene, one per line."""
        return tuple(one_line(event.text) for event in self.scene.outline)

    @property
    def given(self) -> bool:
        """Whether its part of the story is the author's own imported text."""
        return "imported" in self.part.state


@dataclass(frozen=True)
class PlanCards:
    """A project's plan as cards.

    Attributes:
        form: "scenes" for a plan of scenes, "list" and "chapters" for blocks of text, "parts" for a story whose plan
            is in other texts, "none" if there is neither a plan nor a story.
        name: the artefact that a change edits; empty if nothing can be moved.
        text: the text of that artefact.
        note: what a reader should know about this form, in a sentence.
        problems: problems of the whole plan, one sentence each.
        plan: the plan itself, if the form is "scenes".
    """

    form: Form
    cards: tuple[PlanCard, ...] = ()
    name: str = ""
    text: str = ""
    note: str = ""
    title: str = ""
    problems: tuple[str, ...] = ()
    plan: Plan | None = None

    def of(self, name: str) -> tuple[PlanCard, ...]:
        """The cards of a part of the story: its own, or those of the plot element that the part is written from."""
        own = tuple(card for card in self.cards if card.name == name)
        return own or tuple(card for card in self.cards if not card.name and slug(card.scene.element) == slug(name))

    @property
    def movable(self) -> bool:
        """Whether cards can be moved, added and removed."""
        return bool(self.name) and self.form in ("scenes", "list", "chapters")

    def moved(self, number: int, to: int) -> str:
        """The plan's text with card `number` at the place of card `to`.

        Raises:
            UsageError: there is no such card, or cards of this plan cannot be moved.
        """
        self._check(number)
        self._check(to)
        order = list(range(len(self.cards)))
        order.insert(to - 1, order.pop(number - 1))
        return self._in_order(order)

    def ordered(self, numbers: Sequence[int]) -> str:
        """The plan's text with its cards in the order of `numbers`, which contains each number once.

        Raises:
            UsageError: `numbers` does not contain each number once, or cards of this plan cannot be moved.
        """
        if sorted(numbers) != [card.number for card in self.cards]:
            raise UsageError("The new order must include every card once. The plan may have changed: reload the page.")
        return self._in_order([number - 1 for number in numbers])

    def removed(self, number: int) -> str:
        """The plan's text without a card. Scenes planned to happen after it lose that condition.

        Raises:
            UsageError: there is no such card, it is the last one, or the plan cannot be changed here.
        """
        self._check(number)
        if len(self.cards) == 1:
            raise UsageError("This is the only card, and a plan needs at least one. Change the card instead.")
        kept = [place for place in range(len(self.cards)) if place != number - 1]
        if self.plan is None:
            return self._in_order(kept)
        gone = self.plan.scenes[number - 1].name
        scenes = [self.plan.scenes[place] for place in kept]
        named = {scene.name for scene in scenes}
        freed = [_without(scene, gone) if gone in scene.after and gone not in named else scene for scene in scenes]
        return self._with(tuple(freed))

    def added(self, after: int, title: str, summary: str = "") -> str:
        """The plan's text with a new card after card `after` (0: at the beginning).

        Raises:
            UsageError: the title is empty or taken, or the plan cannot be changed here.
        """
        self._check_form()
        if not 0 <= after <= len(self.cards):
            raise UsageError(_NO_CARD.format(number=after, count=len(self.cards)))
        title = one_line(title)
        if not title:
            raise UsageError("The new card has no title. Add a title: files and findings are named after it.")
        said = plain(summary).strip() or _NEW_EVENT
        if self.plan is None:
            new = f"Place: {title}\nPlot element: \nBeat: {one_line(said)}"
            return self.with_block(after, new if self.form == "list" else f"## {title}\n{said}")
        if slug(title) in {slug(name) for name in self.plan.names}:
            raise UsageError(f"The plan already has a scene with a similar title, {title!r}. Choose another title.")
        before = self.plan.scenes[after - 1] if after else None
        element = before.element if before else "exposition"
        outline = tuple(Event(one_line(line)) for line in said.splitlines() if line.strip())
        scenes = [*self.plan.scenes]
        scenes.insert(after, ScenePlan(title, outline, element))
        return self._with(tuple(scenes))

    def with_blocks(self, blocks: Sequence[str]) -> str:
        """The text of a plan of blocks with other texts in the places of its cards."""
        return self._of_blocks(blocks)

    def with_block(self, after: int, block: str) -> str:
        """The text of a plan of blocks with one more after card `after`, in the volume of that card."""
        blocks, volumes = [card.text for card in self.cards], [card.volume for card in self.cards]
        blocks.insert(after, block)
        volumes.insert(after, volumes[max(after - 1, 0)] if volumes else "")
        return self._of_blocks(blocks, volumes)

    def changed(self, number: int, fields: Mapping[str, str]) -> str:
        """The plan's text with changed fields of a card; fields that are not in `fields` stay as they are.

        Args:
            number: the number of the card.
            fields: `title`, `place`, `time`, `date`, `element`, `importance`, `people` (names, separated by commas or
                line breaks) and `outline` (one event per line) of a scene; `text` of a block.

        Raises:
            UsageError: there is no such card, a field is not valid, or the plan cannot be changed here.
        """
        self._check(number)
        if self.plan is None:
            text = plain(fields.get("text", self.cards[number - 1].text))
            if not text.strip():
                raise UsageError("The card's new text is empty. Enter some text, or remove the card.")
            return self._of_blocks([text if card.number == number else card.text for card in self.cards])
        old = self.plan.scenes[number - 1]
        new = _edited(old, fields)
        scenes = [new if place == number - 1 else scene for place, scene in enumerate(self.plan.scenes)]
        if new.name != old.name and old.name not in {scene.name for scene in scenes}:
            scenes = [_renamed(scene, old.name, new.name) for scene in scenes]
        return self._with(tuple(scenes))

    def _check_form(self) -> None:
        if not self.movable:
            raise UsageError("The cards of this plan cannot be changed here. Change the plan's texts on the Edit page.")

    def _check(self, number: int) -> None:
        self._check_form()
        if not 1 <= number <= len(self.cards):
            raise UsageError(_NO_CARD.format(number=number, count=len(self.cards)))

    def _in_order(self, places: Sequence[int]) -> str:
        self._check_form()
        if self.plan is None:
            volumes = moved_volumes([self.cards[place].volume for place in places], places)
            return self._of_blocks([self.cards[place].text for place in places], volumes)
        return self._with(tuple(self.plan.scenes[place] for place in places))

    def _of_blocks(self, blocks: Sequence[str], volumes: Sequence[str] = ()) -> str:
        """The plan's text with these blocks, each in its volume; by default in those of the cards."""
        head = _head_of(self.text, self.form)
        if self.form != CHAPTERS:
            return "\n\n".join([*([head] if head else []), *(block.strip("\n") for block in blocks)])
        of = [*volumes] or [card.volume for card in self.cards]
        shown, last = [head] if head else [], ""
        for number, block in enumerate(blocks, 1):
            volume = of[min(number, len(of)) - 1]
            shown += [volume] if volume != last else []
            last = volume
            shown.append(_numbered(block, number).strip("\n"))
        return "\n\n".join(shown)

    def _with(self, scenes: tuple[ScenePlan, ...]) -> str:
        """The plan's text with these scenes; scenes that did not change stay as they are written."""
        if self.plan is None:
            raise UsageError("This plan has no scenes that can be changed.")
        new = replace(self.plan, scenes=scenes)
        kept = _kept_as_written(self.text, self.plan, new)
        return plain(write_plan(new) if kept is None else kept)


# reading ------------------------------------------------------------------------------------------------------------


def moved_volumes(volumes: Sequence[T], order: Sequence[int]) -> list[T]:
    """The volumes of texts in a new order, given in that order: a text that was moved goes over to its new volume.

    Args:
        volumes: the volume of each text before, in the new order.
        order: the old place of each text, in the new order.
    """
    found = [*volumes]
    at = next((n for n, (one, after) in enumerate(pairwise(order)) if one > after), None)
    if at is None:
        return found
    others = [place for n, place in enumerate(order) if n != at]
    at = at if others == sorted(others) else at + 1
    beside = found[max(at - 1, 0) : at] + found[at + 1 : at + 2]
    if beside and found[at] not in beside and found.count(found[at]) > 1:
        found[at] = beside[0]
    return found


def plan_cards(texts: Mapping[str, str], parts: Sequence[PlanPart], takes_plan: str = "") -> PlanCards:
    """A project's plan as cards.

    Args:
        texts: the newest texts of the project's planning artefacts, by name.
        parts: the parts of its story, in the order of telling.
        takes_plan: the note for a project that has neither a plan nor a story.
    """
    if PLAN in texts:
        return _of_plan(texts[PLAN], parts)
    if CHAPTERS in texts and (cards := _blocks(texts[CHAPTERS], "chapters", parts)):
        note = (
            "The chapters are planned in one text. If you move a card, its paragraph moves and the chapters are "
            "renumbered."
        )
        return PlanCards("chapters", cards, CHAPTERS, texts[CHAPTERS], note)
    if LISTED in texts and (cards := _blocks(texts[LISTED], "list", parts)):
        note = "These scenes are a list in one text. If you move a card, its lines move."
        return PlanCards("list", cards, LISTED, texts[LISTED], note)
    if not parts:
        return PlanCards("none", note=takes_plan or "There is neither a plan nor a story yet.")
    sections = _sections(texts.get(PLOT, ""))
    cards = tuple(
        PlanCard(n, _scene(_spoken(part.name), sections.get(slug(part.name), "")), part)
        for n, part in enumerate(parts, 1)
    )
    if texts:
        note = (
            "This system plans in its own texts, not in scenes. If you change these texts, the parts of the story "
            "change accordingly."
        )
    else:
        note = "This system writes without a plan. These are the parts of its story."
    return PlanCards("parts", cards, note=note)


def _spoken(name: str) -> str:
    """An artefact's name as a title: "rising-action" becomes "Rising action"."""
    words = name.rpartition("/")[2].replace("-", " ")
    return words[:1].upper() + words[1:]


def _sections(text: str) -> dict[str, str]:
    """The text below each heading of a plot, by the heading's slug."""
    pieces = _SECTION.split(text)
    return {slug(_ABOUT.sub("", head)): body.strip() for head, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def _of_plan(text: str, parts: Sequence[PlanPart]) -> PlanCards:
    try:
        plan = _plan(text)
    except PlanError as error:
        note = "The plan's file cannot be read as scenes. Correct it on the Edit page."
        return PlanCards("scenes", (), "", text, note, problems=error.problems)
    found: dict[int, list[str]] = {}
    whole: list[str] = []
    for problem in of_text("problems of a plan", text, lambda text: check_plan(_plan(text))):
        if problem.path[0] == "scenes" and len(problem.path) > 1 and isinstance(problem.path[1], int):
            inner = problem.where.partition(" > ")[2]
            found.setdefault(problem.path[1], []).append(f"{inner}: {problem.what}" if inner else problem.what)
        else:
            whole.append(str(problem))
    named = _by_name(parts)
    cards = tuple(
        PlanCard(n, scene, _part_of(scene.name, n, named), tuple(found.get(n - 1, ())))
        for n, scene in enumerate(plan.scenes, 1)
    )
    return PlanCards("scenes", cards, PLAN, text, "", plan.title, tuple(whole), plan)


def _plan(text: str) -> Plan:
    """The plan in a text. Reading 300 scenes takes a tenth of a second, and a page needs the plan several times."""
    return of_text("plan", text, unchecked_plan)


def _by_name(parts: Sequence[PlanPart]) -> dict[str, PlanPart]:
    return {slug(part.name): part for part in parts}


def _part_of(title: str, number: int, named: Mapping[str, PlanPart]) -> PlanPart:
    """The part of the story that a card is written as, found by its name or number."""
    wanted = (slug(title), f"chapter-{number}", f"scene-{number}", f"dialogue-{number}")
    return next((named[name] for name in wanted if name in named), PlanPart())


def _blocks(text: str, form: Form, parts: Sequence[PlanPart]) -> tuple[PlanCard, ...]:
    """The cards of a text of blocks; none if it has no blocks."""
    cards: list[PlanCard] = []
    named = _by_name(parts)
    volume = ""
    for block in _block_texts(text, form):
        if block.startswith("# "):
            volume = block
            continue
        number = len(cards) + 1
        card = _listed(number, block) if form == "list" else _chapter(number, block)
        called = _CALLED.search(block.partition("\n")[0]) if form == "chapters" else None
        part = named.get(called[1], PlanPart()) if called else _part_of(card.title, number, named)
        cards.append(replace(card, part=part, volume=volume))
    return tuple(cards)


def _block_texts(text: str, form: Form) -> list[str]:
    if form == "chapters":
        starts = [match.start() for match in BLOCK.finditer(text)]
        return [text[a:b].strip("\n") for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    found = [block.strip("\n") for block in re.split(r"\n[ \t]*\n", text)]
    return [block for block in found if block.startswith("Place:") and "\n" in block]


def _head_of(text: str, form: Form) -> str:
    """The text before the first block."""
    blocks = _block_texts(text, form)
    return text[: text.index(blocks[0])].strip("\n") if blocks else ""


def _listed(number: int, block: str) -> PlanCard:
    """The card of a block of "Place: ...", "Plot element: ...", "Beat: ..." lines."""
    fields: dict[str, str] = {}
    for line in block.splitlines():
        label, colon, said = line.partition(":")
        if colon and label in _LABELS:
            fields[_LABELS[label]] = one_line(said)
    place = fields.get("place", "")
    scene = _scene(place or f"Scene {number}", fields.get("summary", ""), fields.get("element", ""), place)
    return PlanCard(number, scene, text=block)


def _scene(title: str, summary: str, element: str = "", place: str = "") -> ScenePlan:
    """A scene of a plan that is not a plan of scenes, with the author's own word for its plot element."""
    outline = (Event(summary),) if summary else ()
    return ScenePlan(title, outline, element, place)  # type: ignore[arg-type] # any text


def _chapter(number: int, block: str) -> PlanCard:
    """The card of a block below a line "## 1. Title (about 2000 words)"."""
    head, _, body = block.partition("\n")
    title = next((one.title for one in read_chapters(head)), "")
    said = {label: one_line(of) for label, of in _DETAIL.findall(body)}
    scene = _scene(title or f"Chapter {number}", one_line(_DETAIL.sub("", body)), place=said.get("Where", ""))
    people = tuple(map(Presence, _names(said.get("Present", ""))))
    return PlanCard(
        number,
        replace(scene, date=said.get("When", ""), characters=people),
        text=block,
        viewpoint=said.get("Point of view", ""),
        planted=said.get("Planted", ""),
        due=said.get("Due", ""),
    )


def _numbered(block: str, number: int) -> str:
    """A chapter's block with its number; a block numbered by its author stays as it is."""
    head, line_end, body = block.partition("\n")
    if any(one.name and has_number(one.title) and head[3:].startswith(one.title) for one in read_chapters(head)):
        return block
    found = _CHAPTER.fullmatch(head)
    title = found["title"] if found else head
    return f"## {number}. {title}".rstrip() + line_end + body


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (one_line(name) for name in _BETWEEN_NAMES.split(text)))))


# changing a scene ---------------------------------------------------------------------------------------------------


def _edited(scene: ScenePlan, fields: Mapping[str, str]) -> ScenePlan:
    """A scene with changed fields. Properties of people and events that a field cannot express are kept."""
    new = replace(scene)
    if "title" in fields:
        title = one_line(fields["title"])
        if not title:
            raise UsageError("The scene's title is empty. Enter a title: files and findings are named after it.")
        new = replace(new, name=title)
    said = {key: plain(fields[key]).strip() for key in ("place", "time", "date") if key in fields}
    new = replace(
        new, place=said.get("place", new.place), time=said.get("time", new.time), date=said.get("date", new.date)
    )
    if "element" in fields:
        new = replace(new, element=one_line(fields["element"]))  # type: ignore[arg-type] # `check_plan` says what is none
    if "importance" in fields:
        new = replace(new, importance=_importance(fields["importance"]))
    if "people" in fields:
        known = {presence.name: presence for presence in scene.characters}
        people = tuple(known.get(name, Presence(name)) for name in _names(fields["people"]))
        new = replace(new, characters=people)
    if "outline" in fields:
        new = replace(new, outline=_outline(scene.outline, fields["outline"]))
    return new


def _importance(said: str) -> int:
    said = said.strip()
    if not (said.isascii() and said.isdigit() and 1 <= int(said[:4]) <= 10):  # noqa: PLR2004 - as the plan's fields have it
        raise UsageError(f"The importance {said[:40]!r} is not between 1 and 10. Enter a number from 1 (lowest) to 10.")
    return int(said)


def _outline(old: tuple[Event, ...], text: str) -> tuple[Event, ...]:
    """The events of a text, one per line; one that stays, or is reworded in its place, keeps its time and people."""
    lines = [one_line(line) for line in text.splitlines() if line.strip()]
    if not lines:
        raise UsageError("The scene's outline is empty. Write what happens, with one line for each event.")
    if len(lines) == len(old):
        return tuple(event if one_line(event.text) == line else replace(event, text=line)
                     for event, line in zip(old, lines, strict=True))  # fmt: skip
    known = {one_line(event.text): event for event in old}
    return tuple(known.get(line, Event(line)) for line in lines)


def _without(scene: ScenePlan, gone: str) -> ScenePlan:
    return replace(scene, after=tuple(name for name in scene.after if name != gone))


def _renamed(scene: ScenePlan, old: str, new: str) -> ScenePlan:
    return (
        replace(scene, after=tuple(new if name == old else name for name in scene.after))
        if old in scene.after
        else scene
    )


# writing ------------------------------------------------------------------------------------------------------------


def _kept_as_written(text: str, old: Plan, new: Plan) -> str | None:
    """The text with the scenes of `new`, old ones as they are written in it; `None` if that is not possible."""
    lines = text.split("\n")
    found = _scene_lines(lines, text)
    if found is None or len(found) != len(old.scenes) + 1 or not new.scenes:
        return None
    blocks = ["\n".join(lines[a:b]).rstrip() for a, b in pairwise(found)]
    first = next(line for line in blocks[0].split("\n") if line.lstrip().startswith("- "))
    indent = len(first) - len(first.lstrip())
    written = {id(scene): block for scene, block in zip(old.scenes, blocks, strict=True)}
    parts = [written.get(id(scene)) or _written(scene, indent) for scene in new.scenes]
    head, tail = "\n".join(lines[: found[0]]).rstrip(), "\n".join(lines[found[-1] :]).strip("\n")
    made = "\n".join([head, "\n\n".join(part.strip("\n") for part in parts), *([f"\n{tail}"] if tail else [])]) + "\n"
    try:
        return made if _plan(plain(made)) == new else None
    except PlanError:
        return None


def _scene_lines(lines: Sequence[str], text: str) -> list[int] | None:
    """The places in `lines` where scenes begin and where the last one ends; `None` if they cannot be found."""
    try:
        root, _ = yamltext.read(text)
    except yamltext.YamlError:
        return None
    if not isinstance(root, yamltext.MappingPairs):
        return None
    keys = [key.line - 1 for key, _ in root.pairs]
    scenes = next((value for key, value in root.pairs if key.value == "scenes"), None)
    if not isinstance(scenes, yamltext.Items):
        return None
    starts = [item.line - 1 for item in scenes.items]
    if not starts or not all(lines[at].lstrip().startswith("- ") for at in starts):
        return None
    end = min((key for key in keys if key > starts[-1]), default=len(lines))
    begins = [_above(lines, at) for at in starts]
    return [*begins, _above(lines, end) if end < len(lines) else end]


def _above(lines: Sequence[str], at: int) -> int:
    """The place of the first comment line directly above a line, or of the line itself if there is no comment."""
    while at > 0 and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return at


def _written(scene: ScenePlan, indent: int) -> str:
    """A scene as an entry of the list, indented like the others."""
    whole = write_plan(Plan((scene,)))
    lines = whole.partition("scenes:\n")[2].rstrip().split("\n")
    own = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(" " * indent + line[own:] if line.strip() else "" for line in lines)
