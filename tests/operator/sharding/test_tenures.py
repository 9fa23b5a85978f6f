"""A write carries its object's tenure: once that has ended it is not sent, whatever is ours by then."""

from keda_py.answers.work_context import working
from keda_py.core.values.object_key import ObjectKey
from keda_py.operator.sharding.tenures import Tenure, Tenures, may_write, sending

KEY = ObjectKey("ScaledObject", "shop", "web")


class Share:
    """What is ours, as a membership would say."""

    def __init__(self) -> None:
        self.ours, self.live = {str(KEY)}, True
        self.tenures = Tenures()
        self.tenures.follow(lambda key: self.live and key in self.ours, lambda: self.live)

    def give(self, *keys: ObjectKey) -> None:
        self.ours = {str(key) for key in keys}
        self.tenures.review()

    def begin(self) -> Tenure:
        return self.tenures.begin(KEY)


def test_there_is_no_tenure_of_what_is_anothers() -> None:
    share = Share()
    share.give()
    assert share.begin().ended


def test_a_write_is_sent_while_its_tenure_lasts_and_we_may_write_at_all() -> None:
    share = Share()
    with working(tenure=share.begin()):
        assert may_write(lambda: False)
        share.live = False
        assert not may_write(lambda: True)


def test_what_was_lost_and_won_again_in_between_has_another_tenure() -> None:
    share = Share()
    before = share.begin()
    share.give()
    share.give(KEY)
    with working(tenure=before):
        assert not may_write(lambda: True)
    after = share.begin()
    assert after.epoch > before.epoch  # what another replica did in between is to be seen first
    with working(tenure=after):
        assert may_write(lambda: False)


def test_a_write_about_nothing_that_is_shared_out_is_the_leaders() -> None:
    assert may_write(lambda: True)
    assert not may_write(lambda: False)


def test_it_is_quiet_again_when_the_last_write_of_an_ended_tenure_has_ended() -> None:
    share = Share()
    with working(tenure=share.begin()), sending():
        assert share.tenures.is_quiet()
        with sending():
            share.give()
        assert not share.tenures.is_quiet()
    assert share.tenures.is_quiet()


def test_those_that_work_are_told_after_what_was_lost_has_ended() -> None:
    share, seen = Share(), list[bool]()
    tenure = share.begin()
    end = share.tenures.subscribe(lambda: seen.append(tenure.ended))
    share.give()
    end()
    share.give(KEY)
    assert seen == [True]
