"""Flows from files: strict, with overrides, wrong ones told with their place."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow, StageChoice
from tests.flow_files import read_flow

FLOW = """
name: x
env: {name: echo, tasks: 3}
stages:
  - rollout
  - filter: [solved]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "flow.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_stage_is_a_name_or_a_mapping(tmp_path: Path) -> None:
    flow = read_flow(write(tmp_path, FLOW))
    assert flow.stages == (
        StageChoice(name="rollout"),
        StageChoice(name="filter", settings=["solved"]),
    )


@pytest.mark.parametrize(
    ("override", "check"),
    [
        ("seed=9", lambda flow: flow.seed == 9),
        ("env.tasks=7", lambda flow: flow.env.tasks == 7),
        ("env.turns=2", lambda flow: flow.env.settings() == {"turns": 2}),
        ("stages.rollout.trials=5", lambda flow: flow.stages[0].settings == {"trials": 5}),
        ("stages.0.trials=5", lambda flow: flow.stages[0].settings == {"trials": 5}),
        (
            "models.explorer.policy=expert",
            lambda flow: flow.models == {"explorer": {"policy": "expert"}},
        ),
        ("name=quick", lambda flow: flow.name == "quick"),
        (
            "stages.rollout={trials: 5}",
            lambda flow: flow.stages[0] == StageChoice(name="rollout", settings={"trials": 5}),
        ),
        (
            "stages.filter=[reexecuted]",
            lambda flow: flow.stages[1] == StageChoice(name="filter", settings=["reexecuted"]),
        ),
        (
            "stages.1={filter: [reexecuted]}",
            lambda flow: flow.stages[1] == StageChoice(name="filter", settings=["reexecuted"]),
        ),
    ],
)
def test_overrides_reach_every_place(
    tmp_path: Path, override: str, check: Callable[[Flow], bool]
) -> None:
    assert check(read_flow(write(tmp_path, FLOW), [override]))


@pytest.mark.parametrize(
    "override",
    [
        *(
            "",
            "=",
            "seed",
            "a..b=1",
            ".env=1",
            "env.=1",
            "name.deeper=1",
            "name=\udc80",
            "\udc80=1",
        ),
        *("stages.nothing.trials=2", "stages.9=1", "stages.²=1", f"stages.{'9' * 5000}=1"),
        *(
            "env.tasks=[",
            "seed=&a [*a]",
            "seed=!!python/object:os.system x",
            f"seed={'9' * 30}",
            "seed=.nan",
        ),
    ],
)
def test_overrides_that_lead_nowhere_are_told(tmp_path: Path, override: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        read_flow(write(tmp_path, FLOW), [override])


def test_a_flow_survives_being_written_down(tmp_path: Path) -> None:
    flow = read_flow(write(tmp_path, FLOW))
    assert Flow.model_validate(flow.model_dump(mode="json")) == flow


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_flow(write(folder, text))
    return str(caught.value).removeprefix(f"{folder / 'flow.yaml'}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("? [1]\n: 2\n", ":1:3: not valid YAML: a key must be plain text, not a list or a mapping"),
        (
            "? {a: 1}\n: 2\n",
            ":1:3: not valid YAML: a key must be plain text, not a list or a mapping",
        ),
        (
            "name: !!python/object:os.system x\n",
            ":1:7: not valid YAML: the tag !!python/object:os.system has no meaning here",
        ),
        ("name: !!bool abc\n", ":1:7: not valid YAML: the tag !!bool has no meaning here"),
        ("name: !mine x\n", ":1:7: not valid YAML: the tag !mine has no meaning here"),
        ("<<: 3\nname: x\n", "expected a mapping or list of mappings for merging"),
        ('name: "\\ud800"\n', ":1:7: not valid YAML: half a surrogate pair is no text"),
        (
            "name: x\nmodels: &m {explorer: *m}\n",
            ":2:9: not valid YAML: an alias (*name) stands inside of what it names",
        ),
        (
            "name: x\nstages: &s [*s]\n",
            ":2:9: not valid YAML: an alias (*name) stands inside of what it names",
        ),
        ("name: x\nseed: 9223372036854775808\n", ":2:7: not valid YAML: a number beyond 64 bits"),
        (f"name: x\nseed: 0x{'f' * 5000}\n", ":2:7: not valid YAML: a number beyond 64 bits"),
        (
            "name: x\nmax_cost_usd: .inf\n",
            ":2:15: not valid YAML: neither infinity nor nan can be a setting",
        ),
        (
            "name: x\n---\nname: y\n",
            ":2:1: not valid YAML: expected a single document in the stream, but found another "
            "document",
        ),
        (
            "name: x\nmax_cost_usd: 1e400\n",
            ":2:15: not valid YAML: neither infinity nor nan can be a setting",
        ),
        (
            "name: x\nenv: {name: echo, tasks: 1000000000000}\n",
            ": env.tasks: must be at most 1000000",
        ),
        ("name: x\n1: 2\n", ":2:1: not valid YAML: the key 1 is no text; put it in quotes"),
        ("name: 5\n", ": name: must be text"),
        (
            "name: a/b\n",
            ": name: a folder is called after it, so it has letters, digits, '.', '_' and '-'",
        ),
        (
            "name: x\nenv: echo\n",
            ": env: must be a mapping of settings; allowed: difficulty, name, tasks",
        ),
        ("name: x\nstages: rollout\n", ": stages: must be a list"),
        (
            "name: x\nstages:\n- rollout:\n  trials: 3\n",
            ": stages: entry 0 has 2 keys; indent trials deeper",
        ),
        (
            "name: x\nstages: [[rollout]]\n",
            ": stages: entry 0 is neither a stage's name nor {name: {settings}}",
        ),
    ],
)
def test_what_no_flow_can_hold_is_told_with_its_place_in_plain_words(
    tmp_path: Path, text: str, message: str
) -> None:
    assert message in refusal(tmp_path, text)


@pytest.mark.parametrize("top", ["models", "env", "stages", "anything"])
def test_an_alias_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, top: str) -> None:
    levels = [f"  l{i + 1}: &l{i + 1} [{', '.join([f'*l{i}'] * 10)}]" for i in range(9)]
    text = "\n".join(
        [f"name: x\n{top}:", "  l0: &l0 [x, x, x, x, x, x, x, x, x, x]", *levels]
    )  # 10^10 values in 1 KB
    began = time.process_time()
    assert "aliases counted each time" in refusal(tmp_path, text)
    assert time.process_time() - began < 1.0


def test_anchors_and_merge_keys_work_and_dates_stay_text(tmp_path: Path) -> None:
    text = """
    name: x
    env: {name: echo, tasks: 3, since: 2026-01-02}
    models:
      explorer: &common {policy: expert, profiles: mixed}
      user: {<<: *common, profiles: correct}
    """
    flow = read_flow(write(tmp_path, text))
    assert flow.models == {
        "explorer": {"policy": "expert", "profiles": "mixed"},
        "user": {"policy": "expert", "profiles": "correct"},
    }
    assert flow.env is not None
    assert flow.env.settings() == {"since": "2026-01-02"}


@pytest.mark.parametrize("seed", [2**63 - 1, -(2**63), 0])
def test_seeds_have_64_bits(tmp_path: Path, seed: int) -> None:
    assert read_flow(write(tmp_path, FLOW), [f"seed={seed}"]).seed == seed


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("utf16", FLOW.encode("utf-16"), "not UTF-8 text"),
        ("binary", bytes(range(256)), "not UTF-8 text"),
        ("long", b"# " * 200_000, "longer than"),
    ],
)
def test_a_file_that_is_no_flow_is_told(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_flow(tmp_path / name)


def test_a_folder_an_endless_device_and_an_impossible_name_are_no_flow_files(
    tmp_path: Path,
) -> None:
    for path, message in (
        (tmp_path, "is a folder"),
        (Path("/dev/zero"), "/dev/zero"),
        (tmp_path / ("a" * 5000), "cannot be read"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_flow(path)


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_bytes(b"\xef\xbb\xbf" + FLOW.encode())
    assert read_flow(tmp_path / "flow.yaml").name == "x"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(st.characters(codec="utf-8"), max_size=60)
    | st.text("name: []{}&*!|>'\"%@`-\n\t#,?:0x~ ", max_size=40)
)
def test_any_text_is_a_flow_or_one_line(tmp_path: Path, text: str) -> None:
    with contextlib.suppress(ConfigError):
        read_flow(write(tmp_path, text))
        return
    with pytest.raises(ConfigError) as caught:
        read_flow(write(tmp_path, text))
    assert "\n" not in str(caught.value)
