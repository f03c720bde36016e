from synth.api.checks import (
    AuditAnswer as AuditAnswer,
    AuditReport as AuditReport,
    VerifyReport as VerifyReport,
    audit as audit,
    list_environments as list_environments,
    recheck as recheck,
    replay as replay,
    verify as verify,
)
from synth.api.curation import (
    ProposedFlow as ProposedFlow,
    confirm as confirm,
    curate as curate,
    propose as propose,
)
from synth.api.datasets import check_export as check_export, export as export
from synth.api.imports import import_trajectories as import_trajectories
from synth.api.machine import (
    check_machine as check_machine,
    install_vllm as install_vllm,
    installed_extras as installed_extras,
    installed_vllm as installed_vllm,
    probe_server as probe_server,
)
from synth.api.opened import Ledger as Ledger, open_ledger as open_ledger
from synth.api.publications import PublicationReport as PublicationReport, publish as publish
from synth.api.repositories import (
    GradeTally as GradeTally,
    PoolTally as PoolTally,
    grade_repo as grade_repo,
    plan_repo as plan_repo,
    prepare_repo as prepare_repo,
    repo_tables as repo_tables,
)
from synth.api.runs import (
    FlowCheck as FlowCheck,
    RunResult as RunResult,
    WorkReport as WorkReport,
    check_flow as check_flow,
    run as run,
    work as work,
)
from synth.api.views import (
    diff as diff,
    drawn_graph as drawn_graph,
    explain_nodes as explain_nodes,
    graph as graph,
    rank as rank,
    write_report as write_report,
)
from synth.api.workers import WorkStatus as WorkStatus, deploy as deploy, status as status
from synth.engine.runs.replaying import RecheckTally as RecheckTally, ReplayTally as ReplayTally
from synth.engine.study.alternatives import Ask as Ask, Proposal as Proposal
from synth.engine.study.arms import Arm as Arm, Episodes as Episodes, Unit as Unit
from synth.engine.study.method import Method as Method, synthesizer as synthesizer
from synth.engine.study.stage_context import Trials as Trials
from synth.engine.study.study import Study as Study
from synth.engine.table import Table as Table
from synth.envs.tool_env import (
    Call as Call,
    ToolEnv as ToolEnv,
    ToolError as ToolError,
    tool as tool,
)
from synth.envs.world import EnvEntry as EnvEntry
from synth.exporters.export import ExportReport as ExportReport
from synth.exporters.kind import RowSettings as RowSettings
from synth.exporters.proof.check import Proof as Proof
from synth.filters.rank_surprisal.sources import Interval as Interval, Ranking as Ranking
from synth.flows.own.templates import (
    list_templates as list_templates,
    write_template as write_template,
)
from synth.importers.tally import ImportTally as ImportTally
from synth.models.probing.endpoint import Finding as Finding
from synth.policies.function import policy as policy
from synth.report.audit_page import audit_page as audit_page
from synth.rollout.start import BranchPoint as BranchPoint
from synth.schemas.check import (
    Check as Check,
    CheckResult as CheckResult,
    Require as Require,
    RowPredicate as RowPredicate,
    SubVerdict as SubVerdict,
    Tell as Tell,
)
from synth.schemas.environment import (
    AgentTurn as AgentTurn,
    Env as Env,
    EnvSpec as EnvSpec,
    Opening as Opening,
    Response as Response,
    Snapshot as Snapshot,
)
from synth.schemas.errors import (
    ConfigError as ConfigError,
    DamagedError as DamagedError,
    SynthError as SynthError,
    UnboundError as UnboundError,
)
from synth.schemas.evidence.labels import (
    AttributionLabel as AttributionLabel,
    Counts as Counts,
    Evidence as Evidence,
    Label as Label,
    RetryLabel as RetryLabel,
    StepLabel as StepLabel,
)
from synth.schemas.evidence.pairs import PairLabel as PairLabel
from synth.schemas.evidence.release import Release as Release
from synth.schemas.filtering import (
    Case as Case,
    Cases as Cases,
    Filter as Filter,
    FilterResult as FilterResult,
    Measure as Measure,
    Verdict as Verdict,
    filter as filter,
)
from synth.schemas.flow import Flow as Flow
from synth.schemas.model import (
    ChatModel as ChatModel,
    Completion as Completion,
    ModelError as ModelError,
    Sampling as Sampling,
    ScoringModel as ScoringModel,
)
from synth.schemas.outcome import Fault as Fault, Outcome as Outcome, Termination as Termination
from synth.schemas.policy import (
    Act as Act,
    Policy as Policy,
    PolicySpec as PolicySpec,
    View as View,
)
from synth.schemas.reverse import Draft as Draft, NoGoal as NoGoal, Window as Window
from synth.schemas.task import Task as Task
from synth.schemas.trajectory import (
    Observation as Observation,
    Source as Source,
    ToolCall as ToolCall,
    Trajectory as Trajectory,
    Turn as Turn,
)
from synth.text.transcript.divergence import Divergence as Divergence

__all__: list[str]
