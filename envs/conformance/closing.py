"""A world can be closed at any time, and again."""

from synth.envs.conformance.finding import Bench, Finding


async def close_is_idempotent(bench: Bench) -> Finding:
    """Closed before a reset, after one, and each time twice."""
    unused = bench.open()
    bench.note("close before any reset")
    await unused.close()
    bench.note("close a second time")
    await unused.close()
    env = bench.open()
    await env.reset(bench.tasks[0])
    bench.note("close after a reset")
    await env.close()
    bench.note("close a second time after a reset")
    await env.close()
    return Finding("close_is_idempotent", True)
