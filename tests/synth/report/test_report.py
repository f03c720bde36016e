"""`synth report`: one page that needs nothing else, whatever the run holds."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from synth.cli.report import report
from synth.ledger import StoredLedger
from synth.ledger.tables.graph_rows import Edge, Node
from synth.report.graph.folding import Arrow, folded
from synth.report.graph.layout import layers, placed
from synth.report.graph.svg import picture, shade
from synth.topology.graph import FAILURE, START, SUCCESS
from tests.flow_files import echo_flow, run_flow
from tests.synth.report.episodes import report as built

FLOW = echo_flow(
    models={"explorer": {"policy": "expert", "profiles": "mixed"}},
    stages=[{"rollout": {"trials": 4}}, "topology", {"filter": ["solved"]}],
)


def node(name: str, n: int, solved: int) -> Node:
    return Node(
        "t", name, "p", "exact", n, solved, () if name in (START, SUCCESS, FAILURE) else (name,)
    )


def edge(one: str, other: str, n: int, solved: int) -> Edge:
    return Edge("t", one, other, "p", "exact", n, solved)


SECTIONS = [
    "funnel",
    "methods",
    "tasks",
    "faults",
    "cost",
    "scores",
    "agreement",
    "graphs",
    "trajectories",
]
CHAIN = (
    [
        node(START, 2, 1),
        node("a", 2, 1),
        node("b", 2, 1),
        node("c", 1, 1),
        node("d", 1, 0),
        node(SUCCESS, 1, 1),
        node(FAILURE, 1, 0),
    ],
    [
        edge(START, "a", 2, 1),
        edge("a", "b", 2, 1),
        edge("b", "c", 1, 1),
        edge("b", "d", 1, 0),
        edge("c", SUCCESS, 1, 1),
        edge("d", FAILURE, 1, 0),
    ],
)


def test_turns_that_always_come_together_are_one_box() -> None:
    boxes, arrows = folded(*CHAIN)
    assert {box.name: [member.node for member in box.members] for box in boxes}["a"] == ["a", "b"]
    assert {(arrow.source, arrow.target) for arrow in arrows} == {
        (START, "a"),
        ("a", "c"),
        ("a", "d"),
        ("c", SUCCESS),
        ("d", FAILURE),
    }


def test_detours_of_single_trials_are_bundled_where_there_are_many() -> None:
    ways = [f"w{n}" for n in range(5)]
    nodes = [
        node(START, 5, 5),
        node("a", 5, 5),
        *(node(way, 1, 1) for way in ways),
        node("z", 5, 5),
        node(SUCCESS, 5, 5),
    ]
    edges = [edge(START, "a", 5, 5), edge("z", SUCCESS, 5, 5)]
    edges += [edge("a", way, 1, 1) for way in ways] + [edge(way, "z", 1, 1) for way in ways]
    boxes, arrows = folded(nodes, edges, most=4)
    (bundle,) = [box for box in boxes if box.bundled]
    assert (bundle.bundled, bundle.n, bundle.n_success, len(bundle.members)) == (5, 5, 5, 5)
    assert ("a", bundle.name, 5) in {(arrow.source, arrow.target, arrow.n) for arrow in arrows}
    assert len(folded(nodes, edges)[0]) == len(nodes)


def test_layers_go_from_the_start_to_the_ends_and_a_loop_leads_back() -> None:
    nodes, edges = CHAIN
    boxes, arrows = folded(nodes, [*edges, edge("d", "a", 1, 0)])
    found = layers([box.name for box in boxes], arrows)
    assert found.rows[0] == [START]
    assert set(found.rows[-1]) == {SUCCESS, FAILURE}
    assert found.back == {("d", "a")}


def test_an_arrow_past_layers_bends_around_boxes_and_shares_bends_to_the_same_box() -> None:
    ends = [(START, "a"), ("a", "b"), ("b", "c"), ("a", "c"), (START, "c"), ("c", SUCCESS)]
    found = layers(
        [START, "a", "b", "c", SUCCESS], [Arrow(one, other, 1, 1) for one, other in ends]
    )
    assert found.routes[START, "c"] == (START, "c by 1", "c by 2", "c")
    assert found.routes["a", "c"] == ("a", "c by 2", "c")
    assert [set(row) for row in found.rows] == [
        {START},
        {"a", "c by 1"},
        {"b", "c by 2"},
        {"c"},
        {SUCCESS},
    ]


@given(
    st.lists(st.lists(st.floats(1, 50), min_size=1, max_size=5), min_size=1, max_size=4), st.data()
)
def test_nothing_stands_over_another_and_the_order_of_a_layer_is_kept(
    sizes: list[list[float]], data: st.DataObject
) -> None:
    rows = [[f"{at}.{place}" for place in range(len(row))] for at, row in enumerate(sizes)]
    widths = {
        name: size
        for names, row in zip(rows, sizes, strict=True)
        for name, size in zip(names, row, strict=True)
    }
    pairs = [(one, other) for above, below in pairwise(rows) for one in above for other in below]
    links = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    middle = placed(rows, links, widths, gap=2)
    for row in rows:
        for one, other in pairwise(row):
            assert middle[other] - widths[other] / 2 >= middle[one] + widths[one] / 2 + 2 - 1e-6
    assert min(middle[name] - widths[name] / 2 for name in widths) == pytest.approx(0)


def test_a_box_alone_stands_below_the_middle_of_what_leads_to_it() -> None:
    middle = placed(
        [["a", "b"], ["c"]], [("a", "c"), ("b", "c")], {"a": 10, "b": 10, "c": 10}, gap=6
    )
    assert (middle["a"], middle["b"], middle["c"]) == (5, 21, 13)


@pytest.mark.parametrize(
    ("n", "solved", "expected"),
    [(4, 2, "--mid"), (8, 8, "--u3"), (8, 0, "--d3"), (1000, 1000, "--u4")],
)
def test_colour_is_how_much_better_than_the_task_shrunk(n: int, solved: int, expected: str) -> None:
    # (8 + 2 * .5) / (8 + 2) - .5 = .4, of which 8 steps make a whole: 3.2
    assert shade(n, solved, 0.5) == expected


def test_loops_lucky_passes_and_traffic_are_marked() -> None:
    nodes, edges = CHAIN
    svg = picture(nodes, [*edges, edge("d", "a", 1, 0)], {}, lucky={("b", "c"), ("c", SUCCESS)})
    drawn = re.findall(
        r'<path class="([^"]*)" d="[^"]*" stroke-width="([\d.]+)"><title>([^<]*)</title>', svg
    )
    assert sorted(kind for kind, _, _ in drawn) == ["", "", "bad", "good lucky", "loop", "lucky"]
    # 1.2 and 8 times the share of the trials: both of two, one of two
    assert {(width, note) for kind, width, note in drawn if kind in ("", "loop")} == {
        ("9.2", "2 of 2 trials, 1 of them solved"),
        ("5.2", "1 of 2 trials, 0 of them solved"),
        ("5.2", "1 of 2 trials, 0 of them solved, on a way back"),
    }


def test_a_box_says_what_it_does_how_often_in_a_turn_and_how_many_turns_follow() -> None:
    several = Node("t", "a", "p", "exact", 2, 1, ("get_order", "get_order", "reply"))
    nodes, edges = CHAIN
    svg = picture(
        [several if one.node == "a" else one for one in nodes],
        edges,
        {"a": "get_order 1", "b": "list 2"},
    )
    assert ">2 get_order+reply +1</text>" in svg
    assert "<title>2 trials, 1 solved\nget_order 1\nlist 2</title>" in svg


def test_hostile_texts_stay_texts() -> None:
    svg = picture(*CHAIN, {"a": '<script>alert("x")</script>\x00', "c": "&amp;"})
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg
    assert "\x00" not in svg


@pytest.mark.slow
def test_the_page_of_a_run_has_its_sections_and_asks_for_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(FLOW, url)
    done = CliRunner().invoke(report, [url, "--quiet"])
    assert (done.exit_code, done.stdout.strip()) == (0, f"{url}/report.html")
    page = (tmp_path / "run" / "report.html").read_text()
    assert re.findall(r'<section id="(\w+)"', page) == SECTIONS
    assert not re.search(r'(?:src|href)="(?!#|data:,)', page)
    assert len(re.findall(r"<script>", page)) == 1
    assert page.count('<svg class="graph"') == 4


@pytest.mark.slow
def test_a_run_without_graphs_has_a_page_without_them(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    assert re.findall(r'<section id="(\w+)"', built(StoredLedger(url), "synth report")) == [
        one for one in SECTIONS if one not in ("scores", "graphs")
    ]


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    assert "The run holds nothing yet" in built(
        StoredLedger(str(tmp_path), create=True), "synth report"
    )


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    StoredLedger(str(tmp_path / "run"), create=True)
    done = CliRunner().invoke(
        report, [str(tmp_path / "run"), "--out", str(tmp_path / "no" / "r.html")]
    )
    assert "there is no folder" in str(done.exception)
