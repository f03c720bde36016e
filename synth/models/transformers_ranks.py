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

    vocabulary = weight.shape[0]
    most = min(POSITIONS, len(targets)) * min(VOCABULARY, vocabulary)
    space = torch.empty(most, dtype=torch.float32, device=weight.device)
    ranks, logprobs = [], []
    for at in range(0, len(targets), POSITIONS):
        states, tokens = hidden[at : at + POSITIONS].float(), targets[at : at + POSITIONS]
        times = _times(states)
        target = (states * weight[tokens].float()).sum(-1)
        if bias is not None:
            target = target + bias[tokens].float()
        above = torch.zeros_like(tokens)
        top, total = target.clone(), torch.ones_like(target)
        for first in range(0, vocabulary, VOCABULARY):
            part = weight[first : first + VOCABULARY].float()
            logits = times(part)
            if bias is not None:
                logits += bias[first : first + VOCABULARY].float()
            rows = ((tokens >= first) & (tokens < first + VOCABULARY)).nonzero()[:, 0]
            logits[rows, tokens[rows] - first] = -torch.inf
            higher = space[: logits.numel()].view_as(logits)
            above += (
                torch.gt(logits, target[:, None], out=higher).sum(-1).long()
            )  # 0 and 1 as floats are summed at thrice the speed
            before, top = top, torch.maximum(top, logits.amax(-1))
            total = total * (before - top).exp() + logits.sub_(top[:, None]).exp_().sum(-1)
        ranks.append(above + 1)
        logprobs.append(target - top - total.log())
    return torch.cat(ranks), torch.cat(logprobs)


def _times(states: Any) -> Callable[[Any], Any]:
    """Multiplies the states with rows of the head; on the CPU by oneDNN, twice as fast on AMD as
    torch's default (MKL).
    """
    import torch

    if states.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return lambda part: states @ part.T
    given = states.contiguous().to_mkldnn()
    return lambda part: torch.nn.functional.linear(given, part.contiguous().to_mkldnn()).to_dense()
