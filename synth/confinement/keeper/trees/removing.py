"""Folders taken away with all in them, however deep."""

import os
import subprocess

from synth.confinement.keeper.trees.differences import remove


def remove_tree(place: str) -> None:
    """Removes a folder of ours. `rm` costs a process, but copes with any depth."""
    try:
        remove(None, place)
    except OSError:
        words = ["rm", "-rf", "--", os.path.abspath(place)]  # noqa: PTH100 - no link is resolved
        subprocess.run(words, check=False, stderr=subprocess.DEVNULL)
