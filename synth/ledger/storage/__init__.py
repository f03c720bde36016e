"""Where a run lies: named files on a disk or an object store, and the journals of this machine."""

from synth.ledger.storage.files import TEMPORARY as TEMPORARY
from synth.ledger.storage.files import Storage as Storage
from synth.ledger.storage.files import process_lives as process_lives
