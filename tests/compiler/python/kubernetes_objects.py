"""Validates Kubernetes objects strictly with kubernetes-validate, and prints the errors.

In: {"versions": ["1.33"], "objects": [...]}. Out: [{"object": index, "version": "1.33", "message": "..."}].
"""

import functools
import json
import sys

import kubernetes_validate
from kubernetes_validate import utils

# Without a cache, kubernetes-validate reads 2 MB of schema for each object.
utils.schema_contents = functools.cache(utils.schema_contents)

given = json.load(sys.stdin)
wrong = []
for version in given["versions"]:
    for index, value in enumerate(given["objects"]):
        try:
            used = kubernetes_validate.validate(value, version, strict=True)
            if used is not None and used != version:
                wrong.append({"object": index, "version": version, "message": f"only {used} is known"})
        except (
            utils.ValidationError,
            utils.SchemaNotFoundError,
            utils.VersionNotSupportedError,
            utils.InvalidSchemaError,
        ) as error:
            wrong.append({"object": index, "version": version, "message": error.message[:400]})
json.dump(wrong, sys.stdout)
