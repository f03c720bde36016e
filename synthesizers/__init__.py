"""How new trajectories come to be: one method per file."""
