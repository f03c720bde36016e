"""The argument FLOW of commands: a file of the user's, or the name of a flow that is installed with
synth.
"""

from pathlib import Path
from typing import Any

import click


class FlowFile(click.ParamType[Path]):
    """See `synth.flows.flow_file.flow_path`."""

    name = "flow"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path of either."""
        from synth.flows.flow_file import flow_path

        return flow_path(value)
