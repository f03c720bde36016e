"""The shop: its rows, its rules, its clock, and what happens in it."""
