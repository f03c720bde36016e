"""A task's graph as a picture: folded, laid out in layers, drawn."""
