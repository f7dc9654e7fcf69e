#!/usr/bin/env python3
"""Prints large inputs: `clusters COUNT FILE` repeats a file under other names, `pools COUNT` is one cluster."""

import re
import sys

HEAD = """apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: big}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
autoscaler: clusterAutoscaler
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: m7i.xlarge, nodes: {count: 2}}
"""
POOL = """  - name: pool-%d
    machine: g6.xlarge
    nodes: {min: 0, max: 4}
    sharing: {timeSlicing: {replicas: 4}}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
"""


def main(what, count, *files):
    if what == "pools":
        print(HEAD + "".join(POOL % index for index in range(int(count))), end="")
        return
    with open(files[0], encoding="utf-8") as file:
        text = file.read()
    for index in range(int(count)):
        print("---")
        print(re.sub(r"(?m)^metadata: .*$", f"metadata: {{name: cluster-{index:04}}}", text), end="")


main(*sys.argv[1:])
