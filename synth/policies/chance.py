"""The randomness of scripted policies: a function of what identifies the work, never of when or
where it runs.
"""

from hashlib import blake2b
from random import Random

from synth.schemas import Episode, View, content_hash


def trial_seed(episode: Episode) -> int:
    """One 63-bit seed per (flow seed, trial): the same across tasks and turns, so that a trial
    keeps its misconception.
    """
    draw = f" {episode.draw}" if episode.draw else ""
    trial = f"trial {episode.seed} {episode.trial}{draw}".encode()
    return int.from_bytes(blake2b(trial, digest_size=8).digest()) >> 1


def turn_draws(episode: Episode, view: View) -> Random:
    """Draws for one turn, from (flow seed, trial, continuation, opening, turn number): tasks and
    trials draw independently.
    """
    opening = content_hash([view.opening.system_prompt, view.opening.observations])
    draw = f" {episode.draw} {episode.luck}" if episode.draw else ""
    return Random(f"turn {episode.seed} {episode.trial} {opening} {len(view.turns)}{draw}")
