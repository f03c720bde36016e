"""`synth graph`: a task's graph as GraphML, SVG and JSON that other programs read, and why two
turns are one node.
"""

import io
import xml.dom.minidom
from pathlib import Path

import msgspec
import networkx
import pytest
from click.testing import CliRunner

from synth.cli.graph import graph
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.tables.graph_rows import Edge, Node
from synth.schemas.errors import ConfigError
from tests.synth.topology.trials import trial, turn

HOSTILE = '</title><script>"&\x00\ud800'.encode("utf-8", "replace").decode()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two trials: a b SUCCESS, and a b a FAILURE, whose loop is an edge back; by another
    population, one trial of a.
    """
    folder = str(tmp_path_factory.mktemp("run"))
    ledger = StoredLedger(folder, create=True)
    one = trial("T1", [turn(0, "a", q=HOSTILE), turn(1, "b", "5")], True)
    other = trial(
        "T2", [turn(0, "a", q=HOSTILE), turn(1, "b", "6"), turn(2, "a", q=HOSTILE)], False
    )
    ledger.commit(StageRef("rollout", "r"), trajectories=[one, other])
    nodes = [
        Node("task1", name, "p", "exact", n, s, tools, *example)
        for name, n, s, tools, example in [
            ("START", 2, 1, (), ()),
            ("na", 2, 1, ("a",), ("T1", 0)),
            ("nb", 2, 1, ("b",), ("T1", 1)),
            ("SUCCESS", 1, 1, (), ()),
            ("FAILURE", 1, 0, (), ()),
        ]
    ]
    ways = [
        ("START", "na", 2, 1),
        ("na", "nb", 2, 1),
        ("nb", "SUCCESS", 1, 1),
        ("nb", "na", 1, 0),
        ("na", "FAILURE", 1, 0),
    ]
    edges = [Edge("task1", one, other, "p", "exact", n, s) for one, other, n, s in ways]
    few = [Node("task1", name, "q", "exact", 1, 1) for name in ("START", "na", "SUCCESS")]
    ledger.commit(StageRef("topology", "t"), nodes=[*nodes, *few], edges=edges)
    for stage, key in (("rollout", "r"), ("topology", "t")):
        ledger.begin_stage(StageLine(stage, key, {}))
    return folder


def test_graphml_holds_every_count_the_loop_and_an_example_of_each_node(run_dir: str) -> None:
    done = CliRunner().invoke(graph, [run_dir, "task"])
    found = networkx.read_graphml(io.BytesIO(done.stdout_bytes))
    assert {name: (data["n"], data["n_success"]) for name, data in found.nodes(data=True)} == {
        "START": (2, 1),
        "na": (2, 1),
        "nb": (2, 1),
        "SUCCESS": (1, 1),
        "FAILURE": (1, 0),
    }
    assert found.edges["nb", "na"]["n"] == 1
    assert not networkx.is_directed_acyclic_graph(found)
    assert (
        found.nodes["nb"]["tools"],
        found.nodes["nb"]["trajectory_id"],
        found.nodes["nb"]["turn"],
    ) == ("b", "T1", 1)
    assert (
        "population p; this task has others, take one with --population: q (1 trials)"
        in done.stderr
    )


def test_svg_is_a_document_of_its_own_that_carries_out_nothing(
    run_dir: str, tmp_path: Path
) -> None:
    file = tmp_path / "task.svg"
    done = CliRunner().invoke(
        graph, [run_dir, "task1", "--format", "svg", "--out", str(file), "--population", "p"]
    )
    assert (done.exit_code, done.stdout.strip(), done.stderr) == (0, str(file), "")
    found = xml.dom.minidom.parseString(file.read_bytes())
    assert found.documentElement.namespaceURI == "http://www.w3.org/2000/svg"
    assert not found.getElementsByTagName("script")


def test_json_holds_the_rows_of_the_chosen_population(run_dir: str) -> None:
    found = msgspec.json.decode(
        CliRunner()
        .invoke(graph, [run_dir, "task1", "--format", "json", "--population", "q"])
        .stdout
    )
    assert ([node["node"] for node in found["nodes"]], found["edges"]) == (
        ["START", "na", "SUCCESS"],
        [],
    )


def test_why_says_which_keys_of_two_turns_are_equal(run_dir: str) -> None:
    same = CliRunner().invoke(graph, [run_dir, "--why", "T1:0", "T2:2"])
    assert same.stdout.splitlines()[:2] == ["action: equal", "observation: equal"]
    other = CliRunner().invoke(graph, [run_dir, "--why", "T1:1", "T2:1"])
    assert other.stdout.splitlines()[:2] == [
        "action: equal",
        'observation: [["tool",false,"5"]] | [["tool",false,"6"]]',
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "which task"),
        (["nothing"], "has no graph; the stage `topology` makes them"),
        (["task1", "--population", "z"], "known: p, q"),
        (["--why", "T1", "T2:1"], "give a trajectory and a turn of it"),
        (["--why", "T1:7", "T2:1"], "the agent took no turn 7 there"),
    ],
)
def test_what_is_not_there_is_said_with_the_remedy(
    run_dir: str, given: list[str], told: str
) -> None:
    done = CliRunner().invoke(graph, [run_dir, *given])
    assert isinstance(done.exception, ConfigError)
    assert told in str(done.exception)
