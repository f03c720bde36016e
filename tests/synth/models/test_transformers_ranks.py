"""Ranks and log-probabilities of tokens, worked out chunk by chunk."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 600),
    vocabulary=st.integers(1, 5000),
    bias=st.booleans(),
)
@settings(max_examples=25)
def test_chunks_give_the_ranks_and_log_probabilities_of_the_whole(
    seed: int, rows: int, vocabulary: int, bias: bool
) -> None:
    torch = pytest.importorskip("torch", reason="torch comes with the extra `score`")
    import numpy as np

    from synth.models.local.transformers_ranks import ranks_and_logprobs

    draw = torch.Generator().manual_seed(seed)
    hidden, weight = (
        torch.randn((rows, 16), generator=draw),
        torch.randn((vocabulary, 16), generator=draw),
    )
    offset = torch.randn(vocabulary, generator=draw) if bias else None
    targets = torch.randint(vocabulary, (rows,), generator=draw)
    ranks, logprobs = ranks_and_logprobs(hidden, weight, offset, targets)
    logits = hidden.double().numpy() @ weight.double().numpy().T + (
        offset.double().numpy() if offset is not None else 0
    )
    chosen = np.take_along_axis(logits, targets.numpy()[:, None], 1)
    top = logits.max(1, keepdims=True)
    expected = (chosen - top)[:, 0] - np.log(np.exp(logits - top).sum(1))
    assert np.abs(logprobs.numpy() - expected).max() < 1e-4
    assert ((logits > chosen + 1e-4).sum(1) + 1 <= ranks.numpy()).all()
    assert (ranks.numpy() <= (logits > chosen - 1e-4).sum(1)).all()


def test_a_first_choice_never_loses_to_itself_by_rounding() -> None:
    torch = pytest.importorskip("torch", reason="torch comes with the extra `score`")
    from synth.models.local.transformers_ranks import ranks_and_logprobs

    draw = torch.Generator().manual_seed(0)
    hidden, weight = (
        torch.randn((1000, 256), generator=draw),
        torch.randn((4000, 256), generator=draw),
    )
    ranks, _ = ranks_and_logprobs(hidden, weight, None, (hidden @ weight.T).argmax(1))
    assert set(ranks.tolist()) == {1}


def test_tokens_that_tie_share_the_better_rank() -> None:
    torch = pytest.importorskip("torch", reason="torch comes with the extra `score`")
    from synth.models.local.transformers_ranks import ranks_and_logprobs

    ranks, logprobs = ranks_and_logprobs(
        torch.ones((3, 4)), torch.ones((5000, 4)), None, torch.tensor([0, 2500, 4999])
    )
    assert ranks.tolist() == [1, 1, 1]
    assert logprobs.tolist() == pytest.approx([-math.log(5000)] * 3, abs=1e-5)


MEMORY = """
import resource, torch
from synth.models.local.transformers_ranks import ranks_and_logprobs
torch.set_num_threads(1)
hidden, weight = torch.randn(2048, 64), torch.randn(65536, 64)
targets = torch.randint(65536, (2048,))
ranks_and_logprobs(hidden[:8], weight[:4096], None, targets[:8] % 4096)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ranks_and_logprobs(hidden, weight, None, targets)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_the_logits_of_the_whole_vocabulary_are_never_held_at_once() -> None:
    pytest.importorskip("torch", reason="torch comes with the extra `score`")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    whole_kb = 2048 * 65536 * 4 / 1024
    assert int(done.stdout) < whole_kb / 10
