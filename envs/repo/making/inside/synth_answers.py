"""What a repository's functions answer to some calls: a program, run where the repository stands.

Reads [[module, call]] from the file that is named, a call being Python; writes, for each, null or
[answer, error, whether the answer is what an iterator gives], as JSON to SYNTH_RESULT_FD.
"""

import importlib
import itertools
import json
import os
import signal
import sys
from typing import Any

MOST = 50
SECONDS = 0.5
literal = importlib.import_module("synth_calls").literal
_ACCIDENTS = (TypeError, AttributeError, NameError, RecursionError, MemoryError, ImportError)


def main() -> None:
    """All calls, each by itself."""
    descriptor = int(os.environ.pop("SYNTH_RESULT_FD"))
    with open(sys.argv[1]) as file:  # noqa: PTH123 - as the plug-ins do
        asked = json.load(file)
    answers = [_answer(module, call) for module, call in asked]
    if answers != [_answer(module, call) for module, call in asked]:
        again = [_answer(module, call) for module, call in asked]
        answers = [one if one == other else None for one, other in zip(answers, again, strict=True)]
    said = json.dumps(answers).encode()
    while said:
        said = said[os.write(descriptor, said) :]


def _answer(module: str, call: str) -> list[Any] | None:
    """What one call comes to."""
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        names: dict[str, Any] = {module.partition(".")[0]: importlib.import_module(module)}
        names[module.partition(".")[0]] = sys.modules[module.partition(".")[0]]
        found = eval(call, names)
        given = hasattr(type(found), "__next__")
        if given:
            found = list(itertools.islice(found, MOST))
            given = len(found) < MOST
            if not given:
                return None
        return [repr(found), "", given] if literal(found) and found == found else None
    except _ACCIDENTS:
        return None
    except Exception as error:  # noqa: BLE001 - any error may be the answer
        return ["", f"{type(error).__module__}:{type(error).__qualname__}", False]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _late(number: int, frame: object) -> None:
    raise MemoryError  # an accident, as those above


if __name__ == "__main__":
    main()
