"""Who passes how many of the world's tasks: agents that understand nothing, and the world's own
expert with its misconceptions.
"""

from synth.envs.audit.report import Limits, Table
from synth.envs.audit.solutions import Deadline
from synth.envs.bots import BOTS
from synth.envs.conformance.bot_rates import BOT_TURNS
from synth.envs.conformance.experts import expert
from synth.envs.conformance.finding import Bench, Finding
from synth.envs.transcript import MAX_TURNS, play

TARGETS = {
    "do_nothing": "0 %",
    "random_affordance": "0 %",
    "refuse_all": "at most 20 %, and only tasks with a refusal",
}


async def pass_rates(bench: Bench, limits: Limits, tables: list[Table]) -> Finding:
    """Publishes the rates; the targets are held by the parts before this one."""
    deadline = Deadline.within(limits.part_s / 2)
    who = {name: (bot, BOT_TURNS, TARGETS.get(name, "published")) for name, bot in BOTS.items()}
    if not bench.claims("affordances"):
        del who["random_affordance"]
    if bench.claims("expert"):
        who["expert"] = (expert("correct"), MAX_TURNS, "100 %")
        for profile in (*bench.world.spec.profiles, "mixed"):
            who[f"expert, {profile}"] = (expert(profile), MAX_TURNS, "published")
    rows, rates = [], {}
    for name, (choose, turns, target) in who.items():
        passed = played = 0
        for index, task in enumerate(bench.tasks):
            if deadline.over:
                break
            bench.note(f"{name} on task {task.task_id}")
            env = bench.open()
            passed += (
                await play(env, task, choose, seed=bench.seed + index, max_turns=turns)
            ).verdict.passed
            played += 1
            await env.close()
        rates[name] = f"{100 * passed / played:.0f} %" if played else "not played"
        rows.append((name, str(passed), str(played), rates[name], target))
    tables.append(Table("Pass rates", ("policy", "passed", "of", "rate", "target"), tuple(rows)))
    shown = [
        f"{name} {rates[name]}"
        for name in ("do_nothing", "refuse_all", "random_affordance", "expert")
        if name in rates
    ]
    return Finding("pass_rates", True, ", ".join(shown))
