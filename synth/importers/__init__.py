"""Foreign trajectories, read into this project's types."""
