"""The gold check: final rows, told facts, refusals, and the rules as automata."""
