"""Connections that a full port drops."""

from keda_py.serving.ports.table import PortLimits, Seat, Table


def seat(address: str, now: float, *, idle: bool = False, answering: bool = False) -> Seat:
    taken = Seat(address, now)
    if idle or answering:
        taken.reading_since = None
    taken.answering_since = now if answering else None
    return taken


def seated(most: int, *seats: Seat) -> tuple[Table, list[Seat]]:
    """Make a table; return it with the list of dropped seats."""
    table, dropped = Table(most), list[Seat]()
    for one in seats:
        one.drop = lambda one=one: dropped.append(one)
        assert table.take(one)
    return table, dropped


def test_of_the_address_with_the_most_connections_the_oldest_half_request_gives_way() -> None:
    kubelet, idle, older, newer = seat("a", 1), seat("b", 2, idle=True), seat("b", 3), seat("b", 4)
    table, dropped = seated(4, newer, idle, older, kubelet)
    assert table.take(seat("b", 5))
    assert dropped == [older]
    assert len(table) == 4


def test_where_all_requests_are_whole_the_longest_idle_gives_way() -> None:
    one, two, busy = seat("a", 2, idle=True), seat("a", 1, idle=True), seat("a", 0, answering=True)
    table, dropped = seated(3, one, two, busy)
    assert table.take(seat("b", 5))
    assert dropped == [two]


def test_who_is_being_answered_stays_and_others_are_turned_away() -> None:
    table, dropped = seated(2, seat("a", 1, answering=True), seat("b", 1, answering=True))
    assert not table.take(seat("c", 2))
    assert (dropped, len(table)) == ([], 2)


def test_an_address_whose_connections_are_all_being_answered_leaves_it_to_the_next() -> None:
    small = seat("b", 1)
    table, dropped = seated(3, seat("a", 1, answering=True), seat("a", 1, answering=True), small)
    assert table.take(seat("c", 2))
    assert dropped == [small]


def test_a_large_table_frees_several_seats_at_once() -> None:
    table, dropped = seated(64, *(seat("a", number) for number in range(64)))
    assert table.take(seat("b", 100))
    assert [one.reading_since for one in dropped] == [0, 1]


def test_who_left_by_being_dropped_is_not_counted_twice() -> None:
    first = seat("a", 1)
    table, _ = seated(1, first)
    assert table.take(seat("b", 2))
    table.leave(first)
    assert len(table) == 1


def test_each_state_has_its_time() -> None:
    limits = PortLimits(handshake=1, request=2, answer=3, idle=4)

    def late(one: Seat, now: float) -> bool:
        return one.is_too_slow(limits, 0.5, now)

    greeting, reading = seat("a", 0), seat("a", 0)
    reading.is_open = True
    closing = seat("a", 0, idle=True)
    closing.is_closing = lambda: True
    assert [late(one, 0.6) for one in (greeting, reading, closing)] == [False, False, True]
    assert [late(one, 1.6) for one in (greeting, reading)] == [True, False]
    assert late(reading, 2.1)
    busy, idle = seat("a", 0, answering=True), seat("a", 0, idle=True)
    assert [late(one, 3.1) for one in (busy, idle)] == [True, False]
    assert late(idle, 4.1)
