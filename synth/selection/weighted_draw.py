"""Draws that favour what a judge rewarded: P(i) = R_i / sum of R (OS-Genesis, arXiv 2412.19723),
without replacement.
"""

from math import inf, log

from synth.schemas.canonical import content_hash

REWARD = "trajectory_reward"
"""Score of a trajectory, 1 to 5: its weight in a draw."""
_DIGITS = 13
"""Hexadecimal ones of a hash: as many as a float holds."""


def draw_rank(seed: int, trajectory_id: str, reward: float | None) -> float:
    """log(u) / R with u uniform in (0, 1) by the seed: in the order of these, the greatest first,
    each next one is drawn with probability
    R over the sum of those left (Efraimidis and Spirakis 2006). Without a reward -inf: never before
    one that has some.
    """
    if reward is None or reward <= 0:
        return -inf
    return (
        log(
            (int(content_hash(["weighted_draw", seed, trajectory_id])[:_DIGITS], 16) + 0.5)
            / 16**_DIGITS
        )
        / reward
    )
