"""A flow.yaml read strictly: it holds what JSON can hold, and whatever else stands in it is told in one line with its place."""

import math
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from flows.overrides import kind, override
from schemas.errors import ConfigError
from schemas.flow import Flow
from schemas.settings_error import explain

LONGEST_BYTES = 256 * 1024
"""PyYAML reads about 100 KB/s; a flow has one or two."""
MOST_NODES = 20_000
"""Values in a flow, those that aliases repeat counted each time."""
_STR, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
_AS_TEXT = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
"""Plain scalars that PyYAML would turn into dates and `=`: no JSON has them."""


class _StrictLoader(yaml.SafeLoader):
    """Refuses tags, keys given twice, numbers and text that no JSON holds."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own attribute
        first: [(tag, pattern) for tag, pattern in choices if tag not in _AS_TEXT]
        for first, choices in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """As the parent, for a node without a tag of its own."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        tag = getattr(event, "tag", None)
        if tag not in (None, "!", _STR):
            short = tag.replace("tag:yaml.org,2002:", "!!")
            raise _refused(f"the tag {short} has no meaning in a flow; write plain values", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As the parent, once every key is plain and seen only once."""
        seen = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _refused("a key must be plain text, not a list or a mapping", key_node.start_mark)
            key = "<<" if key_node.tag == _MERGE else self.construct_object(key_node, deep=True)
            if key in seen:
                raise _refused(f"{key!r} is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_scalar(self, node: Any) -> Any:
        """As the parent, for text that UTF-8 can hold."""
        value = super().construct_scalar(node)
        try:
            str(value).encode()
        except UnicodeEncodeError as error:
            raise _refused("half a surrogate pair is no text", node.start_mark) from error
        return value

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """As the parent, within 64 bits: no table holds more."""
        value = int(super().construct_yaml_int(node)) if len(node.value) <= 100 else 2**63
        if not -(2**63) <= value < 2**63:
            raise _refused("a number beyond 64 bits; put it in quotes if it is a name", node.start_mark)
        return value

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        """As the parent, for finite numbers."""
        value = float(super().construct_yaml_float(node))
        if not math.isfinite(value):
            raise _refused("neither infinity nor nan can be a setting; leave the key out for its default", node.start_mark)
        return value


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _StrictLoader.construct_yaml_int)
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _StrictLoader.construct_yaml_float)


def read_flow(path: Path, overrides: Sequence[str] = ()) -> Flow:
    """The flow in a file, with `a.b=value` overrides applied (values are YAML). Raises `ConfigError`."""
    return flow_of(read_content(path), overrides, str(path))


def read_content(path: Path) -> dict[str, Any]:
    """What a flow file holds, as it is written. Raises `ConfigError`."""
    content = read_yaml(_text(path), str(path))
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: a flow is a mapping with `name` and `stages`, this is {kind(content)}")
    return content


def flow_of(content: dict[str, Any], overrides: Sequence[str], where: str) -> Flow:
    """The flow that a content holds, with the overrides applied, in place. Raises `ConfigError`."""
    for written in overrides:
        override(content, written, read_yaml)
    try:
        return Flow.model_validate(content)
    except ValidationError as error:
        raise ConfigError(f"{where}: {explain(error, Flow)}") from error


def read_settings(overrides: Sequence[str]) -> dict[str, Any]:
    """Settings given as `key=value` alone (values are YAML). Raises `ConfigError`."""
    content: dict[str, Any] = {}
    for written in overrides:
        override(content, written, read_yaml)
    return content


def read_yaml(text: str, where: str) -> Any:
    """The value that a text holds. Raises `ConfigError` with the line and column, found in bounded time and memory."""
    try:
        loader = _StrictLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _weigh(node, {}, set())
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        problem = error.problem or error.context or "broken"
        if problem.startswith("but "):
            problem = f"{error.context}, {problem}"
        raise ConfigError(f"{where}{line}: not valid YAML: {problem}") from error
    except RecursionError as error:
        raise ConfigError(f"{where}: not valid YAML: nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{where}: not valid YAML: {str(error).splitlines()[0]}") from error


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            blob = file.read(LONGEST_BYTES + 1)
        text = blob.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file; start from one in configs/") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except IsADirectoryError as error:
        raise ConfigError(f"{path}: is a folder; name the flow file in it") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{str(path)[:200]}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(blob) > LONGEST_BYTES:
        raise ConfigError(f"{path}: longer than {LONGEST_BYTES // 1024} KiB, so it is no flow; start from one in configs/")
    return text


def _refused(problem: str, mark: Any) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


def _weigh(node: yaml.Node, known: dict[int, int], open_nodes: set[int]) -> int:
    """How many values a node stands for, with what its aliases repeat. Raises before a text of 1 KB becomes 10^9 values."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    identity = id(node)
    if identity in known:
        return known[identity]
    if identity in open_nodes:
        raise _refused("an alias (*name) stands inside of what it names", node.start_mark)
    open_nodes.add(identity)
    parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
    weight = 1 + sum(_weigh(part, known, open_nodes) for part in parts)
    open_nodes.discard(identity)
    if weight > MOST_NODES:
        raise _refused(f"more than {MOST_NODES:,} values, aliases counted each time; no flow needs that", node.start_mark)
    known[identity] = weight
    return weight
