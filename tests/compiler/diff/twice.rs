//! Workloads of another name or namespace, where nothing removes the old ones: both run until somebody does.

use super::of_texts;
use super::plan::{FLUX, edited, example, in_order, steps};

#[test]
fn a_service_of_another_name_does_not_run_twice_for_long() {
    let (from, to) = ("  - name: embeddings\n", "  - name: embedder\n");
    let found = edited("gke-service", from, to);
    in_order(
        &found,
        &[
            "gpuc build",
            "./install.sh",
            "Deployment search/embeddings is search/embedder now",
            "both run, each on GPUs of its own, until you delete the old one",
            "embeddings.search.svc is embedder.search.svc now",
            "kubectl delete deployment embeddings --namespace search",
            "kubectl delete service embeddings --namespace search",
            "cloud/verify.sh",
        ],
    );
    let said = steps(&found);
    assert_eq!(said.matches("delete deployment").count(), 1, "{said}");
    assert!(!said.contains("nobody needs"), "{said}");
    let text = example("gke-service") + FLUX;
    let pushed = of_texts(&text, &text.replace(from, to));
    assert!(!steps(&pushed).contains("both run"), "{}", steps(&pushed));
}

#[test]
fn a_schedule_in_another_namespace_does_not_begin_twice() {
    let text = example("gke-service");
    let found = of_texts(&text, &text.replace("search-batch", "search-jobs"));
    in_order(
        &found,
        &[
            "gpuc build",
            "CronJob search-batch/reindex is search-jobs/reindex now",
            "both do the same work",
            "kubectl delete cronjob reindex --namespace search-batch",
            "./install.sh",
        ],
    );
    assert_eq!(steps(&found).matches("delete cronjob").count(), 1);
}
