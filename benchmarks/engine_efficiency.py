"""Engine vllm at its limit: whole episodes with journal against a server of known latency, beside a
bare aiohttp loop.

Run: `python -m benchmarks.engine_efficiency [steady wide skew errors]`; without names all four
parts, about ten minutes.
"""

import sys
from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.chat_endpoint import chat_endpoint
from benchmarks.driven_episodes import BARE, CALLS, Driven, driven, tasks
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.fixed_latency_server import SLOWER, is_slow
from benchmarks.machine import CpuOfOthers

ENGINE = "vllm"
ONE_IN = 10
"""One call in so many is slow, in the part `skew`."""
EVERY = 50
"""One call in so many fails, in the part `errors`."""


def in_turn(
    drivers: Sequence[str],
    latency_ms: float,
    episodes: int,
    in_flight: int,
    rounds: int,
    **trouble: int,
) -> dict[str, list[Driven]]:
    """Every driver once per round, each against a fresh server, so that none pays for the one
    before.
    """
    runs: dict[str, list[Driven]] = {driver: [] for driver in drivers}
    for _ in range(rounds):
        for driver in drivers:
            with chat_endpoint(latency_ms, **trouble) as url:
                runs[driver].append(driven(driver, url, episodes, in_flight))
    return runs


def wall_s(runs: Sequence[Driven]) -> float:
    """The median wall time."""
    return median(run.wall_s for run in runs)


def cpu_ms(runs: Sequence[Driven], episodes: int) -> float:
    """The median CPU time of the client per call."""
    return median(run.cpu_s for run in runs) / episodes / CALLS * 1000


def beside_bare(
    in_flight: int, efficiency: float, latency_ms: float, episodes: int, rounds: int
) -> list[Figure]:
    """Efficiency = ideal wall / wall, with ideal wall = calls x latency / calls in flight."""
    runs = in_turn((ENGINE, BARE), latency_ms, episodes, in_flight, rounds)
    ours, bare = runs[ENGINE], runs[BARE]
    ideal_s = episodes * CALLS * latency_ms / 1000 / min(in_flight, episodes)
    name, times = f"{in_flight} in flight", cpu_ms(ours, episodes) / cpu_ms(bare, episodes)
    return [
        Figure(
            f"{name}: ideal wall / wall, rollout with engine vllm",
            ideal_s / wall_s(ours),
            "",
            Target("at least", efficiency),
        ),
        Figure(f"{name}: the same, bare loop", ideal_s / wall_s(bare)),
        Figure(
            f"{name}: efficiency, rollout against bare loop",
            wall_s(bare) / wall_s(ours),
            "x",
            Target("at least", 0.97),
        ),
        Figure(
            f"{name}: client CPU per call, rollout",
            cpu_ms(ours, episodes),
            "ms",
            Target("at most", 0.35),
        ),
        Figure(
            f"{name}: client CPU, rollout against bare loop", times, "x", Target("at most", 2.0)
        ),
        Figure(
            f"{name}: peak memory above imports",
            max(run.peak_mb - run.before_mb for run in ours),
            "MB",
            Target("at most", 120),
        ),
    ]


def lower_bound_s(latency_ms: float, episodes: int, in_flight: int) -> float:
    """No schedule is shorter: all work shared out evenly, or the episode whose calls take
    longest.
    """
    lengths = []
    for task in tasks(episodes):
        slow = sum(is_slow(task.goal, turn, ONE_IN) for turn in range(CALLS))
        lengths.append((CALLS + (SLOWER - 1) * slow) * latency_ms / 1000)
    return max(sum(lengths) / in_flight, max(lengths))


def skewed(
    in_flight: int, target: Target | None, latency_ms: float, episodes: int, rounds: int
) -> list[Figure]:
    """One call in ten takes ten times as long, the same calls in every run."""
    runs = in_turn((ENGINE, BARE), latency_ms, episodes, in_flight, rounds, slow_share=ONE_IN)
    bound_s = lower_bound_s(latency_ms, episodes, in_flight)
    name = f"{in_flight} in flight, skewed latency, {episodes} episodes"
    return [
        Figure(f"{name}: wall / lower bound, rollout", wall_s(runs[ENGINE]) / bound_s, "x", target),
        Figure(f"{name}: the same, bare loop", wall_s(runs[BARE]) / bound_s, "x"),
    ]


def failing(in_flight: int, latency_ms: float, episodes: int, rounds: int) -> list[Figure]:
    """Wall time with one call in fifty answered by HTTP 500, after a part of its latency drawn
    evenly, against none; in turn.
    """
    walls: dict[int, list[float]] = {0: [], EVERY: []}
    for _ in range(rounds):
        for every, found in walls.items():
            found.append(
                wall_s(
                    in_turn((ENGINE,), latency_ms, episodes, in_flight, 1, error_every=every)[
                        ENGINE
                    ]
                )
            )
    cost = median(walls[EVERY]) / median(walls[0]) - 1
    return [
        Figure(
            f"{in_flight} in flight, 2 % of calls fail: wall beyond that without failures",
            100 * cost,
            "%",
            Target("at most", 3.0),
        )
    ]


def measure(
    parts: Sequence[str] = ("steady", "wide", "skew", "errors"),
    *,
    latency_ms: float = 300,
    skew_latency_ms: float = 50,
    episodes: int = 2048,
    few_episodes: int = 512,
    in_flight: tuple[int, int, int] = (64, 256, 512),
    rounds: int = 3,
) -> Report:
    """The named parts. Raises `KeyError` for another name."""
    few, many, most = in_flight
    found: dict[str, Callable[[], list[Figure]]] = {
        "steady": lambda: beside_bare(many, 0.95, latency_ms, episodes, rounds),
        "wide": lambda: beside_bare(most, 0.90, latency_ms, episodes, rounds),
        "skew": lambda: [
            *skewed(few, Target("at most", 1.15), skew_latency_ms, episodes, rounds),
            *skewed(many, Target("at most", 1.25), skew_latency_ms, episodes, rounds),
            *skewed(many, None, skew_latency_ms, few_episodes, rounds),
        ],
        "errors": lambda: failing(many, latency_ms, episodes, rounds),
    }
    return Report(
        "Engine vllm",
        [figure for part in parts for figure in found[part]()],
        f"{episodes} echo episodes x {CALLS} calls, {latency_ms:g} ms fixed latency "
        f"({skew_latency_ms:g} ms where it is skewed); "
        "server and client each in a process of their own on the same cores; ideal wall = calls "
        "x latency / in flight; "
        f"medians of {rounds} runs in turn.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(sys.argv[1:] or ("steady", "wide", "skew", "errors")), others))
