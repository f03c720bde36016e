"""A flow given on the command line: read, carried out here or under Prefect, its result said."""

import asyncio
import os
from collections.abc import Mapping
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
    """Raises `SynthError`, also where no attempt was valid or a role answered nothing; what was
    committed stays.
    """
    from synth.cli.outcome import say_result
    from synth.flows.finished import refuse_failed
    from synth.flows.flow_file import in_file

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
    refuse_failed(done, reports)
