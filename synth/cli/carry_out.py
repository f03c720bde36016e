"""A flow given on the command line: read, carried out here or under Prefect, its result said."""

import asyncio
import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synth.engine.progress import Progress
    from synth.flows.bindings import Said
    from synth.flows.synthesize import Recipe
    from synth.schemas.flow import Flow


def carry_out(
    recipe: "Recipe",
    flow: "Flow",
    flow_file: Path,
    url: str,
    progress: "Progress",
    *,
    prefect: bool,
    ray: bool = False,
    said: "Mapping[str, Said] | None" = None,
) -> None:
    """Raises `SynthError`, also where no attempt was valid or a role answered nothing; what was committed stays."""
    from synth.cli.outcome import say_result
    from synth.engine.closing import failure
    from synth.engine.silent_roles import silent_roles
    from synth.schemas.errors import SynthError

    with in_file(flow_file):
        if prefect or os.environ.get("PREFECT_API_URL"):
            from synth.flows.prefect_run import run_under_prefect

            runner = None
            if ray:
                from synth.flows.ray_run import on_ray, ray_runner

                recipe, runner = on_ray(flow, url, said), ray_runner()
            done, reports = asyncio.run(run_under_prefect(recipe, flow, url, progress, runner))
        else:
            done, reports = asyncio.run(recipe(flow, url, progress, None))
    say_result(done, reports)
    failed = failure(reports) or next(silent_roles(done), None)
    if failed is not None:
        raise SynthError(failed)


@contextlib.contextmanager
def in_file(flow_file: Path) -> Iterator[None]:
    """What is wrong in the flow is told with its file."""
    from synth.schemas.errors import ConfigError, FlowError

    try:
        yield
    except FlowError as error:
        raise ConfigError(f"{flow_file}: {error}") from error
