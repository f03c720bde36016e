"""`synth audit` as a user types it, and the page that it writes."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from synth.cli.audit import audit, say_report
from synth.engine.table import Table
from synth.envs.audit.report import AuditAnswer, Report
from synth.envs.conformance.finding import QuestionFinding
from synth.report.audit_page import audit_page
from tests.envs.audit.holed_worlds import HOLES
from tests.synth.cli.test_commands import refused, synth

HOLED = "tests.envs.audit.holed_worlds"


class Reading(HTMLParser):
    """What is in a page: its tags with attributes, and whether each one that opens is closed."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
def test_a_sound_world_exits_0_with_a_table_and_a_page(tmp_path: Path) -> None:
    done = synth("audit", "echo", "--tasks", 3, "--set", "turns=3", "--html", tmp_path / "a.html")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "audit of echo 1, 3 tasks from seed 7"
    assert "Sound: 13 of 13 questions passed, none failed." in lines
    assert [line.split()[1] for line in lines[1:13]] == ["passed"] * 12
    assert "audit echo: determinism   passed" in done.stderr
    text = (tmp_path / "a.html").read_text()
    assert "synth audit echo --tasks 3 --seed 7 --set turns=3" in text
    assert Reading(text).open == []


def test_a_question_that_could_not_be_asked_says_why_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    why = "the world does not claim an expert"
    unasked = AuditAnswer(
        "expert",
        "",
        tuple(QuestionFinding(None, why, f"part_{number}") for number in range(3)),
        (),
        0.0,
    )
    partly = AuditAnswer(
        "upkeep",
        "",
        (
            QuestionFinding(True, "done", "closes"),
            QuestionFinding(None, "the world does not claim facts", "facts"),
        ),
        (),
        0.0,
    )
    say_report(Report("mine", "1", "none", {}, 7, 2, [unasked, partly]), None)
    said = capsys.readouterr().out
    assert said.count(why) == 1
    assert "upkeep.facts not asked: the world does not claim facts" in said


@pytest.mark.slow
def test_a_hole_exits_1_and_is_named_in_table_page_and_json(tmp_path: Path) -> None:
    done = synth(
        "audit",
        f"{HOLED}:BAD_SNAPSHOT",
        "--tasks",
        2,
        "--set",
        "turns=3",
        "--html",
        tmp_path / "a.html",
        "-q",
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "snapshots     FAILED     snapshot_equals_replay: task " in done.stdout
    assert "Not sound: 1 of 13 questions failed (snapshots)." in done.stdout
    assert "1 of 13 questions failed (snapshots)" in (tmp_path / "a.html").read_text()
    done = synth(
        "audit",
        f"{HOLED}:BAD_SNAPSHOT",
        "--tasks",
        2,
        "--set",
        "turns=3",
        "--only",
        "snapshots",
        "--only",
        "tasks",
        "--json",
    )
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["passed"], report["failed"]) == (False, ["snapshots"])
    assert [question["name"] for question in report["questions"]] == ["tasks", "snapshots"]


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLES)
def test_every_planted_hole_is_exit_1_and_named(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    question, part, _ = HOLES[name]
    arguments = [
        f"{HOLED}:{name.upper()}",
        "--only",
        question,
        "--tasks",
        "2",
        "--set",
        "turns=3",
        "--call-ms",
        "20",
        "--json",
        "-q",
    ]
    with pytest.raises(SystemExit) as left:
        audit.main(arguments, standalone_mode=False)
    report = json.loads(capsys.readouterr().out)
    assert (left.value.code, report["failed"]) == (1, [question])
    assert part in {
        found["name"] for found in report["questions"][0]["parts"] if found["passed"] is False
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nowhere"],
            "unknown world 'nowhere'; known: echo, mcp, repo, sql, sql_file, storefront, tau2, "
            "textworld, or your own as package.module:attribute",
        ),
        (["no.such.package:WORLD"], "cannot import no.such.package"),
        (
            ["echo", "--set", "turms=3"],
            "--set turms is not a setting; allowed: blocking_ms, drift_at_turn",
        ),
        (["echo", "--set", "turns=many"], "--set turns: must be a whole number"),
        (["echo", "--set", "turns"], "--set turns: write it as a.b=value"),
        (["echo", "--tasks", "0"], "Invalid value for '--tasks'"),
        (["echo", "--tasks", "100000000"], "100000000 is not in the range 1<=x<=100000"),
        (
            ["echo", "--seed", "99999999999999999999"],
            "--seed 99999999999999999999: a seed has at most 64 bits",
        ),
        (["echo", "--call-ms", "nan"], "Invalid value for '--call-ms': nan is no number"),
        (["echo", "--call-ms", "0"], "0.0 is not in the range 0<x<=1000000."),
        (["echo", "--episode-mb", "-1"], "Invalid value for '--episode-mb'"),
        (["echo", "--limit-s", "inf"], "Invalid value for '--limit-s'"),
        (
            ["echo", "--only", "beauty"],
            "--only beauty: not a question; known: tasks, protocol, determinism",
        ),
        (["echo", "--html", "/no/such/folder/a.html"], "there is no folder /no/such/folder"),
    ],
)
def test_what_the_user_must_mend_is_one_line_and_exit_2(arguments: list[str], message: str) -> None:
    assert message in refused(synth("audit", *arguments))


def test_the_page_names_the_command_that_gives_it_again(tmp_path: Path) -> None:
    arguments = [
        "echo",
        "--tasks",
        "2",
        "--seed",
        "5",
        "--set",
        "turns=3",
        "--only",
        "tasks",
        "--only",
        "bots",
        "--limit-s",
        "60.5",
    ]
    audit.main([*arguments, "--html", str(tmp_path / "a.html"), "-q"], standalone_mode=False)
    assert f"<code>synth audit {' '.join(arguments)}</code>" in (tmp_path / "a.html").read_text()


def hostile_report() -> Report:
    """What a world may put into its answers."""
    finding = QuestionFinding(
        False, '<script>alert(1)</script> & "quotes" \x00\x1b[31m \ud800', "hostile_input"
    )
    table = Table(
        "<b>Errors</b>",
        ("mistake", "answer"),
        (("<img src=x onerror=alert(1)>", "1.5 %"), ("b", "\x07bell \udfff")),
    )
    return Report(
        "<i>x",
        "1",
        "?",
        {"a": "<u>"},
        1,
        2,
        (AuditAnswer("errors", "Is it?", (finding,), (table,), 0.1),),
    )


def test_whatever_a_world_says_is_text_on_the_page() -> None:
    text = audit_page(hostile_report(), "synth audit '<x>'")
    text.encode()
    reading = Reading(text)
    assert reading.open == []
    assert {"script", "img", "b", "i", "u", "x"} & {tag for tag, _ in reading.tags} == set()
    assert all(c == "\n" or c.isprintable() for c in text)


def test_the_page_needs_nothing_from_elsewhere_and_can_be_walked_by_keyboard() -> None:
    reading = Reading(audit_page(hostile_report(), "synth audit x"))
    links = [
        value
        for _, attributes in reading.tags
        for name, value in attributes.items()
        if name in {"href", "src"} and value
    ]
    assert all(link.startswith("#") or link == "data:," for link in links)
    targets = {attributes.get("id") for _, attributes in reading.tags}
    assert {link[1:] for link in links if link.startswith("#")} <= targets
    assert ("details", {"open": None}) in reading.tags
    assert [tag for tag, _ in reading.tags if tag in {"h1", "h2"}] == ["h1", "h2"]
    assert "prefers-color-scheme: dark" in audit_page(hostile_report(), "")
