"""Stages that stand where they have nothing to do: said before anything is made."""

from collections.abc import Iterator

from schemas.flow import Flow

ROLLOUT = "rollout"
OR_OF_AN_IMPORT = ", or those of an import"
OF_TRIALS = {
    "reflect_retry": OR_OF_AN_IMPORT,
    "critical_step": OR_OF_AN_IMPORT,
    "trajectory_reward": "",
    "failure_injection": OR_OF_AN_IMPORT,
}
"""Stages that work on the trials of a rollout before them; and on what else."""


def idle_stages(flow: Flow) -> Iterator[str]:
    """A line for each stage that works on trials and stands before all of them, or derives tasks and stands after all."""
    names = [choice.name for choice in flow.stages]
    for index, name in enumerate(names):
        where = f"{flow.name}: stages[{index}].{name}"
        before = any(other == ROLLOUT or ":" in other for other in names[:index])
        after = any(other == ROLLOUT or ":" in other for other in names[index:])
        if name in OF_TRIALS and not before:
            yield f"{where} works on the trials of a rollout before it{OF_TRIALS[name]}; none stands there: put `rollout` before it"
        if name == "reverse_task" and before and not after:
            yield f"{where} stands after every rollout, so its tasks are not played: put it before `rollout`"
