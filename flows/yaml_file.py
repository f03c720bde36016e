"""A flow.yaml read strictly: duplicate keys, unknown keys and broken YAML are told in one line with their place."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from schemas.errors import ConfigError
from schemas.flow import Flow


class _StrictLoader(yaml.SafeLoader):
    """Refuses duplicate keys, which YAML readers let overwrite each other."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As the parent, once every key is seen only once."""
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_flow(path: Path, overrides: Sequence[str] = ()) -> Flow:
    """The flow in a file, with `a.b=value` overrides applied (values are YAML). Raises `ConfigError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file; start from one in configs/") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    content = _parse(text, str(path))
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: a flow is a mapping with `name` and `stages`, this is {_kind(content)}")
    for override in overrides:
        _override(content, override)
    try:
        return Flow.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, Flow)}") from error


def read_settings(overrides: Sequence[str]) -> dict[str, Any]:
    """Settings given as `key=value` alone (values are YAML). Raises `ConfigError`."""
    content: dict[str, Any] = {}
    for override in overrides:
        _override(content, override)
    return content


def explain(error: ValidationError, model: type[BaseModel], prefix: str = "") -> str:
    """The first problem of a pydantic error as one line: where, what, and which keys are allowed there."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = prefix + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    place = place.lstrip(".") or model.__name__
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        allowed = ", ".join(sorted(field.alias or name for name, field in model_at(model, first["loc"][:-1]).model_fields.items()))
        return f"{place} is not a setting; allowed: {allowed or 'none'}{more}"
    if first["type"] == "missing":
        return f"{place} is missing{more}"
    return f"{place}: {first['msg']}{more}"


def model_at(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel]:
    """The settings model that a place in the input belongs to: nested models are followed as far as they are known."""
    for part in location:
        field = model.model_fields.get(str(part))
        annotation = field.annotation if field is not None else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return model


def _parse(text: str, where: str) -> Any:
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise ConfigError(f"{where}{line}: not valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"{where}: not valid YAML: {str(error).splitlines()[0]}") from error


def _override(content: dict[str, Any], override: str) -> None:
    path, separator, value = override.partition("=")
    if not separator or not path:
        raise ConfigError(f"--set {override}: write it as a.b=value, for instance --set env.tasks=10")
    place: Any = content
    *parents, last = path.split(".")
    for part in parents:
        place = _inside(place, part, override)
    parsed = _parse(value, f"--set {override}")
    if isinstance(place, list):
        place[_index(place, last, override)] = parsed
    else:
        place[last] = parsed


def _inside(place: Any, part: str, override: str) -> Any:
    """The mapping or list one level down; in a list of stages a name stands for the stage of that name."""
    if isinstance(place, list):
        entry = place[_index(place, part, override)]
        if isinstance(entry, str):
            entry = {entry: {}}
            place[_index(place, part, override)] = entry
        if isinstance(entry, dict) and part in entry:
            entry[part] = {} if entry[part] is None else entry[part]
            return entry[part]
        return entry
    if isinstance(place, dict):
        if place.get(part) is None:
            place[part] = {}
        return place[part]
    raise ConfigError(f"--set {override}: {part!r} is inside {_kind(place)}, not inside a mapping")


def _index(place: list[Any], part: str, override: str) -> int:
    if part.isdigit() and int(part) < len(place):
        return int(part)
    for index, entry in enumerate(place):
        if entry == part or (isinstance(entry, dict) and part in entry):
            return index
    raise ConfigError(f"--set {override}: there is no {part!r} in that list")


def _kind(value: Any) -> str:
    return {dict: "a mapping", list: "a list", str: "text", type(None): "empty"}.get(type(value), f"{value!r}")
