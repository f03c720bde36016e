"""The probability of a given chat under a model that vLLM serves: a rank and a log-probability for every token of its assistant turns."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from schemas.model import Message, Scored, TokenScore
from schemas.trajectory import TokenId, ToolSchema
from synth.models.assistant_turns import TOO_LONG, Template, assistant_turns, known_template
from synth.models.chat_request import encoded
from synth.models.server_chat import Received, ServerChat
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings
from synth.models.vllm_chat import open_model

T = TypeVar("T")


class _Tokens(msgspec.Struct):
    tokens: tuple[TokenId, ...]


class _Score(msgspec.Struct):
    logprob: float
    rank: int


class _Choice(msgspec.Struct):
    prompt_logprobs: list[dict[str, _Score] | None]


class _Scores(msgspec.Struct):
    choices: list[_Choice]


class VLLMScoring:
    """A `ScoringModel`: renders with the server's own template (`/tokenize`), scores the token ids (`prompt_logprobs`).

    Scored are the tokens of assistant turns, from after the header up to, and not with, what ends the turn. Rank 1 is the model's
    first choice. A chat is not scored, and the reason said, where its tools are not rendered, where the template renders earlier turns
    otherwise once later ones follow, or where it is longer than the context.
    """

    def __init__(self, chat: ServerChat) -> None:
        self._chat = chat
        self._template: asyncio.Task[Template] | None = None

    async def score(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Scored:
        """The assistant turns' tokens in order; `turn_of_token` counts assistant messages from 0. Raises `ModelError`."""
        template = await self._known_template()
        try:
            turns = await assistant_turns(self._tokenized, template, messages, tools)
            if turns.unknown is not None:
                return Scored((), (), template.template_hash, turns.tools_rendered, turns.unknown)
            scores = await self._scored(turns.tokens, messages)
        except ServerError as error:
            if not error.context_overflow:
                raise
            return Scored((), (), template.template_hash, True, TOO_LONG)
        tokens: list[TokenScore] = []
        turn_of_token: list[int] = []
        for turn, (start, end) in enumerate(turns.spans):
            tokens += [_known(scores, i) for i in range(start, end)]
            turn_of_token += [turn] * (end - start)
        return Scored(tuple(tokens), tuple(turn_of_token), template.template_hash, True)

    async def close(self) -> None:
        """Closes the connections."""
        await self._chat.close()

    async def _known_template(self) -> Template:
        """Found out once, by whoever comes first; one that failed is tried again by the next."""
        if self._template is None or (self._template.done() and (self._template.cancelled() or self._template.exception() is not None)):
            self._template = asyncio.get_running_loop().create_task(known_template(self._tokenized))
        return await asyncio.shield(self._template)

    async def _tokenized(self, messages: Sequence[Message], tools: Sequence[ToolSchema], answer: bool) -> tuple[TokenId, ...]:
        """The chat as the model would read it; `answer` adds the header of a turn of its own."""
        sent = self._chat.spelled(messages)
        body = {"model": self._chat.name, "messages": sent, "add_generation_prompt": answer, **({"tools": tools} if tools else {})}
        return (await self._asked("/tokenize", body, messages, _Tokens, beside=True)).tokens

    async def _scored(self, tokens: Sequence[TokenId], messages: Sequence[Message]) -> list[TokenScore | None]:
        """Every token after those before it; None for the first."""
        body = {"model": self._chat.name, "prompt": tokens, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
        choice = (await self._asked("/completions", body, messages, _Scores)).choices[0]
        if len(choice.prompt_logprobs) != len(tokens):
            raise ServerError(f"model {self._chat.name}: {len(choice.prompt_logprobs)} probabilities for {len(tokens)} tokens")
        found = [(scores or {}).get(str(token)) for token, scores in zip(tokens, choice.prompt_logprobs, strict=True)]
        return [TokenScore(t, score.logprob, score.rank) if score else None for t, score in zip(tokens, found, strict=True)]

    async def _asked(self, path: str, body: Mapping[str, Any], messages: Sequence[Message], kind: type[T], *, beside: bool = False) -> T:
        def read(received: Received, latency_ms: float) -> T:
            try:
                return msgspec.json.decode(received.body, type=kind)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise ServerError(f"model {self._chat.name}: the answer of {path} is unusable: {error}", retryable=True) from error

        return await self._chat.request(path, encoded(self._chat.name, body), messages, read, beside=beside)


def _known(scores: Sequence[TokenScore | None], index: int) -> TokenScore:
    score = scores[index]
    if score is None:
        raise ServerError(f"the server gave no probability for token {index} of the prompt")
    return score


def open_scoring(settings: ModelSettings) -> VLLMScoring:
    """A scoring client of the servers that `base_url` names. Raises `ConfigError` as `open_model` does."""
    return VLLMScoring(open_model(settings))
