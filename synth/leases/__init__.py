"""Who works on which piece of a run: leases in the run's own storage, which workers on many
machines share.
"""

from synth.leases.lease import Lease, Leases, Units

__all__ = ["Lease", "Leases", "Units"]
