"""A flow as its user gives it: a file of theirs, the name of one that is installed with synth, or a
`Flow`; settings replaced.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from typing import Any

from synth.flows.overrides import put
from synth.flows.own_flow import refuse_what_a_run_says
from synth.flows.yaml_file import flow_of, read_content
from synth.schemas.errors import ConfigError, FlowError
from synth.schemas.flow import Flow

Settings = Mapping[str, Any] | Sequence[str]
"""In place of a flow's own: values by name (`{"env.tasks": 5}`), or as on the command line
(`"env.tasks=5"`).
"""


def flow_path(written: str | Path) -> Path:
    """A path; a bare name that is no file here (`quickstart`) is that of an installed flow
    (`synth.configs`).

    A path that leads nowhere is refused where it is read.
    """
    path = Path(written)
    if path.suffix or len(path.parts) > 1 or path.exists():
        return path
    installed = Path(str(files("synth.configs").joinpath(f"{path}.yaml")))
    return installed if installed.is_file() else path


def given_flow(given: Flow | Path | str, settings: Settings) -> tuple[Flow, str]:
    """The flow with `settings` in place of its own, and how it is called in messages. Raises
    `ConfigError`.
    """
    if isinstance(given, Flow):
        if not settings:
            return given, f"flow {given.name}"
        content, where = _content_of(given), f"flow {given.name}"
    else:
        path = flow_path(given)
        refuse_what_a_run_says(path)
        content, where = read_content(path), str(path)
    written = () if isinstance(settings, Mapping) else tuple(settings)
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        put(content, str(name), deepcopy(value), f"set {name!r}")
    return flow_of(content, written, where), where


def _content_of(flow: Flow) -> dict[str, Any]:
    """A flow as a file would say it: a stage is {name: settings}."""
    content = flow.model_dump(mode="json", exclude_unset=True)
    return {
        **content,
        "stages": [{choice.name: deepcopy(choice.settings)} for choice in flow.stages],
    }


@contextlib.contextmanager
def in_file(flow_file: Path | str) -> Iterator[None]:
    """What is wrong in the flow is told with its file."""
    try:
        yield
    except FlowError as error:
        raise ConfigError(f"{flow_file}: {error}") from error
