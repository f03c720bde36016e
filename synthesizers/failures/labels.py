"""What is written down of an attempt: the test with its evidence, the label that is concluded from
it, or why there is none.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from synth.ledger.ledger import Score
from synth.schemas.environment import AgentTurn
from synth.schemas.labels import AttributionLabel, Changed, Side
from synth.schemas.trajectory import Trajectory, Turn
from synth.synthesizers.failures.planning import InjectionPlan
from synth.text.failure_modes import LEGEND_VERSION

INJECTION = "injection"
"""Metric of labels on mistakes of the agent: 1 confirmed, 0 weak, None replay_flip (which says only
that the recorded rest works).
"""
OBSERVATION_FAULT = "observation_fault"
"""The same for faults of the world, apart: they are no mistake of the agent, and no label on its
turn.
"""
RECOVERY = "recovery"
REPAIR = "repair"
CONTROL = "injection_control"
TEST, REPAIR_TEST = "injection_test", "repair_test"
"""Metrics of tests as they ended, 1 accepted, 0 not: what a label is worth is known once the
control of the whole stage is.
"""
OF_INJECTED_RUNS = frozenset({TEST, INJECTION, RECOVERY})
"""Whose subject is a run of the stage's own, which the flow is to see."""

Untested = Literal["replay_flip", "recovered"]


def executed(twin: Turn, injected: Turn) -> Changed:
    """State key and what the agent was shown, beside the twin's; a user's wording and call ids
    aside.
    """
    state = (
        twin.state_key is not None
        and injected.state_key is not None
        and twin.state_key != injected.state_key
    )
    return Changed(state, _shown(twin) != _shown(injected))


def _shown(turn: Turn) -> object:
    return [
        (o.content if o.planted is not None else o.as_given().content, o.source, o.error)
        for o in turn.observations
    ]


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """An injected run, with what was put there and what it did."""

    planned: InjectionPlan
    twin: Trajectory
    trajectory: Trajectory
    put: AgentTurn
    what: str
    effect: Changed
    on_policy_for: str
    extra: Mapping[str, Any] = {}

    @property
    def side(self) -> Side:
        """Whose doing it is."""
        return "environment" if self.planned.strategy == "environment" else "agent"


def test_row(injected: Injected, *, accepted: bool, evidence: Mapping[str, Any]) -> Score:
    """A test of an injected run, from which its label is concluded at the stage's end."""
    metric = INJECTION if injected.side == "agent" else OBSERVATION_FAULT
    label = _label(injected, label=metric, recovered=False, **evidence)
    return Score(
        injected.trajectory.trajectory_id, TEST, float(accepted), injected.planned.turn, label
    )


def untested_label(injected: Injected, status: Untested) -> Score:
    """A label that stands on no test: a recovery, or a flip by replay."""
    agent, recovered = injected.side == "agent", status == "recovered"
    metric = RECOVERY if recovered else INJECTION if agent else OBSERVATION_FAULT
    return Score(
        injected.trajectory.trajectory_id,
        metric,
        1.0 if recovered else None,
        injected.planned.turn,
        _label(injected, status=status, recovered=recovered),
    )


def _label(injected: Injected, **more: Any) -> AttributionLabel:
    """What was done to which run; it can be given to no dataset of preferences: no likelihood was
    measured (rigor.md, 5).
    """
    planned, twin = injected.planned, injected.twin
    agent = injected.side == "agent"
    turn = twin.turns[planned.turn]
    return AttributionLabel(
        side=injected.side,
        strategy=planned.strategy,
        mode=planned.mode,
        legend_version=LEGEND_VERSION,
        preferred=planned.strategy == "natural",
        clean_twin_id=twin.trajectory_id,
        original=AgentTurn(turn.content, turn.tool_calls, turn.thought),
        injected=injected.put if agent else None,
        description=injected.what,
        mistake_agent=(turn.agent or "agent") if agent else None,
        mistake_step=str(planned.turn) if agent else None,
        effect=injected.effect,
        earliest_tested=False,
        on_policy_for=injected.on_policy_for,
        likelihood="not measured",
        dpo=False,
        **injected.extra,
        **more,
    )
