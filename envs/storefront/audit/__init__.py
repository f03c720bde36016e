"""What measures the check: bots, mutants, other solutions."""
