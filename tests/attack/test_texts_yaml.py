"""What a person writes in a flow means what it looks like, or is one line with its place."""

import itertools
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as some

from synth.filters.rubric.rubric import read_rubric
from synth.flows.resolve import resolve
from synth.schemas.errors import ConfigError, FlowError
from synth.schemas.text.yaml_text import read_yaml
from tests.flow_files import read_flow

SURPRISES = [
    "1:30",
    "12:30:01",
    "1:30.5",
    "017",
    "08",
    "00",
    "0o17",
    "0b101",
    "1_000",
    "1_0.5",
    "0x_1f",
    "3_",
    "yes",
    "no",
    "on",
    "off",
    "Yes",
    "OFF",
    "-017",
    "+1:30",
    ".inf",
    "-.inf",
    ".nan",
    "1e400",
    "9" * 20,
    "0x" + "f" * 17,
    "!!python/name:os.system x",
    "!!int '1'",
    "!x 1",
    "*nobody",
    "@x",
    "`x",
    "%x",
    "[1",
    "{a: 1",
    "'x",
    '"\\ud800"',
    "? [1]",
]
NO_WHOLE_NUMBERS = [
    "8.0",
    "1e1",
    "'8'",
    '"8"',
    "true",
    "True",
    "~",
    "null",
    "",
    "[8]",
    "{a: 8}",
    "2026-01-01",
    "eight",
    "8.5",
    "=",
    "0.0",
    "-.5",
]
NO_TEXTS = ["8", "8.0", "true", "~", "1e3", "0x1f", "4.10"]
NO_BOOLS = ["1", "0", "'true'", "y", "n", "1.0", "t"]
FLOW = """name: x
seed: {seed}
env: {{name: echo, tasks: {tasks}, turns: {turns}}}
models: {{explorer: {{policy: {policy}}}}}
stages:
- rollout: {{trials: {trials}}}
- export: {{include_scripted: {scripted}}}
"""
SOUND = {
    "seed": "3",
    "tasks": "4",
    "turns": "2",
    "policy": "expert",
    "trials": "8",
    "scripted": "true",
}


def refused(folder: Path, **written: str) -> str:
    path = folder / "flow.yaml"
    path.write_text(FLOW.format(**SOUND | written))
    with pytest.raises((ConfigError, FlowError)) as caught:
        resolve(read_flow(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_it_looks_like_is_taken(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW.format(**SOUND))
    flow = read_flow(tmp_path / "flow.yaml")
    resolve(flow)
    assert (flow.seed, flow.stages[0].settings) == (3, {"trials": 8})


@pytest.mark.parametrize(
    ("place", "value"), list(itertools.product(["seed", "tasks", "turns", "trials"], SURPRISES))
)
def test_no_surprise_becomes_a_number(tmp_path: Path, place: str, value: str) -> None:
    if place != "turns":
        assert ":" in refused(tmp_path, **{place: value})
    else:
        with pytest.raises(ConfigError):
            read_yaml(f"turns: {value}\n", "x")


@pytest.mark.parametrize(
    ("place", "value"), list(itertools.product(["seed", "tasks", "trials"], NO_WHOLE_NUMBERS))
)
def test_what_is_no_whole_number_is_none(tmp_path: Path, place: str, value: str) -> None:
    assert place in refused(tmp_path, **{place: value})


@pytest.mark.parametrize("value", NO_TEXTS)
def test_what_is_no_text_is_none(tmp_path: Path, value: str) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(f"name: {value}\n")
    with pytest.raises(ConfigError, match="name: must be text"):
        read_flow(path)


@pytest.mark.parametrize("value", NO_BOOLS)
def test_what_is_neither_true_nor_false_is_neither(tmp_path: Path, value: str) -> None:
    assert "include_scripted: must be true or false" in refused(tmp_path, scripted=value)


@pytest.mark.parametrize(
    "key", ["1", "1.5", "true", "null", "~", "on", "no", "1:30", "0o7", "[a]", "{a: b}", "9" * 20]
)
def test_keys_are_text(key: str) -> None:
    with pytest.raises(ConfigError, match=r"^x:\d+:\d+: not valid YAML"):
        read_yaml(f"? {key}\n: value\n", "x")


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2",
        "a: {b: 1, b: 2}",
        "a: 1\n'a': 2",
        "a: 1\n\ta: 2",
        "a: 1\n--- \nb: 1",
        "a: b: c",
    ],
)
def test_what_two_readers_might_read_differently_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_yaml(text, "x")


@pytest.mark.parametrize(
    "merged", ["{x: 1, x: 2}", "{1: 2}", "{~: 2}", "[{y: 1}, {x: 1, x: 2}]", "{<<: {x: 1, x: 2}}"]
)
def test_what_is_merged_is_read_as_strictly(merged: str) -> None:
    with pytest.raises(ConfigError, match=r"^x:1:\d+: not valid YAML"):
        read_yaml(f"a: {{<<: {merged}}}", "x")


def test_a_mapping_that_is_merged_twice_and_merges_itself_keeps_its_own_values() -> None:
    text = (
        "base: &base {k: 1, m: 1}\none: &one {<<: *base, k: 2}\ntwo: {<<: *one, m: 3}\nthree: "
        "{<<: [*one, *base]}\n"
    )
    assert read_yaml(text, "x") == {
        "base": {"k": 1, "m": 1},
        "one": {"k": 2, "m": 1},
        "two": {"k": 2, "m": 3},
        "three": {"k": 2, "m": 1},
    }


@pytest.mark.parametrize("value", ["-0x1F", "+0x1F", ".5_0", "0x_1", "1_0.5"])
def test_numbers_of_one_version_alone_are_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="x:1:4: not valid YAML: some read"):
        read_yaml(f"a: {value}", "x")


def test_overrides_are_read_as_flows_are(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW.format(**SOUND))
    for override in (
        "stages.rollout.trials=1:30",
        "stages.rollout.trials='8'",
        "seed=true",
        "stages.rollout.trials=1_0",
    ):
        with pytest.raises((ConfigError, FlowError)):
            resolve(read_flow(tmp_path / "flow.yaml", [override]))


@pytest.mark.parametrize("value", ["1:30", "yes", "'8'", "8.0"])
def test_rubrics_are_read_as_flows_are(tmp_path: Path, value: str) -> None:
    (tmp_path / "mine.yaml").write_text(
        f"name: {value}\naxes: {{a: [{{name: b, scale: {value}}}]}}\n"
    )
    with pytest.raises(ConfigError) as caught:
        read_rubric(str(tmp_path / "mine.yaml"))
    assert "\n" not in str(caught.value)


SCALARS = some.text("0123456789_:.eEoxbXafnyst+-~=", min_size=1, max_size=7)


@settings(max_examples=400)
@given(SCALARS)
def test_a_scalar_that_both_versions_of_yaml_are_not_at_one_about_is_no_number(text: str) -> None:
    try:
        ours = read_yaml(f"a: {text}\n", "x")
    except ConfigError:
        return
    if not isinstance(ours, dict) or set(ours) != {"a"} or isinstance(ours["a"], str):
        return
    theirs = yaml.safe_load(f"a: {text}\n")["a"]
    assert ours["a"] == (float(theirs) if isinstance(theirs, str) else theirs)
