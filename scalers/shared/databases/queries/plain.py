"""Which queries leave their session as it was: what is not sure to do so costs a reset, or a new connection.

A query may set a variable, take a lock, open a transaction or make a temporary table, and the next query on that
connection, another trigger's, would answer something else. Nothing here decides what may be asked.
"""

from typing import Final

import re2

_LONGEST: Final = 8192
"""Characters: a longer query is not looked through."""

# Texts and names; a doubled quote makes two of them. One with a backslash ends elsewhere in each dialect.
_QUOTED = re2.compile(r"""'[^'\\]*'|"[^"\\]*"|`[^`\\]*`""")

_SUSPECT = re2.compile(r"""[;@#$\\'"`\[]|--|/\*|:=""")
"""Variables, comments, what ends a statement, and what is left of quotes."""

# T-SQL needs nothing between two statements, and a common table expression may write.
_STATEMENTS = re2.compile(
    r"(?i)\b(?:into|set|use|begin|start|commit|rollback|save|savepoint|exec|execute|call|do|create|alter|drop|insert|"
    r"update|delete|merge|replace|truncate|declare|open|fetch|close|lock|unlock|prepare|deallocate|grant|revoke|revert|"
    r"setuser|if|while|return|waitfor|kill|dbcc|load|copy|handler|reset|discard|listen|notify|print|procedure)\b"
)

_BEGIN = re2.compile(r"(?i)\s*(?:select|with)\b")
_CALL = re2.compile(r"([A-Za-z0-9_.]*[A-Za-z0-9_])\s*\(")

_FUNCTIONS = """
    abs avg cast ceil ceiling coalesce concat convert count date date_add date_part date_sub date_trunc dateadd datediff
    day dense_rank extract floor generate_series getdate greatest hour ifnull isnull least length lower ltrim max min
    minute mod month now nullif percentile_cont percentile_disc pg_sleep rank round row_number rtrim second sign sleep
    sqrt stddev sum sysdate timestampdiff totimestamp trim unix_timestamp upper variance year
    bigint char decimal double float int integer interval numeric real varchar
"""
_WORDS = """
    all and any as between by case distinct else except exists filter from group having in intersect is join lateral
    like limit materialized not offset on or order over partition recursive select some then union using values when
    where with
"""
"""Words before a parenthesis that are not functions."""
_HARMLESS: Final = frozenset([*_FUNCTIONS.split(), *_WORDS.split()])


def is_plain(query: str) -> bool:
    """Return whether the query is a SELECT of tables, operators and functions that are known to change nothing."""
    text = query.strip().removesuffix(";")
    if len(text) > _LONGEST or not _BEGIN.match(text):
        return False
    text = _QUOTED.sub(" x0 ", text)  # which is no harmless function, where a parenthesis follows
    if not text.isascii() or _SUSPECT.search(text) or _STATEMENTS.search(text):
        return False
    return all(call[1].lower() in _HARMLESS for call in _CALL.finditer(text))
