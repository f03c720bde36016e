"""A flow.yaml read strictly: it holds what JSON can hold, and whatever else stands in it is told in
one line with its place.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from synth.flows.overrides import kind, override
from synth.keys import refuse_literals
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.settings_error import explain
from synth.schemas.strict_settings import strictly
from synth.schemas.yaml_text import read_yaml as read_yaml

LONGEST_BYTES = 256 * 1024
"""PyYAML reads about 100 KB/s; a flow has one or two."""
LOOKED_AT = frozenset({"api_key", "api_key_env", "base_url", "extra_body", "server_args"})
"""Settings of a model in which `ModelSettings` looks for keys itself."""


def read_flow(path: Path, overrides: Sequence[str] = ()) -> Flow:
    """The flow in a file, with `a.b=value` overrides applied (values are YAML). Raises
    `ConfigError`.
    """
    return flow_of(read_content(path), overrides, str(path))


def read_content(path: Path) -> dict[str, Any]:
    """What a flow file holds, as it is written. Raises `ConfigError`."""
    content = read_yaml(_text(path), str(path))
    if not isinstance(content, dict):
        raise ConfigError(
            f"{path}: a flow is a mapping with `name` and `stages`, this is {kind(content)}"
        )
    return content


def flow_of(content: dict[str, Any], overrides: Sequence[str], where: str) -> Flow:
    """The flow that a content holds, with the overrides applied, in place. Raises `ConfigError`."""
    for written in overrides:
        override(content, written, read_yaml)
    refuse_keys(content, f"{where}: ")
    try:
        return strictly(Flow, content)
    except ValidationError as error:
        raise ConfigError(f"{where}: {explain(error, Flow)}") from error


def refuse_keys(content: Mapping[str, Any], before: str = "") -> None:
    """Raises `ConfigError` for a literal key in a flow; the settings of models that look at
    themselves say it in their own words.
    """
    models = content.get("models")
    if isinstance(models, Mapping):
        models = {name: _others(given) for name, given in models.items()}
    refuse_literals({**content, "models": models}, before)


def _others(role: Any) -> Any:
    named = isinstance(role, Mapping) and "model" in role
    return {name: value for name, value in role.items() if name not in LOOKED_AT} if named else role


def read_settings(overrides: Sequence[str]) -> dict[str, Any]:
    """Settings given as `key=value` alone (values are YAML). Raises `ConfigError`."""
    content: dict[str, Any] = {}
    for written in overrides:
        override(content, written, read_yaml)
    refuse_literals(content, "--set ")
    return content


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            blob = file.read(LONGEST_BYTES + 1)
        text = blob.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file; start from one in configs/") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error
    except IsADirectoryError as error:
        raise ConfigError(f"{path}: is a folder; name the flow file in it") from error
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{str(path)[:200]}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    if len(blob) > LONGEST_BYTES:
        raise ConfigError(
            f"{path}: longer than {LONGEST_BYTES // 1024} KiB, so it is no flow; start from one "
            "in configs/"
        )
    return text
