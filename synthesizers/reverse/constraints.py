"""What a check demands with its entities masked: by this goals are told apart whose words say
nothing about it.
"""

from collections import Counter

from synth.schemas.check import Check, RowPredicate


def constraint_structure(check: Check) -> str:
    """Rows by table and columns, in no order, with the number of alike ones; the types of what is
    to be told; the rules that forbid.
    """
    rows = Counter(_shape(row) for row in check.required)
    told = Counter(f"tell {fact.type}" for fact in check.told)
    refused = Counter(f"refuse by {refusal.rule}" for refusal in check.refusals)
    parts = sorted((rows + told + refused).items())
    return " + ".join(part if count == 1 else f"{count} x {part}" for part, count in parts)


def _shape(row: RowPredicate) -> str:
    """`table(columns)` of a row that was there, `+table(columns)` of a new one, with how many there
    must be where that is not one.
    """
    columns = ", ".join(sorted(row.where.keys() - {"id"}))
    found = f"{'' if 'id' in row.where else '+'}{row.table}({columns})"
    return found if row.count == 1 else f"{found} {row.count} times"
