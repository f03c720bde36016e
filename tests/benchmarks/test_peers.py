"""The comparison with other tools: its server, its watch on processes, and synth's own part of it;
no other tool is installed here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import monotonic

import pytest

from benchmarks.peers.__main__ import rows
from benchmarks.peers.contenders import CALLS, CONTENDERS, HERE, Contender
from benchmarks.peers.environments import REQUIREMENTS
from benchmarks.peers.observed_server import reply_to_any
from benchmarks.peers.one_run import Ran, run
from benchmarks.peers.process_tree import Watch, cpu_s, memory_mb, tree

pytestmark = pytest.mark.slow
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
OURS = [each for each in CONTENDERS if each.environment is None]
BURNS = "import time\nwhile time.process_time() < 1: pass\ninput()"


def request(*turns: str, tools: tuple[str, ...]) -> bytes:
    """A request for the words `amber birch` after these assistant turns."""
    said = [{"role": "assistant", "content": turn} for turn in turns]
    messages = [
        {
            "role": "user",
            "content": "Echo these words in order, one call each, then finish: amber birch",
        },
        *said,
    ]
    offered = (
        {"tools": [{"type": "function", "function": {"name": name}} for name in tools]}
        if tools
        else {}
    )
    return json.dumps({"model": "benchmark", "messages": messages, **offered}).encode()


def answer(body: bytes) -> tuple[str, bool]:
    payload, last = reply_to_any(body)
    message = json.loads(payload)["choices"][0]["message"]
    return (
        message["tool_calls"][0]["function"]["name"] if message.get("tool_calls") else "text"
    ), last


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (request(tools=("echo", "finish")), ("echo", False)),
        (request("a", "b", tools=("echo", "finish")), ("finish", True)),
        (request("a", tools=("echo",)), ("echo", False)),
        (request("a", "b", tools=("echo",)), ("text", True)),
        (request(tools=()), ("text", True)),
    ],
)
def test_every_tool_gets_as_many_calls_and_an_end_that_it_knows(
    body: bytes, expected: tuple[str, bool]
) -> None:
    assert answer(body) == expected


@LINUX
@pytest.mark.parametrize(
    "contender", [OURS[0], OURS[-1]], ids=lambda each: f"{each.driver}-{each.calls}"
)
def test_synth_does_its_part_with_either_engine_in_either_shape(
    contender: Contender, tmp_path: Path
) -> None:
    ran = run(contender, 2 * CALLS, 2, 20.0, tmp_path)
    assert 0 < ran.efficiency <= 1
    assert ran.most_in_flight == 2
    assert ran.before_s > 0
    assert ran.peak_mb > 20


@LINUX
def test_a_tool_that_does_other_work_is_no_measurement(tmp_path: Path) -> None:
    python = tmp_path / "idle" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (tmp_path / "idle.py").write_text("")
    with pytest.raises(RuntimeError, match="idle: 0 calls of 8"):
        run(
            Contender("idle", os.path.relpath(tmp_path / "idle", HERE / "drivers"), "idle", 1),
            CALLS,
            2,
            1.0,
            tmp_path,
        )


@LINUX
def test_a_childs_cpu_and_memory_count_while_it_lives() -> None:
    code = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURNS!r}], "
        "stdin=sys.stdin)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        deadline = monotonic() + 60
        while (
            cpu_s(found := tree(process.pid)) < 0.5 and monotonic() < deadline
        ):  # half of what is burnt: the kernel counts in whole ticks
            pass
        assert len(found) == 2
        assert cpu_s(found) >= 0.5
        assert memory_mb(found) > memory_mb(found[:1]) > 1
        process.kill()


def test_cpu_between_two_moments_is_interpolated() -> None:
    watch = Watch(0, samples=[(10.0, 1.0), (20.0, 3.0), (30.0, 3.0)])
    assert watch.cpu_between(15.0, 25.0) == pytest.approx(1.0)
    assert watch.cpu_between(10.0, 40.0) == pytest.approx(2.0)


def test_the_table_compares_medians_with_the_first_of_the_shape() -> None:
    ours, other = Contender("ours", "vllm", None, 1), Contender("other", "drive_other", "other", 1)
    runs = {ours: [ran(0.9), ran(0.8), ran(1.0)], other: [ran(0.3), ran(0.45), ran(0.6)]}
    table = rows(runs, "single turns")
    assert "| ours | 0.90 (0.80 to 1.00) | 1.00x |" in table[2]
    assert "| other | 0.45 (0.30 to 0.60) | 0.50x |" in table[3]


def ran(efficiency: float) -> Ran:
    return Ran(efficiency, 1.0, 1.0, 1.0, 1.0, 1.0, 100.0, 2)


def test_every_tool_has_its_driver_and_its_pinned_environment() -> None:
    for contender in CONTENDERS:
        if contender.environment is not None:
            assert (HERE / "drivers" / f"{contender.driver}.py").is_file()
            lines = (
                (REQUIREMENTS / f"{contender.environment}.txt")
                .read_text(encoding="utf-8")
                .splitlines()
            )
            assert all("==" in line for line in lines)
