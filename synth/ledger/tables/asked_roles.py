"""What roles were asked and what came of it, question by question, and whether models answer one
prompt in one way: read by the closing lines and by the report.
"""

ASKED_TWICE = "asked_twice"
"""The metric of a prompt that was asked twice, and the purpose of both replies to it."""

QUESTIONS = """
WITH each AS (
  SELECT role, purpose, question_id, count(*) AS tries,
    list(unreadable ORDER BY ordinal DESC)[1] AS problem,
    list(content ORDER BY ordinal DESC)[1] AS said,
    bool_or(len(coalesce(repairs, [])) > 0) AS mended
  FROM replies WHERE purpose != 'asked_twice' GROUP BY role, purpose, question_id
)
SELECT role, purpose, count(*) AS questions,
  count(*) FILTER (problem IS NULL AND tries = 1 AND NOT mended) AS "read",
  count(*) FILTER (problem IS NULL AND (tries > 1 OR mended)) AS "mended or asked again",
  count(*) FILTER (problem LIKE 'refused%') AS refused,
  count(*) FILTER (problem IS NOT NULL AND problem NOT LIKE 'refused%') AS "not read"
FROM each GROUP BY role, purpose ORDER BY role, purpose
"""
"""A row per role and purpose. A question counts as read once any try at it was."""

UNREAD = """
SELECT role, purpose, unreadable AS why, coalesce(content, '') AS said,
  coalesce(task_id, '') AS about
FROM replies
WHERE unreadable IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY role, purpose, unreadable ORDER BY question_id) = 1
  AND dense_rank() OVER (PARTITION BY role, purpose ORDER BY unreadable) <= 3
ORDER BY role, purpose, why
"""
"""Examples of replies that could not be read: one of each kind, three kinds of a purpose."""

REFUSED = "SELECT count(*) FROM trajectories WHERE termination = 'refused'"

EQUAL_PROMPTS = """
WITH firsts AS (
  SELECT t.task_id, t.role, t.model,
    concat(u.content, chr(0), json_extract(u.tool_calls, '$[*].name')::VARCHAR,
      json_extract(u.tool_calls, '$[*].arguments')::VARCHAR) AS said
  FROM trajectories AS t JOIN turns AS u USING (trajectory_id)
  WHERE u.turn = 0 AND u.sampled_by = 'policy' AND t.parent_id IS NULL AND t.guidance IS NULL
    AND t.source IS NULL AND t.model IS NOT NULL
    AND json_extract(t.sampling, '$.temperature')::DOUBLE = 0
), groups AS (
  SELECT model, count(*) AS n, count(DISTINCT said) AS different
  FROM firsts GROUP BY task_id, role, model HAVING n > 1
)
SELECT model, count(*) AS prompts, count(*) FILTER (different > 1) AS differing
FROM groups GROUP BY model ORDER BY model
"""
"""Per model at temperature 0: the openings of tasks that were played more than once, and those of
which the first turns differ.
"""

SAME_PROMPT = """
SELECT json_extract_string(detail, '$.model') AS model,
  json_extract(detail, '$.temperature')::DOUBLE AS temperature,
  count(*) AS prompts, count(*) FILTER (value = 1) AS same
FROM scores WHERE metric = 'asked_twice' GROUP BY 1, 2 ORDER BY 1, 2
"""
"""Per model and temperature: the prompts that were asked twice, and those that got one answer."""
