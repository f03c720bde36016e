"""`--set a.b=value`: a setting replaced in the content of a flow, before it is checked."""

from collections.abc import Callable
from typing import Any

from synth.keys import key_like
from synth.schemas.errors import ConfigError


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
    if not _is_text(written):
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
    if isinstance(place, list):
        index = _index(place, last, shown)
        place[index] = value if _is_number(last) else {last: value}
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise ConfigError(f"{shown}: {last!r} is inside {kind(place)}, not inside a mapping")


def kind(value: Any) -> str:
    """What a value is, in words."""
    return {dict: "a mapping", list: "a list", str: "text", type(None): "empty"}.get(
        type(value), "a single value"
    )


def _inside(place: Any, part: str, shown: str) -> Any:
    """What lies one level down; in a list of stages a name or a number leads to that stage's
    settings.
    """
    if isinstance(place, list):
        index = _index(place, part, shown)
        if isinstance(place[index], str):
            place[index] = {place[index]: None}
        if not (isinstance(place[index], dict) and len(place[index]) == 1):
            return place[index]
        place, (part,) = place[index], place[index]
    if not isinstance(place, dict):
        raise ConfigError(f"{shown}: {part!r} is inside {kind(place)}, not inside a mapping")
    if place.get(part) is None:
        place[part] = {}
    return place[part]


def _index(place: list[Any], part: str, shown: str) -> int:
    if _is_number(part) and int(part) < len(place):
        return int(part)
    for index, entry in enumerate(place):
        if entry == part or (isinstance(entry, dict) and part in entry):
            return index
    names = [
        str(next(iter(entry), "")) if isinstance(entry, dict) else str(entry) for entry in place
    ]
    raise ConfigError(
        f"{shown}: there is no {part!r} in that list; it holds "
        f"{', '.join(names)[:200] or 'nothing'}"
    )


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 7


def _is_text(written: str) -> bool:
    try:
        written.encode()
    except UnicodeEncodeError:
        return False
    return True
