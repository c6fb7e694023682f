"""The page in a real Chromium: it draws, what is clicked opens its lines, filters and keys work, and whoever sees, hears or prints it gets the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browser as chromium
import pytest
from made_case import HOSTILE, LINES, at, incident, made, owned, rows, split
from storm import storm
from test_report import hostile

from forensics.report.page import case_rows, render

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(chromium.found() is None, reason="no Chromium here: apt-get install chromium, or name one in $CHROMIUM")

_PATIENCE = 60_000
_LARGEST = 6_000_000
_OPENS_IN_S = 2.0
# What this much work takes in the same browser where the page opens in half of _OPENS_IN_S: machines that are slower, or busy, take longer for both.
_MEASURE = (
    "() => { const text = JSON.stringify(Array.from({ length: 3e5 }, (_, n) => [n, `word ${n}`])); for (let n = 0; n < 6; n++) JSON.parse(text); }"
)
_MEASURE_TAKES_S = 0.29


def views() -> dict[str, list[dict[str, Any]]]:
    """Two groups, four resources, one of them with two owners; a proof of two lines."""
    given = rows()
    given["clock_offset"] = [c | {"lo_ms": -1.0, "hi_ms": 1.0} for c in given["clock_offset"]]
    given["ownership"] = [
        owned("orders-0", "w1", witness=["e2"]),
        owned("orders-1", "w1", witness=["e2"]),
        owned("orders-2", "w2", start_lo=at(12), start_hi=at(12.5), stop_lo=at(61.1), stop_hi=at(61.3)),
        owned("orders-2", "w1", start_lo=at(59.9), start_hi=at(60), stop_lo=at(100), stop_hi=at(105), witness=["e2"]),
        owned("lab-0", "w2", group_id="connect-lab", resource_kind="partition", start_hi=at(20), stop_lo=at(80), stop_hi=at(81)),
    ]
    given["split_brain"] = [split("orders-2")]
    given["finding"][0] |= {"witness": ["e1", "e2"]}
    given["generation"] = [g | {"witness": ["e2"]} for g in given["generation"]]
    return given


def worked_s(page: Page, does: Callable[[], object]) -> float:
    """Seconds that the page's own thread works while something is done, whatever else the machine does meanwhile."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    does()
    measured = {m["name"]: m["value"] for m in devtools.send("Performance.getMetrics")["metrics"]}
    devtools.detach()
    return float(measured["TaskDuration"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.browser() as started:
        yield started


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open the page of some rows; check at the end of the test that the browser reported no error."""
    complaints: list[str] = []
    contexts = []

    def open_page(given: dict | None = None, fragment: str = "", zone: tzinfo = UTC, **options: Any) -> Page:
        report = replace(made(views() if given is None else given), zone=zone)
        near = [
            LINES["e1"] | {"event_id": f"n{n}", "line": 100 + n, "ts": at(55 + n), "text": f"a line near the proof, number {n}"} for n in range(12)
        ]
        near = [line | {"level": "INFO", "logger": "org.apache.kafka.clients.NetworkClient", "client_id": "c-1"} for line in near]
        shown = case_rows.of_report(report)
        file = tmp_path / "report.html"
        file.write_text(render.render(report, case_rows.CaseRows(lines=[*shown.lines, *near], total=len(near) + 2)), encoding="utf-8")
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("request", lambda r: None if r.url.startswith("file:") else complaints.append(f"asked for {r.url}"))
        page.on("dialog", lambda d: (complaints.append(f"dialog {d.message}"), d.dismiss()))
        page.goto(file.as_uri() + fragment)
        page.wait_for_selector("html.ready", state="attached")
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


#: A page stores what it shows in its address when it has drawn nothing for a while; here it does so immediately, and one test waits for it.
_SETTLED = """async () => {
    const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await frames();
    await new Promise((done) => setTimeout(done, 50));  // Bokeh draws this long after the last request
    await frames();
    clearTimeout(window.page.later);
    window.page.rest();
}"""


def settle(page: Page) -> None:
    """Wait until the requested drawing is complete and stored."""
    page.evaluate(_SETTLED)


_WHERE = """([figure, what, index]) => {
    const { timeline } = window.page;
    const hit = timeline.hits[figure].filter((h) => h.what === what && h.index === index).at(-1);
    const view = Bokeh.index.find_one(timeline.plots[figure]);
    const box = document.getElementById(`figure-${figure}`).getBoundingClientRect();
    const x = view.frame.x_scale.compute((Math.max(hit.left, timeline.range.start) + Math.min(hit.right, timeline.range.end)) / 2);
    return [box.left + x, box.top + view.frame.y_scale.compute((hit.top + hit.bottom) / 2)];
}"""


def place(page: Page, what: str, index: int, figure: str = "lanes") -> tuple[float, float]:
    """Return the position of the middle of a drawn item on the screen."""
    page.evaluate("(id) => scrollBy(0, document.getElementById(id).getBoundingClientRect().top - 120)", f"figure-{figure}")
    return tuple(
        page.evaluate(
            _WHERE,
            [figure, what, index],
        )
    )


def marked(page: Page) -> list[str]:
    """Return the texts of the marked lines, without level, class and client."""
    return page.evaluate("[...document.querySelectorAll('#lines-list .witness .text')].map((text) => text.lastChild.textContent)")


def test_what_is_drawn_is_what_the_rows_say(opened: Callable[..., Page]) -> None:
    page = opened()
    described = "() => window.page.timeline.inOrder().map((h) => window.page.scene.describe(h.what, h.index)[0])"
    seen = page.evaluate(described)
    assert seen[0] == "w2 froze 3-10 s", "the cause comes first"
    assert "partition lab-0 in w2" not in seen, "a group without trouble is folded"
    page.mouse.click(*place(page, "group", 1))
    settle(page)
    seen = page.evaluate(described)
    assert "Two owners of task orders-2: w2 and w1" in seen
    assert {"task orders-2 in w1", "task orders-2 in w2", "partition lab-0 in w2", "generation 2 of connect-cluster"} <= set(seen)
    colours = page.evaluate(
        """() => {
            const canvas = document.createElement("canvas");
            const view = Bokeh.index.find_one(window.page.timeline.plots.lanes);
            const drawn = view.canvas_view.primary.canvas;
            canvas.width = drawn.width; canvas.height = drawn.height;
            const context = canvas.getContext("2d"); context.drawImage(drawn, 0, 0);
            const found = new Set(); const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
            for (let i = 0; i < data.length; i += 4) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
            return [...found];
        }"""
    )
    # Orange and sky blue of two owners, the vermilion of overlaps alone.
    assert {"230,159,0", "86,180,233", "213,94,0"} <= set(colours)


def test_a_click_on_an_overlap_opens_its_lines_in_context(opened: Callable[..., Page]) -> None:
    page = opened()
    page.mouse.click(*place(page, "overlap", 0))
    page.wait_for_selector("#lines:not([hidden])")
    assert page.locator("#lines-title").inner_text() == "Two owners of task orders-2: w2 and w1"
    assert marked(page) == ["Stopping task orders-2", page.evaluate("() => window.page.scene.line_texts.find((t) => t.includes('alert'))")]
    around = page.locator("#lines-list li:not(.witness):not(.hole)")
    assert around.count() >= 6
    times = page.locator("#lines-list .time").all_inner_texts()
    assert times == sorted(times), "merged in the order of time"
    assert page.evaluate("location.hash").startswith("#f-f-split-brain-task")
    page.keyboard.press("Escape")
    assert not page.locator("#lines").is_visible()


def test_lines_have_their_level_class_and_client(opened: Callable[..., Page]) -> None:
    page = opened()
    page.evaluate("window.page.read('f-f-split-brain-task')")
    near = page.locator("#lines-list li:not(.witness) .text").filter(has_text="near the proof").first
    assert near.inner_text().startswith("INFO NetworkClient c-1: a line near the proof")


def test_a_click_on_a_bar_and_on_a_generation_opens_their_lines(opened: Callable[..., Page]) -> None:
    page = opened()
    page.locator("#zoom-all").click()
    settle(page)
    bar = page.evaluate("() => window.page.scene.bar_ids.indexOf('o-orders-0-w1')")
    page.mouse.click(*place(page, "bar", bar))
    assert page.locator("#lines-title").inner_text() == "task orders-0 in w1"
    assert page.evaluate("location.hash").startswith("#o-o-orders-0-w1")
    page.locator("#lines-close").click()
    page.wait_for_timeout(400)  # a click so soon after another is a double click
    page.mouse.click(*place(page, "round", 1))
    assert page.locator("#lines-title").inner_text() == "generation 2 of connect-cluster"
    assert len(marked(page)) == 1
    page.locator("#lines-close").click()
    page.locator("#group-connect-cluster summary").first.click()
    page.locator("#g-connect-cluster-1-3 a").click()
    assert page.locator("#lines-title").inner_text() == "generation 3 of connect-cluster"


def test_what_is_clicked_stays_in_sight_above_its_lines(opened: Callable[..., Page]) -> None:
    page = opened()
    place(page, "overlap", 0)
    # The figure is where the panel will be, however short the text above it is.
    page.evaluate("() => { document.body.style.paddingTop = '300px' }")
    page.evaluate("() => scrollBy(0, document.getElementById('figure-lanes').getBoundingClientRect().top - innerHeight * 0.65)")
    settle(page)
    _, y = page.evaluate(_WHERE, ["lanes", "overlap", 0])
    assert y > 900 * 0.56
    page.mouse.click(*page.evaluate(_WHERE, ["lanes", "overlap", 0]))
    page.wait_for_selector("#lines:not([hidden])")
    settle(page)
    _, y = page.evaluate(_WHERE, ["lanes", "overlap", 0])
    assert 0 < y < page.evaluate("document.getElementById('lines').getBoundingClientRect().top")


def test_a_finding_opens_its_lines_and_shows_its_place(opened: Callable[..., Page]) -> None:
    page = opened()
    card = page.locator("#f-f-session-timeout")
    card.get_by_role("link", name="Read the lines in context").click()
    assert page.locator("#lines-title").inner_text() == "session-timeout happened"
    assert marked(page) == ["Stopping task orders-2"]
    page.locator("#lines-close").click()
    card.get_by_role("link", name="Show on the timeline").click()
    settle(page)
    begin, end = page.evaluate("() => window.page.timeline.shown")
    assert begin < at(60).timestamp() * 1000 < at(61).timestamp() * 1000 < end
    assert 30_000 <= end - begin < 31_000, "half a minute around a moment"
    page.locator("#i-i-process_paused > .actions").get_by_role("link", name="Show on the timeline").click()
    settle(page)
    begin, end = page.evaluate("() => window.page.timeline.shown")
    assert begin < at(50).timestamp() * 1000 < at(61).timestamp() * 1000 < end


def test_a_place_says_what_is_there(opened: Callable[..., Page]) -> None:
    page = opened()
    page.mouse.move(*place(page, "overlap", 0))
    page.wait_for_selector("#label:not([hidden])")
    assert "both working for at least 990 ms" in page.locator("#label").inner_text()


def test_filters_leave_what_was_asked_for_and_the_address_keeps_them(opened: Callable[..., Page]) -> None:
    page = opened()
    page.locator("#filter-group").select_option(label="connect-lab")
    page.wait_for_function("location.hash.includes('g=connect-lab')")
    settle(page)
    assert "Resources 1 to 1 of 1 (4 without filters)" in page.locator("#in-sight").inner_text()
    assert not page.locator("#f-f-session-timeout").is_visible()
    assert not page.locator("#group-connect-cluster").is_visible()
    page.locator("#filter-none").click()
    page.locator("#filter-resource").fill("orders-2")
    settle(page)
    assert "of 1 (4 without filters)" in page.locator("#in-sight").inner_text()
    page.locator("#filter-none").click()
    page.get_by_label("w1", exact=True).uncheck()
    settle(page)
    seen = page.evaluate("() => window.page.timeline.inOrder().filter((h) => h.what === 'bar').map((h) => window.page.scene.bar_process[h.index])")
    assert len(set(seen)) == 1
    assert page.locator("#f-f-split-brain-task").is_visible()


def test_a_root_cause_is_hidden_with_the_last_of_its_findings(opened: Callable[..., Page]) -> None:
    page = opened()
    assert page.locator("#i-i-process_paused").is_visible()
    page.locator("#filter-group").select_option(label="connect-lab")
    settle(page)
    assert not page.locator("#i-i-process_paused").is_visible()
    page.locator("#filter-none").click()
    settle(page)
    assert page.locator("#i-i-process_paused").is_visible()


def test_the_timeline_tells_times_in_the_reader_s_zone(opened: Callable[..., Page]) -> None:
    page = opened(zone=timezone(timedelta(hours=5, minutes=30)))
    page.locator("#zoom-all").click()
    settle(page)
    assert "15:29:59.999 to 15:32:00.001" in page.locator("#in-sight").inner_text()
    ticks = page.evaluate(
        """() => {
            const axis = window.page.timeline.plots.tracks.below[0];
            return axis.formatter.doFormat([Date.UTC(2026, 2, 1, 10, 1, 0), Date.UTC(2026, 2, 1, 10, 1, 30)], { loc: 0 });
        }"""
    )
    assert [tick.split("\n")[0] for tick in ticks] == ["15:31:00", "15:31:30"]
    page.locator("#f-f-split-brain-task [data-lines]").first.click()
    settle(page)
    assert page.locator("#lines-list .time").first.inner_text().startswith("15:3")


def test_an_address_brings_back_filters_zoom_and_lines(opened: Callable[..., Page]) -> None:
    page = opened(fragment="#f-f-session-timeout&g=connect-cluster&r=orders-2&t=2026-03-01T10:00:50.000Z~2026-03-01T10:01:10.000Z")
    assert page.locator("#filter-group").input_value() == "0"
    assert page.locator("#filter-resource").input_value() == "orders-2"
    begin, end = page.evaluate("() => window.page.timeline.shown")
    assert (begin, end) == pytest.approx((at(50).timestamp() * 1000, at(70).timestamp() * 1000))
    hash_ = page.evaluate("location.hash")
    again = opened(fragment=hash_)
    assert again.evaluate("location.hash") == hash_
    assert opened(fragment="#e-e1").locator("#lines-title").inner_text() == "Line e1"
    of_bar = opened(fragment="#o-o-lab-0-w2")
    assert of_bar.locator("#lines-title").inner_text() == "partition lab-0 in w2"


def drag(page: Page, begin: tuple[float, float], to_x: float, *keys: str) -> None:
    for key in keys:
        page.keyboard.down(key)
    page.mouse.move(*begin)
    page.mouse.down()
    page.mouse.move(to_x, begin[1], steps=6)
    page.mouse.up()
    for key in keys:
        page.keyboard.up(key)
    settle(page)


def test_a_drag_zooms_and_the_brush_works(opened: Callable[..., Page]) -> None:
    page = opened()
    shown = "() => window.page.timeline.shown"
    before = page.evaluate(shown)
    x, y = place(page, "overlap", 0)
    drag(page, (x - 100, y + 60), x + 100)
    zoomed = page.evaluate(shown)
    assert before[0] < zoomed[0] < zoomed[1] < before[1]
    assert zoomed[1] - zoomed[0] < (before[1] - before[0]) / 2
    assert "t=" in page.evaluate("location.hash")
    page.locator("#figure-overview").scroll_into_view_if_needed()
    box = page.locator("#figure-overview").bounding_box()
    assert box
    drag(page, (box["x"] + 300, box["y"] + 20), box["x"] + 600)
    assert page.evaluate(shown) != zoomed
    page.locator("#zoom-all").click()
    settle(page)
    assert "t=" not in page.evaluate("location.hash")


def test_a_drag_with_shift_selects_a_time_and_shows_its_sums(opened: Callable[..., Page]) -> None:
    page = opened()
    page.locator("#zoom-all").click()
    settle(page)
    shown = page.evaluate("() => window.page.timeline.shown")
    sums = page.locator("#sums-text")
    assert sums.inner_text().startswith("In sight, ")
    x, y = place(page, "overlap", 0)
    drag(page, (x - 60, y + 60), x + 60, "Shift")
    assert page.evaluate("() => window.page.timeline.shown") == shown, "a selection does not zoom"
    whole = "two owners for at least 1.10 s (orders-2), both working for at least 990 ms; possible: up to 1.20 s · "
    assert sums.inner_text().startswith("Selected, 10:0")
    assert whole in sums.inner_text()
    begin, end = page.evaluate("() => window.page.selected")
    assert begin < at(59.9).timestamp() * 1000 < at(61.3).timestamp() * 1000 < end
    selected = page.evaluate("location.hash")
    assert "s=" in selected
    assert opened(fragment=selected).locator("#sums-text").inner_text() == sums.inner_text()
    page.locator("#sums-zoom").click()
    settle(page)
    assert page.evaluate("() => window.page.timeline.shown") == pytest.approx([begin, end], abs=1)
    page.locator("#figures").focus()
    page.keyboard.press("Escape")
    settle(page)
    assert sums.inner_text().startswith("In sight, ")
    page.keyboard.press("n")
    page.keyboard.press("m")
    assert page.evaluate("() => window.page.selected") == page.evaluate("() => window.page.scene.overlaps[0].possible")
    assert whole in page.locator("#chosen").inner_text(), "it is read aloud"


#: Times in seconds: what is drawn of one resource, a span, and what is certain, possible and certainly worked in it.
_SUMS = (
    ([{"possible": [0, 10], "there": [2, 8], "least": 6}], [0, 10], (6, 10, 0)),
    ([{"possible": [0, 10], "there": [2, 8], "least": 6}], [5, 20], (3, 5, 0)),
    ([{"possible": [0, 10], "there": [2, 8], "least": 6}], [20, 30], (0, 0, 0)),
    # Of a time with bounds, what does not fit outside of the span is in it.
    ([{"possible": [0, 10], "least": 9, "most": 9.5}], [0, 10], (9, 9.5, 0)),
    ([{"possible": [0, 10], "least": 9, "most": 9.5}], [5, 20], (4, 5, 0)),
    ([{"possible": [0, 10], "least": 4}], [5, 20], (0, 5, 0)),
    # Several pairs of owners, or incidents, share a time.
    ([{"possible": [0, 10], "there": [0, 10], "least": 10}, {"possible": [5, 15], "there": [5, 15], "least": 10}], [0, 20], (15, 15, 0)),
    ([{"possible": [0, 10], "least": 9}, {"possible": [0, 10], "least": 9}], [0, 20], (9, 10, 0)),
    ([{"possible": [0, 10], "least": 9}, {"possible": [10, 20], "least": 9}], [0, 20], (18, 20, 0)),
    ([{"possible": [0, 10], "there": [1, 9], "least": 8, "work": [4, 4], "working": 0.5}], [0, 20], (8, 10, 0.5)),
)


@pytest.mark.parametrize(("drawn", "span", "expected"), _SUMS)
def test_sums_of_a_span_are_certain_or_possible_and_count_a_time_once(opened: Callable[..., Page], drawn: list, span: list, expected: tuple) -> None:
    page = opened()
    overlaps = [{"there": None, "work": None, "least": 0, "working": 0, "most": None, "kind": "work", "processes": [0], "row": 0} | o for o in drawn]
    found = page.evaluate(
        "([overlaps, [from, to]]) => { const { scene } = window.page; scene.overlaps = overlaps; const { two } = scene.sums(from, to); return [two.least, two.most, two.working]; }",
        [overlaps, span],
    )
    assert found == pytest.approx(expected)


def test_a_cursor_shows_its_time_across_all_lanes(opened: Callable[..., Page]) -> None:
    page = opened()
    x, y = place(page, "overlap", 0)
    page.mouse.move(x + 150, y + 60)
    page.wait_for_selector("#label:not([hidden])")
    settle(page)
    time = page.evaluate("() => window.page.timeline.doc.get_model_by_name('cursor').location")
    assert page.locator("#label .at").inner_text() == page.evaluate("(t) => window.page.scene.time(t)", time)
    lines = page.evaluate(
        """() => ["causes", "lanes", "tracks", "overview"].map((name) => {
            const view = Bokeh.index.find_one(window.page.timeline.plots[name]);
            const drawn = view.canvas_view.overlays.canvas;
            const x = Math.round(view.frame.x_scale.compute(window.page.timeline.doc.get_model_by_name("cursor").location) * devicePixelRatio);
            const data = drawn.getContext("2d").getImageData(x - 2, 0, 5, drawn.height).data;
            return data.filter((v, i) => i % 4 === 3 && v > 0).length > 5;
        })"""
    )
    assert lines == [True] * 4


def test_the_keyboard_does_what_the_mouse_does(opened: Callable[..., Page]) -> None:
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "figures", "the timeline is one Tab away"
    page.keyboard.press("0")
    settle(page)
    whole = page.evaluate("() => window.page.timeline.shown")
    for key in ("+", "+", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    zoomed = page.evaluate("() => window.page.timeline.shown")
    assert zoomed[1] - zoomed[0] == pytest.approx((whole[1] - whole[0]) / 4, rel=1e-6)
    page.keyboard.press("0")
    settle(page)
    assert page.evaluate("() => window.page.timeline.shown") == whole
    said = []
    for _ in range(40):
        page.keyboard.press("ArrowDown")
        said.append(page.locator("#chosen").inner_text())
        if "Two owners" in said[-1]:
            break
    assert "Two owners of task orders-2" in said[-1]
    page.keyboard.press("Enter")
    page.wait_for_selector("#lines:not([hidden])")
    assert page.evaluate("document.activeElement.id") == "lines-title"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "figures"


def test_a_time_without_an_owner_is_drawn_and_found_by_keys(opened: Callable[..., Page]) -> None:
    given = views()
    gap = {"incident_id": "i-process_paused", "kafka_cluster": "abc", "group_id": "connect-cluster", "resource_kind": "task", "double_work_ms": None}
    gap |= {"resource": "orders-2", "id": "g1", "from_ts": at(70), "to_ts": at(75), "unowned_ms": 4_000, "unowned_hi_ms": 5_000}
    doubtful = gap | {"id": "g2", "from_ts": at(80), "to_ts": at(84), "unowned_ms": 0, "unowned_hi_ms": 4_000}
    of_group = gap | {"resource_kind": "group", "resource": "connect-cluster"}
    given["incident_gap"] = [gap, doubtful, of_group, gap | {"double_work_ms": 3_000}]
    page = opened(given)
    page.locator("#figures").focus()
    said = []
    for _ in range(4):
        page.keyboard.press("n")
        settle(page)
        said.append(page.locator("#chosen").inner_text())
    no_owner = "No owner of task orders-2, group connect-cluster, for at least 4.00 s; possible: for up to 5.00 s"
    perhaps = "Possibly no owner of task orders-2, group connect-cluster, for up to 4.00 s"
    assert said[-3:] == [no_owner, perhaps, perhaps]
    page.keyboard.press("p")
    assert page.locator("#chosen").inner_text() == no_owner
    assert "no owner" in page.locator(".legend").inner_text()


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}], ids=["light", "dark", "phone"])
def test_axe_has_nothing_to_say(opened: Callable[..., Page], options: dict) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = opened(**options)
    for _ in range(2):
        found = Axe().run(page).response["violations"]
        assert [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found] == []
        page.evaluate(
            "() => { for (const fold of document.querySelectorAll('details')) fold.open = true; window.page.read('f-f-split-brain-task'); }"
        )
        settle(page)


def test_a_phone_shows_all_of_it_without_scrolling_sideways(opened: Callable[..., Page]) -> None:
    page = opened(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#figures").bounding_box()["y"] < 844, "the timeline is on the first screen"
    page.locator("#split-brain summary").click()
    table = page.locator("#split-brain .scroll").first
    assert table.evaluate("t => [t.scrollWidth - t.clientWidth, getComputedStyle(t.querySelector('tr')).display]") == [0, "block"]
    x, y = place(page, "overlap", 0)
    page.touchscreen.tap(x, y)
    page.wait_for_selector("#lines:not([hidden])")
    assert page.locator("#lines-title").inner_text() == "Two owners of task orders-2: w2 and w1"


#: What can be chosen and is smaller than 24 px; a box in a label is as large as the label.
_SMALL = """() => [...document.querySelectorAll("a:not(.skip), button, summary, input:not(label input), select, label")].filter((e) => {
    const { width, height } = e.getBoundingClientRect();
    return width && height && (width < 24 || height < 24);
}).map((e) => e.outerHTML.slice(0, 120))"""


def test_a_finger_finds_everything_on_a_phone(opened: Callable[..., Page]) -> None:
    page = opened(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    assert page.evaluate(_SMALL) == []
    page.evaluate("() => { for (const fold of document.querySelectorAll('details')) fold.open = true; window.page.read('f-f-split-brain-task'); }")
    settle(page)
    assert page.locator("#lines-list a").first.is_visible()
    assert page.evaluate(_SMALL) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    heights = page.evaluate("() => window.page.timeline.hits.lanes.filter((h) => h.what === 'bar').map((h) => h.bottom - h.top)")
    assert min(heights) > 21, "with the space around them, 24 px"


def test_a_phone_shows_verdict_impact_and_the_next_step_without_a_tap(opened: Callable[..., Page]) -> None:
    given = views()
    given["incident"] = [incident("process_paused", [], "critical", next="Check the GC log of w2.", prevent="Raise the timeout."), *given["incident"]]
    page = opened(given, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    story = page.locator("details.story.current")
    for part in (page.locator("h1"), story.locator("h3", has_text="Impact"), story.locator(".hits li").first, story.locator("dd").first):
        assert part.is_visible()
        assert part.bounding_box()["y"] < 844
    assert not story.locator(".steps li").first.is_visible()
    story.locator(".fold > summary").click()
    assert story.locator(".steps .when").first.is_visible()
    assert story.locator(".hits").bounding_box()["y"] < story.locator(".steps").bounding_box()["y"]


def test_print_has_the_drawing_and_no_controls(opened: Callable[..., Page]) -> None:
    page = opened()
    page.emulate_media(media="print")
    assert page.locator("svg.still").is_visible()
    for gone in ("#figures", ".filters", "nav", "#filter-group", ".actions"):
        assert not page.locator(gone).first.is_visible(), gone
    assert page.locator(".lines.telling").first.is_visible()
    assert not page.locator("svg.spacetime").first.is_visible(), "proofs are folded"
    assert len(page.pdf()) > 10_000


def test_without_a_script_everything_is_told(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render.render(made(views())), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("svg.still").is_visible()
    assert not page.locator("#figures").is_visible()
    assert page.locator("#f-f-split-brain-task").is_visible()
    context.close()


def test_log_text_does_nothing(opened: Callable[..., Page]) -> None:
    page = opened(hostile())
    page.mouse.click(*place(page, "overlap", 0))
    settle(page)
    assert page.evaluate("document.querySelectorAll('script').length") == 4
    assert HOSTILE.split("<")[1].split(">")[0] in page.locator("#lines-list").inner_text(), "a script in a log line is shown as text"


def test_a_storm_opens_at_once_and_leaves_no_overlap_out(browser: Browser, tmp_path: Path) -> None:
    given = storm()
    written = render.render(made(given))
    assert len(written.encode()) < _LARGEST
    file = tmp_path / "storm.html"
    file.write_text(written, encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(_PATIENCE)
    slowness = max(1.0, worked_s(page, lambda: page.evaluate(_MEASURE)) / _MEASURE_TAKES_S)

    def opens() -> None:
        page.goto(file.as_uri())
        page.wait_for_selector("html.ready", state="attached")
        settle(page)

    assert worked_s(page, opens) < _OPENS_IN_S * slowness
    page.locator("#zoom-all").click()
    settle(page)
    assert "too short to be drawn one by one: zoom in" in page.locator("#in-sight").inner_text()
    drawn = set()
    while True:
        drawn |= set(page.evaluate("() => window.page.timeline.hits.lanes.filter((h) => h.what === 'overlap').map((h) => h.index)"))
        if page.locator("#rows-after").is_disabled():
            break
        page.locator("#rows-after").click()
        settle(page)
    assert drawn == set(range(len(given["split_brain"])))
    before = page.evaluate("() => window.page.timeline.hits.lanes.filter((h) => h.what === 'run').length")
    page.evaluate(
        "() => { const { timeline } = window.page; timeline.page = 0; const [a, b] = timeline.shown; timeline.show(a, a + (b - a) / 200); }"
    )
    settle(page)
    assert page.evaluate("() => window.page.timeline.hits.lanes.filter((h) => h.what === 'run').length") < before
    context.close()


def test_a_chip_shows_its_story_and_its_time_and_a_link_leads_to_the_heading_of_the_cause(opened: Callable[..., Page]) -> None:
    given = views()
    given["incident"].append(
        incident("process_killed", [], headline="w1 died", subject="w1/connect.log", from_lo=at(100), from_hi=at(101), to_lo=at(102), to_hi=at(102))
    )
    page = opened(given)
    shown = "() => window.page.timeline.shown"
    begin, end = page.evaluate(shown)
    assert begin < at(50).timestamp() * 1000 < end < at(100).timestamp() * 1000, "it opens on the gravest"
    page.get_by_role("link", name="w1 died").click()
    settle(page)
    begin, end = page.evaluate(shown)
    assert begin < at(100).timestamp() * 1000 < at(102).timestamp() * 1000 <= end
    assert page.locator("details.story:visible").count() == 1
    assert page.locator("details.story:visible .root").inner_text().count("w1")
    page.evaluate("window.page.openIncident('i-i-process_paused')")
    page.locator("details.story:visible .root a").first.click()
    settle(page)
    heading = page.locator("#i-i-process_paused-title").bounding_box()
    assert heading
    assert 0 <= heading["y"] < 300


def test_the_time_axis_stays_on_top(opened: Callable[..., Page]) -> None:
    page = opened()
    axis = page.locator("#figure-causes")
    assert axis.bounding_box()["y"] < 900, "it is on the first screen"
    page.evaluate("() => scrollBy(0, document.getElementById('figure-lanes').getBoundingClientRect().top + 60)")
    settle(page)
    assert axis.bounding_box()["y"] == pytest.approx(0, abs=1)


def test_a_silence_is_marked_between_lines(opened: Callable[..., Page]) -> None:
    page = opened()
    page.evaluate("window.page.scene.complete = true; window.page.read('f-f-split-brain-task')")
    page.evaluate("window.page.lines.context = 100; window.page.lines.fill()")
    silences = page.locator("#lines-list li.silence").all_inner_texts()
    expected = page.evaluate(
        """() => {
            const s = window.page.scene; const last = new Map(); let n = 0;
            for (let i = 0; i < s.line_ids.length; i++) { if (last.has(s.line_process[i]) && s.line_at[i] - last.get(s.line_process[i]) >= 5000) n++; last.set(s.line_process[i], s.line_at[i]); }
            return n;
        }"""
    )
    assert len(silences) == expected
    page.evaluate("window.page.scene.complete = false; window.page.lines.fill()")
    assert page.locator("#lines-list li.silence").count() == 0, "a page that lacks lines cannot say that there were none"


def test_everything_folded_is_printed(opened: Callable[..., Page]) -> None:
    page = opened()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details[data-print]:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#clocks details").get_attribute("open") is None


def test_a_finger_selects_a_time_sideways_and_scrolls_up_and_down(opened: Callable[..., Page]) -> None:
    page = opened(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page.locator("#figure-lanes").scroll_into_view_if_needed()
    x, y = place(page, "overlap", 0)
    sums = page.locator("#sums-text")
    swipe(page, (x - 40, y), (x + 40, y))
    begin, end = page.evaluate("() => window.page.selected")
    assert begin < at(59.9).timestamp() * 1000 < at(61.3).timestamp() * 1000 < end
    assert sums.inner_text().startswith("Selected, ")
    page.locator("#sums-clear").click()
    settle(page)
    swipe(page, (x, y), (x, y - 60))
    assert page.evaluate("() => window.page.selected") is None


def swipe(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Move a finger over the page, in steps as a hand does."""
    devtools = page.context.new_cdp_session(page)
    for n in range(9):
        kind = "touchStart" if n == 0 else "touchMove"
        point = {"x": start[0] + (end[0] - start[0]) * n / 8, "y": start[1] + (end[1] - start[1]) * n / 8}
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    devtools.detach()
    settle(page)
