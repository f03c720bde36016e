"""Thin recipes, and the binding of a flow.yaml's names to parts."""
