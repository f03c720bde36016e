"""A student that scores many last turns after the same chat: what stands before them is read once.

What it gives is what `synth.models.local.transformers_scoring` gives of the last turn, for a small
model in this process (needs the extra `transformers`).
"""

import copy
from typing import Any

from synth.schemas import Messages, Scored, TokenScore, ToolSchemas

KEPT = 2
"""Chats whose state is kept: one with the lesson, one without."""


class Prefixed:
    """A `ScoringModel` whose scores are those of the last turn alone."""

    def __init__(self, folder: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        weights: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self._weights = weights.eval()
        self._states: dict[tuple[int, ...], tuple[Any, Any]] = {}

    async def score(self, messages: Messages, tools: ToolSchemas) -> Scored:
        """The last turn's tokens, without what ends it."""
        import torch

        before = self._ids(messages[:-1], tools, True)
        whole = self._ids(messages, tools, False)
        body = list(whole[len(before) :])
        end = self._tokenizer.eos_token_id
        body = body[: body.index(end)] if end in body else body

        with torch.inference_mode():
            state, first = self._state(before)
            given = self._weights(
                torch.tensor([body]), past_key_values=copy.deepcopy(state), use_cache=True
            )
            scores = torch.cat([first[None], given.logits[0].log_softmax(-1)[:-1]])
            found = scores[range(len(body)), body].tolist()

        tokens = tuple(
            TokenScore(token, value, 1) for token, value in zip(body, found, strict=True)
        )
        turn = sum(message["role"] == "assistant" for message in messages) - 1
        return Scored(tokens, (turn,) * len(tokens), "prefixed", True)

    async def close(self) -> None:
        """Nothing is open."""

    def _ids(self, messages: Messages, tools: ToolSchemas, answer: bool) -> tuple[int, ...]:
        found = self._tokenizer.apply_chat_template(
            list(messages),
            tools=list(tools) or None,
            add_generation_prompt=answer,
            return_dict=True,
        )
        return tuple(found["input_ids"])

    def _state(self, before: tuple[int, ...]) -> tuple[Any, Any]:
        """What the model keeps of a chat, and the probabilities of what may come next."""
        import torch
        from transformers import DynamicCache

        if before not in self._states:
            cache = DynamicCache()
            given = self._weights(torch.tensor([before]), past_key_values=cache, use_cache=True)
            while len(self._states) >= KEPT:
                self._states.pop(next(iter(self._states)))
            self._states[before] = (cache, given.logits[0, -1].log_softmax(-1))

        return self._states[before]
