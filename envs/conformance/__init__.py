"""The conformance suite: what any world must do before its trajectories can be trusted."""
