"""The trials of a task as one graph, and what it tells about steps, trajectories and the task."""
