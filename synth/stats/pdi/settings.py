"""The settings of a memo that is carried from attempt to attempt."""

from pydantic import BaseModel, ConfigDict, Field

from synth.stats.pdi.online import LEAST_ATTEMPTS
from synth.stats.pdi.similarity import Backend


class CarriedMemo(BaseModel):
    """`backend`: how texts are compared. `intervene`: say so in the memo where attempts repeat
    themselves; else that is only measured.
    `from_attempt`: the first attempt after which that may be; 2 is the official code's, with which
    every value is a whole number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: Backend = "token_overlap"
    intervene: bool = False
    from_attempt: int = Field(default=LEAST_ATTEMPTS, ge=2)
