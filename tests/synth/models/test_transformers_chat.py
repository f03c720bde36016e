"""Engine transformers on a model of random weights; what is expected is worked out by plain
forwards over the whole text.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synth.models.local.transformers_chat import TransformersChat, split_thought
from synth.schemas.model import Completion, Message, Sampling
from tests.synth.models.small_models import (
    ASK,
    CHATS,
    asked,
    first_choices,
    hybrid_model,
    plain,
    rendered,
    sliding_window_model,
    using,
)

TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "Does.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def test_greedy_tokens_and_log_probabilities_are_those_of_forwards_without_a_cache(
    random_model: Path,
) -> None:
    tokens, logprobs, text = first_choices(random_model, ASK, 12)
    reply = asked(random_model)
    assert reply.completion_token_ids == tuple(tokens)
    assert reply.logprobs == pytest.approx(logprobs, abs=1e-4)
    assert (reply.content, reply.finish_reason, reply.thought, reply.tool_calls) == (
        text,
        "length",
        None,
        (),
    )
    assert reply.prompt_token_ids == tuple(rendered(plain(random_model)[1], ASK))
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.calls) == (
        len(reply.prompt_token_ids),
        12,
        1,
    )


@pytest.mark.parametrize("other", [None, sliding_window_model, hybrid_model])
def test_a_seeded_call_draws_the_same_tokens_alone_and_in_any_company(
    random_model: Path, altered: Callable[..., Path], other: Callable[[], Any] | None
) -> None:
    folder = random_model if other is None else altered(weights=other())
    jobs = [
        (chat, Sampling(temperature=1.0, max_tokens=5 + 6 * i, seed=i))
        for i, chat in enumerate(CHATS)
    ]

    async def alone(model: TransformersChat) -> list[Completion]:
        return [await model.complete(chat, (), sampling) for chat, sampling in jobs]

    async def together(model: TransformersChat) -> list[Completion]:
        async def late(i: int) -> Completion:
            await asyncio.sleep(0.003 * i)
            return await model.complete(jobs[i][0], (), jobs[i][1])

        return await asyncio.gather(*(late(i) for i in reversed(range(len(jobs)))))

    expected = using(folder, alone)
    found = using(folder, together)[::-1]
    assert [reply.completion_token_ids for reply in found] == [
        reply.completion_token_ids for reply in expected
    ]
    for reply, single in zip(found, expected, strict=True):
        assert reply.logprobs == pytest.approx(single.logprobs, abs=1e-4)


def test_draws_follow_temperature_and_top_p_and_log_probabilities_are_those_before_both(
    random_model: Path,
) -> None:
    import numpy as np
    import torch

    weights, tokenizer = plain(random_model)
    with torch.no_grad():
        logits = weights(torch.tensor([rendered(tokenizer, ASK)])).logits[0, -1].double().numpy()
    weight = np.exp(logits / 0.8 - np.max(logits / 0.8))
    p = weight / weight.sum()
    order = np.argsort(-p)
    nucleus = order[: int(np.searchsorted(np.cumsum(p[order]), 0.6)) + 1]
    expected = {int(token): float(p[token] / p[nucleus].sum()) for token in nucleus}

    async def scene(model: TransformersChat) -> list[Completion]:
        jobs = [
            Sampling(temperature=0.8, top_p=0.6, max_tokens=1, seed=seed) for seed in range(1500)
        ]
        return await asyncio.gather(*(model.complete(ASK, (), job) for job in jobs))

    replies = using(random_model, scene, max_in_flight=64)
    drawn = Counter(
        reply.completion_token_ids[0] for reply in replies if reply.completion_token_ids
    )
    unwarped = logits - np.logaddexp.reduce(logits)
    for reply in replies[:20]:
        assert reply.completion_token_ids is not None
        assert reply.logprobs == pytest.approx([unwarped[reply.completion_token_ids[0]]], abs=1e-4)
    assert set(drawn) <= set(expected)
    likely = max(expected, key=lambda token: expected[token])
    spread = (expected[likely] * (1 - expected[likely]) / 1500) ** 0.5
    assert drawn[likely] / 1500 == pytest.approx(expected[likely], abs=4.5 * spread)


def test_without_settings_the_models_own_generation_config_draws(
    altered: Callable[..., Path],
) -> None:
    folder = altered(generation={"top_k": 1, "temperature": 0.7})
    sampled = asked(folder, sampling=Sampling(max_tokens=12))
    assert sampled.completion_token_ids == tuple(first_choices(folder, ASK, 12)[0])
    free = asked(
        folder, sampling=Sampling(max_tokens=12, seed=3, temperature=1.5, extra={"top_k": 0})
    )
    assert free.completion_token_ids != sampled.completion_token_ids


def test_a_stop_string_cuts_the_text_also_where_it_spans_tokens(random_model: Path) -> None:
    tokens, _, text = first_choices(random_model, ASK, 12)
    pieces = [plain(random_model)[1].decode(tokens[:i]) for i in range(13)]
    stop = text[len(pieces[5]) - 1 : len(pieces[5]) + 1]
    reply = asked(
        random_model, sampling=Sampling(temperature=0, max_tokens=12, stop=("not there", stop))
    )
    assert reply.finish_reason == "stop"
    assert reply.content == text[: text.index(stop)]
    assert len(reply.completion_token_ids or ()) < 12


def test_a_token_that_ends_the_turn_is_kept_as_a_token_and_not_as_text(
    altered: Callable[..., Path], random_model: Path
) -> None:
    tokens, _, _ = first_choices(random_model, ASK, 4)
    end = tokens[3]
    before = tokens[: tokens.index(end)]
    reply = asked(altered(generation={"eos_token_id": [1000000, end]}))
    assert reply.finish_reason == "stop"
    assert reply.completion_token_ids == (*before, end)
    assert reply.content == plain(random_model)[1].decode(before, skip_special_tokens=True)


def test_tools_and_past_calls_reach_the_prompt_through_the_template(random_model: Path) -> None:
    def chat(arguments: Any) -> list[Message]:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return [
            *ASK,
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "no"},
        ]

    reply = asked(random_model, chat('{"a":"é"}'), tools=[TOOL])
    assert reply.prompt_token_ids == tuple(
        rendered(plain(random_model)[1], chat({"a": "é"}), [TOOL])
    )
    broken = asked(random_model, chat('{"a": '), tools=[TOOL])
    text = plain(random_model)[1].decode(broken.prompt_token_ids)
    assert '<tool_call>\n{"name": "f", "arguments": {"a": }\n</tool_call>' in text
    assert broken.repairs == ("broken_calls_sent_as_text",)


def taught(folder: Path, reply: str) -> Any:
    """The weights after they have learned to answer ASK (with TOOL) so."""
    import torch

    weights, tokenizer = plain(folder)
    prompt = rendered(tokenizer, ASK, [TOOL])
    ids = torch.tensor([prompt + tokenizer(reply, add_special_tokens=False)["input_ids"]])
    labels = ids.clone()
    labels[0, : len(prompt)] = -100
    learn = torch.optim.AdamW(weights.parameters(), lr=3e-3)
    for _ in range(200):
        loss = weights(ids, labels=labels).loss
        loss.backward()
        learn.step()
        learn.zero_grad()
        if loss < 0.01:
            break
    return weights


def test_a_thought_and_a_call_are_read_from_what_the_model_wrote(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    written = (
        '<think>\nhm\n</think>\n\nI look.\n<tool_call>\n{"name": "f", "arguments": {"a": '
        "1}}\n</tool_call>"
    )
    folder = altered(weights=taught(random_model, f"{written}<|im_end|>"))
    reply = asked(folder, tools=[TOOL], sampling=Sampling(temperature=0, max_tokens=200))
    assert (reply.thought, reply.content, reply.finish_reason) == ("hm", "I look.", "tool_calls")
    assert [(call.name, call.arguments, call.parse_error) for call in reply.tool_calls] == [
        ("f", '{"a": 1}', None)
    ]
    assert reply.repairs == ()
    assert reply.raw is not None
    assert "hm" in reply.raw


@pytest.mark.parametrize(
    ("text", "opened", "parts"),
    [
        ("<think>\na\n</think>\n\nb", False, ("a", "b")),
        ("a</think>b", True, ("a", "b")),
        ("<think>cut", False, ("cut", None)),
        ("<think></think>b", False, (None, "b")),
        ("b <think> c", False, (None, "b <think> c")),
    ],
)
def test_a_thought_ends_where_its_tag_closes(
    text: str, opened: bool, parts: tuple[str | None, str | None]
) -> None:
    assert split_thought(text, opened=opened) == parts
