"""Views that are made of tables: `spending`, `groups`, `repairs`."""

LOST_SHARE = 0.25
"""Beyond it a group of trials is not used for contrast."""

_ATTEMPT = "t.task_id, t.trajectory_id, t.slot_id, t.attempt, t.outcome, t.fault"
SPENDING = f"""
CREATE VIEW spending AS
WITH unpriced AS (
  SELECT trajectory_id, sum(json_extract(usage, '$.calls')::BIGINT)::BIGINT AS calls FROM turns_all
  WHERE json_extract(usage, '$.calls')::BIGINT > 0 AND json_extract(usage, '$.cost_usd') IS NULL
    AND trajectory_id IN (
      SELECT trajectory_id FROM trajectories_all
      WHERE cost_usd IS NOT NULL AND unpriced_calls IS NULL)
  GROUP BY trajectory_id
)
SELECT t.stage, t.role, t.synthesizer, t.policy, t.model, {_ATTEMPT},
  t.model_calls, t.prompt_tokens, t.cached_tokens, t.completion_tokens, t.cost_usd,
  CASE WHEN t.cost_usd IS NULL THEN t.model_calls ELSE coalesce(t.unpriced_calls, u.calls, 0) END
    AS unpriced_calls
FROM trajectories_all AS t LEFT JOIN unpriced AS u USING (trajectory_id)
WHERE t.stage <> 'import'
UNION ALL
SELECT r.stage, r.role, r.purpose AS synthesizer, NULL AS policy, r.model, r.task_id,
  NULL AS trajectory_id, NULL AS slot_id, NULL AS attempt, NULL AS outcome, NULL AS fault,
  r.model_calls, r.prompt_tokens, r.cached_tokens, r.completion_tokens, r.cost_usd,
  CASE WHEN r.cost_usd IS NULL THEN r.model_calls ELSE 0 END AS unpriced_calls
FROM replies_all AS r
UNION ALL
SELECT t.stage, 'user' AS role, t.synthesizer, NULL AS policy, t.user_model AS model, {_ATTEMPT},
  t.user_calls, t.user_prompt_tokens, t.user_cached_tokens, t.user_completion_tokens,
  t.user_cost_usd,
  CASE WHEN t.user_cost_usd IS NULL THEN t.user_calls ELSE coalesce(t.user_unpriced_calls, 0) END
    AS unpriced_calls
FROM trajectories_all AS t
WHERE t.stage <> 'import' AND t.user_calls > 0
"""
"""Usage of each role in each attempt that was ever committed, whatever flow made it and however it
ended.

Roles that play no episode (a reflector, a judge) have a row for each reply, without a trajectory.
`cost_usd` is what the priced calls have cost, NULL where none was priced; `unpriced_calls` are
those that it does not hold. Rows of former versions do not say, so their turns are asked. What was
imported was not paid for here.
"""

_OF = "task_id, policy, model, sampling, role, user_model"
GROUPS = f"""
CREATE VIEW groups AS
WITH trials AS (
  SELECT {_OF}, slot_id,
    coalesce(any_value(outcome) FILTER (outcome <> 'invalid'), 'invalid') AS outcome,
    any_value(coalesce(weights_id, '')) FILTER (outcome <> 'invalid' AND model_calls > 0) AS weights
  FROM trajectories WHERE synthesizer = 'rollout' AND parent_id IS NULL
  GROUP BY {_OF}, slot_id
), counted AS (
  SELECT {_OF}, count(*) AS n,
    count(*) FILTER (outcome = 'success') AS n_success,
    count(*) FILTER (outcome = 'failure') AS n_failure,
    count(*) FILTER (outcome = 'truncated') AS n_truncated,
    count(*) FILTER (outcome = 'invalid') AS n_invalid,
    count(DISTINCT weights) AS weights_ids,
    coalesce(bool_or(weights = 'mixed'), false) AS mixed
  FROM trials GROUP BY {_OF}
), judged AS (
  SELECT *, CASE
    WHEN weights_ids > 1 OR mixed THEN 'mixed_weights'
    WHEN n_invalid > {LOST_SHARE} * n THEN 'lost_trials'
    WHEN n_success = 0 OR n_failure = 0 THEN 'one_outcome'
  END AS reason FROM counted
)
SELECT {_OF}, n, n_success, n_failure, n_truncated, n_invalid, weights_ids,
  reason IS NULL AS contrast, reason
FROM judged
"""
"""All trials of one task by one policy, and whether their outcomes may be set against each other.

A trial is a slot: it counts once, by its valid attempt, and as invalid where it has none. Only
trials of `rollout` from the task's beginning count. `contrast` is false, and `reason` says why,
where
- `mixed_weights`: more than one weights id is behind the valid trials, or one trial met several by
  itself. A trial that asked no model has none; servers that do not tell theirs are one;
- `lost_trials`: more than a quarter of the trials is invalid. What is left is no fair sample,
  because long ones are lost more often;
- `one_outcome`: there are not both a success and a failure. A truncated trial is neither.
"""

REPAIRS = """
CREATE VIEW repairs AS
SELECT kind, t.role, t.synthesizer, t.model, count(*) AS turns,
  count(DISTINCT trajectory_id) AS trajectories
FROM (SELECT DISTINCT trajectory_id, turn, unnest(repairs) AS kind FROM turns)
JOIN trajectories AS t USING (trajectory_id)
GROUP BY ALL
ORDER BY turns DESC, kind
"""
"""What was mended in replies on their way into the ledger, by kind: how many turns and trajectories
it touched.

One turn may hold several kinds. A recovered call is also counted under what was wrong with it.
"""

DERIVED = {"spending": SPENDING, "groups": GROUPS, "repairs": REPAIRS}
