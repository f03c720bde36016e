"""The ledger's tables and their columns; those that design.md names as stable stand first."""

import pyarrow as pa

_LINEAGE = [pa.field("stage", pa.string()), pa.field("stage_key", pa.string())]
_S, _I, _F, _B = pa.string(), pa.int64(), pa.float64(), pa.bool_()


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in columns] + _LINEAGE)


# fmt: off
TABLES: dict[str, pa.Schema] = {
    "tasks": _schema(
        ("task_id", _S), ("env", _S), ("goal", _S), ("origin", _S), ("seed", _I), ("check", _S),
        ("gold", _S), ("split", _S),
        ("benchmark", _S), ("env_config", _S), ("script", _S), ("parent", _S), ("difficulty", _S),
    ),
    "trajectories": _schema(
        ("trajectory_id", _S), ("slot_id", _S), ("attempt", _I), ("task_id", _S), ("env", _S),
        ("trial", _I), ("synthesizer", _S),
        ("parent_id", _S), ("pivot_turn", _I), ("policy", _S), ("model", _S), ("weights_id", _S),
        ("seed", _I), ("outcome", _S),
        ("reward", _F), ("fault", _S), ("termination", _S), ("authorship", _S), ("gold_informed",
            _B), ("n_turns", _I),
        ("n_tool_calls", _I), ("prompt_tokens", _I), ("completion_tokens", _I), ("cached_tokens",
            _I), ("cost_usd", _F), ("source", _S),
        ("created_at", _S), ("fault_detail", _S), ("benchmark", _S), ("sampling", _S),
        ("system_prompt", _S), ("tools", _S),
        ("opening", _S), ("opening_state_key", _S), ("check_result", _S), ("model_calls", _I),
        ("content_hash", _S),
        ("split", _S), ("role", _S), ("user_model", _S), ("user_calls", _I), ("user_prompt_tokens",
            _I), ("user_completion_tokens", _I),
        ("user_cached_tokens", _I), ("user_cost_usd", _F), ("unpriced_calls", _I),
        ("user_unpriced_calls", _I), ("guidance", _S),
    ),
    "turns": _schema(
        ("trajectory_id", _S), ("turn", _I), ("agent", _S), ("thought", _S), ("content", _S),
        ("tool_calls", _S), ("observations", _S),
        ("state_key", _S), ("reward", _F), ("sampled_by", _S), ("masked", _S), ("injected", _S),
        ("usage", _S), ("latency_ms", _F),
        ("prompt_token_ids", pa.list_(pa.int32())), ("completion_token_ids", pa.list_(pa.int32())),
        ("logprobs", pa.list_(_F)),
        ("repairs", pa.list_(_S)), ("raw", _S), ("user_simulator", pa.list_(_S)),
    ),
    "labels": _schema(
        ("label_id", _S), ("kind", _S), ("subject_id", _S), ("turn", _I), ("metric", _S), ("value", _F),
        ("status", _S), ("tier", _S), ("side", _S), ("mode", _S), ("strategy", _S), ("method", _S),
        ("treated_successes", _I), ("treated_n", _I), ("control_successes", _I), ("control_n", _I),
        ("lost", _I), ("looks", _I), ("accepted", _B), ("false_discovery", _F), ("evidence_class", _S),
        ("on_policy_for", _S), ("weights_id", _S), ("gold_informed", _B), ("act", _S), ("other_act", _S),
        ("twin_id", _S), ("reason", _S), ("detail", _S),
    ),
    "label_episodes": _schema(("label_id", _S), ("arm", _S), ("trajectory_id", _S)),
    "measures": _schema(
        ("subject_id", _S), ("turn", _I), ("metric", _S), ("value", _F), ("undefined", _S),
        ("student", _S), ("detail", _S),
    ),
    "step_measures": _schema(("trajectory_id", _S), ("turn", _I), ("metric", _S), ("value", _F)),
    "units": _schema(
        ("unit_id", _S), ("key", _S), ("subject_id", _S), ("turn", _I), ("metric", _S), ("value", _F),
        ("state", _S), ("reason", _S), ("attempts", _I), ("cost_usd", _F), ("detail", _S),
    ),
    "scores": _schema(("subject_id", _S), ("turn", _I), ("metric", _S), ("value", _F), ("detail",
        _S)),
    "decisions": _schema(("trajectory_id", _S), ("filter", _S), ("keep", _B), ("reason", _S),
        ("score", _F), ("detail", _S)),
    "replies": _schema(
        ("question_id", _S), ("ordinal", _I), ("subject_id", _S), ("task_id", _S), ("role", _S),
        ("purpose", _S), ("model", _S),
        ("weights_id", _S), ("content", _S), ("thought", _S), ("unreadable", _S), ("model_calls",
            _I), ("prompt_tokens", _I),
        ("completion_tokens", _I), ("cached_tokens", _I), ("cost_usd", _F),
    ),
    "nodes": _schema(
        ("task_id", _S), ("node", _S), ("population", _S), ("level", _S), ("n", _I), ("n_success",
            _I), ("tools", pa.list_(_S)),
        ("trajectory_id", _S), ("turn", _I),
    ),
    "edges": _schema(
        ("task_id", _S), ("source_node", _S), ("target_node", _S), ("population", _S), ("level",
            _S), ("n", _I), ("n_success", _I),
    ),
}
# fmt: on
"""Arrow schema by table; JSON at rest is a string column, never an inferred struct (its keys would
be null-filled).
"""

COMMIT_ORDER = (
    "tasks",
    "turns",
    "labels",
    "label_episodes",
    "measures",
    "step_measures",
    "units",
    "decisions",
    "replies",
    "nodes",
    "edges",
    "trajectories",
)
"""`trajectories` last: a shard whose trajectories file exists is whole."""
