"""Recorded trajectories executed again, and verdicts given again."""

from pathlib import Path

from synth.api.bound import Files, bindings_for
from synth.api.opened import Ledger, stored
from synth.api.waiting import waited
from synth.engine.progress import progress_for
from synth.engine.runs.replaying import RecheckTally, ReplayTally, recheck_all, replay_all


def replay(
    ledger: Ledger | Path | str,
    *ids: str,
    environments: Files = (),
    quiet: bool = False,
) -> ReplayTally:
    """Executes trajectories again, those named or all valid ones, and compares every observation.

    What could not be executed is counted by reason; `unbound` says how an environment is bound that
    is not. Raises
    `ConfigError` for an id that names none.
    """
    run = stored(ledger)
    open_env = bindings_for(run, environments).open_env
    return waited(replay_all(run, open_env, ids, progress_for(quiet=quiet)))


def recheck(
    ledger: Ledger | Path | str,
    *,
    environments: Files = (),
    quiet: bool = False,
) -> RecheckTally:
    """Gives new verdicts by today's checks from stored facts; the old ones are kept, exports honour
    the new ones.
    """
    run = stored(ledger)
    open_env = bindings_for(run, environments).open_env
    return waited(recheck_all(run, open_env, progress_for(quiet=quiet)))
