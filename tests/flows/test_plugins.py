"""Parts of installed packages: found by the names of their entry points, imported once the user's
flow names one, never for data.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import synth
from synth.flows.environments import open_env
from synth.flows.own.own_flow import given_flow, what_runs
from synth.flows.parts import plugin, plugin_names
from synth.ledger import StoredLedger
from synth.schemas.errors import ConfigError, UnboundError
from tests.flow_files import echo_flow

SMALL = {"env.tasks": 1, "env.turns": 1}
PARTS = """
from dataclasses import replace
import msgspec
from synth import Case, Verdict, filter
from synth.envs.echo import WORLD

@filter(version=1)
async def short(case: Case, *, longest: int = 20) -> Verdict:
    return Verdict(keep=len(case.trajectory.turns) <= longest, reason="length")

def tasks(settings, seed, count):
    made = WORLD.make_tasks(settings, seed, count)
    return [msgspec.structs.replace(task, env="theirs") for task in made]

ROOM = replace(WORLD, spec=msgspec.structs.replace(WORLD.spec, name="theirs"), make_tasks=tasks)
"""
Install = Callable[..., str]


@pytest.fixture
def install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Install:
    """Puts a package with entry points where packages are installed; returns the name of its
    module, another one in each test.
    """
    monkeypatch.setattr(sys, "path", [*sys.path])

    def put(
        package: str, points: dict[str, dict[str, str]], into: Path = tmp_path / "site-packages"
    ) -> str:
        module = f"{package}_{abs(hash(request.node.nodeid))}"
        into.mkdir(parents=True, exist_ok=True)
        (into / f"{module}.py").write_text(PARTS)
        folder = into / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [
            f"[{group}]\n"
            + "".join(f"{name} = {module}{target}\n" for name, target in names.items())
            for group, names in points.items()
        ]
        (folder / "entry_points.txt").write_text("\n".join(lines))
        sys.path += [str(into)] if str(into) not in sys.path else []
        return module

    return put


def flow(**changes: Any) -> synth.Flow:
    return echo_flow(
        **{
            "stages": [{"rollout": {"trials": 1}}, {"filter": [{"short": {"longest": 0}}]}],
            **changes,
        }
    )


@pytest.mark.slow
def test_a_flow_names_a_filter_of_an_installed_package(install: Install, tmp_path: Path) -> None:
    module = install("acme", {"synth.filters": {"short": ":short"}})
    assert plugin("filter", "short") == f"{module}:short"
    assert plugin("world", "short") is None
    assert plugin_names("filter") == {"short"}
    assert module not in sys.modules
    done = synth.run(flow(), run_dir=tmp_path / "run", set=SMALL, quiet=True)
    assert module in sys.modules
    assert done.ledger.frame("decisions").select("filter", "keep").collect().rows() == [
        ("short", False)
    ]


def test_settings_of_such_a_filter_are_as_strict(install: Install, tmp_path: Path) -> None:
    install("acme", {"synth.filters": {"short": ":short"}})
    with pytest.raises(ConfigError, match="longer is not a setting; allowed: longest"):
        synth.run(
            flow(),
            run_dir=tmp_path / "run",
            set={"stages.filter": [{"short": {"longer": 1}}]},
            quiet=True,
        )


@pytest.mark.slow
def test_nothing_of_a_package_is_imported_for_a_flow_that_names_none_of_it(
    install: Install, tmp_path: Path
) -> None:
    module = install(
        "acme", {"synth.filters": {"solved": ":short"}, "synth.envs": {"echo": ":ROOM"}}
    )
    done = synth.run(echo_flow(), run_dir=tmp_path / "run", set=SMALL, quiet=True)
    assert done.outcomes == {"success": 2}  # a name of ours is ours
    assert module not in sys.modules
    assert plugin_names("filter") == frozenset()


def test_a_name_that_two_packages_give_is_refused_in_one_line(
    install: Install, tmp_path: Path
) -> None:
    install("acme", {"synth.filters": {"short": ":short"}})
    install("other", {"synth.filters": {"short": ":short"}})
    with pytest.raises(
        ConfigError, match="filter 'short': given by acme and other; uninstall all but one, or name"
    ) as caught:
        synth.run(flow(), run_dir=tmp_path / "run", quiet=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("", "entry point is 'acme_[0-9]+', not module:attribute"),
        (":absent", "has no absent"),
        ("_no:x", "cannot import acme_[0-9]+_no"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_refused_in_one_line(
    install: Install, tmp_path: Path, target: str, message: str
) -> None:
    install("acme", {"synth.filters": {"short": target}})
    with pytest.raises(ConfigError, match=message) as caught:
        synth.run(flow(), run_dir=tmp_path / "run", quiet=True)
    assert "\n" not in str(caught.value)


def test_unknown_names_are_told_with_those_of_packages(install: Install, tmp_path: Path) -> None:
    install(
        "acme", {"synth.filters": {"short": ":short"}, "synth.synthesizers": {"again": ":short"}}
    )
    with pytest.raises(ConfigError, match=r"unknown filter 'shorter'; known: .*short, .*solved"):
        synth.run(flow(stages=[{"filter": ["shorter"]}]), run_dir=tmp_path / "run", quiet=True)
    with pytest.raises(ConfigError, match="unknown stage 'nothing'; known: again, "):
        synth.run(flow(stages=["nothing"]), run_dir=tmp_path / "run", quiet=True)
    with pytest.raises(ConfigError, match="'again' is a Filter, not a Study or Method class"):
        synth.run(flow(stages=["again"]), run_dir=tmp_path / "run", quiet=True)


@pytest.mark.slow
def test_an_environment_of_a_package_is_opened_for_the_users_flow_and_not_for_a_row(
    install: Install, tmp_path: Path
) -> None:
    module = install("acme", {"synth.envs": {"theirs": ":ROOM"}})
    with pytest.raises(UnboundError, match="the environment 'theirs' is not bound: data names it"):
        open_env("theirs", {})
    assert module not in sys.modules
    made = echo_flow(env={"name": "theirs", "tasks": 1, "turns": 1})
    done = synth.run(made, run_dir=tmp_path / "run", quiet=True)
    assert done.outcomes == {"success": 2}
    assert {task["env"] for task in done.ledger.frame("tasks").collect().to_dicts()} == {"theirs"}


def test_the_users_environments_file_binds_one(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme", {"synth.envs": {"theirs": ":ROOM"}})
    (tmp_path / "synth").mkdir()
    (tmp_path / "synth" / "environments.yaml").write_text("theirs: {name: theirs}\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert open_env("theirs", {"turns": 1}) is not None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"env": {"name": "theirs", "tasks": 1}}, "env.name: theirs"),
        ({"stages": [{"filter": ["short"]}]}, "short"),
        ({"stages": [{"filter": [{"short": {}}]}]}, "short"),
        ({"stages": [{"again": {}}]}, "again"),
        ({"models": {"explorer": {"policy": "slowly"}}}, "slowly"),
    ],
)
def test_a_flow_file_in_a_strangers_run_makes_no_entry_point_run(
    install: Install, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    module = install(
        "acme",
        {
            "synth.envs": {"theirs": ":ROOM"},
            "synth.filters": {"short": ":short", "solved": ":short"},
            "synth.synthesizers": {"again": ":short"},
            "synth.policies": {"slowly": ":short"},
        },
    )
    StoredLedger(str(tmp_path / "theirs"), create=True)
    content = {"name": "x", "env": {"name": "echo"}, "stages": [{"filter": ["solved"]}], **changes}
    (tmp_path / "theirs" / "flow.yaml").write_text(yaml.safe_dump(content))
    assert said in what_runs(content)
    with pytest.raises(
        ConfigError, match=r"which was not made here by this flow, and says what runs"
    ):
        given_flow(tmp_path / "theirs" / "flow.yaml", ())[0]
    assert module not in sys.modules
    ours = {"name": "x", "env": {"name": "echo"}, "stages": [{"filter": ["solved"]}]}
    assert what_runs(ours) == []


def test_a_package_that_lies_in_a_run_is_none(install: Install, tmp_path: Path) -> None:
    """Where a stranger's run is the current folder of a notebook, that folder is on the path."""
    StoredLedger(str(tmp_path / "theirs"), create=True)
    install("acme", {"synth.filters": {"short": ":short"}}, into=tmp_path / "theirs")
    assert str(tmp_path / "theirs") in sys.path
    assert plugin("filter", "short") is None
    StoredLedger(str(tmp_path / "site-packages" / "elsewhere"), create=True)
    install("ours", {"synth.filters": {"short": ":short"}})
    assert plugin("filter", "short") is not None
