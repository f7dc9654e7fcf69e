//! Renamed or moved workloads without pruning: the old and the new workload run until the user deletes the old one.

use super::diff_of_texts;
use super::plan::{FLUX, assert_order, edited, example, steps};

#[test]
fn renamed_service_runs_twice_only_briefly() {
    let (from, to) = ("  - name: embeddings\n", "  - name: embedder\n");
    let found = edited("gke-service", from, to);
    assert_order(
        &found,
        &[
            "gpuc build",
            "./install.sh",
            "Deployment search/embeddings is renamed to search/embedder",
            "both run on separate GPUs until you delete the old one",
            "embeddings.search.svc becomes embedder.search.svc",
            "kubectl delete deployment embeddings --namespace search",
            "kubectl delete service embeddings --namespace search",
            "cloud/verify.sh",
        ],
    );
    let steps_text = steps(&found);
    assert_eq!(
        steps_text.matches("delete deployment").count(),
        1,
        "{steps_text}"
    );
    assert!(
        !steps_text.contains("removed from the tree and are no longer needed"),
        "{steps_text}"
    );
    let text = example("gke-service") + FLUX;
    let pushed = diff_of_texts(&text, &text.replace(from, to));
    assert!(!steps(&pushed).contains("both run"), "{}", steps(&pushed));
}

#[test]
fn moved_schedule_does_not_start_twice() {
    let text = example("gke-service");
    let found = diff_of_texts(&text, &text.replace("search-batch", "search-jobs"));
    assert_order(
        &found,
        &[
            "gpuc build",
            "CronJob search-batch/reindex is renamed to search-jobs/reindex",
            "both would do the same work",
            "kubectl delete cronjob reindex --namespace search-batch",
            "./install.sh",
        ],
    );
    assert_eq!(steps(&found).matches("delete cronjob").count(), 1);
}
