"""Workers claim units of a run by creating files in its storage, which machines share."""

from synth.claims.claims import Lease, Leases, Units

__all__ = ["Lease", "Leases", "Units"]
