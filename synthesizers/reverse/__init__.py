"""Derives tasks from explorations: walks, subtrajectories, checks, and the tests that a derived
task must pass.

- `exploration` walks through an environment; `subtrajectories` cuts operations out of the walk.
- A goal is written by the environment's own rules, or by a model (`role_writer`).
- `check_predicates` derives the check from the facts that the operations changed.
- `deriving` runs the tests below, and `choosing` keeps distinct tasks.

| Test | The check | File |
|---|---|---|
| T1 | fails at the start | `check_tests` |
| T2 | passes after the operations | `check_tests` |
| T3 | fails without any one of them | `check_tests` |
| T4 | passes other right ways to the goal | `solution_tests` |
| T5 | fails solutions with one mistake | `check_tests` |
| T6 | fails bots without understanding | `solution_tests` |
| T7 | cannot be passed by a common guess | `solution_tests` |
| T8 | passes the expert, who knows the goal alone, and fails with another goal | `goal_tests` |

Tests run in the order of their cost: T1 to T3 on facts alone, then T8, T7, T6, T4 and T5, which
play episodes. The first that fails ends the subtrajectory, and is counted by its reason.
"""
