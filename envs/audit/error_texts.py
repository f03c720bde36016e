"""What a model reads when it makes a mistake."""

import re

from synth.envs.conformance.finding import ConformanceRig, part, passes
from synth.envs.conformance.hostile_turns import hostile_turns

LONGEST_ERROR = 2000
SHOWN = 12
_INTERNALS = re.compile(
    r"Traceback \(most recent|File \"[^\"]+\", line \d+|\bobject at "
    r"0x[0-9a-f]+|^\s*\w*(?:Error|Exception)\("
)


@part()
async def errors_say_why(bench: ConformanceRig) -> str:
    """The answer to every turn that can only be an error is a few words for the model: no
    traceback, not longer than 2,000 characters.
    """
    env = bench.open()
    turns = hostile_turns((await env.reset(bench.tasks[0])).tools)
    cases = [case for case in turns if case.is_error and len(case.turn.tool_calls) < 2]
    texts: dict[str, str] = {}
    problems = []
    for case in cases:
        bench.note(case.name)
        await env.reset(bench.tasks[0])
        for seen in (await env.step(case.turn)).observations:
            problem = _amiss(seen.content) if seen.error else None
            if problem is not None:
                problems.append(f"{case.name}: {problem}")
            if seen.error:
                texts.setdefault(seen.content, case.name)
    await env.close()
    every = [(case, text if len(text) < 300 else f"{text[:300]} …") for text, case in texts.items()]
    shown = every[:: max(1, len(every) // SHOWN)][:SHOWN]
    title = f"Errors as the model reads them ({len(shown)} of {len(texts)} different ones)"
    bench.table(title, ("mistake", "answer"), shown)
    amiss = f"{len(problems)} of {len(cases)} mistakes: {' | '.join(problems[:4])}"
    return passes(not problems, amiss if problems else f"{len(texts)} different error texts")


def _amiss(text: str) -> str | None:
    """What is wrong with an error; of a traceback its telling line."""
    if _INTERNALS.search(text):
        return f"shows the program's inside: {text.strip().splitlines()[-1][:160]}"
    if len(text) > LONGEST_ERROR:
        return f"{len(text)} characters"
    return None if len(text.split()) > 1 else f"says only {text!r}"
