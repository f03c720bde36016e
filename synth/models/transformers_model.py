"""A small model in this process: its weights in float32 on the CPU, its tokenizer, its chat
template. Extra `score`.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from synth.boundary import guard
from synth.models.broken_calls import broken_calls_as_text, has_broken_calls
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import Message, ModelError
from synth.schemas.trajectory import TokenId, ToolSchema

OF_SERVERS = ("api_key_env", "base_url", "connect_timeout_s", "max_retries", "total_timeout_s")
"""Settings that say how a server is reached."""


class LocalModel:
    """What `load` has read; `weights` is a causal model of transformers in evaluation mode,
    `tokenizer` a fast tokenizer.
    """

    def __init__(self, name: str, weights: Any, tokenizer: Any, weights_id: str) -> None:
        self.name = name
        self.weights = weights
        self.tokenizer = tokenizer
        self.weights_id = weights_id
        text = weights.config.get_text_config()
        self.context: int = (
            getattr(text, "max_position_embeddings", None) or tokenizer.model_max_length
        )
        self.defaults: dict[str, Any] = weights.generation_config.to_diff_dict()
        ends = self.defaults.get("eos_token_id")
        self.ends = frozenset(
            [*(ends if isinstance(ends, list) else [ends]), tokenizer.eos_token_id]
        ) - {None}

    def rendered(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        *,
        answer: bool,
        also: Mapping[str, Any] | None = None,
    ) -> tuple[TokenId, ...]:
        """The chat as the template writes it, in tokens; `answer` adds the header of a turn of its
        own. Raises `ModelError`.
        """
        text, _ = self._text(messages, tools, {"add_generation_prompt": answer, **(also or {})})
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def marked(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> list[tuple[int, int]]:
        """The token spans of the template's `{% generation %}` blocks, in order; none where one of
        them begins or ends inside a token.

        Raises `ModelError`.
        """
        text, blocks = self._text(messages, tools, {"return_assistant_tokens_mask": True})
        offsets = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
        starts = {start: i for i, (start, _) in reversed(list(enumerate(offsets)))}
        stops = {stop: i + 1 for i, (_, stop) in enumerate(offsets)}
        spans = [(starts.get(start), stops.get(stop)) for start, stop in blocks if start < stop]
        known = [(start, stop) for start, stop in spans if start is not None and stop is not None]
        return known if len(known) == len(blocks) else []

    def _text(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], also: Mapping[str, Any]
    ) -> tuple[str, Any]:
        """As `tokenizer.apply_chat_template` renders it, and the characters of the generation
        blocks.
        """
        import jinja2
        from transformers.utils.chat_template_utils import render_jinja_template

        shown = [_as_templates_expect(message) for message in broken_calls_as_text(messages)]
        try:
            template = self.tokenizer.get_chat_template(None, list(tools) or None)
            texts, blocks = render_jinja_template(
                conversations=[shown],
                tools=list(tools) or None,
                chat_template=template,
                **{**self.tokenizer.special_tokens_map, **also},
            )
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            raise ModelError(
                f"model {self.name}: its chat template cannot write this chat: "
                f"{' '.join(str(error).split())}"
            ) from error
        return str(texts[0]), blocks[0] if blocks else []


def sent_as_text(messages: Sequence[Message]) -> bool:
    """Whether `rendered` shows calls whose arguments are no JSON object, as the text that the model
    wrote.
    """
    return has_broken_calls(messages)


def _as_templates_expect(message: Message) -> Message:
    """Arguments as objects (a string would be quoted once more by `tojson`), no nulls: what vLLM
    does before it renders.
    """
    shown = {key: value for key, value in message.items() if value is not None} | {
        "content": message.get("content") or ""
    }
    if message.get("tool_calls"):
        shown["tool_calls"] = [
            {
                **call,
                "function": {
                    **call["function"],
                    "arguments": json.loads(call["function"]["arguments"]),
                },
            }
            for call in message["tool_calls"]
        ]
    return shown


def check_local(settings: ModelSettings) -> None:
    """Raises `ConfigError` for settings of servers, a folder that is not there, and an extra that
    is not installed.
    """
    for field in OF_SERVERS:
        if field in settings.model_fields_set:
            raise ConfigError(
                f"{field}: engine transformers runs the model in this process and asks no server; "
                "remove it"
            )
    if (
        settings.model.startswith((".", "/", "~"))
        and not (Path(settings.model).expanduser() / "config.json").is_file()
    ):
        raise ConfigError(
            f"model: {settings.model} is no folder with a config.json; name one that "
            "save_pretrained wrote, or a Hub name"
        )
    absent = [package for package in ("torch", "transformers") if find_spec(package) is None]
    if absent:
        raise ConfigError(
            f"engine transformers: {' and '.join(absent)} not installed; pip install -c "
            "constraints.txt -e '.[score]' (torch's CPU build)"
        )


def load(settings: ModelSettings) -> LocalModel:
    """Reads weights and tokenizer: seconds to minutes, on a thread of its own. Raises
    `ConfigError`.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # it would write between the lines of the run's own
    place = (
        str(Path(settings.model).expanduser()) if settings.model.startswith("~") else settings.model
    )
    what = f"model {settings.model}: transformers cannot load it"
    tokenizer = guard(what, lambda: AutoTokenizer.from_pretrained(place))
    weights = guard(
        what, lambda: AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32).eval()
    )
    if not tokenizer.is_fast or not tokenizer.chat_template:
        lacks = "chat template" if tokenizer.is_fast else "fast tokenizer (tokenizer.json)"
        raise ConfigError(
            f"model {settings.model}: it has no {lacks}, which engine transformers needs"
        )
    return LocalModel(settings.model, weights, tokenizer, _weights_id(Path(place), weights))


def _weights_id(place: Path, weights: Any) -> str:
    """A hash of the weight files in a folder, or the commit of a Hub repository; with the precision
    that they run in.
    """
    digest = blake2b(digest_size=12)
    for path in (
        sorted([*place.glob("*.safetensors"), *place.glob("*.bin")]) if place.is_dir() else ()
    ):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
    named = (
        digest.hexdigest()
        if place.is_dir()
        else getattr(weights.config, "_commit_hash", None) or place
    )
    return f"{named}+float32"
