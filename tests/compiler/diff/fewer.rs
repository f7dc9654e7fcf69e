//! Nodes that go: what runs on them leaves before, and so do workloads that leave with them.

use gpuc::diff::Impact;

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};

#[test]
fn nodes_are_empty_before_a_cloud_picks_those_that_go() {
    let found = edited(
        "quickstart",
        "nodes: {count: 2}, sharing",
        "nodes: {count: 1}, sharing",
    );
    assert_eq!(found.worst, Some(Impact::WorkloadRestarted));
    in_order(
        &found,
        &[
            "gpuc build",
            "Pool infer goes from 2 nodes to 1 node. The cloud picks which go",
            "To empty no more than go, drain 1 of your choice",
            "kubectl drain -l 'gpuc.dev/pool=infer'",
            "cloud/apply.sh\n",
            "cloud/verify.sh",
            "kubectl uncordon -l 'gpuc.dev/pool=infer'",
        ],
    );
    // An autoscaler that may keep fewer takes none away that is used.
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
    in_order(
        &found,
        &[
            "Pool train has 3 nodes at the most",
            "get nodes",
            "drain",
            "apply.sh",
        ],
    );
}

#[test]
fn all_nodes_of_a_zone_go_with_it() {
    let text = example("gke-inference-l4");
    let (both, one) = ("[us-central1-a, us-central1-b]", "[us-central1-a]");
    let infer = text.find("name: infer").unwrap();
    let less = text[infer..].replacen(both, one, 1);
    let found = of_texts(&text, &format!("{}{less}", &text[..infer]));
    in_order(
        &found,
        &[
            "The nodes of pool infer in us-central1-b go",
            "kubectl drain -l 'gpuc.dev/pool=infer,topology.kubernetes.io/zone in (us-central1-b)' ",
            "cloud/apply.sh\n",
        ],
    );
    assert_eq!(found.worst, Some(Impact::WorkloadRestarted));
}

/// The example with less of a pool and of the job on it.
fn smaller(tool: &str) -> gpuc::diff::Diff {
    let text = example("gke-training-a3") + tool;
    let less = text
        .replace("    nodes: {count: 4}\n", "    nodes: {count: 3}\n")
        .replace("      nodes: 4\n", "      nodes: 3\n");
    of_texts(&text, &less)
}

#[test]
fn a_job_that_shrinks_with_its_pool_ends_before_the_pool_does() {
    let delete = "kubectl delete jobset pretrain --namespace research";
    let found = smaller("");
    in_order(
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
    // Flux makes it again as it was, and replaces it by itself when it hears that it shall be another.
    let flux = smaller(FLUX);
    in_order(
        &flux,
        &[
            delete,
            "kubectl drain",
            "cloud/apply.sh\n",
            "Push, or merge",
        ],
    );
    assert_eq!(steps(&flux).matches(delete).count(), 1, "{}", steps(&flux));
}

#[test]
fn a_workload_that_leaves_with_nodes_leaves_before_them() {
    let text = example("gke-training-a3");
    let less = text.replace("    nodes: {count: 4}\n", "    nodes: {count: 3}\n");
    let workloads = less.find("workloads:\n").unwrap();
    let end = less[workloads..]
        .match_indices('\n')
        .map(|(at, _)| workloads + at + 1)
        .find(|at| less[*at..].starts_with(|c: char| c.is_ascii_lowercase()))
        .unwrap_or(less.len());
    let without = format!("{}{}", &less[..workloads], &less[end..]);
    let found = of_texts(&text, &without);
    let delete = "kubectl delete jobset pretrain --namespace research";
    in_order(&found, &[delete, "kubectl drain", "cloud/apply.sh\n"]);
    assert_eq!(
        steps(&found).matches(delete).count(),
        1,
        "{}",
        steps(&found)
    );
}

#[test]
fn people_stop_their_servers_before_nodes_are_drained() {
    let found = edited("on-prem-mig", "count: 7", "count: 6");
    in_order(
        &found,
        &[
            "JupyterHub starts servers on pool notebooks",
            "kubectl --context campus get pods --namespace jupyterhub -l component=singleuser-server",
            "kubectl --context campus drain -l 'gpuc.dev/pool=notebooks'",
        ],
    );
    let name = "nodes: {count: 2}, sharing";
    let found = edited("quickstart", name, "nodes: {count: 1}, sharing");
    assert!(!steps(&found).contains("JupyterHub"), "{}", steps(&found));
}
