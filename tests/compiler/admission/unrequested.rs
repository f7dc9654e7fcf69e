//! Access to GPUs and to GPU nodes that a pod did not request.

use super::{GPU_TOLERATION, assert_fix, enforced_server, pod, pod_requesting};

#[test]
fn unrequested_gpu_access_is_reported() {
    let plan = enforced_server();
    let good = pod_requesting("nvidia.com/gpu: '1'", GPU_TOLERATION);
    let idle = pod_requesting("cpu: '1'", GPU_TOLERATION);
    assert_fix(
        &plan,
        &idle,
        "requests no GPU and tolerates nvidia.com/gpu, the taint of GPU nodes",
        false,
        &good,
    );
    assert_fix(
        &plan,
        &pod_requesting("cpu: '1'", "tolerations: [{operator: Exists}]"),
        "requests no GPU and tolerates every taint, also that of GPU nodes",
        false,
        &good,
    );
    for fine in [
        "tolerations: [{operator: Exists, effect: NoExecute}]",
        "tolerations: [{key: system, operator: Exists}]",
        "nodeSelector: {gpuc.dev/pool: train}, tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
        "affinity: {nodeAffinity: {}}, tolerations: [{key: spot, operator: Exists}]",
        "resourceClaims: [{name: a}], tolerations: [{key: spot, operator: Exists}]",
    ] {
        assert_fix(
            &plan,
            &idle,
            "requests no GPU",
            false,
            &pod_requesting("cpu: '1'", fine),
        );
    }
    let env = |value: &str| {
        pod(&format!(
            "{{containers: [{{name: a, env: [{{name: OTHER}}, {{name: NVIDIA_VISIBLE_DEVICES, value: '{value}'}}]}}]}}"
        ))
    };
    assert_fix(
        &plan,
        &env("all"),
        "can access GPUs of other pods",
        false,
        &env("void"),
    );
    assert_fix(
        &plan,
        &env("0"),
        "sets NVIDIA_VISIBLE_DEVICES",
        false,
        &env(""),
    );
    let from_field =
        "env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]";
    assert_fix(
        &plan,
        &pod(&format!("{{containers: [{{name: a, {from_field}}}]}}")),
        "sets NVIDIA_VISIBLE_DEVICES",
        false,
        &env("none"),
    );
    assert_fix(
        &plan,
        &pod(&format!(
            "{{containers: [{{name: a, resources: {{limits: {{nvidia.com/gpu: 1}}}}, {from_field}}}], {GPU_TOLERATION}}}"
        )),
        "which replaces the GPUs that the device plugin allocates",
        false,
        &good,
    );
    assert_fix(
        &plan,
        &pod_requesting(
            "nvidia.com/gpu: '1'",
            &format!("{GPU_TOLERATION}, nodeName: node-1"),
        ),
        "sets nodeName",
        false,
        &good,
    );
    let class = "runtimeClassName: nvidia";
    assert_fix(
        &plan,
        &pod_requesting("cpu: '1'", class),
        "or remove runtimeClassName",
        false,
        &pod_requesting("nvidia.com/gpu.shared: '1'", class),
    );
    let volume = |path: &str| {
        format!("volumes: [{{name: a, emptyDir: {{}}}}, {{name: b, hostPath: {{path: {path}}}}}]")
    };
    assert_fix(
        &plan,
        &pod_requesting("cpu: '1'", &volume("/dev/nvidia0")),
        "mounts /dev/nvidia* of the host",
        false,
        &pod_requesting("cpu: '1'", &volume("/dev/shm")),
    );
}
