"""`synth status`: who is at work on which run, how far, what has died; and the schedules of a
Prefect server.
"""

from typing import Any

from synth.cli.options import command, tell, tell_json, warn


@command
def status(as_json: bool, **chosen: Any) -> None:
    """Show runs and schedules. Runs need no server; schedules are those of the one that
    PREFECT_API_URL names.

    \b
    Example:  synth status
              synth status --run runs/quickstart --json
              synth status --reap
    """
    from synth import status as looked_at

    found = looked_at(**chosen, told=warn)
    if as_json:
        tell_json(found.as_json())
        return
    for line in found.lines:
        tell(line)
    for line in found.notes:
        warn(line)
