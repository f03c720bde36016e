"""Requests of a customer: what is feasible, how it is worded, and what it makes of the world."""
