//! Renamed teams: the contents of their namespaces move before users lose access.

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

const LIST_COMMAND: &str =
    "kubectl get all,configmaps,secrets,persistentvolumeclaims --namespace product";
const DELETE_COMMAND: &str = "kubectl delete namespace product";

#[test]
fn workloads_move_to_a_renamed_namespace() {
    let found = edited("eks-teams", "- name: product", "- name: goods");
    assert_order(
        &found,
        &[
            "gpuc build",
            "./install.sh",
            "cloud/verify.sh",
            "Move the workloads that you still need from namespace product to goods",
            LIST_COMMAND,
            "kubectl delete rolebinding team-submit --namespace product",
            "kubectl delete resourcequota team --namespace product",
            "Only if nothing in namespace product",
            DELETE_COMMAND,
        ],
    );
}

#[test]
fn team_is_removed_from_the_input_after_users_moved() {
    for tool in [FLUX.to_owned(), FLUX.replace("flux", "argocd")] {
        let text = example("eks-teams") + &tool;
        let renamed = text.replace("- name: product", "- name: goods");
        let found = diff_of_texts(&text, &renamed);
        assert_order(
            &found,
            &[
                "Leave it in gpu-cluster.yaml for now, under team product next to goods",
                "gpuc build",
                "Push or merge",
                "Move the workloads that you still need",
                LIST_COMMAND,
                DELETE_COMMAND,
            ],
        );
        assert!(steps(&found).contains("Then remove product from gpu-cluster.yaml"));
        // For a removed team, the plan first waits for its jobs.
        let from = text.find("  - name: product").unwrap();
        let to = text[from..].find("\n# ").unwrap() + from + 1;
        let removed = diff_of_texts(&text, &format!("{}{}", &text[..from], &text[to..]));
        assert_order(
            &removed,
            &[
                "wait until they finish",
                LIST_COMMAND,
                "gpuc build",
                "Push or merge",
                DELETE_COMMAND,
            ],
        );
        assert!(
            !steps(&removed).contains("Move the workloads"),
            "{}",
            steps(&removed)
        );
    }
}

#[test]
fn kept_namespaces_require_no_move() {
    let found = edited("eks-teams", "- name: vision\n", "- name: sight\n");
    assert!(
        !steps(&found).contains("delete namespace"),
        "{}",
        steps(&found)
    );
}
