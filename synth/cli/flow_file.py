"""The argument FLOW of commands: a file of the user's, or the name of a flow that is installed with synth."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import click


class FlowFile(click.ParamType[Path]):
    """A path; a bare name that is no file here (`quickstart`) is that of an installed flow (`synth.configs`)."""

    name = "flow"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path of either; one that leads nowhere is refused where it is read."""
        path = Path(value)
        if path.suffix or len(path.parts) > 1 or path.exists():
            return path
        installed = Path(str(files("synth.configs").joinpath(f"{path}.yaml")))
        return installed if installed.is_file() else path
