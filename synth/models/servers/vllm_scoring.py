"""The probability of a given chat under a model that vLLM serves: a rank and a log-probability for
every token of its assistant turns.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from synth.models.assistant_turns import TOO_LONG, AssistantTurns, assistant_turns, known_template
from synth.models.once import Once
from synth.models.replies.reply import ROUNDING
from synth.models.reply_health import unfinished
from synth.models.server_error import ServerError, decoded
from synth.models.servers.chat_request import Post, Received, encoded
from synth.models.servers.http_chat import open_vllm, open_vllm_local
from synth.models.servers.server_chat import ServerChat
from synth.models.settings import ModelSettings
from synth.schemas import Messages, Scored, TokenId, TokenScore, ToolSchemas

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
        self._template = Once(lambda: known_template(self._tokenized))
        self.close = chat.close

    async def score(self, messages: Messages, tools: ToolSchemas) -> Scored:
        """The assistant turns' tokens in order. Raises `ModelError`."""
        template = await self._template()
        try:
            turns = await assistant_turns(self._tokenized, template, messages, tools)
            if turns.unknown is not None:
                return turns.scored((), (), None)
            given, weights_id = await self._probabilities(turns.tokens, messages)
        except ServerError as error:
            if not error.context_overflow:
                raise
            return AssistantTurns(template.template_hash, unknown=TOO_LONG).scored((), (), None)

        scores, texts = list[TokenScore](), list[str]()
        for place in turns.places:
            token = turns.tokens[place]
            score = (given[place] or {}).get(str(token))
            if score is None:
                raise ServerError(f"the server gave no probability for token {place} of the prompt")
            scores.append(TokenScore(token, score.logprob, score.rank))
            texts.append(score.decoded_token or "")
        return turns.scored(scores, texts, weights_id)

    async def _tokenized(
        self, messages: Messages, tools: ToolSchemas, answer: bool
    ) -> tuple[TokenId, ...]:
        """The chat as the model would read it; `answer` adds the header of a turn of its own."""
        body = {"messages": self._chat.spelled(messages), "add_generation_prompt": answer}
        shown = {"tools": tools} if tools else {}
        post = self._post("/tokenize", {**body, **shown}, messages, beside=True)
        return (await self._asked(post, _Tokens))[0].tokens

    async def _probabilities(
        self, tokens: Sequence[TokenId], messages: Messages
    ) -> tuple[list[dict[str, _Score] | None], str | None]:
        """Of every token after those before it, None for the first; and the weights."""
        body = {"prompt": tokens, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}

        def wrong(found: _Scores) -> str | None:
            """Why an answer holds no probabilities of these tokens, or None."""
            told = found.error or next((one.error for one in found.choices if one.error), None)
            if told:
                return f"it tells of an error: {str(told)[:200]}"
            if len(found.choices) != 1:
                return f"it has {len(found.choices)} choices, not 1"

            (choice,) = found.choices
            if len(choice.prompt_logprobs) != len(tokens):
                return f"{len(choice.prompt_logprobs)} probabilities for {len(tokens)} tokens"
            return unfinished(choice.finish_reason)

        post = self._post("/completions", body, messages)
        found, weights_id = await self._asked(post, _Scores, wrong)
        return found.choices[0].prompt_logprobs, weights_id

    def _post(
        self, path: str, body: Mapping[str, Any], chat: Messages, *, beside: bool = False
    ) -> Post:
        name = self._chat.name
        return Post(path, encoded(name, {"model": name, **body}), chat, beside)

    async def _asked(
        self, post: Post, kind: type[T], wrong: Callable[[T], str | None] = lambda found: None
    ) -> tuple[T, str | None]:
        """The answer, and the weights behind it where they are known; one that is `wrong` is asked
        for again.
        """
        answer = f"model {self._chat.name}: the answer of {post.path}"

        def read(received: Received) -> tuple[T, str | None]:
            found = decoded(received.body, kind, answer)
            why = wrong(found)
            if why is not None:
                raise ServerError(f"{answer} is unusable: {why}", retryable=True)
            return found, received.weights_id

        return await self._chat.request(post, read)


def open_scoring(settings: ModelSettings) -> VLLMScoring:
    """A scoring client of the servers that `base_url` names, or of one that is started by the first
    chat. Raises `ConfigError` as `open_model` does.
    """
    opened = open_vllm_local if settings.engine == "vllm_local" else open_vllm
    return VLLMScoring(opened(settings))
