"""Collection stages by the name that a flow.yaml gives them: `module:attribute`, imported when used."""

SYNTHESIZERS: dict[str, str] = {
    "critical_step": "synthesizers.critical_step:SYNTHESIZER",
    "failure_injection": "synthesizers.failures.stage:SYNTHESIZER",
    "reflect_retry": "synthesizers.reflect_retry:SYNTHESIZER",
    "reverse_task": "synthesizers.reverse_task:SYNTHESIZER",
    "rollout": "synthesizers.rollout:SYNTHESIZER",
    "second_evidence": "synthesizers.second_evidence:SYNTHESIZER",
    "trajectory_reward": "synthesizers.trajectory_reward:SYNTHESIZER",
}
