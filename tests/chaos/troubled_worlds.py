"""Environments that make trouble, and flows that play in them."""

from pathlib import Path

from synth.schemas.flow import Flow
from tests.chaos.ground import Ground


def undisturbed(folder: Path, flow: Flow) -> str:
    """The same flow where the mark of trouble does not lie."""
    ground = Ground(folder / "undisturbed", flow)
    assert ground.run() == "finished"
    return ground.url
