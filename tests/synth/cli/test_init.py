"""`synth init`: what the templates are, and that nothing which stands there is lost."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from synth import ConfigError, check_flow, list_templates, write_template
from synth.cli.init import init

CONFIGS = Path(__file__).resolve().parents[3] / "configs"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def invoked(*arguments: str) -> Result:
    return CliRunner().invoke(init, arguments)


def test_each_flow_of_configs_is_listed_with_its_first_line() -> None:
    listed = dict(line.split(maxsplit=1) for line in invoked().output.splitlines())
    assert listed.keys() == {path.stem for path in CONFIGS.glob("*.yaml")}
    assert (
        listed["vllm"] == "Trials of a model behind one or several vLLM servers, on the storefront"
    )
    assert all(path.read_text().startswith("# ") for path in CONFIGS.glob("*.yaml"))


def test_a_template_is_written_whole_beside_what_it_needs(tmp_path: Path) -> None:
    done = invoked("storeroom")
    assert done.exit_code == 0, done.output
    for name in ("storeroom.yaml", "storeroom.py"):
        assert (tmp_path / name).read_bytes() == (CONFIGS / name).read_bytes()
    assert done.output.startswith("wrote storeroom.yaml\nwrote storeroom.py\nnext: ")
    assert check_flow(tmp_path / "storeroom.yaml").stages[0] == "tasks"


@pytest.mark.parametrize("there", ["storeroom.yaml", "storeroom.py"])
def test_what_stands_there_is_left_and_nothing_is_written_beside_it(
    there: str, tmp_path: Path
) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(ConfigError, match=f"^{there}: it is there already"):
        write_template("storeroom")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_a_link_to_nowhere_is_something_too(tmp_path: Path) -> None:
    (tmp_path / "vllm.yaml").symlink_to("nowhere")
    with pytest.raises(ConfigError, match="is there already"):
        write_template("vllm")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nope",), "'nope' is no template; there are curate, "),
        (("vllm", "--out", "mine.txt"), "mine.txt: a flow file is called NAME.yaml"),
        (("vllm", "--out", "no/where.yaml"), "no/where.yaml: cannot be written: No such file"),
        (("--out", "mine.yaml"), "--out: name a template too"),
    ],
)
def test_what_cannot_be_written_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    done = invoked(*arguments)
    assert isinstance(done.exception, ConfigError)
    assert str(done.exception).startswith(said)


@pytest.mark.parametrize(
    "template", sorted(set(list_templates()) - {"repo", "textworld", "curate"})
)
def test_a_template_is_a_valid_flow_as_it_stands(template: str) -> None:
    """Repo needs a pool, textworld an extra, and curate a run."""
    (written, *_) = write_template(template, "mine.yaml")
    check_flow(written)


@pytest.mark.parametrize(
    "env", ["{name: sql, tasks: 2}", '{name: "storeroom:Storeroom", tasks: 2}']
)
def test_the_whole_mission_is_a_flow_over_any_of_three_worlds(env: str) -> None:
    write_template("storeroom")
    (full,) = write_template("full")
    settings = [f"env={env}", "name=other"]
    checked = check_flow(full, set=settings)
    assert checked.stages == check_flow(full).stages
    assert {"reverse_task", "critical_step", "topology", "report"} < set(checked.stages)
