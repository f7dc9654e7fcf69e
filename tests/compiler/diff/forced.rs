//! Jobs that the GitOps controller deletes and recreates by itself because they are immutable.

use super::of_texts;
use super::plan::{example, in_order, steps};

fn renamed(tool: &str) -> gpuc_diff::diff::Diff {
    let text = example("eks-training-job") + tool;
    let other = text.replace("{name: checkpoints,", "{name: ckpt,");
    assert_ne!(text, other);
    of_texts(&text, &other)
}

fn row(found: &gpuc_diff::diff::Diff) -> String {
    let mut runs = found.changes.iter();
    let run = runs.find(|change| change.kind == "TrainJob").unwrap();
    run.because.clone().unwrap()
}

#[test]
fn push_that_restarts_a_job_is_announced() {
    let flux = "gitops: {flux: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n";
    let argo = "gitops: {argocd: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n";
    for (tool, name) in [(flux, "Flux"), (argo, "Argo CD")] {
        let found = renamed(tool);
        in_order(
            &found,
            &[
                &format!(
                    "TrainJob research/finetune cannot be changed in place: {name} deletes and recreates it"
                ),
                "Save its state or wait until it finishes before the push",
                "kubectl get trainjob finetune --namespace research",
                "gpuc build",
                "Push or merge",
            ],
        );
        assert!(
            row(&found).contains(&format!("{name} deletes and recreates the TrainJob")),
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
        row(&by_hand).contains("delete the TrainJob so that it is recreated"),
        "{}",
        row(&by_hand)
    );
    assert!(!steps(&by_hand).contains("before the push"));
}
