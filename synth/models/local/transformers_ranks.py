"""Rank and log-probability of given tokens, from hidden states, without ever holding their logits
over the whole vocabulary.
"""

from collections.abc import Callable
from typing import Any

POSITIONS, VOCABULARY = 2048, 1024
"""Sizes of a chunk: 8 MB of logits. Smaller ones are 8 % faster on one quiet core, and wait more
often for each other's threads on a busy machine (benchmarks/scoring_head.py).
"""


def ranks_and_logprobs(hidden: Any, weight: Any, bias: Any | None, targets: Any) -> tuple[Any, Any]:
    """rank = 1 + #{v != t: logit_v > logit_t}, logprob = logit_t - logsumexp(logits) in nats, both
    [positions].

    `hidden` [positions, width] are the states that predict `targets` [positions]; `weight`
    [vocabulary, width] and `bias` the head. The target's own column is masked while others are
    counted: computed apart, it would else beat itself by rounding in half the rows.
    """
    import torch

    parts = zip(hidden.split(POSITIONS), targets.split(POSITIONS), strict=True)
    found = [_of_positions(states.float(), weight, bias, tokens) for states, tokens in parts]

    ranks, logprobs = zip(*found, strict=True)
    return torch.cat(ranks), torch.cat(logprobs)


def _of_positions(states: Any, weight: Any, bias: Any | None, tokens: Any) -> tuple[Any, Any]:
    """The same for as many positions as fit a chunk."""
    import torch

    times = _times(states)

    target = (states * weight[tokens].float()).sum(-1)
    if bias is not None:
        target = target + bias[tokens].float()

    above = torch.zeros_like(tokens)
    top, total = target.clone(), torch.ones_like(target)
    space = torch.empty(len(tokens) * min(VOCABULARY, len(weight)), device=weight.device)

    for first in range(0, len(weight), VOCABULARY):
        logits = times(weight[first : first + VOCABULARY].float())
        if bias is not None:
            logits += bias[first : first + VOCABULARY].float()

        # the target's own column, where it is in this chunk, beats nobody
        rows = ((tokens >= first) & (tokens < first + VOCABULARY)).nonzero()[:, 0]
        logits[rows, tokens[rows] - first] = -torch.inf

        # 0 and 1 as floats are summed at thrice the speed
        higher = torch.gt(logits, target[:, None], out=space[: logits.numel()].view_as(logits))
        above += higher.sum(-1).long()

        # logsumexp so far, under the largest logit so far
        before, top = top, torch.maximum(top, logits.amax(-1))
        total = total * (before - top).exp() + logits.sub_(top[:, None]).exp_().sum(-1)

    return above + 1, target - top - total.log()


def _times(states: Any) -> Callable[[Any], Any]:
    """Multiplies the states with rows of the head; on the CPU by oneDNN, twice as fast on AMD as
    torch's default (MKL).
    """
    import torch

    if states.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return lambda part: states @ part.T

    given = states.contiguous().to_mkldnn()
    return lambda part: torch.nn.functional.linear(given, part.contiguous().to_mkldnn()).to_dense()
