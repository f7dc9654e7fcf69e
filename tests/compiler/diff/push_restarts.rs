//! Immutable Jobs, which the GitOps controller deletes and recreates.

use super::diff_of_texts;
use super::plan::{assert_order, example, steps};

fn rename_with_controller(tool: &str) -> gpuc_diff::diff::Diff {
    let text = example("eks-training-job") + tool;
    let other = text.replace("{name: checkpoints,", "{name: ckpt,");
    assert_ne!(text, other);
    diff_of_texts(&text, &other)
}

fn table_row(found: &gpuc_diff::diff::Diff) -> String {
    let mut runs = found.changes.iter();
    let run = runs.find(|change| change.kind == "TrainJob").unwrap();
    run.reason.clone().unwrap()
}

#[test]
fn push_that_restarts_a_job_is_announced() {
    let flux = "gitops: {flux: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n";
    let argo = "gitops: {argocd: {repository: \"https://git.example.com/a.git\", branch: main, path: clusters/a}}\n";
    for (tool, name) in [(flux, "Flux"), (argo, "Argo CD")] {
        let found = rename_with_controller(tool);
        assert_order(
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
            table_row(&found).contains(&format!("{name} deletes and recreates the TrainJob")),
            "{}",
            table_row(&found)
        );
        assert!(!steps(&found).contains("kubectl delete trainjob"));
    }
    let by_hand = rename_with_controller("");
    assert_order(
        &by_hand,
        &["kubectl delete trainjob finetune", "./install.sh"],
    );
    assert!(
        table_row(&by_hand).contains("delete the TrainJob so that it is recreated"),
        "{}",
        table_row(&by_hand)
    );
    assert!(!steps(&by_hand).contains("before the push"));
}
