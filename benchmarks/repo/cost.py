"""What steps and checks of a pool's tasks cost."""

import resource
import statistics
import time

from benchmarks.repo.bench import MOST_TURNS, Bench


async def steps(bench: Bench) -> None:
    """What steps and checks cost, by the expert."""
    walls, checks, turns = [], [], 0
    used = _cpu_s()
    begun = time.perf_counter()
    for task in bench.tasks:
        env = bench.world.open(task.env_config)
        await env.reset(task)
        done = False
        while not done and turns < MOST_TURNS * len(bench.tasks):
            at = time.perf_counter()
            done = (await env.step(await env.expert())).done
            walls.append(time.perf_counter() - at)
            turns += 1
        at = time.perf_counter()
        await env.check()
        checks.append(time.perf_counter() - at)
        await env.close()

    wall, cpu = time.perf_counter() - begun, _cpu_s() - used
    middle, check = statistics.median(walls), statistics.median(checks)
    print(
        f"steps: {turns / wall:.2f} a second, with resets and checks; CPU {cpu / turns:.3f} s each"
    )
    print(f"  step {1000 * middle:.0f} ms, check {1000 * check:.0f} ms (medians)")


def _cpu_s() -> float:
    """Seconds of computing of this process and those that it has waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)
