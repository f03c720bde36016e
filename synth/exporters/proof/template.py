"""A student's chat template: what it renders, which of it the assistant wrote, and its tokens where
there is a tokenizer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from synth.schemas.errors import ConfigError, RowError
from synth.schemas.model import Message
from synth.schemas.trajectory import ToolSchema
from synth.text.control_tokens import control_tokens

FAMILIES = (
    "qwen2_5",
    "qwen3",
    "qwen3_instruct_2507",
    "glm4moe",
    "lfm2_v2",
    "nemotron_3_nano",
    "gptoss",
    "deepseekv3",
)
"""Training templates of TRL that write tool calls."""
_MARK = re.compile(r"\{%-?\s*generation\s*-?%\}")
MOST_COUNTED = 200_000
"""Texts whose counts are remembered: about 25 MB."""
_NEEDS = "rendering needs transformers and TRL: pip install -e '.[train]'"


@dataclass(frozen=True, slots=True, eq=False)
class MaskTemplate:
    """`marked` = it says what the assistant generates (`{% generation %}`); `notes` say what was
    put in its place.
    """

    name: str
    source: str
    tokenizer: Any | None
    notes: tuple[str, ...] = ()
    counted: dict[bytes, int] = field(default_factory=dict, repr=False)
    """Tokens by the text's hash."""

    @property
    def marked(self) -> bool:
        return _MARK.search(self.source) is not None

    def text(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        generation_prompt: bool = False,
    ) -> str:
        """Messages as the student reads them."""
        (text,), _ = self._render(messages, tools, generation_prompt, marked=False)
        return str(text)

    def spans(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> tuple[str, list[tuple[int, int]]]:
        """(text, where in it each assistant message carries loss), for a marked template."""
        (text,), (places,) = self._render(messages, tools, generation_prompt=False, marked=True)
        return str(text), [(start, end) for start, end in places]

    def answers(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[str | None]:
        """What each assistant message becomes; None where a template without marks renders what
        stands before it otherwise later.
        """
        if self.marked:
            text, spans = self.spans(messages, tools)
            return [text[start:end] for start, end in spans]
        found: list[str | None] = []
        for at, message in enumerate(messages):
            if message["role"] == "assistant":
                before = self.text(messages[:at], tools, generation_prompt=True)
                after = self.text(messages[: at + 1], tools)
                found.append(after[len(before) :] if after.startswith(before) else None)
        return found

    def ids(self, text: str) -> list[int] | None:
        """Its tokens."""
        return (
            None
            if self.tokenizer is None
            else list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        )

    def count(self, text: str) -> int | None:
        """How many tokens it has; a text that was counted before is not tokenized again."""
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key not in self.counted:
            found = self.ids(text)
            if found is None:
                return None
            if len(self.counted) == MOST_COUNTED:
                self.counted.clear()
            self.counted[key] = len(found)
        return self.counted[key]

    def _render(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        generation_prompt: bool,
        *,
        marked: bool,
    ) -> tuple[list[str], list[list[tuple[int, int]]]]:
        from jinja2.exceptions import TemplateError
        from transformers.utils.chat_template_utils import render_jinja_template

        special = {} if self.tokenizer is None else self.tokenizer.special_tokens_map
        try:
            found: tuple[list[str], list[list[tuple[int, int]]]] = render_jinja_template(
                [list(messages)],
                tools=list(tools) or None,
                chat_template=self.source,
                add_generation_prompt=generation_prompt,
                return_assistant_tokens_mask=marked,
                **{"bos_token": "<s>", "eos_token": "</s>", **special},
            )
        except TemplateError as error:
            raise RowError("template_refuses", str(error)) from error
        return found


@cache
def student_template(student: str) -> MaskTemplate:
    """The template of a tokenizer (folder or name), of a .jinja file, or `trl:FAMILY`. Raises
    `ConfigError` where there is none.
    """
    if find_spec("transformers") is None:
        raise ConfigError(f"student {student}: {_NEEDS}")
    if student.startswith("trl:"):
        return _of_trl(student)
    if student.endswith(".jinja"):
        path = Path(student)
        if not path.is_file():
            raise ConfigError(
                f"student {student}: no such file; name a chat template or a tokenizer"
            )
        return MaskTemplate(student, path.read_text(encoding="utf-8"), None)
    return _of_tokenizer(student)


@cache
def served_template(student: str) -> MaskTemplate:
    """The template that the student is served with: its own, where TRL trains with another in its
    place. Raises `ConfigError`.
    """
    template = student_template(student)
    if student.startswith("trl:"):
        stock = files("trl").joinpath("chat_templates", f"{student.removeprefix('trl:')}.jinja")
        return (
            replace(template, source=stock.read_text(encoding="utf-8"))
            if stock.is_file()
            else template
        )
    return (
        template
        if template.tokenizer is None
        else replace(template, source=template.tokenizer.chat_template, notes=())
    )


def _of_trl(student: str) -> MaskTemplate:
    if find_spec("trl") is None:
        raise ConfigError(f"student {student}: {_NEEDS}")
    folder = files("trl").joinpath("chat_templates")
    path = folder.joinpath(f"{student.removeprefix('trl:')}_training.jinja")
    if not path.is_file():
        known = sorted(
            entry.name.removesuffix("_training.jinja")
            for entry in folder.iterdir()
            if entry.name.endswith("_training.jinja")
        )
        raise ConfigError(
            f"student {student}: TRL has no such training template; it has: {', '.join(known)}"
        )
    return MaskTemplate(student, path.read_text(encoding="utf-8"), None)


def _of_tokenizer(student: str) -> MaskTemplate:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(student)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"student {student}: no tokenizer can be opened there: {str(error).splitlines()[0]}"
        ) from error
    source = tokenizer.chat_template
    if not isinstance(source, str):
        raise ConfigError(
            f"student {student}: its tokenizer has no chat template; name another, or a .jinja file"
        )
    if _MARK.search(source) is None and find_spec("trl") is not None:
        return _as_trl_trains(student, source, tokenizer)
    return MaskTemplate(student, source, tokenizer)


def _as_trl_trains(student: str, source: str, tokenizer: Any) -> MaskTemplate:
    """TRL puts a training template of its own in the place of one that it knows."""
    from trl.chat_template_utils import get_training_chat_template

    try:
        training = get_training_chat_template(tokenizer)
    except ValueError:
        training = None
    if training is None:
        note = (
            "its chat template has no {% generation %} tags, and TRL knows no training "
            "template for it: assistant_only_loss will fail"
        )
        return MaskTemplate(student, source, tokenizer, (note,))
    note = (
        "its chat template has no {% generation %} tags; TRL trains with a template of its "
        "own, which is the one that was rendered"
    )
    return MaskTemplate(student, training, tokenizer, (note,))


@cache
def own_tokens(template: MaskTemplate) -> frozenset[str]:
    """Special tokens, added tokens that the template writes, and tokens of the table in the
    template's source.

    Other added tokens (runs of spaces, HTML's tags in Gemma) are words of the vocabulary.
    """
    return frozenset(added_tokens(template).values()) | frozenset(
        control_tokens().in_text(template.source)
    )


@cache
def added_tokens(template: MaskTemplate) -> dict[int, str]:
    """Id -> token, of the tokenizer; none where there is none."""
    if template.tokenizer is None:
        return {}
    added = getattr(template.tokenizer, "added_tokens_decoder", {})
    structure = {
        number: str(token)
        for number, token in added.items()
        if token.special or str(token) in template.source
    }
    return {number: token for number, token in structure.items() if token.strip()}
