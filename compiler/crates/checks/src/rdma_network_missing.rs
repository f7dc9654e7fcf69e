//! A workload's pods use RoCE adapters without a network interface of the adapters.

use gpuc_schema::config::{Fragment, Rdma, Task, Workload};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::scheduling::fitting_pools;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

/// The annotation with which Multus attaches networks to a pod.
const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";

/// A RoCE address (GID) belongs to a network interface of the adapter, and a pod has only the interface of its CNI
/// plugin. InfiniBand needs none. Sources, read 2026-11-26: the maintainers in
/// Mellanox/k8s-rdma-shared-dev-plugin issues 72 and 101; projectcalico/calico issue 8482 (InfiniBand works, RoCE does
/// not); Mellanox/network-operator v26.4.1 `example/rdma-test-pod1.yml` (a pod with the annotation).
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2239",
        name: "rdma-network-missing",
        severity: Severity::Warning,
        summary: "a workload's pods have no network interface of their RoCE adapters",
        checks: "Whether each workload on several nodes of a pool with `network: {rdma: {roce: {}}}` uses the host's
network (`hostNetwork: true`) or attaches a network with the annotation `k8s.v1.cni.cncf.io/networks`, in
`podPatch` or `patch`.",
        reason: "gpuc gives these pods the RDMA devices, but not the network interfaces of the adapters, because it does
not know their names and addresses. The addresses that RoCE uses belong to these interfaces. Without
them NCCL finds the devices, and its connections fail.",
        remedy: "Set `hostNetwork: true` and `dnsPolicy: ClusterFirstWithHostNet` in the workload's `podPatch`. Its pods then
use the interfaces and ports of the node, and network policies do not apply to them. If another component
attaches a network to the pods, add the warning to `allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
    network: {rdma: {roce: {}}}
teams:
  - {name: research, podSecurity: privileged}
workloads:
  - name: finetune
    team: research
    trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2}
"#,
        correction: Correction::Replace(
            "    team: research\n",
            "    team: research\n    podPatch: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet}\n",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let node_count = workload.task().and_then(Task::nodes);
        let Some(nodes) = node_count.filter(|nodes| nodes.value > 1) else {
            continue;
        };
        // The first pool decides which devices the pods request.
        let pools = fitting_pools(cluster, workload);
        let Some(pool) = pools.first() else {
            continue;
        };
        let rdma = pool.settings.network.rdma.as_ref();
        let Some(roce) = rdma.filter(|rdma| matches!(rdma.value, Rdma::Roce(_))) else {
            continue;
        };
        if has_network(workload) {
            continue;
        }
        let message = format!(
            "the pods of workload `{}` have no network interface of their RoCE adapters",
            workload.name
        );
        report
            .diagnostic(&RULE.code, nodes.span, message)
            .primary_label("pods on several nodes use RDMA")
            .label(roce.span, format!("the adapters of pool `{}`", pool.name))
            .help(format!(
                "set `hostNetwork: true` and `dnsPolicy: ClusterFirstWithHostNet` in `podPatch` of workload `{}`",
                workload.name
            ))
            .emit();
    }
}

/// Whether the workload's patches give its pods a network in addition to that of the cluster.
fn has_network(workload: &Workload) -> bool {
    [&workload.pod_patch, &workload.patch]
        .into_iter()
        .any(|patch| attaches_network(&patch.value))
}

fn attaches_network(patch: &Fragment) -> bool {
    match patch {
        Fragment::List(items) => items.iter().any(|item| attaches_network(&item.value)),
        Fragment::Map(entries) => entries.iter().any(|(key, value)| match key.as_str() {
            "hostNetwork" => value.value == Fragment::Bool(true),
            NETWORKS => value.value != Fragment::Null,
            _ => attaches_network(&value.value),
        }),
        Fragment::Null
        | Fragment::Bool(_)
        | Fragment::Integer(_)
        | Fragment::Float(_)
        | Fragment::Text(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(link: &str, workload: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2},
                  network: {rdma: {<link>: {}}}}
            teams: [{name: t, podSecurity: privileged}]
            workloads: [{name: a, team: t, <rest>}]
            ";
        check_in(
            &file.replace("<link>", link),
            "GPUC2239",
            workload,
            expected,
        );
    }

    #[test]
    fn roce_on_several_nodes_needs_a_network() {
        let missing = "the pods of workload `a` have no network interface of their RoCE adapters";
        let run = "trainJob: {image: 'a:1', nodes: 2, gpusPerNode: 2}";
        check("roce", run, &[missing]);
        check("infiniband", run, &[]);
        check(
            "roce",
            "trainJob: {image: 'a:1', nodes: 1, gpusPerNode: 2}",
            &[],
        );
        check("roce", "job: {image: 'a:1', gpus: 1}", &[]);
        let patched = |patch: &str| format!("{run}, {patch}");
        check("roce", &patched("podPatch: {hostNetwork: true}"), &[]);
        check(
            "roce",
            &patched("podPatch: {hostNetwork: false}"),
            &[missing],
        );
        check("roce", &patched("podPatch: {hostIPC: true}"), &[missing]);
        let annotation = "patch: {spec: {template: {metadata: {annotations: \
                          {k8s.v1.cni.cncf.io/networks: roce}}}}}";
        check("roce", &patched(annotation), &[]);
    }
}
