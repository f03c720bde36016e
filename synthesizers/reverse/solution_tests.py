"""T4, T6 and T7: other ways to the goal pass, bots without understanding fail, answers cannot be
guessed.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.envs.audit.alternatives import ORDER_RULES, answers_alike, reorderings
from synth.envs.audit.solutions import Solution, differences, variant
from synth.envs.bots import BOTS, expert
from synth.envs.conformance.bot_rates import BOT_TURNS
from synth.envs.conformance.finding import ConformanceRig
from synth.envs.transcript import MAX_TURNS, Transcript
from synth.envs.world import EnvEntry
from synth.schemas import Env, Task
from synth.synthesizers.rejected import RejectedError
from synth.synthesizers.reverse.check_predicates import broken, check_in, verdict
from synth.synthesizers.reverse.exploration import Walk, played
from synth.synthesizers.reverse.goal_tests import failure
from synth.synthesizers.reverse.subtrajectories import Segment, columns

STRATEGIES = 3
"""Further expert solutions, each with a seed of its own, that must all pass."""
MOST_ALTERNATIVES = 12
"""The most rewritten solutions, and the most orders, that are tried."""
SEEDS = 100
"""Environments over which T7 counts the answers."""
MOST_SEEDS = 200
"""The most environments that are tried until the question has been asked in `SEEDS` of them."""
MOST_GUESSED = 0.2
"""The largest share of environments in which the commonest answer may be right."""


def asks_for_an_answer(task: Task) -> bool:
    """Whether the check looks at the agent's words alone."""
    check = check_in(task)
    return bool(check.told) and not check.required and not check.refusals


def not_guessed(entry: EnvEntry, task: Task) -> dict[str, Any]:
    """T7: over the environments of a hundred seeds, the commonest answer is seldom right. Raises
    `RejectedError`, also where fewer of them answer the question.
    """

    if not asks_for_an_answer(task):
        why = "the task asks for a change or a refusal, not for an answer alone"
        return verdict(None, why=why)

    if entry.questions is None:
        raise RejectedError("T7_not_judged", task.goal)

    answers = Counter[bytes]()

    for seed in range(MOST_SEEDS):
        told = entry.questions.elsewhere(task, seed)
        if told is not None:
            # answers are compared whole: a question may have several parts
            answers[msgspec.json.encode([(fact.type, fact.value) for fact in told])] += 1

        if answers.total() == SEEDS:
            break
    else:
        raise RejectedError("T7_too_few_worlds", f"{answers.total()}: {task.goal}")

    share = max(answers.values()) / SEEDS

    if share > MOST_GUESSED:
        raise RejectedError("T7_answer_can_be_guessed", f"{share:.2f}: {task.goal}")

    return verdict(commonest_answer=round(share, 3), of=SEEDS)


async def bots_fail(bench: ConformanceRig, task: Task) -> dict[str, Any]:
    """T6: neither the bots without understanding pass nor those that the environment names. Raises
    `RejectedError`.
    """

    bots = {**BOTS, **bench.world.bots}

    if not bench.claims("affordances"):
        # it draws affordances, which this environment does not list
        bots.pop("random_affordance", None)

    for name, bot in bots.items():
        if (await bench.played(task, bot, max_turns=BOT_TURNS)).verdict.passed:
            raise RejectedError(f"T6_{name}_passes", task.goal)

    return verdict(bots=sorted(bots))


@dataclass(frozen=True)
class SolvedTask:
    """A task with a known solution, and the segment that it comes from; `env` is the environment
    that was walked.
    """

    bench: ConformanceRig
    env: Env
    task: Task
    walk: Walk
    segment: Segment
    known: Solution

    async def others_pass(self) -> dict[str, Any]:
        """T4: the expert's other strategies, the environment's other right solutions, and other
        orders of calls and operations pass. Raises `RejectedError`.

        Orders with other answers or another end are no alternatives, nor are those that a rule
        about order alone forbids.
        """

        bench = self.bench
        task = self.task
        known = self.known.transcript
        strategies = STRATEGIES if bench.claims("expert") else 0
        transcripts = [known]

        for seed in range(bench.seed + 1, bench.seed + 1 + strategies):
            found = await bench.played(task, expert("correct"), seed=seed, max_turns=MAX_TURNS)
            transcripts.append(found)
            _must_pass("strategy", found)

        own = bench.world.alternatives
        rewritten = list(own(task, known))[:MOST_ALTERNATIVES] if own else []
        for name, actions in rewritten:
            _must_pass(name, (await variant(bench, task, actions))[0])

        # transcripts are equal ways where their acts are
        ways = {
            tuple(action.tool_calls or (action.content,) for action in transcript.actions)
            for transcript in transcripts
        }

        return verdict(
            strategies=strategies,
            ways=len(ways),
            rewritten=len(rewritten),
            reordered=await self._reordered(),
            commuting=await self._commuting(),
        )

    async def _reordered(self) -> int:
        """Counts the other orders of the solution's calls that come to the same end."""
        count = 0

        for other in list(reorderings(self.known))[:MOST_ALTERNATIVES]:
            found, end = await variant(self.bench, self.task, other.actions)
            # an order that a rule forbids is no right solution
            failed = {part.name for part in found.verdict.parts if not part.passed}
            ruled_out = not found.verdict.passed and failed == {ORDER_RULES}
            # an order with other answers is another task, whatever its end
            alike = answers_alike(self.known.transcript, found, other.order)

            if (
                ruled_out
                or not alike
                or differences(
                    self.bench,
                    self.task,
                    self.known.end,
                    end,
                )
            ):
                continue

            count += 1
            _must_pass("reordering", found, f"{other.what}: ")

        return count

    async def _commuting(self) -> int:
        """Counts the neighbouring operations that commute: in the other order they change the same,
        and the state passes.
        """

        count = 0
        segment = self.segment
        before = [columns(one.changed, segment.start) for one in segment.operations]

        for number in range(len(segment.operations) - 1):
            done = await played(self.env, segment.swapped(number), self.task)
            after = [columns(done.steps[at].changed, segment.start) for at in segment.places]
            other_end = differences(self.bench, self.task, segment.end, done.end)

            if sorted(before) != sorted(after) or other_end:
                continue

            count += 1

            if broken(check_in(self.task), done.start, done.end):
                raise RejectedError("T4_commuting_order_rejected", self.task.goal)

        return count


def _must_pass(
    name: str,
    transcript: Transcript,
    what: str = "",
) -> None:
    """Raises `RejectedError` for another right solution that the check does not accept."""
    if not transcript.verdict.passed:
        raise RejectedError(f"T4_{name}_rejected", f"{what}{failure(transcript)}")
