"""A run of strangers' names and texts, shown in every place where a person reads it: page, cards,
graphs, terminal, JSON.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from click.testing import CliRunner
from rich.console import Console

from synth.cli.show import show
from synth.cli.sql import sql
from synth.engine.funnel import funnel_markdown, funnel_table
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.hub.card.card import Described, card
from synth.hub.outgoing import Searched
from synth.hub.publication import File
from synth.hub.row_facts import RowFacts
from synth.hub.source import Config
from synth.ledger import StoredLedger
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from tests.attack.hostile_surfaces import TEXTS, assert_is_text
from tests.attack.test_texts_escaped import LIVE, MARKDOWN, Seen, read
from tests.synth.exporters.solved import export_sft
from tests.synth.report.episodes import episode, ledger_of, report


def made(at: int, text: str) -> Trajectory:
    """A trajectory that is called, plays, says and sees nothing but this text."""
    calls = (ToolCall.received(f"c{text}", text, json.dumps({text: text})),)
    seen = (Observation(text, Source.TOOL, f"c{text}", text), Observation(text, Source.USER))
    turns = [Turn(0, text, calls, seen, text, text), Turn(1, text)]
    tool = {
        "type": "function",
        "function": {
            "name": text,
            "description": text,
            "parameters": {"type": "object", "properties": {}},
        },
    }
    check = CheckResult(True, (SubVerdict(text, True, (text,)),), {}, text)
    named = {
        "env": text,
        "policy": text,
        "model": text,
        "role": text,
        "weights_id": text,
        "synthesizer": text,
        "system_prompt": text,
    }
    return episode(
        f"{at:024x}",
        turns,
        **named,
        tools=(tool,),
        check_result=check,
        task_id=f"task {text}",
        opening=(Observation(text, Source.USER),),
    )


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> StoredLedger:
    return ledger_of(
        str(tmp_path_factory.mktemp("strange") / "run"),
        [made(at, text) for at, text in enumerate(TEXTS)],
        goal=TEXTS[0],
    )


def live(markdown: str, ours: set[str]) -> set[str]:
    body = markdown.split("---\n", 2)[2] if markdown.startswith("---\n") else markdown
    return read(body)[0] & (LIVE - ours)


def test_the_page_holds_no_element_of_theirs(ledger: StoredLedger) -> None:
    page = report(ledger, f"synth report {TEXTS[0]}")
    benign = ledger_of("memory://benign", [made(at, f"word{at}") for at in range(len(TEXTS))])
    own = Seen()
    own.feed(report(benign, "synth report x"))
    seen = Seen()
    seen.feed(page)
    assert {tag for tag, _ in seen.tags} <= {tag for tag, _ in own.tags}
    assert (
        Counter(tag for tag, _ in seen.tags)["script"]
        == Counter(tag for tag, _ in own.tags)["script"]
    )
    attributes = [(name, value or "") for _, given in seen.tags for name, value in given.items()]
    assert [name for name, _ in attributes if name.startswith("on")] == []
    assert {name for name, _ in attributes} <= {name for _, given in own.tags for name in given}
    assert all(
        value.startswith(("#", "data:,"))
        for name, value in attributes
        if name in ("href", "src", "action")
    )
    assert_is_text(page)


def test_the_card_of_a_folder_holds_no_markup_of_theirs(tmp_path: Path) -> None:
    given = [(made(at, text), {}) for at, text in enumerate(TEXTS)]
    export_sft(given, DatasetFolder(str(tmp_path / "out")), RowSettings(form="openai"))
    written = (tmp_path / "out" / "README.md").read_text()
    written = re.sub(
        r"\n<!-- written by synth [0-9a-f]+; an edited card is not replaced unasked -->\n",
        "",
        written,
    )
    assert (
        live(written, {"heading_open", "strong_open", "fence", "softbreak", "bullet_list_open"})
        == set()
    )
    assert_is_text(written)


def _reports(text: str) -> dict[str, dict[str, Any]]:
    return {
        text: {
            "kind": "method",
            "unit": text,
            "attempted": 2,
            "verified": 1,
            "rejected": {text: 1},
            "also": [text],
        },
        "filter": {
            "kind": "filter",
            "filters": [
                {"name": text, "kept": {text: 1}, "dropped": {text: 1}, "undefined": {text: 1}}
            ],
        },
    }


def test_the_funnel_is_a_table_and_a_list_and_nothing_else() -> None:
    for text in TEXTS:
        kinds, _, cells = read(funnel_markdown(_reports(text)))
        assert kinds & LIVE <= {"bullet_list_open"}
        assert cells == 10
        console = Console(record=True, width=100, force_terminal=True, file=StringIO())
        console.print(funnel_table(_reports(text)).grid())
        assert_is_text(console.export_text())


def test_the_card_on_the_hub_holds_no_markup_of_theirs(ledger: StoredLedger) -> None:
    text = "\n".join(TEXTS)
    counted = {text: 1, **dict.fromkeys(TEXTS, 1)}
    told = {
        "rows": 1,
        "trained_turns": 1,
        "loss": 0,
        "loss_unit": "characters",
        "notes": TEXTS,
        "left_out": counted,
        "filtered": counted,
    }
    facts = RowFacts()
    facts.take(pa.RecordBatch.from_pydict({"text": ["x"]}))
    shards = {str(at): File(name, b"") for at, name in enumerate(TEXTS)}
    skills = File(text, b"{}\n")
    config = Config(text, "sft", "trl", shards, told, {"honour": TEXTS}, skills)
    licence = {"license": "other", "license_name": text, "license_link": text}
    searched = Searched(0, 0, 0, None)
    one = Described(
        ledger,
        text,
        licence,
        [config],
        {text: facts},
        searched,
        0,
    )
    written = card(one)
    assert (
        live(written, {"heading_open", "strong_open", "fence", "softbreak", "bullet_list_open"})
        == set()
    )
    assert_is_text(written)
    parsed = yaml.safe_load(written.split("---\n")[1])
    assert parsed["license_name"] == text
    assert parsed["configs"][0]["data_files"][0]["path"] == TEXTS
    fences = [
        token.content
        for token in MARKDOWN.parse(written.split("---\n", 2)[2])
        if token.type == "fence"
    ]
    compile(next(fence for fence in fences if "load_dataset" in fence), "card", "exec")


def _commands(ledger: StoredLedger) -> Iterator[tuple[Any, list[str]]]:
    url = ledger.storage.url
    for at in range(0, len(TEXTS), 3):
        yield show, [url, f"{at:024x}"]
        yield show, [url, f"{at:024x}", "--json"]
        yield show, [url, f"{at:024x}", "--prompt"]
        yield show, [url, f"{at:024x}", "--prompt", "--json"]
    yield sql, [url, "SELECT * FROM turns"]
    yield sql, [url, "SELECT * FROM turns", "--json"]
    yield sql, [url, "SELECT * FROM trajectories", "--json"]


def test_no_command_sends_to_a_terminal_what_it_would_act_on(ledger: StoredLedger) -> None:
    for command, words in _commands(ledger):
        done = CliRunner().invoke(command, words)
        assert done.exit_code == 0
        assert_is_text(done.stdout)
        if "--json" in words:
            json.loads(done.stdout)
            assert done.stdout.isascii()


def test_json_says_every_text_as_it_was(ledger: StoredLedger) -> None:
    for at, text in enumerate(TEXTS):
        told = json.loads(
            CliRunner().invoke(show, [ledger.storage.url, f"{at:024x}", "--json"]).stdout
        )
        assert told["turns"][0]["content"] == told["env"] == text
