"""Which of vLLM's parsers reads a family's calls and thinking (data/parsers.yaml), by the name of
the model or by the form in which its calls came.
"""

import re
from collections.abc import Iterable

import msgspec

from synth.text.calls.forms import bare, gemma, glm, harmony, marked, mistral, qwen_xml
from synth.text.calls.found import RECOVERED
from synth.text.calls.python_calls import PYTHONIC
from synth.text.data_files import read

BY_FORM = {
    qwen_xml.XML: "qwen3_coder",
    glm.GLM: "glm45",
    gemma.GEMMA: "gemma4",
    harmony.HARMONY: "openai",
    mistral.MISTRAL: "mistral",
    PYTHONIC: "pythonic",
    marked.MARKED: "llama3_json",
    bare.BARE: "llama3_json",
    RECOVERED: "hermes",
}
"""What a recovered call says of its form, the most telling first."""


class Parsers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of one family; `names` is a pattern of its models' names."""

    family: str
    names: str
    calls: str
    thinking: str | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """What vLLM is started with."""
        calls = ("--enable-auto-tool-choice", f"--tool-call-parser={self.calls}")
        return calls if self.thinking is None else (*calls, f"--reasoning-parser={self.thinking}")


def families() -> tuple[Parsers, ...]:
    """The table, in its order."""
    found: tuple[Parsers, ...] = read("data/parsers.yaml", tuple[Parsers, ...])
    return found


def parsers_of(*names: str | None) -> Parsers | None:
    """The parsers of the family that any of a model's names belongs to; None for none known."""
    for one in families():
        if any(name and re.search(one.names, name, re.IGNORECASE) for name in names):
            return one
    return None


def parser_of_form(repairs: Iterable[str]) -> str | None:
    """The parser that would have found calls that were recovered from text."""
    told = set(repairs)
    return next((parser for form, parser in BY_FORM.items() if form in told), None)
