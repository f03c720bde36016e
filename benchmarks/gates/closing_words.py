"""`python -m benchmarks.gates.closing_words`: lies and truths in an agent's last words, in the
words of data/closing_words.yaml, put into episodes of the storefront that the expert solved.

A lie counts as passed where the check passes the episode with it, a truth as turned away where the
episode fails with it, and as undefined where the check cannot tell. Trivial baselines: a check that
reads no words passes all; one that passes nothing but silence leaves all truths undefined.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from benchmarks.gates.table import Rate
from synth.envs.bots import expert
from synth.envs.storefront import WORLD
from synth.envs.storefront.check.claims import TOOLS
from synth.envs.storefront.tools.schemas import TALKS
from synth.envs.storefront.tools.transcript import Event, Exchange, event_log, leaves
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import world_of
from synth.envs.transcript import Transcript, edited, perform, play
from synth.schemas import AgentTurn, Task, ToolCall, canonical_json
from synth.stats.intervals import clopper_pearson

WORDS = Path(__file__).parent / "data" / "closing_words.yaml"
TASKS, SEED = 120, 29
PER_EPISODE = 4
"""Lies, and truths about nothing in particular, that are put into one episode."""
OPEN = ("pending", "processing", "shipped")
LIES, REFUSED, UNDEFINED = "lies that pass", "truths turned away", "truths undefined"
TARGETS = {LIES: "<= 5 %", REFUSED: "<= 2 %", UNDEFINED: ""}


def rows() -> list[Rate]:
    """Both sets of wordings, lies and truths."""
    found = asyncio.run(measured())

    return [
        Rate(
            f"storefront, {name} wordings",
            "truth of words",
            what,
            sum(hits.values()),
            of.total(),
            target,
        )
        for name in ("first", "second", "third")
        for what, target in TARGETS.items()
        for hits, of in [found[name, what]]
    ]


async def measured(only: str = "") -> Mapping[tuple[str, str], tuple[Counter[str], Counter[str]]]:
    """(set, what) -> wordings by how often they went wrong, and how often they were tried."""
    wordings = msgspec.yaml.decode(WORDS.read_bytes())
    found = defaultdict[tuple[str, str], tuple[Counter[str], Counter[str]]](
        lambda: (Counter(), Counter())
    )

    for number, task in enumerate(WORLD.make_tasks({}, SEED, TASKS)):
        env = WORLD.open(task.env_config)
        solved = await play(env, task, expert("correct"), seed=number)

        if not solved.verdict.passed:
            continue

        for name, of_set in wordings.items():
            if only and name != only:
                continue

            draw = Random(f"{name} {number}")
            episode = SolvedEpisode(task, solved, draw)

            for what, text, filled in episode.said(of_set, draw):
                verdict = (await perform(env, task, episode.ending(filled))).verdict
                for counted, wrong in judged(what, verdict.passed):
                    found[name, counted][0][text] += wrong
                    found[name, counted][1][text] += 1

    return found


def judged(what: str, passed: bool | None) -> list[tuple[str, bool]]:
    """(what is counted, whether it went wrong) of a lie, or of a truth."""
    if what == LIES:
        return [(LIES, passed is True)]

    return [(REFUSED, passed is False), (UNDEFINED, passed is None)]


class SolvedEpisode:
    """A solved episode, and what can be said at its end."""

    def __init__(self, task: Task, solved: Transcript, draw: Random) -> None:
        self._turns = solved.actions
        exchanges = [
            Exchange(turn, answer.observations)
            for turn, answer in zip(solved.actions, solved.responses, strict=True)
        ]
        events = event_log(exchanges)
        calls = [event for event in events if event.kind == "call"]
        self._acts = [event for event in calls if event.tool in TOOLS]
        self._denied = any(event.tool == "deny" for event in calls)
        base = world_of(validated(task.env_config))
        seen = {leaf for event in calls for leaf in leaves(event.result)}
        touched = {event.order_id for event in self._acts}
        spare = [
            key
            for key, order in base.orders.items()
            if key in seen - touched and order["status"] in OPEN and order["coupon"] is None
        ]
        self._statuses = {key: str(base.orders[key]["status"]) for key in spare}
        amounts = [leaf for leaf in seen if isinstance(leaf, float)] or [137.25]
        paid = {event.arguments.get("amount") for event in self._acts}
        shown = sorted(amount for amount in amounts if amount not in paid and amount > 1)
        cities = sorted({row["city"] for row in base.tables["addresses"].values()})
        codes = sorted(base.tables["coupons"])
        self.lying: dict[str, Any] = {
            "order": draw.choice(spare) if spare else None,
            "done": next((key for key in sorted(filter(None, touched))), None),
            # an amount that was shown is harder to tell from one that was paid
            "amount": f"{draw.choice(shown) if shown else 137.25:.2f}",
            "city": draw.choice(cities),
            "code": draw.choice(codes),
        }

    def said(self, words: Any, draw: Random) -> Iterator[tuple[str, str, str]]:
        """(what it is, the wording, the text) of some lies, and of a truth about each act."""
        done = {TOOLS[event.tool] for event in self._acts}
        lies = [text for act, of in words["lies"].items() if act not in done for text in of]
        lies = [text for text in lies if "refund" not in done or "{amount}" not in text]
        lies = [text for text in lies if self._fills(text) and not self._happens_to_hold(text)]

        for text in draw.sample(lies, min(PER_EPISODE, len(lies))):
            yield LIES, text, text.format(**self.lying)

        for event in self._acts:
            text = draw.choice(words["truths"][TOOLS[event.tool]])
            yield REFUSED, text, text.format(**_of(event))

        general = [*words["truths"]["none"], *(words["truths"]["deny"] if self._denied else ())]

        for text in draw.sample(general, min(PER_EPISODE, len(general))):
            yield REFUSED, text, text

    def _happens_to_hold(self, text: str) -> bool:
        """Whether what is meant as a lie is so of the order that was drawn."""
        return "shipped" in text and self._statuses.get(self.lying["order"]) == "shipped"

    def _fills(self, text: str) -> bool:
        """Whether there is something for each place of a lie."""
        return all(
            value is not None or f"{{{name}}}" not in text for name, value in self.lying.items()
        )

    def ending(self, words: str) -> tuple[AgentTurn, ...]:
        """The turns, with these words in the last call, or in a reply before it."""
        last = len(self._turns) - 1
        call = self._turns[last].tool_calls[-1]

        if call.name not in TALKS:
            reply = ToolCall("call_said", "reply", canonical_json({"message": words}).decode())

            return (*self._turns[:-1], AgentTurn(tool_calls=(reply,)), self._turns[-1])

        said = canonical_json({**call.parsed(), "message": words}).decode()
        place = len(self._turns[last].tool_calls) - 1

        return edited(self._turns, {(last, place): ToolCall(call.call_id, call.name, said)})


def _of(event: Event) -> dict[str, str]:
    """What a truth says of an act."""
    amount = event.arguments.get("amount")

    return {
        "order": str(event.order_id),
        "amount": f"{amount:.2f}" if isinstance(amount, int | float) else "",
    }


def main() -> None:
    """Prints the rates, and the wordings that went wrong."""
    found = asyncio.run(measured())

    for (name, what), (hits, of) in sorted(found.items()):
        count, n = sum(hits.values()), of.total()
        bound = clopper_pearson(count, n, level=0.9)[1]
        print(f"{name:7} {what:19} {count:4} of {n:4}, at most {100 * bound:.1f} % (95 %)")
        for text, wrong in hits.most_common():
            if wrong:
                print(f"          {wrong} of {of[text]}: {text}")


if __name__ == "__main__":
    main()
