"""The ledger's tables and their columns; those that design.md names as stable stand first."""

import pyarrow as pa

_KINDS = {
    "": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "texts": pa.list_(pa.string()),
    "tokens": pa.list_(pa.int32()),
    "floats": pa.list_(pa.float64()),
}
_COLUMNS = {
    "tasks": """
        task_id env goal origin seed:int check gold split benchmark env_config script parent
        difficulty
    """,
    "trajectories": """
        trajectory_id slot_id attempt:int task_id env trial:int synthesizer parent_id
        pivot_turn:int policy model weights_id seed:int outcome reward:float fault
        termination authorship gold_informed:bool n_turns:int n_tool_calls:int
        prompt_tokens:int completion_tokens:int cached_tokens:int cost_usd:float source
        created_at fault_detail benchmark sampling system_prompt tools opening
        opening_state_key check_result model_calls:int content_hash split role user_model
        user_calls:int user_prompt_tokens:int user_completion_tokens:int
        user_cached_tokens:int user_cost_usd:float unpriced_calls:int user_unpriced_calls:int
        guidance
    """,
    "turns": """
        trajectory_id turn:int agent thought content tool_calls observations state_key
        reward:float sampled_by masked injected usage latency_ms:float
        prompt_token_ids:tokens completion_token_ids:tokens logprobs:floats repairs:texts raw
        user_simulator:texts
    """,
    "labels": """
        label_id kind subject_id turn:int metric value:float status tier side mode strategy
        method treated_successes:int treated_n:int control_successes:int control_n:int
        lost:int looks:int accepted:bool false_discovery:float evidence_class on_policy_for
        weights_id gold_informed:bool act other_act twin_id reason detail
    """,
    "label_episodes": """
        label_id arm trajectory_id
    """,
    "measures": """
        subject_id turn:int metric value:float undefined student detail
    """,
    "step_measures": """
        trajectory_id turn:int metric value:float
    """,
    "units": """
        unit_id key subject_id turn:int metric value:float state reason attempts:int
        cost_usd:float detail
    """,
    "scores": """
        subject_id turn:int metric value:float detail
    """,
    "decisions": """
        trajectory_id filter keep:bool reason score:float detail
    """,
    "replies": """
        question_id ordinal:int subject_id task_id role purpose model weights_id content
        thought unreadable model_calls:int prompt_tokens:int completion_tokens:int
        cached_tokens:int cost_usd:float prompt_hash repairs:texts
    """,
    "nodes": """
        task_id node population level n:int n_success:int tools:texts trajectory_id turn:int
    """,
    "edges": """
        task_id source_node target_node population level n:int n_success:int
    """,
}
"""Each with the kind of its values, text where none is named."""


def _schema(columns: str) -> pa.Schema:
    """The arrow schema of columns as they are written above; every row says which stage wrote it,
    and under which key.
    """
    pairs = (column.partition(":") for column in f"{columns} stage stage_key".split())
    return pa.schema([pa.field(name, _KINDS[kind]) for name, _, kind in pairs])


TABLES: dict[str, pa.Schema] = {name: _schema(columns) for name, columns in _COLUMNS.items()}
"""Arrow schema by table; JSON at rest is a string column, never an inferred struct (its keys would
be null-filled).
"""
COMMIT_ORDER = (
    *("tasks", "turns", "labels", "label_episodes", "measures", "step_measures", "units"),
    *("decisions", "replies", "nodes", "edges", "trajectories"),
)
"""`trajectories` last: a shard whose trajectories file exists is whole."""
