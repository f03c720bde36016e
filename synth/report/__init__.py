"""A run as one self-contained page: sections that each read the ledger."""
