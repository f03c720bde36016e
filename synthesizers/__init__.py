"""Stages that collect trajectories: one method per file, the parts of a larger one in a folder.

- `rollout` plays the flow's tasks, `tasks` makes them, `calibrate` finds how hard they should be.
- `critical_step` and `lucky_pass` play recorded turns anew: which acts decided, which passes hold.
- `reflect_retry` diagnoses failures and retries them with hidden guidance.
- `failure_injection` puts mistakes into clean trials, and repairs failed ones.
- `reverse_task` explores without a task and derives tasks from what was achieved.
- `trajectory_reward` asks a judge for sampling weights.

`rejected` has the error by which a method drops a proposal for a reason that its report counts.
Each is a `Method` or a `Study` (`synth.engine.study`), which does all that they have in common.
"""
