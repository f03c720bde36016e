"""What comes of trajectories that people have already: doors, comparisons, filters, pace."""
