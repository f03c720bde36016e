"""Warnings of a flow before anything is made: settings that change what a dataset may be used
for, and stages that stand where they have nothing to do.
"""

from collections.abc import Iterator

from synth.schemas import Flow

ALLOWS = {
    "include_scripted": "rows written by scripts, not by a model, go",
    "allow_benchmark": "attempts at public benchmarks go",
    "allow_held_out": "attempts at held-out tasks go",
}
ROLLOUT = "rollout"
OF_TRIALS = frozenset({"reflect_retry", "critical_step", "trajectory_reward", "failure_injection"})
"""Stages that work on the trials of a rollout before them."""
OF_IMPORTS = OF_TRIALS - {"trajectory_reward"}
"""Those of them that work on imported trials too."""


def dataset_warnings(flow: Flow) -> Iterator[str]:
    """A line for each setting that lets rows into the datasets which others leave out."""
    for stage in flow.stages:
        settings = stage.settings if isinstance(stage.settings, dict) else {}
        for name, what in ALLOWS.items():
            if settings.get(name):
                yield f"{flow.name}: {name} is set: {what} into the datasets"


def no_op_stages(flow: Flow) -> Iterator[str]:
    """A line for each stage that works on trials and stands before all of them, or derives tasks
    and stands after all.
    """
    names = [choice.name for choice in flow.stages]
    for index, name in enumerate(names):
        where = f"{flow.name}: stages[{index}].{name}"
        before = any(other == ROLLOUT or ":" in other for other in names[:index])
        after = any(other == ROLLOUT or ":" in other for other in names[index:])
        if name in OF_IMPORTS and not before and not after:
            yield f"{where} works on imported trials alone: no `rollout` stands before it"
        elif name in OF_TRIALS and not before:
            yield (
                f"{where} works on the trials of a rollout before it; none stands there: put "
                "`rollout` before it"
            )
        if name == "reverse_task" and before and not after:
            yield (
                f"{where} stands after every rollout, so its tasks are not played: put it "
                "before `rollout`"
            )
