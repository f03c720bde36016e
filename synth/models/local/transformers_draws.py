"""One text that a model in this process writes: how its tokens are drawn, and where it ends.

Every text draws from a generator of its own, so that what it draws does not depend on who else is
in the batch.
"""

from asyncio import Future
from collections.abc import Mapping, Sequence
from typing import Any

from synth.models.local.transformers_model import LocalModel
from synth.schemas import ModelError, Sampling

PROCESSORS = {
    "repetition_penalty": ("RepetitionPenaltyLogitsProcessor", 1.0),
    "temperature": ("TemperatureLogitsWarper", 1.0),
    "top_k": ("TopKLogitsWarper", 0),
    "top_p": ("TopPLogitsWarper", 1.0),
    "min_p": ("MinPLogitsWarper", 0.0),
}
"""In transformers' own order: what can be drawn with, by which class, and the value that changes
nothing. The model's own generation_config.json is the default of all.
"""
GREEDY_BELOW = 1e-5
"""Temperatures at which the first choice is taken, as vLLM does: division by less overflows."""


class DrawnText:
    """A prompt, and what is drawn after it. `done` gives the latency (ms) to who waits for it, on
    the event loop; once it is done, cancelled or given up too, the text leaves its batch at the
    next token.
    """

    def __init__(self, model: LocalModel, prompt: Sequence[int], sampling: Sampling) -> None:
        """Raises `ModelError` where prompt and `max_tokens` exceed the context."""
        import torch

        left = model.context - len(prompt)
        self._most = sampling.max_tokens or max(left, 1)
        if self._most > left:
            raise ModelError(
                f"model {model.name}: {len(prompt)} tokens of prompt and {self._most} of reply "
                f"exceed its context of {model.context}",
                context_overflow=True,
            )

        self.prompt = prompt
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self.text = ""
        self.finish_reason: str | None = None
        self.done: Future[float] = Future()
        self.began_s = 0.0

        self._model = model
        self._stop = sampling.stop
        self._chosen = chosen(model.defaults, sampling)
        self._processors = processors(self._chosen)

        self._generator = torch.Generator()

        if sampling.seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(sampling.seed)

    def drawn(self, logits: Any) -> bool:
        """Draws the next token from `logits` [vocabulary] (nats, before any warping, are kept as
        its log-probability); False at the end.
        """
        import torch

        if self.done.done():
            return False

        looks_back = self._chosen["repetition_penalty"] != 1
        seen = [[*self.prompt, *self.tokens]] if looks_back else [[]]

        # a batch of one row: the processors take what stands before, and logits
        warped = self._processors(torch.tensor(seen, dtype=torch.long), logits[None].clone())[0]

        token = int(
            warped.argmax()
            if self._chosen["temperature"] < GREEDY_BELOW
            else torch.multinomial(warped.softmax(-1), 1, generator=self._generator)
        )

        self.tokens.append(token)
        self.logprobs.append(float(logits[token] - logits.logsumexp(-1)))
        self._judge(token)
        return self.finish_reason is None

    def _judge(self, token: int) -> None:
        """Whether it ends here: at a token that ends, a string that ends, or its length."""
        ended, full = token in self._model.ends, len(self.tokens) == self._most
        if not (ended or full or self._stop):
            return

        # a string that ends may span tokens, so that all of them are decoded
        text = str(
            self._model.tokenizer.decode(
                self.tokens[:-1] if ended else self.tokens,
                skip_special_tokens=True,
                clean_up_tokenization_spaces=False,
            )
        )

        cuts = [] if ended else [text.find(stop) for stop in self._stop if stop in text]
        if ended or cuts or full:
            self.finish_reason = "stop" if ended or cuts else "length"
            self.text = text[: min(cuts, default=len(text))]


def chosen(defaults: Mapping[str, Any], sampling: Sampling) -> dict[str, Any]:
    """What is drawn with, by name: as asked for, else as the model's own settings have it."""
    asked = {"temperature": sampling.temperature, "top_p": sampling.top_p, **sampling.extra}

    given = {**defaults, **{name: value for name, value in asked.items() if value is not None}}

    return {
        name: type(neutral)(given.get(name, neutral)) for name, (_, neutral) in PROCESSORS.items()
    }


def processors(chosen: Mapping[str, Any]) -> Any:
    """The processors of logits, without those that change nothing."""
    from transformers.generation import logits_process

    applied, greedy = logits_process.LogitsProcessorList(), chosen["temperature"] < GREEDY_BELOW
    for name, (kind, neutral) in PROCESSORS.items():
        # nought and less turn off all but the temperature, as in vLLM
        used = chosen[name] > 0 and chosen[name] != neutral
        if used and not (greedy and name != "repetition_penalty"):
            applied.append(getattr(logits_process, kind)(chosen[name]))
    return applied
