"""`@filter`: keyword parameters are settings, as strict as those of our own filters; what can be
none is refused in one line.
"""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import synth
from synth import Case, Verdict, filter
from tests.flow_files import echo_flow
from tests.trajectories import make_trajectory

MINE = """
from synth import Case, Verdict, filter

@filter(version=2)
async def short(case: Case, *, longest: int = 20) -> Verdict:
    '''Keep trajectories of at most `longest` turns.'''
    return Verdict(keep=len(case.trajectory.turns) <= longest, reason="length")
"""
LAMP = {"env.tasks": 2, "env.turns": 2}


@filter(version=3)
async def short(
    case: Case,
    *,
    longest: int = 20,
    unit: Literal["turns", "calls"] = "turns",
    name: str | None = None,
) -> Verdict:
    """Keep short ones."""
    return Verdict(keep=len(case.trajectory.turns) <= longest, reason=name or unit)


def judged(**settings: Any) -> Verdict:
    case = Case(make_trajectory(turns=3), None, lambda name, config: pytest.fail("opened"))
    verdict = asyncio.run(short.judge(case, short.config(**settings)))  # type: ignore[arg-type]
    assert isinstance(verdict, Verdict)
    return verdict


def test_keyword_parameters_are_the_settings_with_their_defaults() -> None:
    assert isinstance(short, synth.Filter)
    assert (short.version, short.scope, short.opens) == (3, "trajectory", False)
    assert short.config.__doc__ == "Keep short ones."
    assert short.config().model_dump() == {"longest": 20, "unit": "turns", "name": None}
    assert (judged(), judged(longest=2), judged(longest=3, name="x")) == (
        Verdict(True, "turns"),
        Verdict(False, "turns"),
        Verdict(True, "x"),
    )


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of the user's own where they stand; each test's has another name, for modules are
    imported once.
    """
    name = f"mine_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return f"{name}:short"


def flow(*filters: Any) -> synth.Flow:
    return echo_flow(stages=[{"rollout": {"trials": 1}}, {"filter": list(filters)}])


def test_a_flow_names_it_as_package_and_name(mine: str, tmp_path: Path) -> None:
    done = synth.run(flow({mine: {"longest": 1}}), run_dir=tmp_path / "run", set=LAMP, quiet=True)
    rows = done.ledger.frame("decisions").collect()
    turns = {t.trajectory_id: len(t.turns) for t in done.ledger.trajectories()}
    assert rows.height == 2
    assert {row["trajectory_id"]: row["keep"] for row in rows.to_dicts()} == {
        one: count <= 1 for one, count in turns.items()
    }
    assert set(rows["filter"]) == {mine}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return Verdict(keep=1 / 0, reason='')", "ZeroDivisionError: division by zero.*:7 in"),
        ("return True", "gave a bool, not a Verdict"),
        ("return None", "gave a NoneType, not a Verdict"),
    ],
)
def test_a_filter_that_breaks_is_one_line_with_its_name_the_trajectory_and_the_place(
    mine: str, tmp_path: Path, body: str, message: str
) -> None:
    module = tmp_path / f"{mine.partition(':')[0]}.py"
    head, _, _ = module.read_text().partition("    return")
    module.write_text(f"{head}    {body}\n")
    with pytest.raises(synth.ConfigError) as caught:
        synth.run(flow(mine), run_dir=tmp_path / "run", set=LAMP, quiet=True)
    line = str(caught.value)
    assert re.search(f"^filter '{mine}', trajectory .*{message}", line), line
    assert "\n" not in line
    assert synth.open_ledger(tmp_path / "run").frame("trajectories").collect().height == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"longer": 1}, "longer is not a setting; allowed: longest"),
        ({"longest": "20"}, "longest"),
        ({"longest": 20.0}, "longest"),
    ],
)
def test_settings_that_it_does_not_take_are_errors_of_the_flow(
    mine: str, tmp_path: Path, settings: Any, message: str
) -> None:
    with pytest.raises(synth.ConfigError, match=message) as caught:
        synth.run(flow({mine: settings}), run_dir=tmp_path / "run", quiet=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


async def unannotated(case, *, longest=20):  # type: ignore[no-untyped-def]
    return Verdict(True, "")


async def positional(case: Case, longest: int = 20) -> Verdict:
    return Verdict(True, "")


async def anything(case: Case, **settings: int) -> Verdict:
    return Verdict(True, "")


async def caseless(*, longest: int = 20) -> Verdict:
    return Verdict(True, "")


async def empty() -> Verdict:
    return Verdict(True, "")


async def unreadable(
    case: Case,
    *,
    longest: "Nowhere" = 20,  # type: ignore[name-defined]  # noqa: F821
) -> Verdict:
    return Verdict(True, "")


async def shadowing(case: Case, *, model_dump: int = 20) -> Verdict:
    return Verdict(True, "")


async def hidden(case: Case, *, _longest: int = 20) -> Verdict:
    return Verdict(True, "")


async def untypable(case: Case, *, lock: object() = None) -> Verdict:  # type: ignore[valid-type]
    return Verdict(True, "")


def unawaited(case: Case, *, longest: int = 20) -> Verdict:
    return Verdict(True, "")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            unannotated,
            "@filter unannotated: parameter `longest` has no annotation; write for instance "
            "longest: int",
        ),
        (
            positional,
            "@filter positional: parameter `longest: int = 20` is no keyword; write the settings "
            "after `*`, each by name",
        ),
        (anything, "@filter anything: parameter `**settings: int` is no keyword"),
        (caseless, "@filter caseless: the first parameter is the case, `longest` cannot be"),
        (empty, "@filter empty: takes no parameter; the first is the case"),
        (
            unreadable,
            "@filter unreadable: an annotation cannot be read: name 'Nowhere' is not defined",
        ),
        (
            shadowing,
            "@filter shadowing: parameter `model_dump` has a name that settings cannot have",
        ),
        (hidden, "@filter hidden: parameter `_longest` has a name that settings cannot have"),
        (untypable, "@filter untypable: its parameters make no settings"),
        (unawaited, "@filter unawaited: write it as `async def`"),
    ],
)
def test_what_can_be_no_filter_is_refused_in_one_line(
    function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(synth.ConfigError) as caught:
        filter(version=1)(function)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
