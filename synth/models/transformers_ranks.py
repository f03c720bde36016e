"""Rank and log-probability of given tokens, from hidden states, without ever holding their logits over the whole vocabulary."""

from typing import Any

POSITIONS, VOCABULARY = 512, 2048
"""Sizes of a chunk: 4 MB of logits, which stay in a core's cache (performance.md B7 measured these)."""


def ranks_and_logprobs(hidden: Any, weight: Any, bias: Any | None, targets: Any) -> tuple[Any, Any]:
    """rank = 1 + #{v != t: logit_v > logit_t}, logprob = logit_t - logsumexp(logits) in nats, both [positions].

    `hidden` [positions, width] are the states that predict `targets` [positions]; `weight` [vocabulary, width] and `bias` the head.
    The target's own column is masked while others are counted: computed apart, it would else beat itself by rounding in half the rows.
    """
    import torch

    ranks, logprobs = [], []
    for at in range(0, len(targets), POSITIONS):
        states, tokens = hidden[at : at + POSITIONS].float(), targets[at : at + POSITIONS]
        target = (states * weight[tokens].float()).sum(-1)
        if bias is not None:
            target = target + bias[tokens].float()
        above = torch.zeros_like(tokens)
        total = target.clone()
        for first in range(0, weight.shape[0], VOCABULARY):
            part = slice(first, first + VOCABULARY)
            logits = states @ weight[part].float().T
            if bias is not None:
                logits += bias[part].float()
            rows = ((tokens >= first) & (tokens < first + VOCABULARY)).nonzero()[:, 0]
            logits[rows, tokens[rows] - first] = -torch.inf
            above += (logits > target[:, None]).sum(-1)
            total = torch.logaddexp(total, logits.logsumexp(-1))
        ranks.append(above + 1)
        logprobs.append(target - total)
    return torch.cat(ranks), torch.cat(logprobs)
