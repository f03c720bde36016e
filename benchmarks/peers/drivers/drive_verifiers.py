"""verifiers 0.4: `run_eval`, which is `vf-eval` without its dashboard and upload; every call passes
its interception servers.
"""

import asyncio
import logging
import os
import sys
from pathlib import Path

from echo_work import given


def main() -> None:
    """One episode per goal."""
    work = given()
    os.environ["ECHO_WORK"] = sys.argv[1]
    from verifiers.v1.cli.eval.runner import run_eval
    from verifiers.v1.cli.resolve import narrow_config
    from verifiers.v1.configs.cli.eval import EvalConfig

    logging.disable(logging.WARNING)
    config = narrow_config(EvalConfig, ["--env.taskset.id", "verifiers_echo"]).model_validate(
        {
            "env": {
                "taskset": {"id": "verifiers_echo"},
                "interception": {
                    "type": "elastic",
                    "multiplex": 16,
                },  # measured: 32, the default, and 1, 4, 8 cost more
                "agent": {"harness": {"id": "verifiers_echo"}, "runtime": {"type": "subprocess"}},
            },
            "model": work.model,
            "client": {"type": "eval", "base_url": work.url, "api_key_var": "NO_KEY"},
            "max_concurrent": work.in_flight,
            "rich": None,
            "push": False,
            "output_dir": Path(work.folder),
        }
    )
    episodes = asyncio.run(run_eval(config))
    wrong = [trace for episode in episodes for trace in episode.traces if trace.errors]
    if wrong or len(episodes) != len(work.goals):
        raise SystemExit(
            f"{len(wrong)} of {len(episodes)} episodes failed: {wrong[0].errors if wrong else ''}"
        )


if __name__ == "__main__":
    main()
