"""Tasks made from what an exploration did."""
