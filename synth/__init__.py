"""The public API: `from synth import ...`. Every other name is private and may change.

A name is imported when it is first asked for: `import synth` loads no package but this one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.api.audits import AuditAnswer as AuditAnswer
    from synth.api.audits import AuditReport as AuditReport
    from synth.api.audits import audit as audit
    from synth.api.audits import list_environments as list_environments
    from synth.api.comparisons import diff as diff
    from synth.api.comparisons import drawn_graph as drawn_graph
    from synth.api.comparisons import explain_nodes as explain_nodes
    from synth.api.comparisons import graph as graph
    from synth.api.datasets import check_export as check_export
    from synth.api.datasets import export as export
    from synth.api.deployments import deploy as deploy
    from synth.api.imports import import_trajectories as import_trajectories
    from synth.api.machine import check_machine as check_machine
    from synth.api.machine import installed_extras as installed_extras
    from synth.api.machine import probe_server as probe_server
    from synth.api.opened import Ledger as Ledger
    from synth.api.opened import open_ledger as open_ledger
    from synth.api.pages import write_report as write_report
    from synth.api.publications import PublicationReport as PublicationReport
    from synth.api.publications import publish as publish
    from synth.api.rankings import rank as rank
    from synth.api.replays import recheck as recheck
    from synth.api.replays import replay as replay
    from synth.api.runs import FlowCheck as FlowCheck
    from synth.api.runs import RunResult as RunResult
    from synth.api.runs import WorkReport as WorkReport
    from synth.api.runs import check_flow as check_flow
    from synth.api.runs import curate as curate
    from synth.api.runs import run as run
    from synth.api.runs import work as work
    from synth.api.verification import VerifyReport as VerifyReport
    from synth.api.verification import verify as verify
    from synth.api.workers import WorkStatus as WorkStatus
    from synth.api.workers import status as status
    from synth.engine.runs.replaying import RecheckTally as RecheckTally
    from synth.engine.runs.replaying import ReplayTally as ReplayTally
    from synth.engine.study.alternatives import Ask as Ask
    from synth.engine.study.alternatives import Proposal as Proposal
    from synth.engine.study.arms import Arm as Arm
    from synth.engine.study.arms import Episodes as Episodes
    from synth.engine.study.arms import Unit as Unit
    from synth.engine.study.method import Method as Method
    from synth.engine.study.method import synthesizer as synthesizer
    from synth.engine.study.stage_context import Trials as Trials
    from synth.engine.study.study import Study as Study
    from synth.engine.table import Table as Table
    from synth.envs.tool_env import Call as Call
    from synth.envs.tool_env import ToolEnv as ToolEnv
    from synth.envs.tool_env import ToolError as ToolError
    from synth.envs.tool_env import tool as tool
    from synth.envs.world import EnvEntry as EnvEntry
    from synth.exporters.export import ExportReport as ExportReport
    from synth.exporters.kind import RowSettings as RowSettings
    from synth.exporters.proof.check import Proof as Proof
    from synth.filters.rank_surprisal.sources import Interval as Interval
    from synth.filters.rank_surprisal.sources import Ranking as Ranking
    from synth.importers.tally import ImportTally as ImportTally
    from synth.models.probing.endpoint import Finding as Finding
    from synth.report.audit_page import audit_page as audit_page
    from synth.rollout.start import BranchPoint as BranchPoint
    from synth.schemas.check import Check as Check
    from synth.schemas.check import CheckResult as CheckResult
    from synth.schemas.check import Require as Require
    from synth.schemas.check import RowPredicate as RowPredicate
    from synth.schemas.check import SubVerdict as SubVerdict
    from synth.schemas.check import ToldFact as ToldFact
    from synth.schemas.environment import AgentTurn as AgentTurn
    from synth.schemas.environment import Env as Env
    from synth.schemas.environment import EnvSpec as EnvSpec
    from synth.schemas.environment import Opening as Opening
    from synth.schemas.environment import Response as Response
    from synth.schemas.environment import Snapshot as Snapshot
    from synth.schemas.errors import ConfigError as ConfigError
    from synth.schemas.errors import DamagedError as DamagedError
    from synth.schemas.errors import SynthError as SynthError
    from synth.schemas.errors import UnboundError as UnboundError
    from synth.schemas.filter import Case as Case
    from synth.schemas.filter import Cases as Cases
    from synth.schemas.filter import Filter as Filter
    from synth.schemas.filter import FilterResult as FilterResult
    from synth.schemas.filter import Measure as Measure
    from synth.schemas.filter_function import filter as filter
    from synth.schemas.flow import Flow as Flow
    from synth.schemas.labels import AttributionLabel as AttributionLabel
    from synth.schemas.labels import Counts as Counts
    from synth.schemas.labels import Evidence as Evidence
    from synth.schemas.labels import Label as Label
    from synth.schemas.labels import RetryLabel as RetryLabel
    from synth.schemas.labels import StepLabel as StepLabel
    from synth.schemas.model import ChatModel as ChatModel
    from synth.schemas.model import Completion as Completion
    from synth.schemas.model import ModelError as ModelError
    from synth.schemas.model import Sampling as Sampling
    from synth.schemas.model import ScoringModel as ScoringModel
    from synth.schemas.outcome import Fault as Fault
    from synth.schemas.outcome import Outcome as Outcome
    from synth.schemas.outcome import Termination as Termination
    from synth.schemas.policy import Act as Act
    from synth.schemas.policy import Policy as Policy
    from synth.schemas.policy import PolicySpec as PolicySpec
    from synth.schemas.policy import View as View
    from synth.schemas.release import Release as Release
    from synth.schemas.reverse import Draft as Draft
    from synth.schemas.reverse import NoGoal as NoGoal
    from synth.schemas.reverse import Window as Window
    from synth.schemas.task import Task as Task
    from synth.schemas.trajectory import Observation as Observation
    from synth.schemas.trajectory import Source as Source
    from synth.schemas.trajectory import ToolCall as ToolCall
    from synth.schemas.trajectory import Trajectory as Trajectory
    from synth.schemas.trajectory import Turn as Turn
    from synth.schemas.verdict import Verdict as Verdict
    from synth.text.transcript.divergence import Divergence as Divergence

_WHERE = {
    "synth.api.audits": "AuditAnswer AuditReport audit list_environments",
    "synth.api.comparisons": "diff drawn_graph explain_nodes graph",
    "synth.api.datasets": "check_export export",
    "synth.api.deployments": "deploy",
    "synth.api.imports": "import_trajectories",
    "synth.api.machine": "check_machine installed_extras probe_server",
    "synth.api.opened": "Ledger open_ledger",
    "synth.api.pages": "write_report",
    "synth.api.publications": "PublicationReport publish",
    "synth.api.rankings": "rank",
    "synth.api.replays": "recheck replay",
    "synth.text.transcript.divergence": "Divergence",
    "synth.api.runs": "FlowCheck RunResult WorkReport check_flow curate run work",
    "synth.api.verification": "VerifyReport verify",
    "synth.api.workers": "WorkStatus status",
    "synth.engine.runs.replaying": "RecheckTally ReplayTally",
    "synth.engine.study.arms": "Arm Episodes Unit",
    "synth.engine.study.alternatives": "Ask Proposal",
    "synth.engine.study.method": "Method synthesizer",
    "synth.engine.study.study": "Study",
    "synth.engine.study.stage_context": "Trials",
    "synth.engine.table": "Table",
    "synth.envs.tool_env": "Call ToolEnv ToolError tool",
    "synth.envs.world": "EnvEntry",
    "synth.exporters.export": "ExportReport",
    "synth.exporters.proof.check": "Proof",
    "synth.exporters.kind": "RowSettings",
    "synth.filters.rank_surprisal.sources": "Interval Ranking",
    "synth.importers.tally": "ImportTally",
    "synth.models.probing.endpoint": "Finding",
    "synth.report.audit_page": "audit_page",
    "synth.rollout.start": "BranchPoint",
    "synth.schemas.check": "Check CheckResult Require RowPredicate SubVerdict ToldFact",
    "synth.schemas.environment": "AgentTurn Env EnvSpec Opening Response Snapshot",
    "synth.schemas.errors": "ConfigError DamagedError SynthError UnboundError",
    "synth.schemas.filter": "Case Cases Filter FilterResult Measure",
    "synth.schemas.filter_function": "filter",
    "synth.schemas.flow": "Flow",
    "synth.schemas.labels": "AttributionLabel Counts Evidence Label RetryLabel StepLabel",
    "synth.schemas.model": "ChatModel Completion ModelError Sampling ScoringModel",
    "synth.schemas.outcome": "Fault Outcome Termination",
    "synth.schemas.policy": "Act Policy PolicySpec View",
    "synth.schemas.release": "Release",
    "synth.schemas.reverse": "Draft NoGoal Window",
    "synth.schemas.task": "Task",
    "synth.schemas.trajectory": "Observation Source ToolCall Trajectory Turn",
    "synth.schemas.verdict": "Verdict",
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}
__all__ = sorted(_MODULES)

if not TYPE_CHECKING:  # else every other name would have a type too

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'synth' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value


def __dir__() -> list[str]:
    return [*__all__, "__doc__"]
