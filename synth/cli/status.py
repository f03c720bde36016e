"""`synth status`: who is at work on which run, how far, what has died; and the schedules of a
Prefect server.
"""

import json
from typing import Any

import click

from synth.cli.options import command, tell, warn
from synth.schemas import ascii_json


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
        click.echo(ascii_json(json.dumps(found.as_json(), indent=2)))
        return
    for line in found.lines:
        tell(line)
    for line in found.notes:
        warn(line)
