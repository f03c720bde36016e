"""Takes what was found out of trajectories, tasks and rows, at the places where it stands."""
