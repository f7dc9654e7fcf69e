//! Removed queues, and added and removed clusters.

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};
use super::{diff_command, diff_of_optional};

const NAME: &str = "eks-queues";

#[test]
fn queue_drains_before_its_quota_is_reassigned() {
    let hold_queue = "kubectl patch clusterqueues.kueue.x-k8s.io research --type merge --patch \
                '{\"spec\": {\"stopPolicy\": \"Hold\"}}'";
    let list_workloads = "kubectl get workloads.kueue.x-k8s.io --all-namespaces";
    let delete = "kubectl delete clusterqueue research";
    let renamed = edited(NAME, "name: research", "name: science");
    assert_order(
        &renamed,
        &[
            "gpuc build",
            hold_queue,
            list_workloads,
            delete,
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    assert_eq!(steps(&renamed).matches(delete).count(), 1);
    let text = example(NAME) + FLUX;
    let pushed = diff_of_texts(&text, &text.replacen("name: research", "name: science", 1));
    assert_order(
        &pushed,
        &[hold_queue, list_workloads, "gpuc build", "Push or merge"],
    );
    assert!(!steps(&pushed).contains(delete), "{}", steps(&pushed));
}

#[test]
fn removed_kueue_leaves_no_suspended_jobs() {
    let text = example(NAME);
    let queues = text.find("queueing: kueue\n").unwrap();
    let monitoring = text.find("monitoring:\n").unwrap();
    let removed = format!("{}{}", &text[..queues], &text[monitoring..]);
    assert_order(
        &diff_of_texts(&text, &removed),
        &[
            "such jobs stay suspended",
            "kubectl get workloads.kueue.x-k8s.io --all-namespaces",
            "./install.sh",
            "kubectl delete clusterqueue research",
            "Only if kueue is no longer needed",
            "helm uninstall kueue --namespace kueue-system",
        ],
    );
    let pushed = diff_of_texts(&format!("{text}{FLUX}"), &format!("{removed}{FLUX}"));
    assert_order(
        &pushed,
        &[
            "such jobs stay suspended",
            "kubectl get workloads.kueue.x-k8s.io --all-namespaces",
            "gpuc build",
            "Push or merge",
            "Only if kueue is no longer needed",
            "kubectl delete helmreleases.helm.toolkit.fluxcd.io eks-queues-kueue",
        ],
    );
}

#[test]
fn new_cluster_is_registered_once() {
    assert_order(
        &diff_of_optional(None, Some(&(example(NAME) + FLUX))),
        &[
            "gpuc build",
            "cloud/apply.sh\n",
            "register the tree with Flux once",
            "kubectl apply --server-side --kustomize flux\n",
            "Wait until Flux has synced it",
            "cloud/verify.sh",
        ],
    );
    assert_order(
        &diff_of_optional(None, Some(&example(NAME))),
        &[
            "gpuc build",
            "cloud/apply.sh\n",
            "./install.sh\n",
            "cloud/verify.sh",
        ],
    );
}

#[test]
fn removed_cluster_is_torn_down_with_scripts_of_the_base() {
    let folder = diff_command::committed_example();
    std::fs::remove_file(folder.path().join("gpu-cluster.yaml")).unwrap();
    std::fs::remove_dir_all(folder.path().join("clusters")).unwrap();
    let output = diff_command::gpuc(folder.path(), &["diff", "--plan"]);
    let output_text = diff_command::standard_output(&output);
    let mut rest = output_text.as_str();
    for part in [
        "base=$(mktemp -d)\n",
        "git worktree add --detach \"$base\" ",
        "\"$base\"/clusters/eks-teams/cloud/teardown.sh --dry-run\n",
        "\"$base\"/clusters/eks-teams/cloud/teardown.sh\n",
        "git worktree remove --force \"$base\"\n",
    ] {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part} in\n{output_text}"));
        rest = &rest[at + part.len()..];
    }
    // The commands run as printed, except the teardown script, which needs a cloud.
    let lines = output_text.lines().map(str::trim);
    let lines = lines.filter(|it| it.starts_with("base=") || it.contains("git worktree"));
    let mut script: Vec<&str> = lines.collect();
    script.insert(2, "test -x \"$base\"/clusters/eks-teams/cloud/teardown.sh");
    let status = std::process::Command::new("bash")
        .current_dir(folder.path())
        .args(["-ec", &script.join("\n")])
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
}

#[test]
fn pending_jobs_start_through_the_recreated_queue() {
    let found = edited("eks-queues", "  - name: vision\n", "  - name: seeing\n");
    assert_order(
        &found,
        &[
            "ClusterQueue vision is removed",
            "Jobs queued in vision/default, vision-dev/default stay queued, and start through",
            "kubectl delete localqueue default --namespace vision",
            "./install.sh",
        ],
    );
    assert!(
        !steps(&found).contains("submit them again"),
        "{}",
        steps(&found)
    );
}

/// The example without quotas for CPU and memory, which cannot be combined with a topology.
fn gpu_quota_example() -> String {
    let text = example(NAME);
    let is_kept =
        |line: &&str| !line.starts_with("      cpu:") && !line.starts_with("      memory:");
    let lines = text.lines().filter(is_kept);
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The same example with the nodes of a pool in a topology.
fn example_with_topology(level: &str) -> String {
    let text = gpu_quota_example();
    let fair = "  fairSharing: true\n";
    assert!(text.contains(fair));
    let levels = format!("[{level}, kubernetes.io/hostname]");
    let topology = format!("{fair}  topology: {{pools: [slices], levels: {levels}}}\n");
    text.replace(fair, &topology)
}

#[test]
fn objects_with_finalizers_are_deleted_after_their_users() {
    // Without the topology: a ResourceFlavor that names a topology is immutable, and a ClusterQueue protects its
    // flavors.
    let order = [
        "Objects that cannot be changed in place are recreated",
        "ClusterQueue vision and ResourceFlavor pool-slices",
        "\"stopPolicy\": \"Hold\"",
        "kubectl get workloads.kueue.x-k8s.io --all-namespaces",
        "in this order",
        "kubectl delete clusterqueue product",
        "kubectl delete clusterqueue vision",
        "kubectl delete resourceflavor pool-slices",
        "./install.sh",
        "kubectl delete topology network",
    ];
    let (with, without) = (
        example_with_topology("example.com/rack"),
        gpu_quota_example(),
    );
    let removed = diff_of_texts(&with, &without);
    assert_order(&removed, &order);
    assert!(
        !steps(&removed).contains("delete clusterqueue research"),
        "{}",
        steps(&removed)
    );
    // With other levels: the flavors do not change, but must be deleted to recreate the topology.
    let other = diff_of_texts(&with, &example_with_topology("example.com/block"));
    assert_order(
        &other,
        &[
            "ResourceFlavor pool-slices and Topology network",
            "kubectl delete clusterqueue product",
            "kubectl delete resourceflavor pool-slices",
            "kubectl delete topology network",
            "./install.sh",
        ],
    );
    // A flavor without a topology is changed in place.
    let added = diff_of_texts(&without, &with);
    assert!(
        !steps(&added).contains("kubectl delete"),
        "{}",
        steps(&added)
    );
    let pushed = diff_of_texts(&format!("{with}{FLUX}"), &format!("{without}{FLUX}"));
    assert_order(
        &pushed,
        &[
            "\"stopPolicy\": \"Hold\"",
            "gpuc build",
            "Push or merge",
            "kubectl delete clusterqueue product",
            "kubectl delete resourceflavor pool-slices",
        ],
    );
}

#[test]
fn flavors_are_deleted_after_their_queues() {
    let text = example(NAME);
    let from = text.find("queueing: kueue\n").unwrap();
    let to = text.find("monitoring:\n").unwrap();
    let removed = format!("{}{}", &text[..from], &text[to..]);
    assert_order(
        &diff_of_texts(&text, &removed),
        &[
            "The order matters: Kueue keeps a ResourceFlavor while a ClusterQueue uses it",
            "kubectl delete localqueue",
            "kubectl delete clusterqueue research",
            "kubectl delete resourceflavor pool-train",
        ],
    );
}
