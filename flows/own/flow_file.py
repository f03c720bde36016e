"""A flow.yaml read strictly: it holds what JSON can hold, settings are replaced by `--set
a.b=value` before it is checked, and whatever else stands in it is told in one line with its place.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.flows.parts import validated
from synth.keys import key_like, refuse_literals
from synth.schemas import ConfigError, Flow, valid_text
from synth.schemas import read_yaml as read_yaml

LONGEST_BYTES = 256 * 1024
"""PyYAML reads about 100 KB/s; a flow has one or two."""
LOOKED_AT = frozenset({"api_key", "api_key_env", "base_url", "extra_body", "server_args"})
"""Settings of a model in which `ModelSettings` looks for keys itself."""


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
    return validated(Flow, content, "", before=f"{where}: ")


def refuse_keys(content: Mapping[str, Any], before: str = "") -> None:
    """Raises `ConfigError` for a literal key in a flow; the settings of models that look at
    themselves say it in their own words.
    """
    models = content.get("models")
    if isinstance(models, Mapping):
        models = {
            role: {name: value for name, value in given.items() if name not in LOOKED_AT}
            if isinstance(given, Mapping) and "model" in given
            else given
            for role, given in models.items()
        }
    refuse_literals({**content, "models": models}, before)


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


def override(
    content: dict[str, Any],
    written: str,
    read_yaml: Callable[[str, str], Any],
    option: str = "--set",
) -> None:
    """Applies one override in place; in a list of stages a name or a number leads to a stage.
    Raises `ConfigError`.
    """
    path, separator, value = written.partition("=")
    said = (
        f"{path}{separator}..."
        if separator and any(key_like({path.rpartition(".")[2]: value}, path))
        else written
    )
    shown = f"{option} {said if len(said) <= 80 else said[:77] + '...'}"
    *parents, last = path.split(".")
    if not separator or not last or not all(parents):
        example = "--set env.tasks=10" if option == "--set" else f"{option} image=synth:1"
        raise ConfigError(f"{shown}: write it as a.b=value, for instance {example}")
    if valid_text(written) != written:
        raise ConfigError(f"{shown!a}: not UTF-8 text".replace("'", ""))
    put(content, path, read_yaml(value, shown), shown)


def put(content: dict[str, Any], path: str, value: Any, shown: str) -> None:
    """Puts a value where `a.b` leads, in place; `shown` names the setting in messages. Raises
    `ConfigError`.
    """
    *parents, last = path.split(".")
    if not last or not all(parents):
        raise ConfigError(f"{shown}: name a setting as a.b, for instance env.tasks")
    place: Any = content
    for part in parents:
        place = _inside(place, part, shown)
    key = _key(place, last, shown)
    place[key] = {last: value} if isinstance(key, int) and not _is_number(last) else value


def kind(value: Any) -> str:
    """What a value is, in words."""
    return {dict: "a mapping", list: "a list", str: "text", type(None): "empty"}.get(
        type(value), "a single value"
    )


def _inside(place: Any, part: str, shown: str) -> Any:
    """What lies one level down; in a list of stages a name or a number leads to that stage's
    settings.
    """
    key = _key(place, part, shown)
    if isinstance(key, int):
        entry = place[key]
        if isinstance(entry, str):
            entry = place[key] = {entry: None}
        if not (isinstance(entry, dict) and len(entry) == 1):
            return entry
        place, (key,) = entry, entry
    if place.get(key) is None:
        place[key] = {}
    return place[key]


def _key(place: Any, part: str, shown: str) -> str | int:
    """The key or index by which a part of a path leads on."""
    if isinstance(place, dict):
        return part
    if not isinstance(place, list):
        raise ConfigError(f"{shown}: {part!r} is inside {kind(place)}, not inside a mapping")
    if _is_number(part) and int(part) < len(place):
        return int(part)
    for index, entry in enumerate(place):
        if entry == part or (isinstance(entry, dict) and part in entry):
            return index
    names = [next(iter(entry), "") if isinstance(entry, dict) else entry for entry in place]
    raise ConfigError(
        f"{shown}: there is no {part!r} in that list; it holds "
        f"{', '.join(map(str, names))[:200] or 'nothing'}"
    )


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 7
