"""The view `groups`: all trials of one task by one policy, and whether their outcomes may be set
against each other.

A trial is a slot: it counts once, by its valid attempt, and as invalid where it has none. Only
trials of `rollout` from the task's
beginning count. `contrast` is false, and `reason` says why, where
- `mixed_weights`: more than one weights id is behind the valid trials, or one trial met several by
  itself. A trial that asked no model
  has none; servers that do not tell theirs are one;
- `lost_trials`: more than a quarter of the trials is invalid, and what is left is no fair sample:
  long ones are lost more often;
- `one_outcome`: there are not both a success and a failure. A truncated trial is neither.
"""

LOST_SHARE = 0.25
"""Beyond it a group is not used for contrast."""
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
SELECT {_OF}, n, n_success, n_failure, n_truncated, n_invalid, weights_ids, reason IS NULL AS contrast, reason FROM judged
"""
