"""A Ray cluster of two nodes on this machine, each with a state folder of its own, and a command
run on it.

`python -m tests.flows.ray_cluster FOLDER [--s3] [--kill] COMMAND...` in a network namespace with
loopback only: Ray binds what else there
is. `--s3`: beside an S3 server, whose bucket `ray` lies in FOLDER/bucket when all is over.
`--kill`: the second node, with all its
processes, once it plays.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.s3_server import serving

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}
SOON = {
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
}
"""A dead node is noticed within seconds instead of half a minute."""
SMALL = {"object_store_memory": 80 * 2**20, "include_dashboard": False}


@contextlib.contextmanager
def s3_server(folder: Path) -> Iterator[None]:
    """Meanwhile there is a bucket `ray`; afterwards a copy of it."""
    import fsspec

    with serving("ray") as (_, variables):
        os.environ.update(variables)
        yield
        fsspec.filesystem("s3").get("ray/", str(folder / "bucket"), recursive=True)


def kill_once_it_plays(cluster: Any, node: Any, folder: Path, over: threading.Event) -> None:
    """The node dies with an episode in its hands."""
    while not over.is_set():
        if any(path.read_bytes().count(b"\n") > 2 for path in folder.glob("journal/*/*.jsonl")):
            cluster.remove_node(node, allow_graceful=False)
            (folder / "killed").touch()
            return
        time.sleep(0.01)


def main(folder: Path, options: set[str], command: list[str]) -> int:
    """The command's exit code."""
    os.environ.update(QUIET)
    with s3_server(folder) if "--s3" in options else contextlib.nullcontext():
        from ray.cluster_utils import Cluster

        first = {
            "num_cpus": 1,
            "_system_config": SOON,
            "env_vars": QUIET | {"SYNTH_STATE_DIR": str(folder / "node0")},
            **SMALL,
        }
        cluster = Cluster(initialize_head=True, head_node_args=first)
        node = cluster.add_node(
            num_cpus=1, env_vars=QUIET | {"SYNTH_STATE_DIR": str(folder / "node1")}, **SMALL
        )
        cluster.wait_for_nodes()
        over = threading.Event()
        killer = threading.Thread(
            target=kill_once_it_plays, args=(cluster, node, folder / "node1", over)
        )
        if "--kill" in options:
            killer.start()
        try:
            return subprocess.run(
                command, env=os.environ | {"RAY_ADDRESS": cluster.address}, check=False
            ).returncode
        finally:
            over.set()
            if "--kill" in options:
                killer.join()
            cluster.shutdown()


if __name__ == "__main__":
    given = sys.argv[2:]
    chosen = {option for option in ("--s3", "--kill") if option in given[:2]}
    sys.exit(main(Path(sys.argv[1]), chosen, given[len(chosen) :]))
