"""Stages after collection: they judge, choose and write what a run holds."""
