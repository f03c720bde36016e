"""What made and judged the rows, by the name of the stage or filter, with its source: for the
card.
"""

METHODS: dict[str, tuple[str, str]] = {
    "rollout": ("trials of each task by the policy", ""),
    "reverse_task": (
        "explores first, then names the task that the exploration solves",
        "OS-Genesis, arXiv 2412.19723",
    ),
    "reflect_retry": (
        "a failed trial is reflected on and tried again from its pivot",
        "R3L, arXiv 2601.03715",
    ),
    "failure_injection": (
        "a failure of a known mode is injected into a solved trial",
        "AEGIS, arXiv 2509.14295; modes: MAST, arXiv 2503.13657",
    ),
    "critical_step": (
        "steps whose alternative changes the outcome, tested by continuations",
        "CSO, arXiv 2602.03412; A/A control: our own",
    ),
    "second_evidence": (
        "successes of hard tasks played again from their first change, against lucky passes",
        "",
    ),
    "trajectory_reward": (
        "a judge's 1 to 5 as a sampling weight, never a verdict",
        "OS-Genesis, arXiv 2412.19723",
    ),
    "topology": (
        "the trials of a task as one graph of states",
        "after TopoCurate, arXiv 2603.01714; formulas: our own",
    ),
    "solved": ("what the environment's own check accepted", ""),
    "reexecuted": ("executed again, observations compared", ""),
    "provenance": ("each argument traced to what the agent had observed", ""),
    "leaks": ("text and choices searched for traces of hidden guidance", ""),
    "secrets": (
        "secrets and personal data searched for, redacted or dropped",
        "token patterns: detect-secrets",
    ),
    "duplicates": ("exact copies and near copies", "MinHash"),
    "contamination": ("overlap with texts of public test sets", ""),
    "split": ("descendants keep the split of their root task", ""),
    "rubric": (
        "rubrics, computed or judged by a model",
        "FinTrace, arXiv 2604.10015; RubricEM, arXiv 2605.10899",
    ),
    "rank_surprisal": (
        "what a student would learn most from",
        "rank-surprisal ratio, arXiv 2601.14249",
    ),
    "signals": ("cheap signs of trouble in conversations", "arXiv 2604.00356"),
    "efficiency": (
        "repeated actions, steps beyond the shortest success",
        "after PANDO, arXiv 2605.24785",
    ),
    "waste": ("wasted steps by state and action", "after AgentLens, arXiv 2605.12925"),
    "attribution": ("which step decided a failure, as a judge says", "Who&When, arXiv 2505.00212"),
    "memory": ("long-context questions compiled from verified traces", "ACC, arXiv 2605.21850"),
}
"""Name -> (what it does, source; empty where there is none but this project)."""
