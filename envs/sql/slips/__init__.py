"""Statements that are nearly right, and what is said of one."""
