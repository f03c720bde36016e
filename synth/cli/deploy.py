"""`synth deploy`: a flow on a schedule, on a Prefect server."""

from typing import Any

from synth.cli.options import command, tell


@command
def deploy(**chosen: Any) -> None:
    """Register a flow on the Prefect server that PREFECT_API_URL names, with a schedule; workers
    run it (docs/deployments.md).

    \b
    Example:  synth deploy configs/quickstart.yaml --cron "0 2 * * *"
              synth deploy shop.yaml --interval 3600 --run-dir 's3://b/{name}-{date}' --workers 8
              synth deploy shop.yaml --work-pool dock --job-variable image=synth:1
              synth deploy configs/quickstart.yaml --cron "0 2 * * *" --dry-run
    """
    from synth import deploy as registered

    for line in registered(**chosen):
        tell(line)
