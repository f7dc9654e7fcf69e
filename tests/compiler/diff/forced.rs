//! Runs that a tool of `gitops` deletes and makes anew by itself, because they cannot be changed.

use super::of_texts;
use super::plan::{example, in_order, steps};

fn renamed(tool: &str) -> gpuc::diff::Diff {
    let text = example("eks-training-job") + tool;
    let other = text.replace("{name: checkpoints,", "{name: ckpt,");
    assert_ne!(text, other);
    of_texts(&text, &other)
}

fn row(found: &gpuc::diff::Diff) -> String {
    let mut runs = found.changes.iter();
    let run = runs.find(|change| change.kind == "TrainJob").unwrap();
    run.because.clone().unwrap()
}

#[test]
fn a_push_that_starts_a_run_over_is_announced() {
    let flux = "gitops: {flux: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n";
    let argo = "gitops: {argocd: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n";
    for (tool, name) in [(flux, "Flux"), (argo, "Argo CD")] {
        let found = renamed(tool);
        in_order(
            &found,
            &[
                &format!(
                    "TrainJob research/finetune cannot be changed in place: {name} deletes it and makes it anew"
                ),
                "Save its state or let it end before the push",
                "kubectl get trainjob finetune --namespace research",
                "gpuc build",
                "Push, or merge",
            ],
        );
        assert!(
            row(&found).contains(&format!("{name} deletes the TrainJob")),
            "{}",
            row(&found)
        );
        assert!(!steps(&found).contains("kubectl delete trainjob"));
    }
    let by_hand = renamed("");
    in_order(
        &by_hand,
        &["kubectl delete trainjob finetune", "./install.sh"],
    );
    assert!(
        row(&by_hand).contains("delete the TrainJob for the new one"),
        "{}",
        row(&by_hand)
    );
    assert!(!steps(&by_hand).contains("before the push"));
}
