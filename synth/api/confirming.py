"""Logged trials put to the test in their world."""

from pathlib import Path

from synth.api.bound import Files
from synth.api.proposals import confirming_flow
from synth.api.runs import Ended, RunResult, run
from synth.flows.own_flow import Settings


def confirm(
    run_dir: Path | str,
    *,
    set: Settings = (),
    environments: Files = (),
    quiet: bool = False,
    ended: Ended = lambda result: None,
) -> RunResult:
    """Tests what imported trials suggest: replays each logged prefix in its world and continues
    what was done there and what a trial that passed did; accepted tests become rows of dpo, kto and
    prm. See `run` for the arguments; `set` names who plays on (`models.explorer`).
    """
    flow = confirming_flow(run_dir, set, environments)
    return run(flow, run_dir=run_dir, environments=environments, quiet=quiet, ended=ended)
