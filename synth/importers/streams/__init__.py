"""Logs of agents as events: one event per line or element, several for one answer of the model."""
