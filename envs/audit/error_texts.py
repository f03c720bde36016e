"""What a model reads when it makes a mistake."""

import re

from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.conformance.hostile_turns import hostile_turns

LONGEST_ERROR = 2000
SHOWN = 12
_INTERNALS = re.compile(
    r"Traceback \(most recent|File \"[^\"]+\", line \d+|\bobject at "
    r"0x[0-9a-f]+|^\s*\w*(?:Error|Exception)\("
)


@part()
async def errors_say_why(bench: ConformanceRig) -> Finding:
    """The answer to every turn that can only be an error is a few words for the model: no
    traceback, not longer than 2,000 characters.
    """
    env = bench.open()
    cases = [
        case
        for case in hostile_turns((await env.reset(bench.tasks[0])).tools)
        if case.is_error and len(case.turn.tool_calls) < 2
    ]
    texts: dict[str, str] = {}
    problems = []
    for case in cases:
        bench.note(case.name)
        await env.reset(bench.tasks[0])
        for observation in (await env.step(case.turn)).observations:
            if not observation.error:
                continue
            text = observation.content
            texts.setdefault(text, case.name)
            if _INTERNALS.search(text):
                problems.append(f"{case.name}: shows the program's inside: {_inside(text)}")
            elif len(text) > LONGEST_ERROR:
                problems.append(f"{case.name}: {len(text)} characters")
            elif len(text.split()) < 2:
                problems.append(f"{case.name}: says only {text!r}")
    await env.close()
    every = [(case, text if len(text) < 300 else f"{text[:300]} …") for text, case in texts.items()]
    shown = every[:: max(1, len(every) // SHOWN)][:SHOWN]
    title = f"Errors as the model reads them ({len(shown)} of {len(texts)} different ones)"
    bench.table(title, ("mistake", "answer"), tuple(shown))
    detail = (
        f"{len(problems)} of {len(cases)} mistakes: {' | '.join(problems[:4])}"
        if problems
        else f"{len(texts)} different error texts"
    )
    return Finding(not problems, detail)


def _inside(text: str) -> str:
    """The telling line of a traceback."""
    return text.strip().splitlines()[-1][:160]
