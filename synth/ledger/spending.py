"""The view `spending`: what each role has used in each attempt that was ever committed, whatever
flow made it and however it ended.

Roles that play no episode (a reflector, a judge) have a row for each reply, without a trajectory.
`cost_usd` is what the priced calls have cost, NULL where none was priced; `unpriced_calls` are
those that it does not hold; rows of
former versions do not say, so their turns are asked. What was imported was not paid for here.
"""

_ATTEMPT = "t.task_id, t.trajectory_id, t.slot_id, t.attempt, t.outcome, t.fault"

SPENDING = f"""
CREATE VIEW spending AS
WITH unpriced AS (
  SELECT trajectory_id, sum(json_extract(usage, '$.calls')::BIGINT)::BIGINT AS calls FROM turns_all
  WHERE json_extract(usage, '$.calls')::BIGINT > 0 AND json_extract(usage, '$.cost_usd') IS NULL
    AND trajectory_id IN (SELECT trajectory_id FROM trajectories_all WHERE cost_usd IS NOT NULL AND unpriced_calls IS NULL)
  GROUP BY trajectory_id
)
SELECT t.stage, t.role, t.synthesizer, t.policy, t.model, {_ATTEMPT},
  t.model_calls, t.prompt_tokens, t.cached_tokens, t.completion_tokens, t.cost_usd,
  CASE WHEN t.cost_usd IS NULL THEN t.model_calls ELSE coalesce(t.unpriced_calls, u.calls, 0) END AS unpriced_calls
FROM trajectories_all AS t LEFT JOIN unpriced AS u USING (trajectory_id)
WHERE t.stage <> 'import'
UNION ALL
SELECT r.stage, r.role, r.purpose AS synthesizer, NULL AS policy, r.model, r.task_id, NULL AS trajectory_id, NULL AS slot_id,
  NULL AS attempt, NULL AS outcome, NULL AS fault,
  r.model_calls, r.prompt_tokens, r.cached_tokens, r.completion_tokens, r.cost_usd,
  CASE WHEN r.cost_usd IS NULL THEN r.model_calls ELSE 0 END AS unpriced_calls
FROM replies_all AS r
UNION ALL
SELECT t.stage, 'user' AS role, t.synthesizer, NULL AS policy, t.user_model AS model, {_ATTEMPT},
  t.user_calls, t.user_prompt_tokens, t.user_cached_tokens, t.user_completion_tokens, t.user_cost_usd,
  CASE WHEN t.user_cost_usd IS NULL THEN t.user_calls ELSE coalesce(t.user_unpriced_calls, 0) END AS unpriced_calls
FROM trajectories_all AS t
WHERE t.stage <> 'import' AND t.user_calls > 0
"""
