"""One name for an object of any kind, which nothing else equals."""

import pytest

from keda_py.core.values.object_key import ObjectKey

WEB = ObjectKey("ScaledObject", "shop", "web")


def test_a_key_is_made_of_a_live_object_and_the_kind_that_its_list_is_of() -> None:
    assert ObjectKey.of("ScaledObject", {"metadata": {"namespace": "shop", "name": "web"}}) == WEB
    cluster_wide = {"metadata": {"name": "vault"}}
    assert ObjectKey.of("ClusterTriggerAuthentication", cluster_wide).namespace == ""


def test_objects_of_two_kinds_by_one_name_are_two() -> None:
    assert len({WEB, ObjectKey("ScaledJob", "shop", "web"), ObjectKey("ScaledObject", "shop", "web")}) == 2


@pytest.mark.parametrize("other", [("ScaledObject", "shop", "web"), ("shop", "web"), "ScaledObject/shop/web"])
def test_no_tuple_and_no_text_is_taken_for_a_key(other: object) -> None:
    assert other != WEB
    assert other not in {WEB: 1}


def test_a_log_line_names_the_object_by_its_kind() -> None:
    assert WEB.log_fields == {"namespace": "shop", "scaledobject": "web"}
    assert str(WEB) == "ScaledObject/shop/web"
