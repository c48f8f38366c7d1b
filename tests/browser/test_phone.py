"""The studio on a phone, upright and lying: nothing is cut off, all is done with a finger, and the page scrolls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from fabula.server.studio.pages import routers
from fabula.server.studio.rendering import PAGES
from studio import SAMPLE, chromium, expect, sign_in, studio_there

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio import Tab, There

pytestmark = pytest.mark.slow

AT: Final = f"/projects/{SAMPLE}"
PATHS: Final = (
    "/",
    "/new",
    *(f"{AT}/{page}" for page, _ in PAGES if page in routers()),
    f"{AT}/edit/plan",
    f"{AT}/print",
    f"{AT}/calls/5",
    f"{AT}/world/findings",
)
# What stands outside the screen, or is cut off without a way to scroll there.
CUT_OFF: Final = """() => {
  const width = document.documentElement.clientWidth, found = [];
  const scrolls = (one) => {
    for (let up = one.parentElement; up; up = up.parentElement)
      if (/auto|scroll/.test(getComputedStyle(up).overflowX)) return true;
    return false;
  };
  for (const one of document.querySelectorAll("body *")) {
    const box = one.getBoundingClientRect(), style = getComputedStyle(one);
    if (!one.checkVisibility() || !box.width || style.clipPath !== "none") continue;
    if (one.closest("svg, #graph, .unseen, .skip")) continue;
    if ((box.right > width + 1 || box.left < -1) && !scrolls(one)) found.push(one.outerHTML.slice(0, 120));
  }
  return found;
}"""


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    with studio_there(tmp_path_factory.mktemp("phone") / "shelf") as served:
        yield served


@pytest.fixture
def phone(there: There) -> Iterator[Tab]:
    with chromium() as browser:
        tab = sign_in(browser, there, width=360, height=640, phone=True)
        yield tab
        tab.check()


SCREENS: Final = ((360, 640), (640, 360), (320, 568))


def test_nothing_is_cut_off_on_a_phone(phone: Tab) -> None:
    found: dict[str, Any] = {}
    for path in PATHS:
        phone.open(path)
        parts = phone.page.locator(".tabs > button")
        for part in range(max(1, parts.count())):
            if parts.count():
                parts.nth(part).tap()
            for width, height in SCREENS:
                phone.page.set_viewport_size({"width": width, "height": height})
                wide = phone.page.evaluate("document.documentElement.scrollWidth")
                if wrong := [*([f"{wide} pixels wide"] if wide > width else []), *phone.page.evaluate(CUT_OFF)]:
                    found[f"{path} {part} {width}x{height}"] = wrong
            phone.page.set_viewport_size({"width": 360, "height": 640})
    assert found == {}


def swipe(tab: Tab, x: float, y: float, by: float, fingers: int = 1) -> None:
    """Move fingers up or down the screen."""
    touch = tab.page.context.new_cdp_session(tab.page)

    def points(far: float) -> list[dict[str, float]]:
        apart = 60 - far  # two fingers are spread as they move
        return [{"x": x + apart * finger, "y": y + far, "id": finger} for finger in range(fingers)]

    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points(0)})
    for step in range(1, 9):
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": points(by * step / 8)})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


PAN: Final = "document.getElementById('graph')._cyreg.cy.pan().y"
ZOOM: Final = "document.getElementById('graph')._cyreg.cy.zoom()"


def on_graph(phone: Tab) -> dict[str, float]:
    """Where the graph stands, once it is drawn and in sight."""
    phone.open(f"{AT}/world?search=certificate")
    phone.page.wait_for_selector("#graph[data-drawn='1']")
    phone.page.evaluate("document.getElementById('graph').scrollIntoView({ block: 'start' })")
    box: dict[str, float] = phone.page.locator("#graph").bounding_box()
    return box


def test_a_finger_on_the_graph_scrolls_the_page(phone: Tab) -> None:
    box = on_graph(phone)
    expect(phone.page.locator("#graph-note")).to_contain_text("Move the graph with two fingers.")
    before, still = phone.page.evaluate("scrollY"), phone.page.evaluate(PAN)
    swipe(phone, box["x"] + 12, box["y"] + 200, -150)
    phone.page.wait_for_function(f"() => scrollY > {before} + 50")
    assert phone.page.evaluate(PAN) == still
    # cytoscape would hold what the browser scrolls already
    phone.problems[:] = [problem for problem in phone.problems if "attempt to cancel a touch" not in problem]


def test_two_fingers_move_the_graph_and_make_it_larger(phone: Tab) -> None:
    box = on_graph(phone)
    before = phone.page.evaluate(ZOOM)
    swipe(phone, box["x"] + 12, box["y"] + 200, -80, fingers=2)
    phone.page.wait_for_function(f"() => {ZOOM} > {before} * 1.2")
    phone.problems[:] = [problem for problem in phone.problems if "attempt to cancel a touch" not in problem]


def test_a_fact_that_is_tapped_is_brought_to_where_it_is_seen(phone: Tab) -> None:
    phone.open(f"{AT}/world")
    phone.page.locator("[data-fact]").nth(20).tap()
    phone.page.wait_for_selector("[data-shown]")
    phone.page.wait_for_function(
        "() => { const box = document.querySelector('#fact h2').getBoundingClientRect();"
        " return box.top >= 0 && box.bottom <= innerHeight; }"
    )


def test_cards_are_moved_and_another_answer_is_taken_with_a_finger(phone: Tab) -> None:
    phone.open(f"{AT}/plan")
    phone.page.locator("#scene-1 [data-move='1']").tap()
    phone.page.wait_for_selector("#plan-change h3")
    order = "[...document.querySelectorAll('[data-cards] > [data-number]')].map((card) => card.dataset.number).join('')"
    assert phone.page.evaluate(order).startswith("21")
    phone.page.get_by_role("button", name="Leave the plan as it is").tap()
    phone.page.wait_for_function(f"() => {order}.startsWith('12')")
    phone.open(f"{AT}/talk/joanne-starling-wendy-clabburn")
    box = phone.page.locator("[data-swipe]").last.bounding_box()
    assert min(box["width"], box["height"]) >= 44
