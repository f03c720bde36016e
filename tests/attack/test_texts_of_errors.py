"""Texts of strangers in errors, in the last net before a terminal, and in graphs."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from synth.ledger.tables.graph_rows import Node
from synth.schemas.text.printing import printable
from synth.topology.graph import START, SUCCESS
from synth.topology.stored_graph import GraphRows, as_json, graphml
from tests.attack.hostile_surfaces import TEXTS, assert_is_text


def test_errors_quote_names_and_files_without_what_a_terminal_acts_on(tmp_path: Path) -> None:
    evil = "a\x1b]52;c;cm0=\x07\x9b2J\u202e\u2066\u200b[red]\r"
    flow = tmp_path / "flow.yaml"
    flow.write_text(json.dumps({"name": "x", evil: 1}))
    for words in (
        ["show", str(tmp_path), evil],
        ["run", evil],
        ["run", str(flow)],
        ["sql", evil, "x"],
        ["import", evil, "--into", "x"],
        [evil],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "synth.cli.main", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "PATH": "/usr/bin",
                "HOME": str(tmp_path),
            },
        )
        assert done.returncode in (1, 2)
        assert_is_text(done.stdout + done.stderr)
        assert len(done.stderr.splitlines()) == 1


def test_the_last_net_catches_what_a_line_of_ours_forgot() -> None:
    code = "import sys; from synth.cli import streams; streams.mend(); "
    code += "print('a\\x9b2J\\u202eb\\x1b[31m\\rc'); print('d\\x1b]0;x\\x07', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert_is_text(done.stdout + done.stderr)
    assert done.stdout.strip() == printable("a\x9b2J\u202eb\x1b[31m\rc")


def test_graphs_are_xml_and_ascii_json_with_every_text_in_them() -> None:
    nodes = [Node("t", START, "p", "exact", 2, 1), Node("t", SUCCESS, "p", "exact", 1, 1)]
    for text in TEXTS:
        node = Node("t", text, text, "exact", 1, 1, (text,), text, 0)
        given = GraphRows([*nodes, node], [], {text: text})
        ElementTree.fromstring(graphml(given))
        assert_is_text(graphml(given).decode())
        written = as_json(given).decode()
        assert written.isascii()
        assert json.loads(written)["nodes"][2]["said"] == text
