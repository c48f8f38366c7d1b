"""Plans survive their file; the two orders of time agree with what a plan says."""

from __future__ import annotations

import string
from dataclasses import replace
from itertools import combinations, permutations
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabula.base.errors import PlanError
from fabula.story import one_line, plain, readable, slug
from fabula.story.plan import ARC, Character, Event, Plan, Presence, ScenePlan, story_time
from fabula.story.plan_check import check_plan
from fabula.story.plan_file import parse_plan, write_plan

# Fragments that YAML might trip over, beside any text at all.
TRAPS = st.sampled_from(
    ["- ", ": ", " #", "#", "'", '"', "\n", "\n\n", "\r\n", "  ", "\t", "---", "...", "&a", "*a", "!x", "%", "@", "`",
     "{", "}", "[", "]", ",", "?", "|", ">", "~", "null", "No", "1921-05-03", "0x1", "=", "<<", "\\", "\x85", "\u2028",
     "\ufeff", "\x07", "\x00", "\ud800", "\ufffe", "\U0001f600", "e\u0301", "long words " * 12, "x" * 130]
)  # fmt: skip
texts = st.one_of(st.text(max_size=40), st.lists(TRAPS, max_size=8).map("".join))
names = texts.map(lambda text: normalize("NFC", one_line(readable(text)))).filter(
    lambda name: name and not check_plan(Plan((ScenePlan(name, (Event("x"),)),)))
)
numbers = st.integers(-9, 9).map(str)
times = st.one_of(st.just(""), numbers, st.sampled_from(["2.5", "3.0", "1921", "1921-05", "1921-05-03 14:30"]))


def tidy(text: str) -> str:
    """What a plan's file keeps of a text: no NUL and half characters, one kind of line end, no blanks at line ends."""
    return plain(readable(text)).strip()


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    called = draw(st.lists(names, max_size=4, unique_by=slug))
    sheets = draw(
        st.lists(
            st.builds(Character, *[texts] * 11, st.booleans()),
            min_size=len(called),
            max_size=len(called),
        )
    )
    cast = [replace(sheet, name=name, group=draw(st.booleans())) for name, sheet in zip(called, sheets, strict=True)]
    scenes: list[ScenePlan] = []
    for name in draw(st.lists(names, min_size=1, max_size=4, unique_by=slug)):
        here = draw(st.lists(st.sampled_from(called), unique=True)) if called else []
        who = st.lists(st.sampled_from(here), unique=True).map(tuple) if here else st.just(())
        outline = draw(
            st.lists(st.builds(Event, texts.filter(tidy), times, who, who, texts, texts), min_size=1, max_size=3)
        )
        goals = draw(st.lists(st.tuples(*[texts] * 6), min_size=len(here), max_size=len(here)))
        scene = ScenePlan(name, tuple(outline), draw(st.sampled_from(ARC)), draw(texts), draw(st.integers(1, 10)))
        present = tuple(Presence(one, *wants) for one, wants in zip(here, goals, strict=True))
        # Only what is told before may be named as earlier, and times only grow: the plan has no contradictions.
        before = draw(st.lists(st.sampled_from(scenes), unique=True)) if scenes else []
        time = str(len(scenes)) if draw(st.booleans()) else ""
        scene = replace(scene, date=draw(texts)[:200])
        scenes.append(replace(scene, characters=present, time=time, after=tuple(one.name for one in before)))
    lists = draw(st.tuples(*[st.lists(texts.filter(lambda text: one_line(tidy(text))), max_size=3).map(tuple)] * 2))
    head = draw(st.tuples(*[texts] * 7))
    return Plan(tuple(draw(st.permutations(scenes))), tuple(cast), *head, *lists)


def held(plan: Plan) -> Plan:
    """`plan` as its file can hold it: every text tidied, the title on one line."""
    scenes = [
        replace(
            scene,
            place=tidy(scene.place),
            outline=tuple(
                replace(event, text=tidy(event.text), notices=tidy(event.notices), place=tidy(event.place))
                for event in scene.outline
            ),
            characters=tuple(
                Presence(one.name, *map(tidy, (one.goal, one.age, one.then, one.secret, one.personality, one.speech)))
                for one in scene.characters
            ),
            date=one_line(tidy(scene.date)),
        )
        for scene in plan.scenes
    ]
    cast = [
        Character(
            name=tidy(c.name),
            role=tidy(c.role),
            gender=tidy(c.gender),
            age=tidy(c.age),
            setup=tidy(c.setup),
            speech=tidy(c.speech),
            goal=tidy(c.goal),
            group=c.group,
            personality=tidy(c.personality),
            secret=tidy(c.secret),
            knows=tidy(c.knows),
            truth=tidy(c.truth),
        )
        for c in plan.characters
    ]
    demands, payoffs = (tuple(one_line(tidy(text)) for text in some) for some in (plan.demands, plan.payoffs))
    return Plan(
        tuple(scenes),
        tuple(cast),
        conflict=tidy(plan.conflict),
        setting=tidy(plan.setting),
        title=one_line(tidy(plan.title)),
        brief=tidy(plan.brief),
        person=one_line(tidy(plan.person)),
        tense=one_line(tidy(plan.tense)),
        form=tidy(plan.form),
        demands=demands,
        payoffs=payoffs,
    )


@given(plans())
@example(Plan((ScenePlan("~", (Event("- x"),), place=" a  b " * 30),), (Character("Null", "'\n  x"),), "a\n\n b\n"))
def test_a_plan_reads_back_from_its_file(plan: Plan) -> None:
    written = write_plan(plan)
    assert parse_plan(written) == held(plan)
    assert write_plan(held(plan)) == write_plan(parse_plan(written))


@given(st.one_of(st.text(), st.lists(TRAPS).map("".join), plans().map(write_plan)), st.data())
def test_any_text_is_a_plan_or_a_plan_error_with_lines(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(TRAPS) + text[at:]
    problems: tuple[str, ...] = ()
    try:
        assert not check_plan(parse_plan(text, "p"))
    except PlanError as error:
        problems = error.problems or ("none",)
    lines = [int(problem.split(":")[1]) for problem in problems if problem.startswith("p:")]
    assert lines == sorted(lines)
    assert all(1 <= line <= len(text.splitlines()) + 1 for line in lines)
    assert bool(lines) == bool(problems)


@st.composite
def timed(draw: st.DrawFn, *, distinct: bool = False) -> Plan:
    """Scenes with or without times and `after`, free of contradictions; events with times of their own."""
    size = draw(st.integers(1, 5))
    scenes = []
    for rank, letter in enumerate(string.ascii_uppercase[:size]):
        after = draw(st.lists(st.sampled_from(string.ascii_uppercase[:rank]), unique=True)) if rank else []
        time = str(rank) if distinct else draw(st.sampled_from(["", str(rank // 2)]))
        moments = draw(st.lists(times, min_size=1, max_size=4))
        outline = [Event(str(number), moment) for number, moment in enumerate(moments)]
        scenes.append(ScenePlan(letter, tuple(outline), time=time, after=tuple(after)))
    return Plan(tuple(draw(st.permutations(scenes))))


@given(timed())
def test_a_settled_order_is_a_permutation_that_keeps_every_fact(plan: Plan) -> None:
    assert check_plan(plan) == ()
    order = plan.chronology()
    if order is None:
        return
    assert sorted(order) == sorted(plan.names)
    assert plan.accepts(order) == ""
    assert all(order.index(name) < order.index(scene.name) for scene in plan.scenes for name in scene.after)
    known = [time for name in order if (time := story_time(plan.scene(name).time))]
    assert known == sorted(known)


@given(timed())
def test_an_order_is_settled_exactly_if_all_that_is_accepted_agrees_but_for_equal_times(plan: Plan) -> None:
    accepted = [order for order in permutations(plan.names) if not plan.accepts(order)]
    assert tuple(sorted(plan.names)) in accepted  # so the plans are made
    pairs = {pair for order in accepted for pair in combinations(order, 2)}
    moments = {scene.name: story_time(scene.time) for scene in plan.scenes}
    open_pairs = [(a, b) for a, b in pairs if (b, a) in pairs and (moments[a] is None or moments[a] != moments[b])]
    assert (plan.chronology() is None) == bool(open_pairs)


@given(timed(distinct=True))
def test_with_distinct_times_the_telling_does_not_matter(plan: Plan) -> None:
    order = plan.chronology()
    assert order == tuple(sorted(plan.names))
    assert replace(plan, scenes=plan.scenes[::-1]).chronology() == order
    total = len(order) * (len(order) - 1) // 2
    assert plan.anachronies(order) + replace(plan, scenes=plan.scenes[::-1]).anachronies(order) == total


@given(timed())
def test_units_hold_every_event_once_and_keep_every_time(plan: Plan) -> None:
    order = plan.chronology() or tuple(sorted(plan.names))
    units = plan.units(order)
    for scene in plan.scenes:
        mine = [unit for unit in units if unit.scene is scene]
        events = [event for unit in mine for event in unit.events]
        assert sorted(map(id, events)) == sorted(map(id, scene.outline))
        assert [unit.part for unit in mine] == list(range(1, len(mine) + 1))
        for unit in mine:
            places = [scene.outline.index(event) for event in unit.events]
            assert len({story_time(event.time or scene.time) for event in unit.events}) == 1
            assert places == sorted(places)
    mains = [
        unit.scene.name for unit in units if story_time(unit.events[0].time) in (None, story_time(unit.scene.time))
    ]
    assert mains == [name for name in order if name in mains]
    known = [time for unit in units if (time := story_time(unit.events[0].time or unit.scene.time))]
    assert known == sorted(known)


@pytest.mark.parametrize("line", ["a", "\u2028"])
def test_a_written_plan_has_one_line_a_line(line: str) -> None:
    assert len(write_plan(Plan((ScenePlan("A", (Event(line),)),))).splitlines()) == 7
