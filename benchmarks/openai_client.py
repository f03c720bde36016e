"""OpenAI engine: whole episodes against a server with a fixed latency, next to a bare aiohttp loop
that sends the same requests.

Run: `python -m benchmarks.openai_client`
"""

import sys
from collections.abc import Sequence

from benchmarks.driven_episodes import BARE, CALLS
from benchmarks.engine_efficiency import cpu_ms, in_turn, wall_s
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers

ENGINE = "openai"
EFFICIENCY, CPU_MS = Target("at least", 0.75), Target("at most", 1.2)
"""At 256 in flight."""


def figures(latency_ms: float, episodes: int, in_flight: int, rounds: int) -> list[Figure]:
    """Both drivers turn by turn."""
    runs = in_turn((ENGINE, BARE), latency_ms, episodes, in_flight, rounds)
    ours, bare = runs[ENGINE], runs[BARE]
    ideal_s = episodes * CALLS * latency_ms / 1000 / min(in_flight, episodes)
    name, gated = f"{in_flight} in flight", in_flight == 256
    return [
        Figure(
            f"{name}, rollout with the openai engine: ideal wall / wall",
            ideal_s / wall_s(ours),
            "",
            EFFICIENCY if gated else None,
        ),
        Figure(
            f"{name}, rollout with the openai engine: client CPU per call",
            cpu_ms(ours, episodes),
            "ms",
            CPU_MS if gated else None,
        ),
        Figure(f"{name}, bare aiohttp loop: ideal wall / wall", ideal_s / wall_s(bare)),
        Figure(f"{name}, bare aiohttp loop: client CPU per call", cpu_ms(bare, episodes), "ms"),
        Figure(f"{name}, rollout / bare loop: efficiency", wall_s(bare) / wall_s(ours), "x"),
        Figure(
            f"{name}, rollout / bare loop: client CPU",
            cpu_ms(ours, episodes) / cpu_ms(bare, episodes),
            "x",
        ),
    ]


def measure(
    latency_ms: float = 300,
    episodes: int = 2048,
    in_flight: Sequence[int] = (256,),
    rounds: int = 3,
) -> Report:
    """Every number of calls in flight in turn."""
    return Report(
        "OpenAI engine",
        [figure for limit in in_flight for figure in figures(latency_ms, episodes, limit, rounds)],
        f"{episodes} echo episodes x {CALLS} calls, {latency_ms:g} ms fixed latency, server in a "
        "process of its own on the same cores; "
        f"ideal wall = calls x latency / in flight; medians of {rounds} runs in turn.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
