"""What no statement may do, whichever engine runs it, and how its author is told."""

import sqlglot
from sqlglot import exp

from synth.envs.sql.database.results import StatementError
from synth.schemas.canonical import valid_text

LONGEST_STATEMENT = 20_000
_NAMES = (
    "random randomblob changes total_changes last_insert_rowid load_extension sqlite_version "
    "sqlite_source_id readfile writefile edit fts3_tokenizer uuid gen_random_uuid now today "
    "getenv current_setting setseed rand nextval get_current_time get_current_timestamp "
    "transaction_timestamp current_localtime current_localtimestamp currval txid_current"
)
REFUSED_FUNCTIONS = frozenset(_NAMES.split())
"""Functions whose value the database does not determine, or that reach out of it."""
_MEANINGS = {
    "not authorized": "this is not allowed here",
    "interrupted": "this takes too long: ask for less",
    "INTERRUPT": "this takes too long: ask for less",
}


def statement_error(error: Exception, before: str = "") -> StatementError:
    """An engine's error in one line, with what it means here."""
    if isinstance(error, StatementError):
        return error

    text = " ".join(str(error).split())
    meanings = [meaning for sign, meaning in _MEANINGS.items() if sign in text]

    return StatementError(before + valid_text("; ".join([text[:300], *meanings[:1]])))


def refuse_undetermined(sql: str, dialect: str) -> None:
    """Raises `StatementError` for what is no single SELECT, or asks for the time or for chance."""
    if len(sql) > LONGEST_STATEMENT:
        raise StatementError(f"the statement is longer than {LONGEST_STATEMENT} characters")

    try:
        (tree,) = sqlglot.parse(sql, dialect=dialect)
    except (sqlglot.errors.SqlglotError, ValueError, RecursionError) as error:
        raise statement_error(error, "give one SELECT that can be read: ") from error

    if not isinstance(tree, exp.Query):
        raise StatementError("only reading is possible here: give one SELECT")

    for node in tree.walk():
        name = node.name if isinstance(node, exp.Anonymous) else ""
        name = (name or (node.sql_name() if isinstance(node, exp.Func) else "")).lower()
        if name in REFUSED_FUNCTIONS or name.startswith("current_"):
            raise StatementError(f"the function {name} is not available")
