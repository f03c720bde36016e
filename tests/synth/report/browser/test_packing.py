"""A run's trajectories in its page: nothing breaks out, nothing secret stays in, and the size is
kept.
"""

import base64
import gzip
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.ledger import Decision, Score
from synth.ledger.tables.graph_rows import Edge, Node
from synth.report.browser.packing import pack
from synth.text.redaction.findings import Scan
from synth.text.secrets.finder import Finder
from tests.synth.report.episodes import HOSTILE, episode, ledger_of, pair, report, turn

pytestmark = pytest.mark.slow

_BLOCK = re.compile(
    r'<script type="application/octet-stream" id="packed-([\w-]+)">([A-Za-z0-9+/=]*)</script>\n'
)


def unpacked(page: str) -> dict[str, Any]:
    """What a page holds, by name."""
    return {
        name: json.loads(gzip.decompress(base64.b64decode(blob)))
        for name, blob in _BLOCK.findall(page)
    }


def packed(ledger: StoredLedger, room: int = 10**6) -> dict[str, Any]:
    out = StringIO()
    pack(ledger, out, room)
    assert _BLOCK.sub("", out.getvalue()) == ""
    return unpacked(out.getvalue())


def test_the_list_names_parents_by_row_and_says_what_filters_wait_for(tmp_path: Path) -> None:
    decisions = [
        Decision("aa11" * 6, "solved", False, "failure", 0.0),
        Decision("bb22" * 6, "solved", True, "success", 1.0),
    ]
    found = packed(ledger_of(str(tmp_path / "run"), pair(), decisions=decisions))["list"]
    columns, names = found["columns"], found["names"]
    assert columns["id"] == ["aa11" * 6, "bb22" * 6]
    assert columns["parent"] == [None, 0]
    assert [names["outcome"][at] for at in columns["outcome"]] == ["failure", "success"]
    assert [[names["reason"][at] for at in row] for row in columns["reasons"]] == [
        ["solved: failure"],
        ["solved: success"],
    ]
    assert [[names["filter"][at] for at in row] for row in columns["dropped"]] == [["solved"], []]
    assert [[names["injected"][at] for at in row] for row in columns["injected"]] == [
        [],
        ["FM-1.3"],
    ]
    assert found["goals"] == ["Orders."]


def test_a_record_holds_what_a_reader_looks_for(tmp_path: Path) -> None:
    scores = [
        Score("bb22" * 6, "recovery", 0.123456, 2),
        Score("bb22" * 6, "gain", float("nan"), None, {"steps": [0.3333333, 1]}),
    ]
    ledger = ledger_of(str(tmp_path / "run"), pair(), scores=scores)
    chunk = packed(ledger)["chunk-0"]
    retry, texts = chunk["records"][1], chunk["texts"]
    third = retry["turns"][2]
    assert (third["by"], third["injected"], retry["turns"][0]["mask"]) == (
        "injected",
        "FM-1.3",
        "before_pivot",
    )
    assert texts[third["seen"][0]["text"]] == HOSTILE
    assert texts[third["seen"][0]["planted"][0]] == "the true answer"
    assert texts[retry["guidance"]] == "Mind O-77."
    assert sorted(
        (metric, turn, value, detail and texts[detail])
        for metric, turn, value, detail in retry["scores"]
    ) == [
        ("gain", None, None, '{"steps":[0.3333,1]}'),
        ("recovery", 2, 0.1235, None),
    ]


def test_long_texts_give_way_until_the_page_fits_and_the_page_says_so(tmp_path: Path) -> None:
    noise = "".join(f"{n * 2654435761 % 2**32:08x}" for n in range(6000))
    long = [turn(n, f"O-{n}", content=noise[n:]) for n in range(4)]
    ledger = ledger_of(str(tmp_path / "run"), [episode("cc33" * 6, long)])
    whole, small = StringIO(), StringIO()
    assert pack(ledger, whole, 10**6).shortened == 0
    found = pack(ledger, small, 6000)
    assert (found.shortened, found.unopened) == (4, 0)
    assert found.characters < 6000 < len(whole.getvalue())
    assert unpacked(small.getvalue())["list"]["notes"]["shortened"] == 4


def test_without_any_room_a_trajectory_is_listed_and_said_not_to_be_there(tmp_path: Path) -> None:
    found = packed(ledger_of(str(tmp_path / "run"), pair()), room=100)
    assert "chunk-0" not in found
    assert found["list"]["columns"]["chunk"] == [None, None]
    assert found["list"]["notes"]["unopened"] == 2


def test_the_page_is_the_same_each_time(tmp_path: Path) -> None:
    ledger = ledger_of(str(tmp_path / "run"), pair())
    assert report(ledger, "synth report") == report(ledger, "synth report")


@pytest.mark.parametrize(("keep", "reason"), [(True, "redacted"), (False, "email")])
def test_what_was_found_to_be_secret_stands_nowhere_on_the_page(
    tmp_path: Path, keep: bool, reason: str
) -> None:
    secret = "dora.nash77@nashworks.dev"
    told = episode(
        "dd44" * 6, [turn(0, "O-1", content=f"Your address is {secret}."), turn(1, secret)]
    )
    findings = [
        {"place": f.place, "start": f.start, "end": f.end, "kind": f.kind, "number": f.number}
        for f in Scan(Finder()).findings(told)
    ]
    assert len(findings) == 4
    decisions = [Decision(told.trajectory_id, "secrets", keep, reason, 2.0, {"findings": findings})]
    scores = [Score(told.trajectory_id, "leak", 1.0, None, {"what": f"said {secret.upper()}"})]
    nodes = [
        Node(told.task_id, "START", "p", "exact", 2, 1, ()),
        Node(told.task_id, "a", "p", "exact", 2, 1, ("get_order",), told.trajectory_id, 1),
        Node(told.task_id, "SUCCESS", "p", "exact", 1, 1, ()),
    ]
    ends = [("START", "a"), ("a", "SUCCESS")]
    edges = [Edge(told.task_id, one, other, "p", "exact", 1, 1) for one, other in ends]
    ledger = ledger_of(
        str(tmp_path / "run"),
        [told],
        scores=scores,
        decisions=decisions,
        nodes=nodes,
        edges=edges,
        goal=f"Write to {secret}.",
    )
    page = report(ledger, "synth report")
    data = unpacked(page)
    assert "get_order {&quot;order&quot;:&quot;[REDACTED:email]&quot;}" in page
    assert secret in json.dumps(
        unpacked(report(ledger_of(str(tmp_path / "bare"), [told]), "synth report"))
    )
    for text in (page, json.dumps(data)):
        assert secret.casefold() not in text.casefold()
    assert data["list"]["goals"] == ["Write to [REDACTED:email]."]
    assert data["list"]["notes"]["looked"] is True
