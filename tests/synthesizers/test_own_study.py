"""A study of the user's own: what breaks in it is one line that says where, a raised version does
its stage anew.
"""

import re
from pathlib import Path

import pytest

import synth
from synth.schemas import Flow
from tests.flow_files import run_flow
from tests.synthesizers.fork_flows import fork_flow
from tests.synthesizers.fork_world import dice

MINE = """
from synth import Arm, BranchPoint, Episodes, Proposal, StepLabel, Study, Trials, Unit, synthesizer

@synthesizer("first_act", version={version})
class FirstAct(Study):
    role: str = "explorer"

    def plan(self, base: Trials):
        {plan}
        for trial in base.failures():
            yield Unit(BranchPoint(trial, turn=len(trial.turns) - 1))

    {propose}

    def arms(self, unit, proposal):
        {arms}
        return Arm("treated", force=proposal.act), Arm("control", force=unit.recorded_act)

    def judge(self, unit, played):
        yield StepLabel.tested(unit, played.sequential_test("{arm}"))
"""
SOUND = {"version": 1, "plan": "", "propose": "", "arms": "", "arm": "treated"}
WRONG_PROPOSE = "def propose(self, unit, ask): return []"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"first_{abs(hash(request.node.nodeid))}"


def flow(module: str) -> Flow:
    content = fork_flow(tasks=4, left=50).model_dump(mode="json")
    content["stages"][1] = {f"{module}:FirstAct": {}}
    return Flow.model_validate(content)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"plan": "1 / 0"}, "first_act: plan: ZeroDivisionError"),
        ({"propose": WRONG_PROPOSE}, "first_act: propose, turn .* of trajectory .*: TypeError"),
        ({"arms": "unit.nothing"}, "first_act: arms, turn .* of trajectory .*'nothing'"),
        ({"arm": "third"}, "first_act: judge, turn .* of trajectory .*third"),
    ],
)
def test_what_breaks_is_one_line_with_the_function_the_turn_and_the_trajectory(
    mine: str, tmp_path: Path, broken: dict[str, str], message: str
) -> None:
    (tmp_path / f"{mine}.py").write_text(MINE.format(**{**SOUND, **broken}))
    with pytest.raises(synth.ConfigError) as caught:
        run_flow(flow(mine), str(tmp_path / "run"))
    assert re.search(f"^{message}", str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_raised_version_does_the_stage_anew_and_the_same_one_rests(
    mine: str, tmp_path: Path
) -> None:
    url = str(tmp_path / "run")
    for module, version in ((mine, 1), (f"{mine}_later", 2)):
        (tmp_path / f"{module}.py").write_text(MINE.format(**{**SOUND, "version": version}))

    def keys(module: str) -> set[str]:
        run_flow(flow(module), url)
        query = "SELECT DISTINCT stage_key FROM labels_all WHERE metric = 'critical_step'"
        rows = synth.open_ledger(url).sql(query).fetchall()
        return {key for (key,) in rows}

    first = keys(mine)
    dice.opened = 0
    assert keys(mine) == first
    assert dice.opened == 0
    assert len(keys(f"{mine}_later") - first) == 1
