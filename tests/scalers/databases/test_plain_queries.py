"""Which queries are known to leave their session as it was."""

import pytest

from scalers.shared.databases.queries.plain import is_plain
from tests.costs import within


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM jobs",
        "select COALESCE(sum(n), 0) from jobs where state in ('open', 'late; set') and n > 3;",
        "WITH waiting AS (SELECT 1 x) SELECT x FROM waiting",
        "SELECT ceil(count(*)::decimal / 10) FROM q WHERE s = 'it''s'",
        'SELECT COUNT(*) FROM `jobs` WHERE state = "it\'s; open" AND t < NOW() - INTERVAL 5 MINUTE',
        "SELECT 1::numeric(10, 2)",
    ],
)
def test_a_select_of_tables_and_usual_functions_is_plain(query: str) -> None:
    assert is_plain(query)


@pytest.mark.parametrize(
    "query",
    [
        "BEGIN",
        "SET x = 1",
        "SELECT set_config('search_path', 'x', false)",
        "SELECT pg_catalog.set_config('search_path', 'x', false)",
        "SELECT \"set_config\" ('search_path', 'x', false)",
        "SELECT `set_config`('search_path')",
        "SELECT ümax(1)",
        "SELECT 'a\\' , set_config('x', 'y', false) , '",
        "SELECT '\"' , set_config('x', 'y', false) , '\"'",
        "SELECT 1 /*! , @a := 1 */",
        "SELECT $$a$$",
        "SELECT @a := 1",
        "SELECT 1; SET x = 1",
        "SELECT 1 SET LOCK_TIMEOUT 5",
        "SELECT 1 EXEC refresh",
        "SELECT n INTO TEMPORARY x FROM jobs",
        "WITH a AS (INSERT INTO t VALUES (1) RETURNING 1) SELECT 1 FROM a",
        "SELECT GET_LOCK('jobs', 1)",
        "SELECT 'a",
        "SELECT " + "1 + " * 5_000 + "1",
    ],
)
def test_what_may_change_its_session_is_not(query: str) -> None:
    assert not is_plain(query)


def test_a_query_of_any_length_is_looked_through_in_little_time() -> None:
    with within(0.1):
        is_plain("SELECT " + "a(" * 4_000)
        is_plain("SELECT " + "'" * 100_000)
