from typing import Any

import msgspec
import pytest

from informers.decode import ObjectDecoder
from informers.errors import DecodeError, Expired, InternalError, TooManyRequests
from informers.list_watch import Undecodable, WatchEvent
from test.builders.items import PODS, WIDGETS, Item, ItemMetadata, ItemSpec, a_line, a_page, an_item

BAD_SPEC = {"nodeName": 5}
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def decoder() -> ObjectDecoder[Item]:
    return ObjectDecoder(PODS, Item)


def decoded(name: str = "a", version: str = "7") -> Item:
    return Item(ItemMetadata(name, "team", f"uid-{name}", version))


def a_bookmark(version: str = "40", **annotations: str) -> dict[str, Any]:
    metadata = {"resourceVersion": version, "creationTimestamp": None, "annotations": annotations}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}


def a_status(code: int, reason: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": "said the server"}


class TestPages:
    def test_a_page_has_its_items_in_order_with_what_is_needed_for_the_next(self) -> None:
        body = a_page(an_item("a"), an_item("b"), **{"continue": "C1", "remainingItemCount": 3})
        page = decoder().decode_page(body)
        assert page.items == (decoded("a"), decoded("b"))
        assert (page.resource_version, page.continue_, page.remaining) == ("9", "C1", 3)
        assert page.undecodable == ()

    def test_fields_that_the_type_does_not_name_are_dropped(self) -> None:
        item = an_item("a", spec={"nodeName": "n", "containers": [{"name": "c"}]}, status={"phase": "Running"})
        assert decoder().decode_page(a_page(item)).items[0].spec == ItemSpec("n")

    def test_R28_items_without_kind_and_version_are_items_all_the_same(self) -> None:
        assert decoder().decode_page(a_page({"metadata": {"name": "a"}})).items == (Item(ItemMetadata("a")),)

    def test_a_list_of_null_is_empty(self) -> None:
        body = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":null}'
        assert decoder().decode_page(body).items == ()

    def test_3_6_row_4_one_bad_object_is_told_of_and_does_not_hide_the_others(self) -> None:
        page = decoder().decode_page(
            a_page(an_item("a"), an_item("b", spec=BAD_SPEC), an_item("c"), **{"continue": "C"})
        )
        assert page.items == (decoded("a"), decoded("c"))
        assert page.continue_ == "C"
        (bad,) = page.undecodable
        assert (bad.namespace, bad.name, bad.uid, bad.resource_version) == ("team", "b", "uid-b", "7")
        assert "nodeName" in bad.error

    @pytest.mark.parametrize(
        "item",
        [
            pytest.param(5, id="a number"),
            pytest.param({"metadata": None}, id="no metadata"),
            pytest.param({"metadata": {"name": ["a"]}}, id="a name that is a list"),
        ],
    )
    def test_3_6_row_4_an_object_of_any_shape_can_be_told_of(self, item: object) -> None:
        page = decoder().decode_page(a_page(item, an_item("c")))
        assert page.items == (decoded("c"),)
        assert len(page.undecodable) == 1

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b'{"kind":"PodList","items":[{"met', id="half a page"),
            pytest.param(b'{"kind":"PodList","items":5}', id="items that are no list"),
            pytest.param(b'{"kind":"Table","rows":[]}', id="R28 a Table"),
            pytest.param(b'{"kind":"Pod","metadata":{"name":"a"}}', id="R28 a single object"),
            pytest.param(b"[]", id="a bare array"),
            pytest.param(b'{"kind":"PodList","items":[{"metadata":{"name":"\xff"}}]}', id="no UTF-8"),
        ],
    )
    def test_R33_what_is_no_list_is_a_decode_error(self, body: bytes) -> None:
        with pytest.raises(DecodeError, match="list pods"):
            decoder().decode_page(body, action="list pods")


class TestEvents:
    @pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
    def test_an_event_has_its_object_and_version(self, kind: Any) -> None:
        event = decoder().decode_event(a_line(kind, an_item("a", version="30")))
        assert event == WatchEvent(kind, decoded("a", "30"), "30")

    def test_the_order_of_fields_does_not_matter(self) -> None:
        item = an_item("a")
        lines = [
            msgspec.json.encode({"object": item, "type": "ADDED"}),
            msgspec.json.encode({"type": "ADDED", "object": dict(reversed(item.items()))}),
            b' { "type" : "ADDED" , "object" : ' + msgspec.json.encode(item) + b" } ",
        ]
        assert {decoder().decode_event(line) for line in map(bytes, lines)} == {WatchEvent("ADDED", decoded("a"), "7")}

    def test_R15_a_bookmark_has_a_version_and_no_object(self) -> None:
        assert decoder().decode_event(a_line("BOOKMARK", a_bookmark("40"))) == WatchEvent("BOOKMARK", None, "40")

    @pytest.mark.parametrize(
        ("value", "is_end"),
        [
            pytest.param("true", True, id="W3 true ends the initial events"),
            pytest.param("false", False, id="W2 false does not"),
            pytest.param("True", False, id="W2 nor does another spelling"),
        ],
    )
    def test_W2_only_a_bookmark_that_says_true_ends_the_initial_events(self, value: str, *, is_end: bool) -> None:
        event = decoder().decode_event(a_line("BOOKMARK", a_bookmark("2", **{INITIAL_EVENTS_END: value})))
        assert event is not None
        assert event.initial_events_end is is_end

    @pytest.mark.parametrize(
        ("status", "error_type"),
        [
            pytest.param(a_status(410, "Expired"), Expired, id="0.4 Expired"),
            pytest.param(a_status(410, "Gone"), Expired, id="0.4 Gone"),
            pytest.param(a_status(429, "TooManyRequests"), TooManyRequests, id="R21 in-stream 429"),
            pytest.param(a_status(500, "InternalError"), InternalError, id="R22 in-stream InternalError"),
        ],
    )
    def test_0_4_an_error_event_is_raised_as_what_its_status_says(
        self, status: dict[str, Any], error_type: type[Exception]
    ) -> None:
        with pytest.raises(error_type, match="watch pods: said the server"):
            decoder().decode_event(a_line("ERROR", status), action="watch pods")

    @pytest.mark.parametrize(
        ("kind", "item"),
        [
            pytest.param("ADDED", an_item("a", resource=WIDGETS), id="R17 another kind"),
            pytest.param("ADDED", {**an_item("a"), "apiVersion": "v2"}, id="R17 another version"),
            pytest.param(
                "ADDED", {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "rows": []}, id="R17 a Table"
            ),
            pytest.param("BOOKMARK", {**a_bookmark(), "kind": "Table"}, id="R17 a bookmark of another kind"),
            pytest.param("RENAMED", an_item("a"), id="an unknown type"),
        ],
    )
    def test_R17_an_event_that_was_not_asked_for_is_skipped_with_a_log(
        self, logs: list[Any], kind: str, item: dict[str, Any]
    ) -> None:
        assert decoder().decode_event(a_line(kind, item)) is None
        (entry,) = logs
        assert entry["resource"] == "pods"
        assert entry["event_type"] == kind

    def test_3_6_row_4_an_object_that_does_not_fit_still_moves_the_version(self) -> None:
        event = decoder().decode_event(a_line("MODIFIED", an_item("b", version="31", spec=BAD_SPEC)))
        assert event is not None
        assert (event.object, event.resource_version) == (None, "31")
        assert isinstance(event.undecodable, Undecodable)
        assert (event.undecodable.name, event.undecodable.uid) == ("b", "uid-b")

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param(b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","met', id="R33 half a line"),
            pytest.param(b"nonsense", id="R33 no JSON"),
            pytest.param(b"null", id="R33 null"),
            pytest.param(b'{"type":"ADDED"}', id="no object"),
            pytest.param(b'{"type":"ADDED","object":5}', id="an object that is a number"),
            pytest.param(b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}}', id="no version"),
            pytest.param(b'{"type":"ERROR","object":"broken"}', id="an error without a Status"),
            pytest.param(
                b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"\xff\xfe"}}}',
                id="3.6 row 8 no UTF-8",
            ),
        ],
    )
    def test_R33_a_line_that_is_no_event_is_a_decode_error(self, line: bytes) -> None:
        with pytest.raises(DecodeError, match="watch pods"):
            decoder().decode_event(line, action="watch pods")
