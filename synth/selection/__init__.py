"""Which of the kept trajectories are taken: so many per task, each with a strategy of its own, and
few that teach little.
"""
