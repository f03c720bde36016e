"""The error by which a method drops a proposal, for a reason that its report counts."""


class RejectedError(Exception):
    """A proposal gives nothing: `reason` is a counter's name, `example` shows why."""

    def __init__(
        self,
        reason: str,
        example: str = "",
    ) -> None:
        super().__init__(reason, example)

        self.reason = reason
        self.example = example
