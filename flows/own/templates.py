"""Flow files to start from: those of `configs/`, as they travel in the wheel."""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from synth.schemas import ConfigError

BESIDE = {"storeroom": ("storeroom.py",)}
"""What a template needs in its folder beside the flow file itself."""


@cache
def list_templates() -> Mapping[str, str]:
    """What each template is for, by name: its first line, which is a comment."""
    flows = (one for one in _folder().iterdir() if one.name.endswith(".yaml"))
    return {
        one.name.removesuffix(".yaml"): _lines(one)[0].lstrip("# ").rstrip(":.,;")
        for one in sorted(flows, key=lambda flow: flow.name)
    }


def write_template(template: str, to: Path | str | None = None) -> Sequence[Path]:
    """Writes a template, NAME.yaml here where `to` names no other file, and gives what it wrote:
    the flow file first. Raises `ConfigError` for a name that is none, and where a file stands there
    already: it is never overwritten.
    """
    if template not in list_templates():
        known = ", ".join(list_templates())
        raise ConfigError(f"{template!r} is no template; there are {known}")
    flow = Path(f"{template}.yaml" if to is None else to)
    if flow.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{flow}: a flow file is called NAME.yaml")
    wanted = {flow: f"{template}.yaml"}
    wanted |= {flow.parent / name: name for name in BESIDE.get(template, ())}
    for path in wanted:
        if os.path.lexists(path):
            raise ConfigError(f"{path}: it is there already, and is left as it is; name another")
    for path, name in wanted.items():
        _write(path, (_folder() / name).read_bytes())
    return list(wanted)


def _folder() -> Traversable:
    return files("synth") / "configs"


def _lines(flow: Traversable) -> Sequence[str]:
    return flow.read_text(encoding="utf-8").splitlines()


def _write(path: Path, content: bytes) -> None:
    try:
        with path.open("xb") as file:
            file.write(content)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror or error}") from error
