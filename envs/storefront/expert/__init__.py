"""The planner that solves tasks from what was observed."""
