"""What a trainer's own environment needs beside synth, which is installed there without what it
depends on (docs/training.md).
"""

import subprocess
import sys

BROUGHT_BY_TRAINERS = {
    "annotated_types",
    "msgspec",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
    "yaml",
}
CODE = """
import sys, synth.rl.episode
tops = {name.partition(".")[0] for name, one in sys.modules.items() if hasattr(one, "__file__")}
print(*sorted(name for name in tops - sys.stdlib_module_names if not name.startswith("_")))
"""


def test_an_episode_for_a_trainer_needs_msgspec_and_what_trainers_bring() -> None:
    asked = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert set(asked.stdout.split()) - {"cython_runtime", "synth"} <= BROUGHT_BY_TRAINERS
