"""Runs pytest with the plug-ins that lie beside this file.

pytest and they are imported before the repository is to be found: no file of it takes their place.
"""

import os
import sys
from importlib import import_module

import pytest


def main() -> int:
    """The tests, with the arguments of this command; what came of them goes to the descriptor that
    SYNTH_RESULT_FD names.
    """
    given = os.environ.pop("SYNTH_RESULT_FD", "")
    asked = os.environ.pop("SYNTH_LISTENER", "synth_results")
    listener = import_module(asked)
    plugins = [listener.listening(int(given))] if given else []

    tools = str(sys.path[0])
    here = os.getcwd()  # noqa: PTH109 - as short as it can be, before anything else
    sources = [here, f"{here}/src"]
    sys.path[0:1] = [*sources, tools]
    os.environ["PYTHONPATH"] = ":".join([*sources, tools])  # for processes that tests start
    return int(pytest.main(sys.argv[1:], plugins=plugins))


if __name__ == "__main__":
    sys.exit(main())
