"""The probability of a given chat under a model that vLLM serves: a rank and a log-probability for
every token of its assistant turns.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec

from synth.models.assistant_turns import TOO_LONG, ChatTemplate, assistant_turns, known_template
from synth.models.chat_request import encoded
from synth.models.http_chat import open_vllm
from synth.models.reply import ROUNDING
from synth.models.reply_health import unfinished
from synth.models.server_chat import Received, ServerChat
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings
from synth.schemas.model import Message, Scored, TokenScore
from synth.schemas.trajectory import TokenId, ToolSchema

T = TypeVar("T")


class _Tokens(msgspec.Struct):
    tokens: tuple[TokenId, ...]


class _Score(msgspec.Struct):
    logprob: Annotated[float, msgspec.Meta(le=ROUNDING)]
    rank: Annotated[int, msgspec.Meta(ge=1)]
    decoded_token: str | None = None


class _Choice(msgspec.Struct):
    prompt_logprobs: list[dict[str, _Score] | None]
    finish_reason: str | None = None
    error: Any = None


class _Scores(msgspec.Struct):
    choices: list[_Choice]
    error: Any = None


class VLLMScoring:
    """A `ScoringModel`: renders with the server's own template (`/tokenize`), scores the token ids
    (`prompt_logprobs`).

    Scored are the tokens of assistant turns, from after the header up to, and not with, what ends
    the turn. Rank 1 is the model's first choice. A chat is not scored, and the reason said, where
    its tools are not rendered, where the template renders earlier turns otherwise once later ones
    follow, or where it is longer than the context.
    """

    def __init__(self, chat: ServerChat) -> None:
        self._chat = chat
        self._template: asyncio.Task[ChatTemplate] | None = None

    async def score(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Scored:
        """The assistant turns' tokens in order; `turn_of_token` counts assistant messages from 0.
        Raises `ModelError`.
        """
        template = await self._known_template()
        try:
            turns = await assistant_turns(self._tokenized, template, messages, tools)
            if turns.unknown is not None:
                return Scored((), (), template.template_hash, turns.tools_rendered, turns.unknown)
            scores, weights_id = await self._scored(turns.tokens, messages)
        except ServerError as error:
            if not error.context_overflow:
                raise
            return Scored((), (), template.template_hash, True, TOO_LONG)
        places = tuple(i for start, end in turns.spans for i in range(start, end))
        known = [_known(scores, i) for i in places]
        return Scored(
            tuple(
                TokenScore(turns.tokens[i], score.logprob, score.rank)
                for i, score in zip(places, known, strict=True)
            ),
            tuple(turn for turn, (start, end) in enumerate(turns.spans) for _ in range(start, end)),
            template.template_hash,
            True,
            weights_id=weights_id,
            chat=turns.tokens,
            places=places,
            texts=tuple(score.decoded_token or "" for score in known),
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._chat.close()

    async def _known_template(self) -> ChatTemplate:
        """Found out once, by whoever comes first; one that failed is tried again by the next."""
        if self._template is None or (
            self._template.done()
            and (self._template.cancelled() or self._template.exception() is not None)
        ):
            self._template = asyncio.get_running_loop().create_task(known_template(self._tokenized))
        return await asyncio.shield(self._template)

    async def _tokenized(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], answer: bool
    ) -> tuple[TokenId, ...]:
        """The chat as the model would read it; `answer` adds the header of a turn of its own."""
        sent = self._chat.spelled(messages)
        body = {
            "model": self._chat.name,
            "messages": sent,
            "add_generation_prompt": answer,
            **({"tools": tools} if tools else {}),
        }
        return (await self._asked("/tokenize", body, messages, _Tokens, beside=True))[0].tokens

    async def _scored(
        self, tokens: Sequence[TokenId], messages: Sequence[Message]
    ) -> tuple[list[_Score | None], str | None]:
        """Every token after those before it, None for the first; and the weights."""
        body = {
            "model": self._chat.name,
            "prompt": tokens,
            "max_tokens": 1,
            "temperature": 0,
            "prompt_logprobs": 0,
        }
        found, weights_id = await self._asked(
            "/completions", body, messages, _Scores, partial(_wrong, tokens)
        )
        given = found.choices[0].prompt_logprobs
        return [
            (scores or {}).get(str(token)) for token, scores in zip(tokens, given, strict=True)
        ], weights_id

    async def _asked(
        self,
        path: str,
        body: Mapping[str, Any],
        messages: Sequence[Message],
        kind: type[T],
        wrong: Callable[[T], str | None] = lambda found: None,
        *,
        beside: bool = False,
    ) -> tuple[T, str | None]:
        """The answer, and the weights behind it where they are known; one that is `wrong` is asked
        for again.
        """

        def read(received: Received, latency_ms: float) -> tuple[T, str | None]:
            unusable = f"model {self._chat.name}: the answer of {path} is unusable"
            try:
                found = msgspec.json.decode(received.body, type=kind)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise ServerError(f"{unusable}: {error}", retryable=True) from error
            why = wrong(found)
            if why is not None:
                raise ServerError(f"{unusable}: {why}", retryable=True)
            return found, received.weights_id

        return await self._chat.request(
            path, encoded(self._chat.name, body), messages, read, beside=beside
        )


def _wrong(tokens: Sequence[TokenId], found: _Scores) -> str | None:
    """Why an answer holds no probabilities of these tokens, or None."""
    told = found.error or next((choice.error for choice in found.choices if choice.error), None)
    if told:
        return f"it tells of an error: {str(told)[:200]}"
    if len(found.choices) != 1:
        return f"it has {len(found.choices)} choices, not 1"
    (choice,) = found.choices
    if len(choice.prompt_logprobs) != len(tokens):
        return f"{len(choice.prompt_logprobs)} probabilities for {len(tokens)} tokens"
    return unfinished(choice.finish_reason)


def _known(scores: Sequence[_Score | None], index: int) -> _Score:
    score = scores[index]
    if score is None:
        raise ServerError(f"the server gave no probability for token {index} of the prompt")
    return score


def open_scoring(settings: ModelSettings) -> VLLMScoring:
    """A scoring client of the servers that `base_url` names. Raises `ConfigError` as `open_model`
    does.
    """
    return VLLMScoring(open_vllm(settings))
