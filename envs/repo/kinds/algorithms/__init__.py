"""Simpler ways of doing nearly the same: right on easy inputs, wrong on ties, edges and depth."""
