"""Verdicts, rewards, splits and step labels that lie beside trajectories, brought to them."""
