//! GPUs that something else advertises or shares: nobody holds what is handed out anew.

use gpuc::diff::{Diff, Impact};

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};

fn by_flux(name: &str, from: &str, to: &str) -> Diff {
    let text = example(name) + FLUX;
    assert!(text.contains(from), "{from} in {name}");
    of_texts(&text, &text.replacen(from, to, 1))
}

/// The worst of what is said of a kind.
fn worst(found: &Diff, kind: &str) -> Impact {
    let of_kind = found.changes.iter().filter(|it| it.kind == kind);
    of_kind.map(|it| it.impact).min().unwrap()
}

const GPUC: &str = "stack: {runtimeImage";
const NVIDIA: &str = "stack: {devicePlugin: nvidia, runtimeImage";

#[test]
fn of_two_plugins_with_the_same_names_the_old_one_ends_first() {
    let remove = "kubectl delete daemonset gpuc-runtime-infer --namespace gpuc-system";
    let found = edited("quickstart", GPUC, NVIDIA);
    in_order(
        &found,
        &[
            "gpuc build",
            "What runs keeps its GPUs",
            remove,
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    assert_eq!(steps(&found).matches(remove).count(), 1);
    assert!(!steps(&found).contains("drain"), "{}", steps(&found));
    let text = example("quickstart");
    let back = of_texts(&text.replacen(GPUC, NVIDIA, 1), &text);
    in_order(
        &back,
        &[
            "helm uninstall nvidia-device-plugin-infer",
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
}

#[test]
fn where_one_sync_swaps_plugins_the_new_one_registers_once_more() {
    in_order(
        &by_flux("quickstart", GPUC, NVIDIA),
        &[
            "Push, or merge",
            "rollout restart daemonset/nvidia-device-plugin-infer --namespace nvidia-device-plugin",
            "rollout status daemonset/nvidia-device-plugin-infer",
            "cloud/verify.sh",
        ],
    );
}

#[test]
fn nodes_with_the_clouds_own_plugin_are_made_when_the_old_one_is_gone() {
    let (from, to) = (
        "  driver: daemonSet\n  devicePlugin: gpuc\n  runtimeImage: registry.example.com/gpuc-runtime:0.1.0\n",
        "  devicePlugin: cloud\n",
    );
    let name = "gke-inference-l4";
    let found = edited(name, from, to);
    in_order(
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
    let pushed = by_flux(name, from, to);
    in_order(
        &pushed,
        &[
            "Push, or merge",
            "cloud/apply.sh --allow-disruption",
            "cloud/verify.sh",
        ],
    );
    assert!(
        !steps(&pushed).contains("driver is there"),
        "{}",
        steps(&pushed)
    );
}

#[test]
fn claims_and_plugins_take_over_from_each_other_on_empty_nodes() {
    let dra = "stack: {allocation: dra}";
    let plugin = "stack: {runtimeImage: \"r.example.com/gpuc-runtime:0.1.0\"}";
    let uninstall = "helm uninstall dra-driver-nvidia-gpu --namespace dra-driver-nvidia-gpu";
    let found = edited("eks-dra-h100", dra, plugin);
    in_order(
        &found,
        &[
            "Free the GPUs of pool train",
            "All of its nodes at once",
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "./install.sh",
            "kubectl delete deviceclass train.gpuc.dev",
            uninstall,
            "cloud/verify.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=train'",
        ],
    );
    assert_eq!(worst(&found, "pool"), Impact::WorkloadRestarted);
    assert_eq!(steps(&found).matches(uninstall).count(), 1);
    let text = example("eks-dra-h100");
    let back = of_texts(&text.replacen(dra, plugin, 1), &text);
    in_order(
        &back,
        &[
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "kubectl delete daemonset gpuc-runtime-train",
            "./install.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=train'",
        ],
    );
    in_order(
        &by_flux("eks-dra-h100", dra, plugin),
        &[
            "kubectl drain -l 'gpuc.dev/pool=train'",
            "gpuc build",
            "Push, or merge",
            "kubectl delete helmreleases.helm.toolkit.fluxcd.io eks-dra-h100-dra-driver-nvidia-gpu",
            "cloud/verify.sh",
            "kubectl uncordon",
        ],
    );
}

#[test]
fn gpus_that_are_shared_otherwise_are_free_before() {
    let shared = edited(
        "on-prem-dgx",
        "dgx-02]\n    nodes: {count: 2}\n",
        "dgx-02]\n    nodes: {count: 2}\n    sharing: {timeSlicing: {replicas: 2, rename: true}}\n",
    );
    in_order(
        &shared,
        &[
            "handed out again",
            "drain -l 'gpuc.dev/pool=dgx'",
            "./install.sh",
            "uncordon",
        ],
    );
    let more = edited("quickstart", "replicas: 4", "replicas: 8");
    assert!(!steps(&more).contains("drain"), "{}", steps(&more));
}

#[test]
fn nothing_computes_through_mps_while_its_daemon_ends_or_begins() {
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
        in_order(
            &found,
            &[
                &format!("Free the GPUs of pool {pool}: with the daemon"),
                &format!("drain -l 'gpuc.dev/pool={pool}'"),
                "./install.sh",
                "cloud/verify.sh",
                &format!("uncordon -l 'gpuc.dev/pool={pool}'"),
            ],
        );
    }
    // Without it a new image touches nobody.
    let plain = edited("quickstart", "gpuc-runtime:0.1.0", "gpuc-runtime:0.2.0");
    assert_eq!(worst(&plain, "DaemonSet"), Impact::PluginRestarted);
    assert!(steps(&plain).is_empty(), "{}", steps(&plain));
    // Of NVIDIA's plugin the chart brings the daemon.
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
        worst(&of_texts(&text, &tainted), "Helm release"),
        Impact::WorkloadRestarted
    );
}

#[test]
fn nothing_talks_over_cards_whose_driver_is_exchanged() {
    let name = "on-prem-infiniband";
    let network = "    network: {rdma: {infiniband: {driver: operator}}}\n";
    let hosts_own = edited(name, "{driver: operator}", "{}");
    assert_eq!(hosts_own.worst, Some(Impact::DriverRestarted));
    in_order(
        &hosts_own,
        &[
            "driver of the network cards",
            "drain -l 'gpuc.dev/pool=dgx'",
            "./install.sh",
            "uncordon",
        ],
    );
    in_order(
        &edited(name, network, ""),
        &[
            "drain -l 'gpuc.dev/pool=dgx'",
            "./install.sh",
            "delete nicnodepolicy dgx",
            "cloud/verify.sh",
            "uncordon -l 'gpuc.dev/pool=dgx'",
            "Only if nobody in the cluster needs network-operator",
        ],
    );
    let pruned = by_flux(name, network, "");
    assert_eq!(pruned.worst, Some(Impact::DriverRestarted));
    in_order(
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
fn drivers_of_the_tree_are_waited_for_and_no_others() {
    let found = edited(
        "gke-inference-l4",
        "sharing: {timeSlicing",
        "taints: [{key: a, value: b, effect: NoSchedule}]\n    sharing: {timeSlicing",
    );
    in_order(
        &found,
        &[
            "./install.sh",
            "rollout status daemonset/nvidia-driver-installer-infer --namespace kube-system",
            "cloud/verify.sh",
        ],
    );
}
