"""A small model in this process: its weights in float32 on the CPU, its tokenizer, its chat
template. Extra `score`.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b, file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from synth.boundary import guard
from synth.models.broken_calls import broken_calls_as_text
from synth.models.once import Once
from synth.models.settings import ModelSettings
from synth.schemas import ConfigError, Message, Messages, ModelError, TokenId, ToolSchemas

P = ParamSpec("P")
T = TypeVar("T")
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
        ends = ends if isinstance(ends, list) else [ends]
        self.ends = frozenset([*ends, tokenizer.eos_token_id]) - {None}

    def rendered(self, messages: Messages, tools: ToolSchemas, **also: Any) -> tuple[TokenId, ...]:
        """The chat as the template writes it, in tokens; `also` are variables of the template, of
        which `add_generation_prompt` adds the header of a turn of its own. Raises `ModelError`.
        """
        text, _ = self._text(messages, tools, also)
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def marked(self, messages: Messages, tools: ToolSchemas) -> list[tuple[int, int]]:
        """The token spans of the template's `{% generation %}` blocks, in order; none where one of
        them begins or ends inside a token.

        Raises `ModelError`.
        """
        text, blocks = self._text(messages, tools, {"return_assistant_tokens_mask": True})
        tokens = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)

        offsets = tokens["offset_mapping"]

        starts = {start: i for i, (start, _) in reversed(list(enumerate(offsets)))}
        stops = {stop: i + 1 for i, (_, stop) in enumerate(offsets)}

        known = [
            (starts[start], stops[stop])
            for start, stop in blocks
            if start < stop and start in starts and stop in stops
        ]
        return known if len(known) == len(blocks) else []

    def _text(
        self, messages: Messages, tools: ToolSchemas, also: Mapping[str, Any]
    ) -> tuple[str, Any]:
        """As `tokenizer.apply_chat_template` renders it, and the characters of the generation
        blocks.
        """
        import jinja2
        from transformers.utils.chat_template_utils import render_jinja_template

        shown = list(tools) or None

        try:
            texts, blocks = render_jinja_template(
                conversations=[[_as_templates_expect(m) for m in broken_calls_as_text(messages)]],
                tools=shown,
                chat_template=self.tokenizer.get_chat_template(None, shown),
                **{**self.tokenizer.special_tokens_map, **also},
            )
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            raise ModelError(
                f"model {self.name}: its chat template cannot write this chat: "
                f"{' '.join(str(error).split())}"
            ) from error
        return str(texts[0]), blocks[0] if blocks else []


def _as_templates_expect(message: Message) -> Message:
    """Arguments as objects (a string would be quoted once more by `tojson`), no nulls: what vLLM
    does before it renders.
    """
    shown = {key: value for key, value in message.items() if value is not None}
    shown["content"] = message.get("content") or ""

    if message.get("tool_calls"):
        shown["tool_calls"] = [
            {**call, "function": {**function, "arguments": json.loads(function["arguments"])}}
            for call in message["tool_calls"]
            for function in [call["function"]]
        ]

    return shown


class ModelThread:
    """A model on a thread of its own, which does one thing after the other: tokenizers and caches
    are not safe to share. `model()` gives it, loaded when it is first asked for.
    """

    def __init__(
        self, settings: ModelSettings, load: Callable[[ModelSettings], LocalModel]
    ) -> None:
        self._thread = ThreadPoolExecutor(1, "transformers")
        self.model = Once(lambda: self.run(load, settings))

    async def run(self, function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """What a function gives on the thread."""
        call = partial(function, *args, **named)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def close(self) -> None:
        """Ends the thread; what is being computed is finished first."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)


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

    config = Path(settings.model).expanduser() / "config.json"
    if settings.model.startswith((".", "/", "~")) and not config.is_file():
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

    name = settings.model
    place = str(Path(name).expanduser()) if name.startswith("~") else name

    tokenizer, weights = guard(
        f"model {name}: transformers cannot load it",
        lambda: (
            AutoTokenizer.from_pretrained(place),
            AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32).eval(),
        ),
    )

    if not tokenizer.is_fast or not tokenizer.chat_template:
        lacks = "chat template" if tokenizer.is_fast else "fast tokenizer (tokenizer.json)"
        raise ConfigError(f"model {name}: it has no {lacks}, which engine transformers needs")
    return LocalModel(name, weights, tokenizer, f"{_weights_id(Path(place), weights)}+float32")


def _weights_id(place: Path, weights: Any) -> str:
    """A hash of the weight files in a folder, or the commit of a Hub repository."""
    if not place.is_dir():
        return getattr(weights.config, "_commit_hash", None) or str(place)

    digest = blake2b(digest_size=12)

    # names count too: the same shards in another order are other weights
    for path in sorted([*place.glob("*.safetensors"), *place.glob("*.bin")]):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            file_digest(file, lambda: digest)

    return digest.hexdigest()
