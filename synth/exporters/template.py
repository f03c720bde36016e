"""A student's chat template: what it renders, which of it the assistant wrote, and its tokens where
there is a tokenizer.

A student may be trained with one template and served with another, where TRL brings its own: masks
are looked at under the former, prompts and steps under the latter.
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

from synth.schemas import ConfigError, Message, RowError, ToolSchema
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
_UNMARKED = "its chat template has no {% generation %} tags"


@dataclass(frozen=True, slots=True, eq=False)
class MaskTemplate:
    """`notes` say what was put in its place."""

    name: str
    source: str
    tokenizer: Any | None
    notes: tuple[str, ...] = ()
    counted: dict[bytes, int] = field(default_factory=dict, repr=False)
    """Tokens by the text's hash."""

    @property
    def marked(self) -> bool:
        """Whether it says what the assistant generates (`{% generation %}`)."""
        return _MARK.search(self.source) is not None

    def text(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        generation_prompt: bool = False,
    ) -> str:
        """Messages as the student reads them."""
        text, _ = self._render(messages, tools, add_generation_prompt=generation_prompt)
        return text

    def opened(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
        """The same, with the header of a turn to come behind what is no turn."""
        opens = messages[-1]["role"] != "assistant"
        return self.text(messages, tools, generation_prompt=opens)

    def spans(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> tuple[str, list[tuple[int, int]]]:
        """(text, where in it each assistant message carries loss), for a marked template."""
        return self._render(messages, tools, return_assistant_tokens_mask=True)

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

    def ids(self, text: str) -> list[int]:
        """Its tokens; none where there is no tokenizer."""
        return [*self._tokens(text).get("input_ids", ())]

    def units(self, text: str) -> Sequence[Any]:
        """Its tokens, or its characters where there is no tokenizer."""
        return text if self.tokenizer is None else self.ids(text)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each of its tokens begins and ends; none where there is no tokenizer."""
        return [*self._tokens(text, return_offsets_mapping=True).get("offset_mapping", ())]

    def count(self, text: str) -> int | None:
        """How many tokens it has; a text that was counted before is not tokenized again."""
        if self.tokenizer is None:
            return None

        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

        if key not in self.counted:
            if len(self.counted) == MOST_COUNTED:
                self.counted.clear()

            self.counted[key] = len(self.ids(text))

        return self.counted[key]

    def _tokens(self, text: str, **asked: bool) -> Any:
        if self.tokenizer is None:
            return {}
        return self.tokenizer(text, add_special_tokens=False, **asked)

    def _render(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], **asked: bool
    ) -> tuple[str, list[tuple[int, int]]]:
        from jinja2.exceptions import TemplateError
        from transformers.utils.chat_template_utils import render_jinja_template

        # templates without a tokenizer still ask for the tokens that begin and end
        special = {} if self.tokenizer is None else self.tokenizer.special_tokens_map

        try:
            (text,), places = render_jinja_template(
                [list(messages)],
                tools=list(tools) or None,
                chat_template=self.source,
                **asked,
                **{"bos_token": "<s>", "eos_token": "</s>", **special},
            )
        except TemplateError as error:
            raise RowError("template_refuses", str(error)) from error

        return str(text), [(start, end) for spans in places for start, end in spans]


@cache
def student_template(student: str) -> MaskTemplate:
    """The template of a tokenizer (folder or name), of a .jinja file, or `trl:FAMILY`. Raises
    `ConfigError` where there is none.
    """
    needs = ("transformers", "trl") if student.startswith("trl:") else ("transformers",)

    if None in map(find_spec, needs):
        raise ConfigError(
            f"student {student}: rendering needs transformers and TRL: pip install -e '.[train]'"
        )

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
        stock = _templates_of_trl().joinpath(f"{student.removeprefix('trl:')}.jinja")
        if stock.is_file():
            return replace(template, source=stock.read_text(encoding="utf-8"))
    elif template.tokenizer is not None:
        return replace(template, source=template.tokenizer.chat_template, notes=())

    return template


def _templates_of_trl() -> Any:
    return files("trl").joinpath("chat_templates")


def _of_trl(student: str) -> MaskTemplate:
    folder, ending = _templates_of_trl(), "_training.jinja"
    path = folder.joinpath(student.removeprefix("trl:") + ending)

    if not path.is_file():
        names = sorted(entry.name for entry in folder.iterdir())
        known = [name.removesuffix(ending) for name in names if name.endswith(ending)]
        raise ConfigError(
            f"student {student}: TRL has no such training template; it has: {', '.join(known)}"
        )

    return MaskTemplate(student, path.read_text(encoding="utf-8"), None)


def _of_tokenizer(student: str) -> MaskTemplate:
    """With the template that TRL trains with in the place of one that it knows."""
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

    # TRL trains with a template of its own where it knows the student's
    if _MARK.search(source) is not None or find_spec("trl") is None:
        return MaskTemplate(student, source, tokenizer)

    from trl.chat_template_utils import get_training_chat_template

    try:
        training = get_training_chat_template(tokenizer)
    except ValueError:
        training = None

    note = (
        f"{_UNMARKED}, and TRL knows no training template for it: assistant_only_loss will fail"
        if training is None
        else f"{_UNMARKED}; TRL trains with a template of its own, which is the one that was "
        "rendered"
    )

    return MaskTemplate(student, training or source, tokenizer, (note,))


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
    added = getattr(template.tokenizer, "added_tokens_decoder", {})
    return {
        number: str(token)
        for number, token in added.items()
        if (token.special or str(token) in template.source) and str(token).strip()
    }
