"""The view `repairs`: what was mended in replies on their way into the ledger, by kind: how many
turns and trajectories it touched.

One turn may hold several kinds. A recovered call is also counted under what was wrong with it.
"""

REPAIRS = """
CREATE VIEW repairs AS
SELECT kind, t.role, t.synthesizer, t.model, count(*) AS turns, count(DISTINCT trajectory_id) AS trajectories
FROM (SELECT DISTINCT trajectory_id, turn, unnest(repairs) AS kind FROM turns) JOIN trajectories AS t USING (trajectory_id)
GROUP BY ALL
ORDER BY turns DESC, kind
"""
