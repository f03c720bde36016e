"""Logs of a planner that errs, put to the test in their world: how many of the acts that they
suggest are confirmed, with their verdicts as they are and turned round.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from synth import import_trajectories
from synth.api.curation import confirm
from synth.api.runs import run
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow


def planner(weight: int = 12, errs: str = "random") -> Mapping[str, Any]:
    """Does what the policy `errs` does in one turn of `weight` and one."""
    of = [{"policy": "expert", "weight": weight}, {"policy": errs}]
    return {"policy": "mixture", "of": of}


WORLDS: Mapping[str, Mapping[str, Any]] = {"sql": {"tasks": 24}, "storefront": {"tasks": 40}}
"""Settings of each world; six trials a task."""
_STATUS = """
SELECT status FROM labels
WHERE metric = 'critical_step' AND status <> 'control'
"""


def lines(
    worlds: Mapping[str, Mapping[str, Any]] = WORLDS, weight: int = 12, errs: str = "random"
) -> Iterator[str]:
    """A table in Markdown, of the trials of `planner(weight, errs)`."""
    by = planner(weight, errs)
    yield "| world | verdicts | logged trials | acts tested | confirmed | rows of dpo |"
    yield "|---|---|---:|---:|---:|---:|"
    for world, own in worlds.items():
        with TemporaryDirectory() as folder:
            logs = Path(folder) / "logs"
            flow = {"name": "logs", "seed": 11, "env": {"name": world, **own}}
            flow |= {"models": {"explorer": by}, "stages": [{"rollout": {"trials": 6}}]}
            run(Flow.model_validate(flow), run_dir=logs, quiet=True)
            (Path(folder) / f"{world}.yaml").write_text(json.dumps({"env": flow["env"]}))
            for said in ("as they are", "turned round"):
                found = _confirmed(logs, Path(folder) / said, by, turned=said == "turned round")
                yield f"| {world} | {said} | {' | '.join(map(str, found))} |"


def _confirmed(
    logs: Path, into: Path, by: Mapping[str, Any], *, turned: bool
) -> tuple[int, int, int, int]:
    """Trials, acts tested, confirmed ones, rows of dpo."""
    trials = list(StoredLedger(str(logs)).trajectories())
    labels = into.with_suffix(".jsonl")
    told = [{"id": one.trajectory_id, "success": one.outcome != "success"} for one in trials]
    labels.write_text("".join(json.dumps(one) + "\n" for one in told))
    import_trajectories(logs, into=into, labels=[labels] if turned else [], quiet=True)
    given = {"models.explorer": dict(by), "stages.export.include_scripted": True}
    bound = {file.stem: file for file in into.parent.glob("*.yaml")}
    result = confirm(into, set=given, environments=bound, quiet=True)
    with connect(StoredLedger(str(into))) as connection:
        status = Counter(one for (one,) in connection.execute(_STATUS).fetchall())
    rows = result.reports["export"]["datasets"]["dpo"]["rows"]
    return len(trials), status.total(), status["confirmed"], rows
