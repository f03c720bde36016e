"""Datasets: what may leave a ledger."""
