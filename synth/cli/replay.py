"""`synth replay` and `synth recheck`: trajectories executed again; verdicts given again."""

from typing import TYPE_CHECKING, Any

from synth.cli.options import command, open_run, tell
from synth.schemas import UnboundError

if TYPE_CHECKING:
    from collections.abc import Mapping


@command
def replay(run: str, identities: tuple[str, ...], **chosen: Any) -> None:
    """Execute trajectories again (all valid ones, or those named) and compare; exit 1 where one
    differs.

    What starts an environment is never read from RUN: a run that was made here is bound by its
    record, every other by --env, or by the
    environments.yaml in your configuration folder. Exit 2 where an environment is not bound.

    \b
    Example:  synth replay runs/quickstart 3f2a
              synth replay runs/imported --env mcp=shop.yaml
    """
    from synth import replay as again

    tally = again(open_run(run), *identities, **chosen)
    _say(tally.differences, "not replayed", tally.left_out)
    tell(f"{tally.same} the same, {len(tally.differences)} different")
    if tally.unbound is not None:
        raise UnboundError(tally.unbound)
    if tally.differences:
        raise SystemExit(1)


@command
def recheck(run: str, **chosen: Any) -> None:
    """Give new verdicts from stored facts; the old ones are kept, changed rows are listed, exports
    honour the new ones.

    \b
    Example:  synth recheck runs/quickstart
              synth recheck runs/imported --env mcp=shop.yaml
    """
    from synth import recheck as again

    tally = again(open_run(run), **chosen)
    _say(tally.changed, "not rechecked", tally.left_out)
    tell(f"{tally.stayed} verdicts stay, {len(tally.changed)} change")
    if tally.unbound is not None:
        raise UnboundError(tally.unbound)


def _say(lines: list[str], not_done: str, left_out: "Mapping[str, int]") -> None:
    reasons = (f"{count} {not_done}: {why}" for why, count in sorted(left_out.items()))
    for line in (*lines, *reasons):
        tell(line)
