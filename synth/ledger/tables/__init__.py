"""The ledger's tables: their columns, and records as rows of them."""

from synth.ledger.tables.columns import COMMIT_ORDER as COMMIT_ORDER
from synth.ledger.tables.columns import TABLES as TABLES
