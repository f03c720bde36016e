"""The probability of a given chat under a small model in this process, token by token."""

from functools import partial
from typing import Any

from msgspec.structs import replace

from synth.models.assistant_turns import TOO_LONG, AssistantTurns, assistant_turns, known_template
from synth.models.local.transformers_model import LocalModel, ModelThread, check_local, load
from synth.models.local.transformers_ranks import ranks_and_logprobs
from synth.models.once import Once
from synth.models.settings import ModelSettings
from synth.schemas import (
    ConfigError,
    Messages,
    ModelError,
    Scored,
    TokenId,
    TokenScore,
    ToolSchemas,
)

NOT_LINEAR = 1e-3
"""Largest difference, relative to the largest logit, at which the head counts as a linear map of
the last hidden state.
"""


class TransformersScoring:
    """A `ScoringModel` on a thread of its own; one chat is scored at a time, on all cores.

    Which tokens are scored is the same as with vLLM (assistant_turns). Where the template renders
    earlier turns otherwise once later ones follow, its `{% generation %}` blocks say it, one per
    assistant turn, without what ends the turn; where it has none, the chat is not scored.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._thread = ModelThread(settings, _loaded)
        self._template = Once(lambda: known_template(self._tokenized))
        self.close = self._thread.close

    async def score(self, messages: Messages, tools: ToolSchemas) -> Scored:
        """The assistant turns' tokens in order. Raises `ModelError`."""
        model, template = await self._thread.model(), await self._template()
        marked = partial(self._thread.run, model.marked, messages, tools)
        turns = await assistant_turns(self._tokenized, template, messages, tools, marked)

        if turns.unknown is None and len(turns.tokens) > model.context:
            turns = replace(turns, spans=(), unknown=TOO_LONG)

        scores = await self._thread.run(token_scores, model, turns)

        words = {score.token_id: model.tokenizer.decode([score.token_id]) for score in scores}
        return turns.scored(scores, [words[score.token_id] for score in scores], model.weights_id)

    async def _tokenized(
        self, messages: Messages, tools: ToolSchemas, answer: bool
    ) -> tuple[TokenId, ...]:
        rendered = (await self._thread.model()).rendered
        return await self._thread.run(rendered, messages, tools, add_generation_prompt=answer)


def token_scores(model: LocalModel, turns: AssistantTurns) -> tuple[TokenScore, ...]:
    """Every token of the spans after all that stands before it. Raises `ModelError` where the first
    token of all is among them, and where a probability is no finite number.
    """
    import torch

    places = turns.places
    if not places:
        return ()
    if places[0] == 0:
        raise ModelError(
            f"model {model.name}: its template puts nothing before the assistant's first token, "
            "so that it has no probability"
        )

    with torch.inference_mode():
        ids = torch.tensor([turns.tokens])

        # a token is scored by the state before it
        targets, before = ids[0, list(places)], [place - 1 for place in places]
        head = model.weights.get_output_embeddings()
        ranks, logprobs = ranks_and_logprobs(
            _last_states(model, ids)[before], head.weight, head.bias, targets
        )
        if not bool(logprobs.isfinite().all()):
            raise ModelError(
                f"model {model.name}: it gives no finite probability to a token of this chat "
                "(broken weights?)"
            )

    found = zip(targets.tolist(), logprobs.tolist(), ranks.tolist(), strict=True)
    return tuple(TokenScore(*one) for one in found)


def _last_states(model: LocalModel, ids: Any) -> Any:
    """The last hidden state at every token [tokens, width]."""
    return model.weights.base_model(input_ids=ids, use_cache=False).last_hidden_state[0]


def _loaded(settings: ModelSettings) -> LocalModel:
    """The model, where its logits are a linear map of its last hidden state. Raises `ConfigError`
    where they are not.
    """
    import torch

    model = load(settings)

    with torch.inference_mode():
        ids = torch.tensor([[1, 2, 3]])
        logits = model.weights(input_ids=ids, use_cache=False).logits[0]

        # what is scored are hidden states times the head: that has to be what the model does
        linear = model.weights.get_output_embeddings()(_last_states(model, ids))
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
