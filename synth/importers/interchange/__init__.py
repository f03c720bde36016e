"""Forms in which tools hand trajectories to each other."""
