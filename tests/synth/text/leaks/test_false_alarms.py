"""Real trajectories that nobody guided, scanned for the guidance of other tasks: whatever is found
of it is a false alarm.
"""

from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import pytest

from synth.importers.records import Imported
from synth.schemas.trajectory import Source
from synth.text.leaks import leaks
from tests.synth.importers.imports import imported

DATA = Path(__file__).parents[5] / "shared" / "data"
SPEAK_OF_HIDDEN_ATTEMPTS = {"toolbench": 9, "whowhen_ag": 3}
"""References that are true, as read: these agents had been shown attempts that their transcripts do
not hold (failed branches of a search,
results of former runs), and speak of them before any call of theirs has failed.
"""


def lesson(entry: Imported) -> str:
    """What a careless reflector would write about a task: the user's words and what a tool said in
    the middle of the attempt.
    """
    turns, opening = entry.trajectory.turns, entry.trajectory.opening
    heard = [*opening, *(observation for turn in turns for observation in turn.observations)]
    user = next(
        (observation.content for observation in heard if observation.source is Source.USER), ""
    )
    tools = [
        observation.content
        for turn in turns
        for observation in turn.observations
        if observation.source is Source.TOOL
    ]
    facts = tools[len(tools) // 2] if tools else ""
    return (
        f"Before you act, check what was asked for: {user[:400]}\nWhat the tools say is "
        f"enough: {facts[:300]}"
    )


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.skipif(not DATA.is_dir(), reason="real trajectories absent: ../shared/data")
def test_at_most_one_in_a_hundred_real_trajectories_raises_a_false_alarm() -> None:
    rng, scanned, alarms = Random(5), Counter[str](), Counter[str]()
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for folder in sorted(path for path in DATA.iterdir() if path.is_dir()):
        entries = [
            entry
            for entry in imported([folder])
            if isinstance(entry, Imported) and entry.trajectory.turns
        ]
        for entry in entries:
            goal = entry.task.goal
            others = [
                other
                for other in entries
                if other.task.task_id != entry.task.task_id and other.task.goal != goal
            ]
            if not others:
                continue
            found = {
                leak.kind for leak in leaks(entry.trajectory, lesson(rng.choice(others)), since=0)
            }
            kinds[folder.name].update(found)
            scanned[folder.name] += 1
            true = {"reference_to_help"} if folder.name in SPEAK_OF_HIDDEN_ATTEMPTS else set()
            alarms[folder.name] += bool(found - true)
    share = alarms.total() / scanned.total()
    print(
        f"{alarms.total()} of {scanned.total()} ({share:.2%}): "
        + ", ".join(f"{name} {dict(found)}" for name, found in kinds.items() if found)
    )
    assert scanned.total() > 1000
    assert {
        name: kinds[name]["reference_to_help"] for name in SPEAK_OF_HIDDEN_ATTEMPTS
    } == SPEAK_OF_HIDDEN_ATTEMPTS
    assert share <= 0.01
