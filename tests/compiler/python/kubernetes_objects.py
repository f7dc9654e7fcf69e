"""Validates Kubernetes objects with kubernetes-validate, strictly; answers with what is wrong.

In: {"versions": ["1.33"], "objects": [...]}. Out: [{"object": index, "version": "1.33", "message": "..."}].
"""

import json
import sys

import kubernetes_validate

given = json.load(sys.stdin)
wrong = []
for version in given["versions"]:
    for index, value in enumerate(given["objects"]):
        try:
            used = kubernetes_validate.validate(value, version, strict=True)
            if used is not None and used != version:
                wrong.append({"object": index, "version": version, "message": f"only {used} is known"})
        except (
            kubernetes_validate.ValidationError,
            kubernetes_validate.SchemaNotFoundError,
            kubernetes_validate.VersionNotSupportedError,
            kubernetes_validate.InvalidSchemaError,
        ) as error:
            message = getattr(error, "message", None) or str(error)
            wrong.append({"object": index, "version": version, "message": str(message)[:400]})
json.dump(wrong, sys.stdout)
