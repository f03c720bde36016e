"""The one normaliser: what two runs of the same actions may differ in without being different.

Only what a process's memory and its temporary folders leak is erased. Times, ids and numbers
survive: a world that is
deterministic has a virtual clock.
"""

import re

import msgspec

from synth.schemas import Observation

_OBJECT_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,16}\b")
_TEMPORARY_NAME = re.compile(r"/tmp/tmp[a-z0-9_]{8}\b")


def normalised_text(text: str) -> str:
    """A text with object addresses (`at 0x7f…`) and temporary names (`/tmp/tmpk3j2h1g0`) erased;
    all else to the letter.
    """
    return _TEMPORARY_NAME.sub("/tmp/tmp", _OBJECT_ADDRESS.sub("at 0x", text))


def normalised(observation: Observation) -> Observation:
    """An observation with its content normalised; source, call id, name and error flag as they
    are.
    """
    return msgspec.structs.replace(observation, content=normalised_text(observation.content))
