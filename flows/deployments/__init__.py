"""Flows on the schedules of a Prefect server: made, told of, looked at, closed."""
