"""YAML that people write, read strictly: what one version of YAML takes for a number and another
for text is refused with its place.
"""

import math
import re
from typing import Any

import yaml

from synth.schemas.errors import ConfigError

MOST_NODES = 20_000
"""Values in a text, those that aliases repeat counted each time."""
LONGEST_NUMBER = 100
"""Characters; a longer one is not read at all."""
_STR, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_CORE = {
    "tag:yaml.org,2002:null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "tag:yaml.org,2002:bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    _INT: (r"[-+]?\d+|0x[0-9a-fA-F]+", list("-+0123456789")),
    _FLOAT: (
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
            r"[-+]?(?:\.?\d[\d.]*_[\d_.]*(?:[eE][-+]?\d+)?"
            r"|0x[\da-fA-F]*_[\da-fA-F_]*)|[-+]0x[\da-fA-F]+"
        ),
        "some read {} as a number, some as text",
    ),
    (re.compile(r"yes|no|on|off", re.IGNORECASE), "some read {} as true or false, some as text"),
)
"""Plain scalars on which YAML 1.1 and 1.2 differ."""


class _StrictLoader(yaml.SafeLoader):
    """Takes plain values as YAML 1.2 does, and refuses tags."""

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
    """How many values a node stands for, with what its aliases repeat, once all of them are such as
    JSON holds. Raises before a text of 1 KB becomes 10^9 values.
    """
    if isinstance(node, yaml.ScalarNode):
        _refuse_scalar(node)
        return 1
    identity = id(node)
    if identity in known:
        return known[identity]
    if identity in open_nodes:
        raise _refused("an alias (*name) stands inside of what it names", node.start_mark)
    open_nodes.add(identity)
    parts = node.value
    if isinstance(node, yaml.MappingNode):
        _refuse_keys([key for key, _ in parts])
        parts = [part for pair in parts for part in pair]
    weight = 1 + sum(_weigh(part, known, open_nodes) for part in parts)
    open_nodes.discard(identity)
    if weight > MOST_NODES:
        raise _refused(
            f"more than {MOST_NODES:,} values, aliases counted each time; nobody needs that",
            node.start_mark,
        )
    known[identity] = weight
    return weight


def _refuse_keys(keys: list[yaml.Node]) -> None:
    """Raises for a key that is no text, or is given twice."""
    seen = set()
    for key in keys:
        problem = None
        if not isinstance(key, yaml.ScalarNode):
            problem = "a key must be plain text, not a list or a mapping"
        elif key.tag not in (_STR, _MERGE):
            problem = f"the key {key.value or 'null'} is no text; put it in quotes"
        elif key.value in seen:
            problem = f"{key.value!r} is given twice"
        if problem is not None:
            raise _refused(problem, key.start_mark)
        seen.add(key.value)


def _refuse_scalar(node: yaml.ScalarNode) -> None:
    """Raises for text that UTF-8 cannot hold, for what is read in two ways, and for numbers that
    are not finite or beyond 64 bits: no table holds more.
    """
    text, problem = node.value, None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _refused("half a surrogate pair is no text", node.start_mark) from error
    for pattern, why in _READ_IN_TWO_WAYS if node.style is None else ():
        if pattern.fullmatch(text):
            problem = (
                f"{why.format(text[:40])}; write it plainly, or put it in quotes if it is text"
            )
    if problem is None and node.tag == _INT and _is_too_long(text):
        problem = "a number beyond 64 bits; put it in quotes if it is a name"
    # YAML writes infinity and nan with a dot before them, which is no number to Python
    if node.tag == _FLOAT and (text[-1:].isalpha() or not math.isfinite(float(text))):
        problem = "neither infinity nor nan can be a setting; leave the key out for its default"
    if problem is not None:
        raise _refused(problem, node.start_mark)


def _is_too_long(number: str) -> bool:
    return len(number) > LONGEST_NUMBER or not -(2**63) <= int(number, 0) < 2**63
