"""Collection stages by the name that a flow.yaml gives them: `module:attribute`, imported when
used.
"""

SYNTHESIZERS: dict[str, str] = {
    "critical_step": "synth.synthesizers.critical_step:CriticalStep",
    "failure_injection": "synth.synthesizers.failures.stage:FailureInjection",
    "reflect_retry": "synth.synthesizers.reflect_retry:SYNTHESIZER",
    "reverse_task": "synth.synthesizers.reverse_task:SYNTHESIZER",
    "rollout": "synth.synthesizers.rollout:SYNTHESIZER",
    "second_evidence": "synth.synthesizers.second_evidence:SecondEvidence",
    "trajectory_reward": "synth.synthesizers.trajectory_reward:TrajectoryReward",
}
