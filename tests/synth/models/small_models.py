"""Small models of random weights in this process, and what plain forwards over the whole text make
of them.
"""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from synth.models.local.transformers_chat import TransformersChat, open_model
from synth.models.settings import ModelSettings
from synth.schemas.model import Completion, Message, Sampling

T = TypeVar("T")
CHATS: list[list[Message]] = [
    [{"role": "user", "content": "Where is my order? " * times}]
    for times in (1, 9, 2, 30, 5, 1, 17)
]
ASK: list[Message] = [{"role": "user", "content": "Where is my order?"}]


def using(
    folder: Path, scene: Callable[[TransformersChat], Coroutine[Any, Any, T]], **more: Any
) -> T:
    async def run() -> T:
        model = open_model(
            ModelSettings(engine="transformers", model=str(folder), logprobs=True, **more)
        )
        try:
            return await scene(model)
        finally:
            await model.close()

    return asyncio.run(run())


def asked(
    folder: Path,
    messages: list[Message] = ASK,
    sampling: Sampling | None = None,
    tools: Any = (),
    **more: Any,
) -> Completion:
    return using(
        folder,
        lambda model: model.complete(
            messages, tools, sampling or Sampling(temperature=0, max_tokens=12)
        ),
        **more,
    )


def plain(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(
        folder
    )


def rendered(tokenizer: Any, messages: list[Message], tools: Any = None) -> list[int]:
    return list(
        tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=True, return_dict=True
        )["input_ids"]
    )


def first_choices(
    folder: Path, messages: list[Message], length: int
) -> tuple[list[int], list[float], str]:
    """Greedy tokens, their log-probabilities and their text, each token from a forward over all
    that stands before it.
    """
    import torch

    weights, tokenizer = plain(folder)
    ids = rendered(tokenizer, messages)
    tokens, logprobs = [], []
    with torch.no_grad():
        for _ in range(length):
            scores = torch.log_softmax(weights(torch.tensor([ids])).logits[0, -1], -1)
            tokens.append(int(scores.argmax()))
            logprobs.append(float(scores.max()))
            ids.append(tokens[-1])
    return tokens, logprobs, tokenizer.decode(tokens, skip_special_tokens=True)


def never_ending(folder: Path) -> Any:
    """The weights with a token of the end whose logit is always 0, which is never the largest."""
    weights, tokenizer = plain(folder)
    weights.get_input_embeddings().weight.data[tokenizer.eos_token_id] = 0
    return weights


def sliding_window_model() -> Any:
    """A Gemma 2, whose layers see 24 tokens and everything in turn."""
    import torch
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(1)
    sizes = {
        "vocab_size": 1024,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "head_dim": 16,
    }
    heads = {
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "sliding_window": 24,
        "max_position_embeddings": 4096,
    }
    return Gemma2ForCausalLM(
        Gemma2Config(
            **sizes,
            **heads,
            initializer_range=0.3,
            eos_token_id=2,
            pad_token_id=0,
            bos_token_id=None,
        )
    )


def hybrid_model() -> Any:
    """A Qwen 3 Next: a recurrent layer, whose state padding must not touch, and one of
    attention.
    """
    import torch
    from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

    torch.manual_seed(1)
    sizes = {
        "vocab_size": 1024,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "head_dim": 16,
    }
    heads = {
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "linear_num_value_heads": 2,
        "linear_num_key_heads": 1,
    }
    linear = {
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "layer_types": ["linear_attention", "full_attention"],
    }
    experts = {
        "num_experts": 2,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 16,
    }
    return Qwen3NextForCausalLM(
        Qwen3NextConfig(
            **sizes,
            **heads,
            **linear,
            **experts,
            initializer_range=0.3,
            eos_token_id=2,
            pad_token_id=0,
        )
    )
