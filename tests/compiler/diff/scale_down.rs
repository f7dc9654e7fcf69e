//! Removed nodes are drained first, and workloads that are removed together with them are deleted before.

use gpuc_diff::diff::Impact;

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

#[test]
fn nodes_are_drained_before_the_cloud_removes_some() {
    let found = edited(
        "quickstart",
        "nodes: {count: 2}, sharing",
        "nodes: {count: 1}, sharing",
    );
    assert_eq!(found.worst, Some(Impact::WorkloadRestarted));
    assert_order(
        &found,
        &[
            "gpuc build",
            "Pool infer shrinks from 2 nodes to 1 node. The cloud chooses which nodes to remove",
            "To drain only the removed nodes, drain 1 of your choice",
            "kubectl drain -l 'gpuc.dev/pool=infer'",
            "cloud/apply.sh\n",
            "cloud/verify.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=infer'",
        ],
    );
    // An autoscaler with a lower minimum does not remove nodes in use.
    let found = edited(
        "eks-queues",
        "nodes: {min: 2, max: 4}",
        "nodes: {min: 1, max: 4}",
    );
    assert!(!steps(&found).contains("drain"), "{}", steps(&found));
    let found = edited(
        "eks-queues",
        "nodes: {min: 2, max: 4}",
        "nodes: {min: 2, max: 3}",
    );
    assert_order(
        &found,
        &[
            "Pool train now has a maximum of 3 nodes",
            "get nodes",
            "drain",
            "apply.sh",
        ],
    );
}

#[test]
fn nodes_of_a_removed_zone_are_drained() {
    let text = example("gke-inference-l4");
    let (both, one) = ("[us-central1-a, us-central1-b]", "[us-central1-a]");
    let infer = text.find("name: infer").unwrap();
    let less = text[infer..].replacen(both, one, 1);
    let found = diff_of_texts(&text, &format!("{}{less}", &text[..infer]));
    assert_order(
        &found,
        &[
            "The nodes of pool infer in us-central1-b are removed",
            "kubectl drain -l 'gpuc.dev/pool=infer,topology.kubernetes.io/zone in (us-central1-b)' ",
            "cloud/apply.sh\n",
        ],
    );
    assert_eq!(found.worst, Some(Impact::WorkloadRestarted));
}

/// The example with a smaller pool and a smaller job on it.
fn shrink_pool_and_job(tool: &str) -> gpuc_diff::diff::Diff {
    let text = example("gke-training-a3") + tool;
    let less = text
        .replace("    nodes: {count: 4}\n", "    nodes: {count: 3}\n")
        .replace("      nodes: 4\n", "      nodes: 3\n");
    diff_of_texts(&text, &less)
}

#[test]
fn shrinking_job_ends_before_its_pool_shrinks() {
    let delete = "kubectl delete jobset pretrain --namespace research";
    let found = shrink_pool_and_job("");
    assert_order(
        &found,
        &[
            "gpuc build",
            delete,
            "kubectl drain",
            "cloud/apply.sh\n",
            "./install.sh",
        ],
    );
    assert_eq!(
        steps(&found).matches(delete).count(),
        1,
        "{}",
        steps(&found)
    );
    // With Flux, the plan deletes the job before the drain. Flux replaces the job when its spec changes.
    let flux = shrink_pool_and_job(FLUX);
    assert_order(
        &flux,
        &[delete, "kubectl drain", "cloud/apply.sh\n", "Push or merge"],
    );
    assert_eq!(steps(&flux).matches(delete).count(), 1, "{}", steps(&flux));
}

#[test]
fn removed_workload_is_deleted_before_its_nodes() {
    let text = example("gke-training-a3");
    let less = text.replace("    nodes: {count: 4}\n", "    nodes: {count: 3}\n");
    let workloads = less.find("workloads:\n").unwrap();
    let end = less[workloads..]
        .match_indices('\n')
        .map(|(at, _)| workloads + at + 1)
        .find(|at| less[*at..].starts_with(|c: char| c.is_ascii_lowercase()))
        .unwrap_or(less.len());
    let without = format!("{}{}", &less[..workloads], &less[end..]);
    let found = diff_of_texts(&text, &without);
    let delete = "kubectl delete jobset pretrain --namespace research";
    assert_order(&found, &[delete, "kubectl drain", "cloud/apply.sh\n"]);
    assert_eq!(
        steps(&found).matches(delete).count(),
        1,
        "{}",
        steps(&found)
    );
}

#[test]
fn servers_are_stopped_before_nodes_are_drained() {
    let found = edited("on-prem-mig", "count: 7", "count: 6");
    assert_order(
        &found,
        &[
            "JupyterHub starts notebook servers on pool notebooks",
            "kubectl --context campus get pods --namespace jupyterhub -l component=singleuser-server",
            "kubectl --context campus drain -l 'gpuc.dev/pool=notebooks'",
        ],
    );
    let name = "nodes: {count: 2}, sharing";
    let found = edited("quickstart", name, "nodes: {count: 1}, sharing");
    assert!(!steps(&found).contains("JupyterHub"), "{}", steps(&found));
}
