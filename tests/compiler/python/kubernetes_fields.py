"""The fields of Kubernetes' types, from kubernetes-validate's strict schemas.

In: {"versions": ["1.33"]}. Out: [{"version": "1.33", "type": "PodSpec", "fields": ["..."]}].
"""

import json
import pathlib
import sys

import kubernetes_validate

GROUPS = ("io.k8s.api.core.v1.", "io.k8s.api.apps.v1.", "io.k8s.api.batch.v1.", "io.k8s.apimachinery.pkg.apis.meta.v1.")

given = json.load(sys.stdin)
schemas = pathlib.Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
answer = []
for version in given["versions"]:
    text = (schemas / f"v{version}.0-local-strict" / "_definitions.json").read_text()
    whole = json.loads(text)
    definitions = whole.get("$defs") or whole["definitions"]
    for name, definition in definitions.items():
        if name.startswith(GROUPS):
            fields = sorted(definition.get("properties", {}))
            answer.append({"version": version, "type": name.rsplit(".", 1)[-1], "fields": fields})
json.dump(answer, sys.stdout)
