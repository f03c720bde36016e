"""Who plays the customer of retail and airline: a model that knows the scenario, as the benchmark
has it. It speaks freely, and ends the talk.
"""

from collections.abc import Sequence

from synth.envs.tau2.package import domain, scenario
from synth.schemas import OPEN_LINE, Completion, Deviation, Message, Source, Task, Turn

ENDS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")


class Tau2Customer:
    """The benchmark's user simulator, without tools of its own."""

    version = "1"

    def prompt(self, task: Task, turns: Sequence[Turn], line: str) -> Sequence[Message] | None:
        """The guidelines and the scenario, then the talk as the customer has it; tools are out of
        their sight.
        """
        if line != OPEN_LINE:
            return None
        known = domain(str(task.env_config["domain"]))
        told = scenario(known.task(str(task.script["task"])))
        asked: list[Message] = [{"role": "system", "content": told}]
        for turn in turns:
            if turn.content and not turn.tool_calls:
                asked.append({"role": "user", "content": turn.content})
            said = (one.content for one in turn.observations if one.source is Source.USER)
            asked += [{"role": "assistant", "content": words} for words in said]
        return asked

    def deviations(self, line: str, reply: Completion) -> Sequence[Deviation]:
        """None but silence: there is no line to depart from."""
        return () if reply.content else (Deviation("silent"),)

    def ends(self, words: str) -> bool:
        """Whether these words end the talk."""
        return any(end in words for end in ENDS)


CUSTOMER = Tau2Customer()
