"""Where an agent's arguments come from: what it had seen, what it computed, and what it made up."""

from synth.text.provenance.linter import provenance
from synth.text.provenance.report import ArgumentFinding, Choice, ProvenanceReport, Sighting, Status

__all__ = ["ArgumentFinding", "Choice", "ProvenanceReport", "Sighting", "Status", "provenance"]
