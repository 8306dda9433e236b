from __future__ import annotations

import json
from pathlib import Path

from hack.crd.pod_schema import reduce_openapi

POD_SPEC = "io.k8s.api.core.v1.PodSpec"


def test_only_what_a_pod_needs_is_taken_and_no_description(tmp_path: Path) -> None:
    document = tmp_path / "swagger.json"
    definitions = {
        POD_SPEC: {
            "description": "a pod",
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "a field of that name stays"},
                "other": {"$ref": "#/definitions/Other", "description": "dropped"},
                "list": {
                    "type": "array",
                    "items": {"$ref": "#/definitions/Item"},
                    "x-kubernetes-patch-strategy": "merge",
                },
            },
        },
        "Other": {"type": "object", "additionalProperties": {"type": "string", "description": "dropped"}},
        "Item": {"type": "string", "description": "dropped"},
        "Unrelated": {"type": "string"},
    }
    document.write_text(json.dumps({"definitions": definitions}))
    assert reduce_openapi(document) == {
        POD_SPEC: {
            "type": "object",
            "properties": {
                "description": {"type": "string"},
                "other": {"$ref": "#/definitions/Other"},
                "list": {"type": "array", "items": {"$ref": "#/definitions/Item"}},
            },
        },
        "Other": {"type": "object", "additionalProperties": {"type": "string"}},
        "Item": {"type": "string"},
    }
