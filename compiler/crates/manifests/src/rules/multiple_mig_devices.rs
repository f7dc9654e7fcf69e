//! A container requests several MIG devices.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::resources::{ResourceCount, advertised_resources, parse_count};
use crate::{CheckContext, Pod, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4087",
        name: "manifest-multiple-mig-devices",
        severity: Severity::Warning,
        summary: "a container requests several MIG devices, but a process can only use one",
        checks: "Whether a container requests more than one MIG device with a name that a pool advertises
(`nvidia.com/mig-…`). Pods of DaemonSets are not checked. The policy `gpuc-gpu-slices` of `admission` warns
of the same.",
        reason: "CUDA exposes only one MIG device to a process, whatever the container has, and MIG devices cannot
communicate with each other. The others stay idle unless the container starts one process per device, each
with its own `CUDA_VISIBLE_DEVICES`.",
        remedy: "Request one larger MIG device, or run one container per device. If the container starts several processes
itself, name the finding in `allow`, or in the object's annotation `gpuc.dev/allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 1}
    hosts: [node-2]
    nodes: {count: 1}
    sharing: {mig: {strategy: mixed, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: infer, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: infer
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/mig-1g.6gb: 2}}
"#,
        correction: Correction::Replace("nvidia.com/mig-1g.6gb: 2", "nvidia.com/mig-1g.6gb: 1"),
    },
    run,
};

/// The prefix of MIG resources with the `mixed` strategy.
const MIG_PREFIX: &str = "nvidia.com/mig-";

/// Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, «Application Considerations» (from memory).
fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let names = advertised_resources(ctx.cluster);
    for pod in ctx.pods.iter().filter(|pod| !pod.is_of_daemon_set()) {
        check_pod(ctx, pod, &names, report);
    }
}

fn check_pod(ctx: &CheckContext<'_>, pod: &Pod<'_>, names: &[&str], report: &mut Report) {
    for container in &pod.containers {
        let mig = container
            .requested_resources()
            .filter(|it| it.key.starts_with(MIG_PREFIX));
        for entry in mig {
            let name = entry.key.as_str();
            let ResourceCount::Whole(count @ 2..) = parse_count(&entry.value) else {
                continue;
            };
            if !names.contains(&name) {
                continue;
            }
            let message = format!(
                "{} requests {count} of `{name}` in `{}`, but a process can only use one",
                pod.title(),
                container.name()
            );
            let builder = report.diagnostic(&RULE.code, entry.value.span(), message);
            let advertising = ctx.pools_advertising(name);
            let builder = match advertising.first() {
                Some(pool) => {
                    let text = format!("pool `{}` advertises this resource", pool.name);
                    builder.label(pool.name.span, text)
                }
                None => builder,
            };
            builder
                .primary_label("MIG devices cannot communicate with each other")
                .help("request one larger MIG device, or run one container per device")
                .emit();
        }
    }
}
