"""Scoring in this process, against the full softmax of a plain forward and the masks that
transformers' own tokenizer gives.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synth.models.registry import open_scoring
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import Message, Scored
from tests.random_model import TEMPLATE

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "Does.",
        "parameters": {"type": "object", "properties": {}},
    },
}
CHAT: list[Message] = [
    {"role": "system", "content": "You answer customers of a shop."},
    {"role": "user", "content": "Where is my order?"},
    {"role": "assistant", "content": "I look it up.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "on its way"},
    {"role": "assistant", "content": "It is on its way."},
]
THOUGHTS = [
    *CHAT[:4],
    CHAT[4] | {"reasoning_content": "hm"},
    {"role": "user", "content": "thanks"},
    {"role": "assistant", "content": "!"},
]
FORGETFUL = """\
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == 'assistant' %}{% generation %}{% if loop.last %}<think>
{{ message.reasoning_content }}</think>
{% endif %}{{ message.content }}<|im_end|>{% endgeneration %}
{% else %}{{ message.content }}<|im_end|>
{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
<think>
{% endif %}"""
"""Thoughts of earlier turns are dropped, as Qwen 3 does."""
UNMARKED = FORGETFUL.replace("{% generation %}", "").replace("{% endgeneration %}", "")


def scored(folder: Path, messages: list[Message] = CHAT, tools: Any = (TOOL,)) -> Scored:
    async def scene() -> Scored:
        model = open_scoring(ModelSettings(engine="transformers", model=str(folder)))
        try:
            return await model.score(messages, tools)
        finally:
            await model.close()

    return asyncio.run(scene())


def in_full(
    folder: Path, messages: list[Message], tools: Any = None
) -> tuple[list[int], list[float], list[int], list[str]]:
    """(tokens, log-probabilities, ranks, text of each turn), from all logits at once and the
    tokenizer's own assistant mask.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    weights = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    for message in messages:
        for call in message.get("tool_calls", ()):
            assert call["function"]["arguments"] == '{"a": 1}'  # which renders as the object would
    found = tokenizer.apply_chat_template(
        messages, tools=tools, return_dict=True, return_assistant_tokens_mask=True
    )
    ids, end = found["input_ids"], tokenizer.convert_tokens_to_ids("<|im_end|>")
    places = [i for i, mark in enumerate(found["assistant_masks"]) if mark and ids[i] != end]
    with torch.no_grad():
        logits = weights(torch.tensor([ids])).logits[0]
    before = logits[[i - 1 for i in places]]
    targets = torch.tensor([ids[i] for i in places])
    chosen = before.gather(1, targets[:, None])
    logprobs = torch.log_softmax(before, -1).gather(1, targets[:, None])[:, 0]
    turns = "".join(
        tokenizer.decode(ids[i]) if mark else "\0"
        for i, mark in enumerate(found["assistant_masks"])
    )
    return (
        targets.tolist(),
        logprobs.tolist(),
        ((before > chosen).sum(1) + 1).tolist(),
        [turn for turn in turns.split("\0") if turn],
    )


def test_scores_are_those_of_the_full_softmax_at_the_assistants_tokens(random_model: Path) -> None:
    found = scored(random_model)
    tokens, logprobs, ranks, turns = in_full(random_model, CHAT, [TOOL])
    assert [token.token_id for token in found.tokens] == tokens
    assert [token.logprob for token in found.tokens] == pytest.approx(logprobs, abs=1e-4)
    assert [token.rank for token in found.tokens] == ranks
    assert found.turn_of_token == tuple(sorted(found.turn_of_token))
    assert [found.turn_of_token.count(turn) for turn in (0, 1)] == [
        lengths(random_model, turn) for turn in turns
    ]
    assert (found.tools_rendered, found.not_scored) == (True, None)


def lengths(folder: Path, turn: str) -> int:
    from transformers import AutoTokenizer

    return len(AutoTokenizer.from_pretrained(folder)(turn.removesuffix("<|im_end|>"))["input_ids"])


def test_a_template_that_drops_earlier_thoughts_is_scored_where_it_marks_what_the_assistant_wrote(
    altered: Callable[..., Path],
) -> None:
    folder = altered(template=FORGETFUL)
    found = scored(folder, THOUGHTS, ())
    tokens, logprobs, ranks, _ = in_full(folder, THOUGHTS)
    assert [(token.token_id, token.rank) for token in found.tokens] == list(
        zip(tokens, ranks, strict=True)
    )
    assert [token.logprob for token in found.tokens] == pytest.approx(logprobs, abs=1e-4)
    assert set(found.turn_of_token) == {0, 1, 2}


@pytest.mark.parametrize(
    ("template", "tools", "reason"),
    [
        (UNMARKED, (), "template_changes_earlier_turns"),
        (
            FORGETFUL.replace(
                "{% endif %}{{ message.content }}",
                "{% endif %}{% endgeneration %}{% generation %}{{ message.content }}",
            ),
            (),
            "template_changes_earlier_turns",
        ),
        (
            FORGETFUL.replace(
                "{% generation %}{% if",
                "{% if not loop.last %} t{% endif %}{% generation %}{% if not loop.last %}he{% "
                "endif %}{% if",
            ),
            (),
            "template_changes_earlier_turns",
        ),
        (TEMPLATE.replace("{%- if tools %}", "{%- if false %}"), (TOOL,), "tools_not_rendered"),
        (
            "{% for message in messages %}{{ message.content }}{% endfor %}",
            (),
            "template_has_no_end_of_turn",
        ),
    ],
)
def test_a_template_that_cannot_say_what_the_assistant_wrote_scores_nothing_and_says_why(
    altered: Callable[..., Path], template: str, tools: Any, reason: str
) -> None:
    found = scored(altered(template=template), THOUGHTS, tools)
    assert (found.tokens, found.turn_of_token, found.not_scored) == ((), (), reason)


def test_a_template_without_marks_is_scored_where_every_turn_continues_what_stood_before(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    unmarked = TEMPLATE.replace("{% generation %}", "{% if true %}").replace(
        "{% endgeneration %}", "{% endif %}"
    )
    assert scored(altered(template=unmarked)).tokens == scored(random_model).tokens


def test_a_chat_longer_than_the_context_is_not_scored(random_model: Path) -> None:
    found = scored(random_model, [*CHAT[:2], {"role": "assistant", "content": "so " * 40_000}])
    assert (found.tokens, found.not_scored) == ((), "context_length")


def test_a_chat_in_which_no_assistant_speaks_has_no_tokens(random_model: Path) -> None:
    assert scored(random_model, CHAT[:2]).tokens == ()


def test_templates_are_told_apart_by_what_they_write(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    other = altered(template=TEMPLATE.replace("# Tools", "# Functions"))
    assert scored(random_model).template_hash == scored(random_model, CHAT[:3]).template_hash
    assert scored(other).template_hash != scored(random_model).template_hash


def test_a_head_with_a_soft_cap_is_refused_and_not_scored_wrongly(
    altered: Callable[..., Path],
) -> None:
    import torch
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(1)
    sizes = {
        "vocab_size": 1024,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "head_dim": 16,
    }
    config = Gemma2Config(
        **sizes,
        num_attention_heads=2,
        num_key_value_heads=1,
        initializer_range=1.0,
        final_logit_softcapping=3.0,
    )
    with pytest.raises(ConfigError, match="not a linear map of its last hidden state"):
        scored(altered(weights=Gemma2ForCausalLM(config)))
