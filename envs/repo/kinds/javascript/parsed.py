"""Files of JavaScript as syntax trees, parsed by acorn in a process of node."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from synth.envs.repo.source.text import Edit
from synth.schemas import ConfigError

_SECONDS = 60


class EsNode:
    """A node of an ESTree: its type, where it stands in the text, its parts by name."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.type = str(raw["type"])
        self.start, self.end = int(raw["start"]), int(raw["end"])
        self._parts = {key: _read(value) for key, value in raw.items()}

    def replaced(self, text: str) -> Edit:
        """Another text for this node."""
        return Edit(self.start, self.end, text)

    def one(self, name: str) -> "EsNode | None":
        """A part that is a node."""
        found = self._parts.get(name)
        return found if isinstance(found, EsNode) else None

    def many(self, name: str) -> Sequence["EsNode"]:
        """A part that is a row of nodes."""
        found = self._parts.get(name)
        return [one for one in found if isinstance(one, EsNode)] if isinstance(found, list) else []

    def value(self, name: str) -> Any:
        """A part that is a text, a number, a truth."""
        return self._parts.get(name)

    def children(self) -> Iterator["EsNode"]:
        """All parts that are nodes."""
        for part in self._parts.values():
            if isinstance(part, EsNode):
                yield part
            elif isinstance(part, list):
                yield from (one for one in part if isinstance(one, EsNode))

    def walk(self) -> Iterator["EsNode"]:
        """This node and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()


def parse(texts: Mapping[str, str]) -> dict[str, EsNode]:
    """Trees by path; files that are no JavaScript are left out. Raises `ConfigError` where there is
    no node.
    """
    program = str(files("synth.envs.repo") / "data" / "parse.cjs")
    try:
        ran = subprocess.run(
            ["node", "--expose-internals", "--stack-size=4000", program],
            input=json.dumps(dict(texts)),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        why = said[-1] if said else type(error).__name__
        raise ConfigError(
            f"JavaScript cannot be parsed: {why}; node 20 or later is needed"
        ) from None
    found = json.loads(ran.stdout)
    return {path: EsNode(raw) for path, raw in found.items() if raw is not None}


def _read(value: Any) -> Any:
    if isinstance(value, dict) and "type" in value and "start" in value:
        return EsNode(value)
    if isinstance(value, list):
        return [_read(one) for one in value]
    return value
