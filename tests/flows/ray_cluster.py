"""A Ray cluster of two nodes on this machine, each with a state folder of its own, and a command run on it.

`python -m tests.flows.ray_cluster FOLDER COMMAND...` in a network namespace with loopback only: Ray binds what else there is.
"""

import os
import subprocess
import sys
from pathlib import Path


def main(folder: Path, command: list[str]) -> int:
    """The command's exit code."""
    from ray.cluster_utils import Cluster

    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}
    os.environ.update(quiet)
    small = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "env_vars": quiet | {"SYNTH_STATE_DIR": str(folder / "node0")}, **small},
    )
    cluster.add_node(num_cpus=1, env_vars=quiet | {"SYNTH_STATE_DIR": str(folder / "node1")}, **small)
    cluster.wait_for_nodes()
    try:
        return subprocess.run(command, env=os.environ | {"RAY_ADDRESS": cluster.address}, check=False).returncode
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
