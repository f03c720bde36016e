from synth.confinement.branches import (
    Branch as Branch,
    FileChange as FileChange,
    Frozen as Frozen,
    branch_of as branch_of,
    how_branches_are_made as how_branches_are_made,
    new_branch as new_branch,
)
from synth.confinement.cgroups import (
    Cgroup as Cgroup,
    how_trees_are_counted as how_trees_are_counted,
    new_cgroup as new_cgroup,
    no_cgroups as no_cgroups,
)
from synth.confinement.command import (
    INSIDE as INSIDE,
    Inside as Inside,
    ProcessLimits as ProcessLimits,
    confined_command as confined_command,
    environment_file as environment_file,
    missing as missing,
)
from synth.confinement.keeping import KeeperEndedError as KeeperEndedError
from synth.confinement.processes import (
    LOOK_S as LOOK_S,
    HeldProcess as HeldProcess,
    deleted as deleted,
    held as held,
    tree as tree,
)
from synth.confinement.running import Ran as Ran, end_inside as end_inside
from synth.confinement.users import hand_over as hand_over
