"""What could be made of the trajectories that a run holds: a flow for it, and the door table."""

from dataclasses import dataclass, field
from pathlib import Path

from synth.api.bound import Files
from synth.engine.table import Table
from synth.exporters.doors import DoorTable
from synth.flows.bindings import Bindings
from synth.flows.environments import bindings_of, said_by_files
from synth.flows.own_flow import Settings
from synth.flows.proposal.confirming import confirming
from synth.flows.proposal.flow import FlowProposal, doors_of, proposal
from synth.flows.run_record import said_of_run
from synth.ledger import StoredLedger
from synth.schemas import Flow


@dataclass(frozen=True)
class ProposedFlow:
    """A flow that fits a run. `text`: it as a flow.yaml, under what was seen in the run."""

    run_dir: str
    flow: Flow
    text: str
    _of: FlowProposal = field(repr=False)

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
    found = proposal(ledger, _bindings(ledger, url, environments), set, compare=compare)
    return ProposedFlow(url, found.flow, found.text, found)


def confirming_flow(run_dir: Path | str, set: Settings, environments: Files) -> Flow:
    """The flow that `confirm` runs. Raises `ConfigError`."""
    url = str(run_dir)
    ledger = StoredLedger(url)
    return confirming(ledger, _bindings(ledger, url, environments), set)


def _bindings(ledger: StoredLedger, url: str, environments: Files) -> Bindings:
    return bindings_of({**said_of_run(ledger), **said_by_files(environments)}, named_in=url)


def _table(found: DoorTable) -> Table:
    title = f"Doors: {found.open:,} of {found.collected:,} trajectories lead to rows of kind sft"
    rows = tuple(
        (one.name, f"{one.stopped:,}", f"{one.closed:,}", f"{one.alone:,}", one.opens)
        for one in found.doors
    )
    return Table(title, ("door", "stops", "closed for", "alone", "opened by"), rows)
