"""Which tasks are instances of one template."""

from synth.schemas.canonical import content_hash
from synth.schemas.task import Task


def template(task: Task | None, env: str) -> str:
    """Its world and what its `difficulty` says of it: `template`, else `structure` (goal with
    masked entities), else `kinds` of requests.

    A world that says none of these has one template per environment.
    """
    said = {} if task is None else task.difficulty
    for key in ("template", "structure", "kinds"):
        if said.get(key):
            return (
                f"{env}:{said[key]}"
                if key == "template"
                else f"{env}:{key}-{content_hash(said[key], size=6)}"
            )
    return env
