//! Changes of the device plugin or of sharing: no pod uses a GPU while it is advertised differently.

use gpuc_diff::diff::{Diff, Impact};

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

fn edit_with_flux(name: &str, from: &str, to: &str) -> Diff {
    let text = example(name) + FLUX;
    assert!(text.contains(from), "{from} in {name}");
    diff_of_texts(&text, &text.replacen(from, to, 1))
}

/// The worst impact of a kind.
fn worst_impact(found: &Diff, kind: &str) -> Impact {
    let of_kind = found.changes.iter().filter(|it| it.kind == kind);
    of_kind.map(|it| it.impact).min().unwrap()
}

const GPUC: &str = "stack: {runtimeImage";
const NVIDIA: &str = "stack: {devicePlugin: nvidia, runtimeImage";

#[test]
fn old_plugin_with_the_same_resources_stops_first() {
    let remove = "kubectl delete daemonset gpuc-runtime-infer --namespace gpuc-system";
    let found = edited("quickstart", GPUC, NVIDIA);
    assert_order(
        &found,
        &[
            "gpuc build",
            "Running pods keep their GPUs",
            remove,
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    assert_eq!(steps(&found).matches(remove).count(), 1);
    assert!(!steps(&found).contains("drain"), "{}", steps(&found));
    let text = example("quickstart");
    let back = diff_of_texts(&text.replacen(GPUC, NVIDIA, 1), &text);
    assert_order(
        &back,
        &[
            "helm uninstall nvidia-device-plugin-infer",
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
}

#[test]
fn new_plugin_registers_again_after_one_sync() {
    assert_order(
        &edit_with_flux("quickstart", GPUC, NVIDIA),
        &[
            "Push or merge",
            "rollout restart daemonset/nvidia-device-plugin-infer --namespace nvidia-device-plugin",
            "rollout status daemonset/nvidia-device-plugin-infer",
            "cloud/verify.sh",
        ],
    );
}

#[test]
fn cloud_plugin_nodes_are_created_after_the_old_plugin_stops() {
    let (from, to) = (
        "  driver: daemonSet\n  devicePlugin: gpuc\n  runtimeImage: registry.example.com/gpuc-runtime:0.1.0\n",
        "  devicePlugin: cloud\n",
    );
    let name = "gke-inference-l4";
    let found = edited(name, from, to);
    assert_order(
        &found,
        &[
            "gpuc build",
            "kubectl delete daemonset gpuc-runtime-infer",
            "kubectl delete daemonset nvidia-driver-installer-infer",
            "./install.sh",
            "cloud/apply.sh --allow-disruption",
            "cloud/verify.sh",
        ],
    );
    assert_eq!(steps(&found).matches("delete daemonset").count(), 2);
    let pushed = edit_with_flux(name, from, to);
    assert_order(
        &pushed,
        &[
            "Push or merge",
            "cloud/apply.sh --allow-disruption",
            "cloud/verify.sh",
        ],
    );
    assert!(
        !steps(&pushed).contains("driver is installed"),
        "{}",
        steps(&pushed)
    );
}

#[test]
fn dra_and_plugins_replace_each_other_on_empty_nodes() {
    let dra = "stack: {allocation: dra}";
    let plugin = "stack: {runtimeImage: \"r.example.com/gpuc-runtime:0.1.0\"}";
    let uninstall = "helm uninstall dra-driver-nvidia-gpu --namespace dra-driver-nvidia-gpu";
    let found = edited("eks-dra-h100", dra, plugin);
    assert_order(
        &found,
        &[
            "Drain pool train",
            "Drain all of its nodes at once",
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "./install.sh",
            "kubectl delete deviceclass train.gpuc.dev",
            uninstall,
            "cloud/verify.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=train'",
        ],
    );
    assert_eq!(worst_impact(&found, "pool"), Impact::WorkloadRestarted);
    assert_eq!(steps(&found).matches(uninstall).count(), 1);
    let text = example("eks-dra-h100");
    let back = diff_of_texts(&text.replacen(dra, plugin, 1), &text);
    assert_order(
        &back,
        &[
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "kubectl delete daemonset gpuc-runtime-train",
            "./install.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=train'",
        ],
    );
    assert_order(
        &edit_with_flux("eks-dra-h100", dra, plugin),
        &[
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "gpuc build",
            "Push or merge",
            "kubectl delete helmreleases.helm.toolkit.fluxcd.io eks-dra-h100-dra-driver-nvidia-gpu",
            "cloud/verify.sh",
            "kubectl uncordon",
        ],
    );
}

#[test]
fn gpus_are_free_before_their_sharing_changes() {
    let shared = edited(
        "on-prem-dgx",
        "dgx-02]\n    nodes: {count: 2}\n",
        "dgx-02]\n    nodes: {count: 2}\n    sharing: {timeSlicing: {replicas: 2, rename: true}}\n",
    );
    assert_order(
        &shared,
        &[
            "allocated again",
            "drain -l 'gpuc.dev/pool=dgx'",
            "./install.sh",
            "uncordon",
        ],
    );
    let more = edited("quickstart", "replicas: 4", "replicas: 8");
    assert!(!steps(&more).contains("drain"), "{}", steps(&more));
}

#[test]
fn mps_clients_stop_before_the_daemon_changes() {
    let mps = "mps: {replicas: 8, rename: true}";
    let name = "on-prem-mps";
    let left = edited(name, mps, "timeSlicing: {replicas: 8, rename: true}");
    let image = edited(name, "gpuc-runtime:0.1.0", "gpuc-runtime:0.2.0");
    let begun = edited(
        "quickstart",
        "timeSlicing: {replicas: 4}",
        "mps: {replicas: 4}",
    );
    for (found, pool) in [(left, "inference"), (image, "inference"), (begun, "infer")] {
        assert_eq!(found.worst, Some(Impact::WorkloadRestarted));
        assert_order(
            &found,
            &[
                &format!("Drain pool {pool}: programs that compute through the MPS daemon"),
                &format!("drain -l 'gpuc.dev/pool={pool}'"),
                "./install.sh",
                "cloud/verify.sh",
                &format!("uncordon -l 'gpuc.dev/pool={pool}'"),
            ],
        );
    }
    // Without MPS, a new image does not affect workloads.
    let plain = edited("quickstart", "gpuc-runtime:0.1.0", "gpuc-runtime:0.2.0");
    assert_eq!(
        worst_impact(&plain, "DaemonSet"),
        Impact::DevicePluginRestarted
    );
    assert!(steps(&plain).is_empty(), "{}", steps(&plain));
    // The chart of NVIDIA's device plugin installs the MPS daemon.
    let nvidia = |text: String| {
        text.replacen(GPUC, NVIDIA, 1)
            .replacen("timeSlicing", "mps", 1)
    };
    let text = nvidia(example("quickstart"));
    let tainted = text.replacen(
        "name: infer,",
        "name: infer, taints: [{key: a, value: b, effect: NoSchedule}],",
        1,
    );
    assert_eq!(
        worst_impact(&diff_of_texts(&text, &tainted), "Helm release"),
        Impact::WorkloadRestarted
    );
}

#[test]
fn rdma_pods_stop_before_their_driver_changes() {
    let name = "on-prem-infiniband";
    let network = "    network: {rdma: {infiniband: {driver: operator}}}\n";
    let hosts_own = edited(name, "{driver: operator}", "{}");
    assert_eq!(hosts_own.worst, Some(Impact::DriverRestarted));
    assert_order(
        &hosts_own,
        &[
            "NIC driver",
            "drain -l 'gpuc.dev/pool=dgx'",
            "./install.sh",
            "uncordon",
        ],
    );
    assert_order(
        &edited(name, network, ""),
        &[
            "drain -l 'gpuc.dev/pool=dgx'",
            "./install.sh",
            "delete nicnodepolicy dgx",
            "cloud/verify.sh",
            "uncordon -l 'gpuc.dev/pool=dgx'",
            "Only if network-operator is no longer needed",
        ],
    );
    let pruned = edit_with_flux(name, network, "");
    assert_eq!(pruned.worst, Some(Impact::DriverRestarted));
    assert_order(
        &pruned,
        &[
            "drain -l 'gpuc.dev/pool=dgx'",
            "gpuc build",
            "Push",
            "uncordon",
        ],
    );
    assert!(!steps(&pruned).contains("delete nicnodepolicy"));
}

#[test]
fn steps_wait_only_for_drivers_of_the_tree() {
    let found = edited(
        "gke-inference-l4",
        "sharing: {timeSlicing",
        "taints: [{key: a, value: b, effect: NoSchedule}]\n    sharing: {timeSlicing",
    );
    assert_order(
        &found,
        &[
            "./install.sh",
            "rollout status daemonset/nvidia-driver-installer-infer --namespace kube-system",
            "cloud/verify.sh",
        ],
    );
}

/// The impact and the reason of the changed configuration of gpuc-runtime, between two settings of a pool.
fn config_change(before: &str, after: &str) -> (Impact, String) {
    let file = |pool: &str| {
        format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\n\
             kubernetes: {{version: \"1.36\"}}\ncloud: {{onPrem: {{context: demo}}}}\n\
             stack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\nnodePools:\n\
             - {{name: gpu, gpu: {{model: L4, perNode: 2}}, hosts: [a], nodes: {{count: 1}}, {pool}}}\n"
        )
    };
    let found = diff_of_texts(&file(before), &file(after));
    let mut changes = found.changes.iter();
    let change = changes.find(|it| it.kind == "ConfigMap").unwrap();
    (change.impact, change.reason.clone().unwrap_or_default())
}

/// Only `gpuc-runtime mps` and `mig apply` read the configuration once.
#[test]
fn changed_configuration_restarts_only_its_readers() {
    let shared =
        |method: &str, replicas: u8| format!("sharing: {{{method}: {{replicas: {replicas}}}}}");
    let (_, reason) = config_change(&shared("mps", 2), &shared("mps", 4));
    assert_eq!(reason, "the pool's DaemonSet restarts with it");
    let sliced = config_change(&shared("timeSlicing", 2), &shared("timeSlicing", 4));
    assert_eq!(sliced.0, Impact::DevicePluginRestarted);
    assert!(
        sliced
            .1
            .contains("without a restart, and advertises the new resources"),
        "{sliced:?}"
    );
    let labels = config_change("sharing: none", "sharing: none, stack: {nodeLabels: none}");
    let reason = "gpuc-runtime reloads it without a restart".to_owned();
    assert_eq!(labels, (Impact::Nothing, reason));
}
