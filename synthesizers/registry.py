"""The built-in collection stages, by the name that a flow.yaml gives them: `module:attribute`,
imported when used.
"""

SYNTHESIZERS: dict[str, str] = {
    "critical_step": "synth.synthesizers.critical_step:CriticalStep",
    "failure_injection": "synth.synthesizers.failure_injection:FailureInjection",
    "reflect_retry": "synth.synthesizers.reflect_retry:ReflectRetry",
    "relive": "synth.synthesizers.relive:Relive",
    "reverse_task": "synth.synthesizers.reverse_task:ReverseTask",
    "rollout": "synth.synthesizers.rollout:Rollout",
    "second_evidence": "synth.synthesizers.lucky_pass:LuckyPass",
    "trajectory_reward": "synth.synthesizers.trajectory_reward:TrajectoryReward",
}
