//! Renamed teams: the contents of their namespaces move before access is lost.

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};

const LIST: &str = "kubectl get all,configmaps,secrets,persistentvolumeclaims --namespace product";
const DELETE: &str = "kubectl delete namespace product";

#[test]
fn workloads_move_to_a_renamed_namespace() {
    let found = edited("eks-teams", "- name: product", "- name: goods");
    in_order(
        &found,
        &[
            "gpuc build",
            "./install.sh",
            "cloud/verify.sh",
            "Move the workloads that you still need from namespace product to goods",
            LIST,
            "kubectl delete rolebinding team-submit --namespace product",
            "kubectl delete resourcequota team --namespace product",
            "Only if nothing in namespace product",
            DELETE,
        ],
    );
}

#[test]
fn gitops_controller_does_not_interrupt_users() {
    for tool in [FLUX.to_owned(), FLUX.replace("flux", "argocd")] {
        let text = example("eks-teams") + &tool;
        let renamed = text.replace("- name: product", "- name: goods");
        let found = of_texts(&text, &renamed);
        in_order(
            &found,
            &[
                "Leave it in gpu-cluster.yaml for now, under team product next to goods",
                "gpuc build",
                "Push or merge",
                "Move the workloads that you still need",
                LIST,
                DELETE,
            ],
        );
        assert!(steps(&found).contains("Then remove product from gpu-cluster.yaml"));
        // A team that leaves and has no other name is asked before.
        let from = text.find("  - name: product").unwrap();
        let to = text[from..].find("\n# ").unwrap() + from + 1;
        let gone = of_texts(&text, &format!("{}{}", &text[..from], &text[to..]));
        in_order(
            &gone,
            &[
                "wait until they finish",
                LIST,
                "gpuc build",
                "Push or merge",
                DELETE,
            ],
        );
        assert!(
            !steps(&gone).contains("Move the workloads"),
            "{}",
            steps(&gone)
        );
    }
}

#[test]
fn kept_namespaces_move_nothing() {
    let found = edited("eks-teams", "- name: vision\n", "- name: sight\n");
    assert!(
        !steps(&found).contains("delete namespace"),
        "{}",
        steps(&found)
    );
}
