"""The base of whatever is stored and read back."""

import msgspec


class StrictRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A struct whose unknown fields are errors when it is read, and whose defaults are left out
    when it is written.
    """
