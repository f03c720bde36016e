"""The report in a real Chromium: nothing on the console, nothing asked for from elsewhere,
everything to be done by keyboard.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chromium import CHROMIUM, Page
from synth.ledger import StoredLedger
from synth.text.transcript.divergence import first_divergence
from tests.flow_files import echo_flow, run_flow
from tests.synth.report.episodes import HOSTILE, broken, episode, ledger_of, pair, report, turn
from tests.synth.report.visits import look, visited

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium: apt-get install chromium, as .ci/run does"
    ),
]

FLOW = echo_flow(
    env={"name": "storefront", "tasks": 4},
    models={"explorer": {"policy": "expert", "profiles": "mixed"}},
    stages=[
        {"rollout": {"trials": 12}},
        "reflect_retry",
        {"failure_injection": {"per_task": 2}},
        "topology",
        {"filter": ["solved"]},
        {"select": {"sft": {}, "rl": {}}},
    ],
)
OPEN = "document.querySelector('#view[open]')"
STATUS = "document.getElementById('status').textContent"
BASE, RETRY = "aa11" * 6, "bb22" * 6


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    url = tmp_path_factory.mktemp("report") / "run"
    run_flow(FLOW, str(url))
    (url / "report.html").write_text(
        report(StoredLedger(str(url)), "synth report"), encoding="utf-8"
    )
    return url


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("by-hand")
    more = [
        episode(
            f"{n:024x}", [turn(0, f"O-{n}", content="x" * 3000 if n == 7 else None)], trial=2 + n
        )
        for n in range(150)
    ]
    ledger = ledger_of(str(folder / "run"), [*pair(), *more, broken("ff" * 12, 3)], goal=HOSTILE)
    (folder / "report.html").write_text(report(ledger, "synth report"), encoding="utf-8")
    return folder / "report.html"


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_drawn_and_its_texts_can_be_read(stored: Path, dark: bool) -> None:
    found = visited(stored / "report.html", look, scheme="dark" if dark else "light")
    assert found["loaded"] == []
    assert found["wide"] <= 0
    assert len(found["boxes"]) > 20
    assert all(box["inside"] for box in found["boxes"])
    assert all(re.match(r"\d+ trials?, \d+ solved", box["title"]) for box in found["boxes"])
    assert (found["page"] < 128) is dark
    assert all(abs(found["ink"] - fill) > 80 for fill in found["fills"])
    for at, one in enumerate(found["boxes"]):
        for other in found["boxes"][at + 1 :]:
            if one["graph"] == other["graph"]:
                (left, top, right, bottom), (from_left, from_top, to_right, to_bottom) = (
                    one["rect"],
                    other["rect"],
                )
                assert (
                    right <= from_left or to_right <= left or bottom <= from_top or to_bottom <= top
                )


def test_on_a_telephone_tables_and_graphs_scroll_and_the_page_does_not(stored: Path) -> None:
    async def visit(page: Page) -> list[int]:
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        found = [await page.value(wide)]
        await page.press("j", "Enter")
        await page.until(OPEN)
        inner = (
            "(body => body.scrollWidth - body.clientWidth)(document.getElementById('view-body'))"
        )
        return [
            *found,
            await page.value(wide),
            await page.value(inner),
            await page.value("document.getElementById('view').offsetLeft"),
        ]

    assert max(visited(stored / "report.html", visit, width=390)) <= 0


def test_the_colours_can_be_switched_whatever_the_system_prefers(by_hand: Path) -> None:
    async def visit(page: Page) -> list[str]:
        found = []
        for _ in range(3):
            found.append(await page.value("getComputedStyle(document.body).backgroundColor"))
            await page.value("document.getElementById('theme').click()")
        return found

    system, light, dark = visited(by_hand, visit, scheme="dark")
    assert system == dark != light


def test_a_trajectory_opens_by_keyboard_and_closing_leads_back_to_its_row(by_hand: Path) -> None:
    async def visit(page: Page) -> tuple[Any, ...]:
        await page.press("j", "j", "Enter")
        title = await page.until(f"{OPEN} && document.getElementById('view-title').textContent")
        await page.press("j", "j")
        turn_focused = await page.value("document.activeElement.dataset.turn")
        await page.press("n")
        after = await page.until(
            "document.getElementById('view-title').textContent.includes('00000000') && "
            "location.hash"
        )
        await page.press("p", "Escape")
        await page.until(f"!{OPEN}")
        return title, turn_focused, after, await page.value("document.activeElement.className")

    title, turn_focused, after, focused = visited(by_hand, visit)
    assert title == "Trajectory bb22bb22 success"
    assert (turn_focused, focused) == ("3", "open")
    assert after == f"#t={0:024x}"


def test_search_finds_words_of_any_turn_and_filters_narrow_it(by_hand: Path) -> None:
    async def visit(page: Page) -> list[Any]:
        rows = "[...document.querySelectorAll('a.open')].map(row => row.textContent)"
        await page.press("/", *"o-149")
        await page.until(f"{STATUS} === '1 trajectory of 153'")
        found = [await page.value(rows)]
        await page.press("Escape")
        await page.value("document.getElementById('clear').click()")
        await page.until(f"{STATUS} === '153 trajectories'")
        for name, value in (
            ("reason", "fault: model"),
            ("reason", "injected: FM-1.3"),
            ("method", "reflect_retry"),
            ("outcome", "failure"),
        ):
            await page.value(
                f"(select => {{ select.value = {value!r}; select.dispatchEvent(new "
                "Event('change')); })"
                f"(document.getElementById('filter-{name}'))"
            )
            await page.until(f"{STATUS} === '1 trajectory of 153'")
            found.append(await page.value(rows))
            await page.value("document.getElementById('clear').click()")
            await page.until(f"{STATUS} === '153 trajectories'")
        return found

    assert visited(by_hand, visit) == [
        [f"{149:024x}"[:8]],
        ["ffffffff"],
        ["bb22bb22"],
        ["bb22bb22"],
        ["aa11aa11"],
    ]


def test_texts_of_a_run_stay_texts(by_hand: Path) -> None:
    async def visit(page: Page) -> tuple[Any, ...]:
        await page.value(f"location.hash = '#t={RETRY}'")
        await page.until(OPEN)
        seen = await page.value("document.querySelector('.seen.error .text').textContent")
        await page.value("location.hash = '#t=000000000000000000000007'")
        await page.until("document.querySelector('.said .fold')")
        folded = await page.value("document.querySelector('.said .text').textContent.length")
        await page.value("document.querySelector('.said .fold').click()")
        whole = await page.value("document.querySelector('.said .text').textContent.trim().length")
        return (
            seen,
            folded,
            whole,
            await page.value(
                "document.images.length + document.querySelectorAll('script:not([id])').length"
            ),
        )

    seen, folded, whole, elements = visited(by_hand, visit)
    assert (
        seen == r"</script><script>alert(1)</script><img src=x "
        r"onerror=alert(2)>\u{2028}\u{202e}evil\u{200f} \u{0}\u{1b}[31m<!--"
    )
    assert folded < 1300 < whole == 3000
    assert elements == 1


def test_marks_and_lineage_are_shown(by_hand: Path) -> None:
    async def visit(page: Page) -> str:
        await page.value(f"location.hash = '#t={RETRY}'")
        await page.until(OPEN)
        await page.value(
            "document.querySelectorAll('#view details').forEach(one => one.open = true)"
        )
        await page.until("document.querySelectorAll('#view .turn').length === 4")
        return str(await page.value("document.getElementById('view').textContent"))

    said = visited(by_hand, visit)
    for words in (
        "masked: before_pivot",
        "injected: FM-1.3",
        "planted; the world had answered: the true answer",
        "whispered from here on, in no transcript: Mind O-77.",
        "aa11aa11 from turn 2; by somebody who saw gold",
        "pivot: the continuation begins",
        "orders/1/status",
    ):
        assert words in said


def test_the_divergence_of_base_and_retry_is_marked(by_hand: Path) -> None:
    async def visit(page: Page) -> tuple[Any, ...]:
        await page.value(f"location.hash = '#t={RETRY}'")
        await page.until(OPEN)
        await page.press("d")
        said = await page.until("document.getElementById('divergence')?.textContent")
        marked = await page.value(
            "[...document.querySelectorAll('.parting pre mark')].map(mark => mark.textContent)"
        )
        return said, marked, await page.value("document.querySelector('.heads').textContent")

    said, marked, heads = visited(by_hand, visit)
    assert said == "Turn 2: the action differs; what comes before is the same."
    assert marked == ["2", "77"]
    assert "base" in heads


def test_every_twin_parts_on_the_page_where_the_divergence_says(stored: Path) -> None:
    ledger = StoredLedger(str(stored))
    every = {t.trajectory_id: t for t in ledger.trajectories()}
    pairs = [(every[t.parent_id], t) for t in every.values() if t.parent_id in every]
    kinds = {t.synthesizer for _, t in pairs}
    assert kinds == {"reflect_retry", "failure_injection"}
    assert (
        sum(first_divergence(parent, child) is not None for parent, child in pairs) > len(pairs) / 2
    )

    async def visit(page: Page) -> list[str]:
        found = []
        for parent, child in pairs:
            await page.value(f"location.hash = '#d={parent.trajectory_id},{child.trajectory_id}'")
            there = (
                f"location.hash.endsWith('{child.trajectory_id}') && "
                "document.querySelector('.heads')?.textContent"
            )
            await page.until(
                f"{there}?.includes('{child.trajectory_id[:8]}') && "
                "document.getElementById('divergence')"
            )
            found.append(await page.value("document.getElementById('divergence').textContent"))
        return found

    for (parent, child), said in zip(pairs, visited(stored / "report.html", visit), strict=True):
        parting = first_divergence(parent, child)
        if parting is None:
            assert said == f"The same to the last observation ({len(parent.turns)} turns)."
        else:
            assert said.startswith(f"Turn {parting.turn}: the {parting.what} differs")


def test_focus_stays_in_the_dialog_and_roles_are_named(by_hand: Path) -> None:
    async def visit(page: Page) -> tuple[Any, ...]:
        await page.press("j", "Enter")
        await page.until(OPEN)
        await page.press("Tab", "Tab", "Tab")
        inside = await page.value("document.activeElement.closest('#view') !== null")
        outline = await page.value("getComputedStyle(document.activeElement).outlineStyle")
        nameless = await page.value(
            "[...document.querySelectorAll('button, select, input, a')].filter(one => "
            "!one.textContent.trim() && "
            "!one.getAttribute('aria-label') && !one.labels?.length).length"
        )
        return inside, outline, nameless

    assert visited(by_hand, visit) == (True, "solid", 0)
