from synth.schemas.canonical import (
    canonical_json as canonical_json,
    content_hash as content_hash,
    digest as digest,
    slot_id as slot_id,
    trajectory_id as trajectory_id,
    valid_text as valid_text,
)
from synth.schemas.check import (
    Check as Check,
    CheckResult as CheckResult,
    Facts as Facts,
    Refusal as Refusal,
    Require as Require,
    RowPredicate as RowPredicate,
    Scalar as Scalar,
    SubVerdict as SubVerdict,
    Tell as Tell,
    verdict_of as verdict_of,
)
from synth.schemas.environment import (
    AgentTurn as AgentTurn,
    Env as Env,
    EnvSpec as EnvSpec,
    MakeTasks as MakeTasks,
    OpenEnv as OpenEnv,
    Opening as Opening,
    Response as Response,
    Snapshot as Snapshot,
    Violation as Violation,
    answer_violation as answer_violation,
    opening_violation as opening_violation,
    spared as spared,
    without as without,
)
from synth.schemas.errors import (
    ConfigError as ConfigError,
    DamagedError as DamagedError,
    FlowError as FlowError,
    RowError as RowError,
    SynthError as SynthError,
    UnboundError as UnboundError,
)
from synth.schemas.evidence.labels import (
    METRICS as METRICS,
    UNSET as UNSET,
    AttributionLabel as AttributionLabel,
    Changed as Changed,
    Memo as Memo,
    RetryLabel as RetryLabel,
    Status as Status,
    StepLabel as StepLabel,
    StepValue as StepValue,
    given as given,
)
from synth.schemas.evidence.measures import (
    ComparedPotentials as ComparedPotentials,
    Faulted as Faulted,
    Potentials as Potentials,
    Ranked as Ranked,
    Text as Text,
)
from synth.schemas.evidence.pairs import (
    GUIDED as GUIDED,
    KtoLabel as KtoLabel,
    PairFamily as PairFamily,
    PairLabel as PairLabel,
    PrmLabel as PrmLabel,
    RowEvidence as RowEvidence,
    StepRef as StepRef,
    Tier as Tier,
)
from synth.schemas.evidence.release import ALL as ALL, Release as Release
from synth.schemas.filtering import (
    JUDGED as JUDGED,
    UNVERIFIED as UNVERIFIED,
    Case as Case,
    Cases as Cases,
    Filter as Filter,
    FilterResult as FilterResult,
    FilterSettings as FilterSettings,
    Measure as Measure,
    Verdict as Verdict,
    filter as filter,
)
from synth.schemas.flow import (
    EnvChoice as EnvChoice,
    Flow as Flow,
    Plan as Plan,
    PlannedSlot as PlannedSlot,
    Shard as Shard,
    Stage as Stage,
    StageChoice as StageChoice,
)
from synth.schemas.model import (
    ChatModel as ChatModel,
    Completion as Completion,
    Message as Message,
    Messages as Messages,
    ModelError as ModelError,
    Sampling as Sampling,
    Scored as Scored,
    ScoringModel as ScoringModel,
    TokenScore as TokenScore,
    ToolSchemas as ToolSchemas,
)
from synth.schemas.outcome import (
    LIMITS as LIMITS,
    Fault as Fault,
    Outcome as Outcome,
    Termination as Termination,
    settle as settle,
)
from synth.schemas.policy import (
    OPEN_LINE as OPEN_LINE,
    USER as USER,
    Act as Act,
    Episode as Episode,
    FreeUserScript as FreeUserScript,
    Guidance as Guidance,
    Policy as Policy,
    PolicySpec as PolicySpec,
    User as User,
    UserScript as UserScript,
    View as View,
)
from synth.schemas.reverse import (
    Change as Change,
    Draft as Draft,
    NoGoal as NoGoal,
    Operation as Operation,
    Window as Window,
    WriteGoal as WriteGoal,
)
from synth.schemas.task import Origin as Origin, Task as Task
from synth.schemas.text.conversation import (
    Conversation as Conversation,
    from_messages as from_messages,
)
from synth.schemas.text.messages import (
    ENVIRONMENT_NAME as ENVIRONMENT_NAME,
    GREETING_MASK as GREETING_MASK,
    PROVIDER_MASK as PROVIDER_MASK,
    SYSTEM_NAME as SYSTEM_NAME,
    greeting_turn as greeting_turn,
    observation_message as observation_message,
    to_messages as to_messages,
    turn_messages as turn_messages,
    view_messages as view_messages,
)
from synth.schemas.text.printing import (
    SPACING as SPACING,
    ascii_json as ascii_json,
    between_words as between_words,
    front_matter as front_matter,
    in_cell as in_cell,
    in_code as in_code,
    in_file_name as in_file_name,
    in_html as in_html,
    in_markdown as in_markdown,
    printable as printable,
    utf16_escapes as utf16_escapes,
)
from synth.schemas.text.settings import explain as explain, strictly as strictly
from synth.schemas.text.yaml_text import read_yaml as read_yaml
from synth.schemas.trajectory import (
    Authorship as Authorship,
    Deviation as Deviation,
    Observation as Observation,
    Planted as Planted,
    SampledBy as SampledBy,
    Source as Source,
    TokenId as TokenId,
    ToolCall as ToolCall,
    ToolSchema as ToolSchema,
    Trajectory as Trajectory,
    Turn as Turn,
    TurnedDown as TurnedDown,
    Usage as Usage,
    Wording as Wording,
    argument_error as argument_error,
)
