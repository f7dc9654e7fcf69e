//! Queues that leave, and clusters that come and go.

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};
use super::{command, diff_of};

const NAME: &str = "eks-queues";

#[test]
fn a_queue_lets_its_jobs_end_before_others_are_promised_what_it_has() {
    let hold = "kubectl patch clusterqueues.kueue.x-k8s.io research --type merge --patch \
                '{\"spec\": {\"stopPolicy\": \"Hold\"}}'";
    let look = "kubectl get workloads.kueue.x-k8s.io --all-namespaces";
    let delete = "kubectl delete clusterqueue research";
    let renamed = edited(NAME, "name: research", "name: science");
    in_order(
        &renamed,
        &[
            "gpuc build",
            hold,
            look,
            delete,
            "./install.sh",
            "cloud/verify.sh",
        ],
    );
    assert_eq!(steps(&renamed).matches(delete).count(), 1);
    let text = example(NAME) + FLUX;
    let pushed = of_texts(&text, &text.replacen("name: research", "name: science", 1));
    in_order(&pushed, &[hold, look, "gpuc build", "Push, or merge"]);
    assert!(!steps(&pushed).contains(delete), "{}", steps(&pushed));
}

#[test]
fn no_job_waits_for_a_kueue_that_is_gone() {
    let text = example(NAME);
    let queues = text.find("queueing: kueue\n").unwrap();
    let monitoring = text.find("monitoring:\n").unwrap();
    let gone = format!("{}{}", &text[..queues], &text[monitoring..]);
    in_order(
        &of_texts(&text, &gone),
        &[
            "such jobs stay suspended",
            "kubectl get workloads.kueue.x-k8s.io --all-namespaces",
            "./install.sh",
            "kubectl delete clusterqueue research",
            "Only if nobody in the cluster needs kueue",
            "helm uninstall kueue --namespace kueue-system",
        ],
    );
    let pushed = of_texts(&format!("{text}{FLUX}"), &format!("{gone}{FLUX}"));
    in_order(
        &pushed,
        &[
            "such jobs stay suspended",
            "kubectl get workloads.kueue.x-k8s.io --all-namespaces",
            "gpuc build",
            "Push, or merge",
            "Only if nobody in the cluster needs kueue",
            "kubectl delete helmreleases.helm.toolkit.fluxcd.io eks-queues-kueue",
        ],
    );
}

#[test]
fn a_tool_is_told_of_a_new_cluster_once() {
    in_order(
        &diff_of(None, Some(&(example(NAME) + FLUX))),
        &[
            "gpuc build",
            "cloud/apply.sh\n",
            "tell Flux of the tree, once",
            "kubectl apply --server-side --kustomize flux\n",
            "Wait until Flux has brought it",
            "cloud/verify.sh",
        ],
    );
    in_order(
        &diff_of(None, Some(&example(NAME))),
        &[
            "gpuc build",
            "cloud/apply.sh\n",
            "./install.sh\n",
            "cloud/verify.sh",
        ],
    );
}

#[test]
fn a_cluster_that_is_gone_is_removed_by_the_scripts_that_the_base_has() {
    let folder = command::committed();
    std::fs::remove_file(folder.path().join("gpu-cluster.yaml")).unwrap();
    std::fs::remove_dir_all(folder.path().join("clusters")).unwrap();
    let output = command::gpuc(folder.path(), &["diff", "--plan"]);
    let said = command::said(&output);
    let mut rest = said.as_str();
    for part in [
        "base=$(mktemp -d)\n",
        "git worktree add --detach \"$base\" ",
        "\"$base\"/clusters/eks-teams/cloud/teardown.sh --dry-run\n",
        "\"$base\"/clusters/eks-teams/cloud/teardown.sh\n",
        "git worktree remove --force \"$base\"\n",
    ] {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part} in\n{said}"));
        rest = &rest[at + part.len()..];
    }
    // They can be typed as they are, but for the script itself, which wants a cloud.
    let lines = said.lines().map(str::trim);
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
