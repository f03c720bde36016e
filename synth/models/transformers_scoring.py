"""The probability of a given chat under a small model in this process, token by token."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from synth.models.assistant_turns import (
    PREFIXES_CHANGE,
    TOO_LONG,
    AssistantTurns,
    ChatTemplate,
    assistant_turns,
    end_of_span,
    known_template,
)
from synth.models.settings import ModelSettings
from synth.models.transformers_model import LocalModel, check_local, load
from synth.models.transformers_ranks import ranks_and_logprobs
from synth.schemas.errors import ConfigError
from synth.schemas.model import Message, ModelError, Scored, TokenScore
from synth.schemas.trajectory import TokenId, ToolSchema

NOT_LINEAR = 1e-3
"""Largest difference, relative to the largest logit, at which the head counts as a linear map of
the last hidden state.
"""


class TransformersScoring:
    """A `ScoringModel` on two threads of its own; one chat is scored at a time, on all cores.

    Which tokens are scored is the same as with vLLM (assistant_turns). Where the template renders
    earlier turns otherwise once later ones follow, its `{% generation %}` blocks say it, one per
    assistant turn, without what ends the turn; where it has none, the chat is not scored.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._rendering = ThreadPoolExecutor(1, "transformers-template")
        self._thread = ThreadPoolExecutor(1, "transformers-scores")
        self._loading: Future[LocalModel] | None = None
        self._template: ChatTemplate | None = None

    async def score(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Scored:
        """The assistant turns' tokens in order; `turn_of_token` counts assistant messages from 0.
        Raises `ModelError`.
        """
        loop = asyncio.get_running_loop()
        if self._loading is None or (
            self._loading.done() and self._loading.exception() is not None
        ):
            self._loading = self._thread.submit(_loaded, self._settings)
        model = await asyncio.shield(asyncio.wrap_future(self._loading))

        async def tokenize(
            chat: Sequence[Message], shown: Sequence[ToolSchema], answer: bool
        ) -> tuple[TokenId, ...]:
            return await loop.run_in_executor(
                self._rendering, partial(model.rendered, chat, shown, answer=answer)
            )

        if self._template is None:
            self._template = await known_template(tokenize)
        turns = await assistant_turns(tokenize, self._template, messages, tools)
        if turns.unknown == PREFIXES_CHANGE:
            blocks = await loop.run_in_executor(self._rendering, model.marked, messages, tools)
            turns = marked_turns(turns, blocks, messages, self._template)
        unknown = (
            TOO_LONG
            if turns.unknown is None and len(turns.tokens) > model.context
            else turns.unknown
        )
        if unknown is not None:
            return Scored(
                (),
                (),
                self._template.template_hash,
                turns.tools_rendered,
                unknown,
                model.weights_id,
            )
        scores = await loop.run_in_executor(self._thread, token_scores, model, turns)
        turn_of_token = tuple(
            turn for turn, (start, end) in enumerate(turns.spans) for _ in range(start, end)
        )
        places = tuple(i for start, end in turns.spans for i in range(start, end))
        words = {score.token_id: model.tokenizer.decode([score.token_id]) for score in scores}
        return Scored(
            scores,
            turn_of_token,
            self._template.template_hash,
            turns.tools_rendered,
            weights_id=model.weights_id,
            chat=turns.tokens,
            places=places,
            texts=tuple(words[score.token_id] for score in scores),
        )

    async def close(self) -> None:
        """Ends both threads; a chat that is being scored is finished first."""
        for thread in (self._rendering, self._thread):
            await asyncio.to_thread(thread.shutdown, cancel_futures=True)


def marked_turns(
    turns: AssistantTurns,
    blocks: Sequence[tuple[int, int]],
    messages: Sequence[Message],
    template: ChatTemplate,
) -> AssistantTurns:
    """The turns as the template marks them, where it marks one block for each; else as they were,
    unknown.
    """
    if not blocks or len(blocks) != sum(message["role"] == "assistant" for message in messages):
        return turns
    spans = tuple(
        (start, min(end, end_of_span(turns.tokens, start, template))) for start, end in blocks
    )
    return AssistantTurns(turns.tokens, spans, turns.tools_rendered)


def token_scores(model: LocalModel, turns: AssistantTurns) -> tuple[TokenScore, ...]:
    """Every token of the spans after all that stands before it. Raises `ModelError` where the first
    token of all is among them, and where a probability is no finite number.
    """
    import torch

    places = [i for start, end in turns.spans for i in range(start, end)]
    if not places:
        return ()
    if places[0] == 0:
        raise ModelError(
            f"model {model.name}: its template puts nothing before the assistant's first token, "
            "so that it has no probability"
        )
    head = model.weights.get_output_embeddings()
    with torch.inference_mode():
        ids = torch.tensor([turns.tokens])
        hidden = model.weights.base_model(input_ids=ids, use_cache=False).last_hidden_state[0]
        targets = ids[0, places]
        ranks, logprobs = ranks_and_logprobs(
            hidden[[i - 1 for i in places]], head.weight, head.bias, targets
        )
        if not bool(logprobs.isfinite().all()):
            raise ModelError(
                f"model {model.name}: it gives no finite probability to a token of this chat "
                "(broken weights?)"
            )
    found = zip(targets.tolist(), logprobs.tolist(), ranks.tolist(), strict=True)
    return tuple(TokenScore(token, logprob, rank) for token, logprob, rank in found)


def _loaded(settings: ModelSettings) -> LocalModel:
    """The model, where its logits are a linear map of its last hidden state. Raises `ConfigError`
    where they are not.
    """
    import torch

    model = load(settings)
    with torch.inference_mode():
        ids = torch.tensor([[1, 2, 3]])
        logits = model.weights(input_ids=ids, use_cache=False).logits[0]
        linear = model.weights.get_output_embeddings()(
            model.weights.base_model(input_ids=ids, use_cache=False).last_hidden_state[0]
        )
        apart = (logits - linear).abs().max() / logits.abs().max()
    if apart > NOT_LINEAR:
        raise ConfigError(
            f"model {settings.model}: its logits are not a linear map of its last hidden state (a "
            "soft cap or a scale); "
            "serve it with vLLM and score with engine vllm"
        )
    return model


def open_scoring(settings: ModelSettings) -> TransformersScoring:
    """The model that `model` names, loaded by its first chat. Raises `ConfigError`."""
    check_local(settings)
    return TransformersScoring(settings)
