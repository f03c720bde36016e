"""YAML that people write, read strictly: what one version of YAML takes for a number and another
for text is refused with its place.
"""

import math
import re
from collections.abc import Hashable
from typing import Any

import yaml

from synth.schemas.errors import ConfigError

MOST_NODES = 20_000
"""Values in a text, those that aliases repeat counted each time."""
_STR, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
_CORE = {
    "tag:yaml.org,2002:null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "tag:yaml.org,2002:bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "tag:yaml.org,2002:int": (r"[-+]?\d+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "tag:yaml.org,2002:float": (
        r"[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    _MERGE: (r"<<", ["<"]),
}
"""What YAML 1.2 takes for something other than text; dates and `=` stay text, no JSON has them."""
_READ_IN_TWO_WAYS = (
    (
        re.compile(r"[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.\d*)?"),
        "some read {} as a number to the base of sixty, some as text",
    ),
    (
        re.compile(r"[-+]?(?:0[\d_]+|0o[0-7_]+|0b[01_]+)"),
        "some read {} as octal or binary, some as decimal or text",
    ),
    (
        re.compile(
            r"[-+]?(?:\.?\d[\d.]*_[\d_.]*(?:[eE][-+]?\d+)?|0x[\da-fA-F]*_[\da-fA-F_]*)|[-+]0x[\da-fA-F]+"
        ),
        "some read {} as a number, some as text",
    ),
    (re.compile(r"yes|no|on|off", re.IGNORECASE), "some read {} as true or false, some as text"),
)
"""Plain scalars on which YAML 1.1 and 1.2 differ."""


class _StrictLoader(yaml.SafeLoader):
    """Refuses tags, keys given twice, numbers and text that no JSON holds."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - PyYAML's own attribute

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """As the parent, for a node without a tag of its own."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        tag = getattr(event, "tag", None)
        if tag not in (None, "!", _STR):
            short = tag.replace("tag:yaml.org,2002:", "!!")
            raise _refused(
                f"the tag {short} has no meaning here; write plain values", event.start_mark
            )
        return super().compose_node(parent, index)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._plain: set[int] = set()
        """Mappings whose keys were looked at: merging puts those of others among them."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As the parent, once every key is plain and seen only once."""
        self._require_plain_keys(node)
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """As the parent, for a mapping that is merged into another too."""
        self._require_plain_keys(node)
        super().flatten_mapping(node)

    def _require_plain_keys(self, node: yaml.MappingNode) -> None:
        if id(node) in self._plain:
            return
        self._plain.add(id(node))
        seen = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _refused(
                    "a key must be plain text, not a list or a mapping", key_node.start_mark
                )
            key = "<<" if key_node.tag == _MERGE else self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _refused(
                    f"the key {key_node.value or 'null'} is no text; put it in quotes",
                    key_node.start_mark,
                )
            if key in seen:
                raise _refused(f"{key!r} is given twice", key_node.start_mark)
            seen.add(key)

    def construct_scalar(self, node: Any) -> Any:
        """As the parent, for text that UTF-8 can hold."""
        value = super().construct_scalar(node)
        try:
            str(value).encode()
        except UnicodeEncodeError as error:
            raise _refused("half a surrogate pair is no text", node.start_mark) from error
        if isinstance(node, yaml.ScalarNode) and node.style is None:
            for pattern, why in _READ_IN_TWO_WAYS:
                if pattern.fullmatch(node.value):
                    told = (
                        f"{why.format(node.value[:40])}; write it plainly, or put it in "
                        "quotes if it is text"
                    )
                    raise _refused(told, node.start_mark)
        return value

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """As the parent, within 64 bits: no table holds more."""
        text = str(self.construct_scalar(node))
        value = int(text, 16 if text.startswith("0x") else 10) if len(text) <= 100 else 2**63
        if not -(2**63) <= value < 2**63:
            raise _refused(
                "a number beyond 64 bits; put it in quotes if it is a name", node.start_mark
            )
        return value

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        """As the parent, for finite numbers."""
        text = str(self.construct_scalar(node)).lower()
        value = math.inf if text.endswith((".inf", ".nan")) else float(text)
        if not math.isfinite(value):
            raise _refused(
                "neither infinity nor nan can be a setting; leave the key out for its default",
                node.start_mark,
            )
        return value


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _StrictLoader.construct_yaml_int)
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _StrictLoader.construct_yaml_float)
for _tag, (_pattern, _first) in _CORE.items():
    _StrictLoader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), _first)


def read_yaml(text: str, where: str) -> Any:
    """The value that a text holds. Raises `ConfigError` with the line and column, found in bounded
    time and memory.
    """
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


def _refused(problem: str, mark: Any) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


def _weigh(node: yaml.Node, known: dict[int, int], open_nodes: set[int]) -> int:
    """How many values a node stands for, with what its aliases repeat. Raises before a text of 1 KB
    becomes 10^9 values.
    """
    if isinstance(node, yaml.ScalarNode):
        return 1
    identity = id(node)
    if identity in known:
        return known[identity]
    if identity in open_nodes:
        raise _refused("an alias (*name) stands inside of what it names", node.start_mark)
    open_nodes.add(identity)
    parts = (
        [part for pair in node.value for part in pair]
        if isinstance(node, yaml.MappingNode)
        else node.value
    )
    weight = 1 + sum(_weigh(part, known, open_nodes) for part in parts)
    open_nodes.discard(identity)
    if weight > MOST_NODES:
        raise _refused(
            f"more than {MOST_NODES:,} values, aliases counted each time; nobody needs that",
            node.start_mark,
        )
    known[identity] = weight
    return weight
