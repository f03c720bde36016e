"""What could be made of the trajectories that a run holds, as a flow and a table of doors; and what
is made of them: judged, chosen and written, or put to the test in their world.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from synth.api.runs import Ended, RunResult, carried_out, result_of, run
from synth.engine.table import Table
from synth.exporters.doors import DoorTable
from synth.flows.curate import curate as curating
from synth.flows.environments import Files, bindings_for, said_by_files
from synth.flows.own.own_flow import Settings, given_flow, in_file
from synth.flows.proposal.confirming import confirming
from synth.flows.proposal.flow import doors_of, proposal
from synth.ledger import StoredLedger
from synth.schemas import ConfigError, Flow


@dataclass(frozen=True)
class ProposedFlow:
    """A flow that fits a run. `text`: it as a flow.yaml, under what was seen in the run."""

    run_dir: str
    flow: Flow
    text: str

    def doors(self) -> Table:
        """What keeps trajectories from becoming rows for supervised training as the run stands
        now, and what opens each door: after `curate`, the doors of its filters too.
        """
        return _table(doors_of(StoredLedger(self.run_dir), self.flow))


def propose(
    run_dir: Path | str,
    *,
    set: Settings = (),
    environments: Files = (),
    compare: bool = False,
) -> ProposedFlow:
    """A flow for what a run or an import holds; nothing is written. See `curate` for the arguments.

    `compare`: with comparisons of collected trials, which no test has confirmed. Raises
    `ConfigError`.
    """
    url = str(run_dir)
    ledger = StoredLedger(url)
    bindings = bindings_for(ledger, environments, named_in=url)
    return ProposedFlow(url, *proposal(ledger, bindings, set, compare=compare))


def curate(
    run_dir: Path | str,
    flow: Flow | Path | str | None = None,
    *,
    set: Settings = (),
    environments: Files = (),
    compare: bool = False,
    prefect: bool = False,
    quiet: bool = False,
    ended: Ended = lambda result: None,
) -> RunResult:
    """Runs the stages of a flow after collection on the trajectories that a run or an import holds;
    see `run`. Without a flow: of the one that `propose` gives, with comparisons where `compare`.
    """
    if flow is None:
        found = propose(run_dir, set=set, environments=environments, compare=compare)
        flow, set = found.flow, ()
    elif compare:
        raise ConfigError("compare: a flow says itself which kinds it exports; leave one out")
    chosen, where = given_flow(flow, set)
    said = said_by_files(environments)
    recipe = partial(curating, said=said)
    with in_file(where):
        done = carried_out(recipe, chosen, str(run_dir), prefect=prefect, quiet=quiet)
    return result_of(*done, ended)


def confirm(
    run_dir: Path | str,
    *,
    set: Settings = (),
    environments: Files = (),
    quiet: bool = False,
    ended: Ended = lambda result: None,
) -> RunResult:
    """Tests what imported trials suggest: replays each logged prefix in its world and continues
    what was done there and what a trial that passed did; accepted tests become rows of dpo, kto and
    prm. See `run` for the arguments; `set` names who plays on (`models.explorer`).
    """
    url = str(run_dir)
    ledger = StoredLedger(url)
    flow = confirming(ledger, bindings_for(ledger, environments, named_in=url), set)
    return run(flow, run_dir=run_dir, environments=environments, quiet=quiet, ended=ended)


def _table(found: DoorTable) -> Table:
    title = f"Doors: {found.open:,} of {found.collected:,} trajectories lead to rows of kind sft"
    rows = tuple(
        (one.name, f"{one.stopped:,}", f"{one.closed:,}", f"{one.alone:,}", one.opens)
        for one in found.doors
    )
    return Table(title, ("door", "stops", "closed for", "alone", "opened by"), rows)
