//! Teams of another name: what they have in their namespaces moves before it is out of reach.

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};

const LIST: &str = "kubectl get all,configmaps,secrets,persistentvolumeclaims --namespace product";
const DELETE: &str = "kubectl delete namespace product";

#[test]
fn work_moves_between_two_names_of_a_team() {
    let found = edited("eks-teams", "- name: product", "- name: goods");
    in_order(
        &found,
        &[
            "gpuc build",
            "./install.sh",
            "cloud/verify.sh",
            "Move what shall go on from namespace product to goods",
            LIST,
            "kubectl delete rolebinding team-submit --namespace product",
            "kubectl delete resourcequota team --namespace product",
            "Only when nobody wants anything in namespace product",
            DELETE,
        ],
    );
}

#[test]
fn a_tool_takes_nobody_away_from_their_work() {
    for tool in [FLUX.to_owned(), FLUX.replace("flux", "argocd")] {
        let text = example("eks-teams") + &tool;
        let renamed = text.replace("- name: product", "- name: goods");
        let found = of_texts(&text, &renamed);
        in_order(
            &found,
            &[
                "Leave it in gpu-cluster.yaml for now, under team product beside goods",
                "gpuc build",
                "Push, or merge",
                "Move what shall go on",
                LIST,
                DELETE,
            ],
        );
        assert!(steps(&found).contains("Then take product out of gpu-cluster.yaml"));
        // A team that leaves and has no other name is asked before.
        let from = text.find("  - name: product").unwrap();
        let to = text[from..].find("\n# ").unwrap() + from + 1;
        let gone = of_texts(&text, &format!("{}{}", &text[..from], &text[to..]));
        in_order(
            &gone,
            &["let it end", LIST, "gpuc build", "Push, or merge", DELETE],
        );
        assert!(!steps(&gone).contains("Move what"), "{}", steps(&gone));
    }
}

#[test]
fn namespaces_that_stay_move_nothing() {
    let found = edited("eks-teams", "- name: vision\n", "- name: sight\n");
    assert!(
        !steps(&found).contains("delete namespace"),
        "{}",
        steps(&found)
    );
}
