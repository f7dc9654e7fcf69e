//! The texts of changes: cause, effects, and values that only seem to be removed.

use std::fs;

use gpuc_diff::diff::render::{Format, MAX_LENGTH, render};
use gpuc_diff::diff::{Change, Diff, Impact, Status, Step};

use super::diff_command::{commit, committed_example, edit, git, gpuc, standard_output};
use super::plan::{edited, example, steps};
use super::{as_diffs, diff_of_texts};

fn find_change<'d>(diff: &'d Diff, kind: &str, name: &str) -> &'d Change {
    let mut changes = diff.changes.iter();
    let is_it = |it: &&Change| it.kind == kind && it.names.iter().any(|of| of.contains(name));
    let found = changes.find(is_it);
    found.unwrap_or_else(|| panic!("{kind} {name}: {:#?}", diff.changes))
}

fn reason_for<'d>(diff: &'d Diff, kind: &str, name: &str) -> &'d str {
    let reason = find_change(diff, kind, name).reason.as_deref();
    reason.unwrap_or_default()
}

#[test]
fn immutable_fields_are_always_reported() {
    let found = edited("aks-mig-a100", "type: blob-nfs", "type: blob-fuse");
    let class = find_change(&found, "StorageClass", "datasets");
    assert!(class.fields.len() > 1, "{:?}", class.fields);
    let reason = reason_for(&found, "StorageClass", "datasets");
    assert!(
        reason.starts_with("`parameters` cannot be changed: delete"),
        "{reason}"
    );
}

#[test]
fn shrunk_metrics_volume_is_not_resized_manually() {
    let shrinks = edited("on-prem-dgx", "{sizeGiB: 200}", "{sizeGiB: 100}");
    let reason = reason_for(&shrinks, "Helm release", "kube-prometheus-stack");
    assert!(
        reason.contains("stays 200Gi") && !reason.contains("resize"),
        "{reason}"
    );
    let grows = edited("on-prem-dgx", "{sizeGiB: 200}", "{sizeGiB: 300}");
    let reason = reason_for(&grows, "Helm release", "kube-prometheus-stack");
    assert!(
        reason.contains("resize its PersistentVolumeClaim by hand"),
        "{reason}"
    );
}

#[test]
fn nodes_above_a_lower_maximum_are_drained() {
    let kept = edited(
        "gke-service",
        "nodes: {min: 0, max: 6}",
        "nodes: {min: 0, max: 3}",
    );
    assert!(!steps(&kept).contains("drain"), "{}", steps(&kept));
    let taken = edited(
        "gke-service",
        "nodes: {min: 0, max: 6}",
        "nodes: {count: 3}",
    );
    assert!(steps(&taken).contains("drain"), "{}", steps(&taken));
}

#[test]
fn renamed_workload_runs_twice_until_deleted() {
    let found = edited(
        "gke-service",
        "  - name: embeddings\n",
        "  - name: embedder\n",
    );
    assert_eq!(found.worst, Some(Impact::WorkloadRestarted));
    let is_removed = |it: &&Change| it.kind == "Deployment" && it.status == Status::Removed;
    let old = found.changes.iter().find(is_removed).unwrap();
    let reason = old.reason.as_deref().unwrap_or_default();
    assert!(
        reason.contains("`search/embedder`") && reason.contains("both run until"),
        "{reason}"
    );
    let text = example("gke-service");
    let moved = text
        .replace("[search, search-batch]", "[search, search-jobs]")
        .replace("namespace: search-batch", "namespace: search-jobs");
    let found = diff_of_texts(&text, &moved);
    let reason = reason_for(&found, "CronJob", "search-batch/reindex");
    assert!(reason.contains("`search-jobs/reindex`"), "{reason}");
    // A workload with another image is not a renamed workload.
    let other = text
        .replace("  - name: embeddings\n", "  - name: embedder\n")
        .replace("embeddings:2.1.0", "embeddings:3.0.0");
    let found = diff_of_texts(&text, &other);
    assert_eq!(found.worst, Some(Impact::Added));
}

#[test]
fn distribution_change_is_a_new_cluster_or_a_mistake() {
    let found = edited("on-prem-dgx", "distribution: kubeadm", "distribution: rke2");
    let reason = reason_for(&found, "cluster", "itself");
    assert!(reason.contains("unless the file was wrong"), "{reason}");
}

#[test]
fn changed_taint_value_reports_its_gap() {
    let found = edited("aks-argocd", "value: gpu, effect", "value: t4, effect");
    let reason = reason_for(&found, "Helm release", "nvidia-device-plugin-infer");
    assert!(
        reason.contains("between the run of the scripts"),
        "{reason}"
    );
    // An additional taint causes no gap.
    let found = edited(
        "aks-argocd",
        "taints: [{",
        "taints: [{key: more, value: yet, effect: NoSchedule}, {",
    );
    let reason = reason_for(&found, "Helm release", "nvidia-device-plugin-infer");
    assert!(
        !reason.contains("between the run of the scripts"),
        "{reason}"
    );
}

#[test]
fn value_reset_to_the_chart_default_is_reported() {
    let found = edited("eks-scale-0-5", "version: \"1.34\"", "version: \"1.35\"");
    let release = find_change(&found, "Helm release", "cluster-autoscaler");
    assert_eq!(release.fields[0].to, None, "{:?}", release.fields);
    let reason = reason_for(&found, "Helm release", "cluster-autoscaler");
    assert!(reason.contains("the chart's own tag"), "{reason}");
}

#[test]
fn every_row_has_a_change() {
    let text = example("eks-flux");
    let (head, _) = text.split_once("  flux:\n").unwrap();
    let argocd = "  argocd: {repository: \"ssh://git@git.example.com/acme/gitops.git\", branch: main, path: a}\n";
    let plain = edited(
        "gke-inference-l4",
        "  driver: daemonSet\n  devicePlugin: gpuc\n",
        "  driver: preinstalled\n  devicePlugin: cloud\n",
    );
    for found in [diff_of_texts(&text, &format!("{head}{argocd}")), plain] {
        let fields = found.changes.iter().flat_map(|change| &change.fields);
        for field in fields {
            assert!(!field.path.is_empty(), "{field:?}");
            let is_nothing = |side: &Option<serde_json::Value>| {
                side.as_ref().is_none_or(serde_json::Value::is_null)
            };
            assert!(
                !(is_nothing(&field.from) && is_nothing(&field.to)),
                "{field:?}"
            );
        }
    }
}

#[test]
fn steps_beyond_the_comment_limit_are_counted() {
    let mut found = edited("eks-teams", "machine: g6e.xlarge", "machine: g6e.2xlarge");
    found.rollout = vec![
        Step {
            instruction: "Free the GPUs".repeat(20),
            commands: vec!["kubectl drain".repeat(10)],
            changes: Vec::new(),
        };
        604
    ];
    let mut both = as_diffs(found.clone());
    for second in [false, true] {
        if second {
            both.clusters.push(found.clone());
        }
        let comment = render(&both, Format::Plan);
        assert!(comment.chars().count() <= MAX_LENGTH);
        assert!(
            comment.chars().count() > MAX_LENGTH * 9 / 10,
            "{}",
            comment.len()
        );
        let shown = comment.matches("```sh").count();
        let left = 604 * both.clusters.len() - shown;
        let omitted: Vec<usize> = comment
            .lines()
            .filter_map(|line| {
                line.strip_suffix(" more steps omitted: `gpuc diff --plan` shows all of them.")
            })
            .map(|number| number.parse().unwrap())
            .collect();
        assert_eq!(omitted.len(), both.clusters.len());
        assert_eq!(omitted.iter().sum::<usize>(), left);
    }
}

/// A repository with the smallest example, built and committed.
fn committed_quickstart() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().unwrap();
    fs::write(
        folder.path().join("gpu-cluster.yaml"),
        example("quickstart"),
    )
    .unwrap();
    git(folder.path(), &["init", "-q"]);
    assert!(gpuc(folder.path(), &["build", "-q"]).status.success());
    commit(folder.path());
    folder
}

#[test]
fn edited_lock_is_not_caused_by_the_input() {
    let folder = committed_quickstart();
    let path = folder.path();
    let lock = path.join("clusters/quickstart/gpuc.lock.json");
    let text = fs::read_to_string(&lock).unwrap();
    let edited = text.replace("\"infer\": \"g6.xlarge\"", "\"infer\": \"gr6.4xlarge\"");
    assert_ne!(text, edited);
    fs::write(&lock, edited).unwrap();
    let output = standard_output(&gpuc(path, &["diff"]));
    let by = "by clusters/quickstart/gpuc.lock.json machines.infer, edited in the lock: not requested by the input";
    assert!(output.contains(by), "{output}");
    // A change of the input still has the input as its cause.
    edit(path, "replicas: 4", "replicas: 2");
    let output = standard_output(&gpuc(path, &["diff", "--format", "json"]));
    let output: serde_json::Value = serde_json::from_str(&output).unwrap();
    let of = |field: &str| {
        let changes = output["clusters"][0]["changes"].as_array().unwrap().iter();
        let has = |change: &&serde_json::Value| {
            let mut fields = change["fields"].as_array().unwrap().iter();
            change["kind"] == "pool" && fields.any(|it| it["path"] == field)
        };
        let found: Vec<_> = changes.filter(has).collect();
        assert_eq!(found.len(), 1, "{field}");
        let causes = found[0]["causes"].as_array().unwrap().iter();
        causes
            .map(|it| {
                it["path"]
                    .as_str()
                    .unwrap()
                    .split(',')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(of("machine type"), ["machines.infer"]);
    let sharing = of("sharing");
    assert!(
        sharing.len() == 1 && sharing[0].contains("replicas"),
        "{sharing:?}"
    );
}

#[test]
fn machine_for_another_gpu_is_caused_by_the_input() {
    let folder = committed_quickstart();
    let path = folder.path();
    edit(path, "model: L4", "model: T4");
    assert!(gpuc(path, &["build", "-q"]).status.success());
    let output = standard_output(&gpuc(path, &["diff"]));
    assert!(output.contains("machine type g6.xlarge → "), "{output}");
    assert!(!output.contains("edited in the lock"), "{output}");
}

#[test]
fn cluster_moved_to_another_file_is_reported() {
    let folder = committed_example();
    let path = folder.path();
    fs::create_dir_all(path.join("a")).unwrap();
    git(path, &["mv", "gpu-cluster.yaml", "a/gpu-cluster.yaml"]);
    let output = standard_output(&gpuc(path, &["diff", "a"]));
    assert!(
        output
            .contains("the input file was gpu-cluster.yaml: only gpuc.lock.json records its path"),
        "{output}"
    );
    let still = committed_example();
    let output = standard_output(&gpuc(still.path(), &["diff"]));
    assert!(
        output.starts_with("1 cluster unchanged since HEAD"),
        "{output}"
    );
}

#[test]
fn quiet_output_shows_what_fails_the_gate() {
    let folder = committed_example();
    let path = folder.path();
    edit(path, "machine: g6e.xlarge", "machine: g6e.2xlarge");
    let output = |arguments: &[&str]| standard_output(&gpuc(path, arguments));
    assert_eq!(output(&["diff", "-q"]), "");
    assert_eq!(output(&["diff", "-q", "--fail-on", "deleted"]), "");
    let closes = output(&["diff", "-q", "--fail-on", "replaced"]);
    assert!(
        closes.contains("replaced ") && !closes.contains("nothing "),
        "{closes}"
    );
    let json = output(&["diff", "-q", "--format", "json"]);
    assert_eq!(json, output(&["diff", "--format", "json"]));
}

#[test]
fn repository_without_commits_gets_help() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path();
    fs::write(path.join("gpu-cluster.yaml"), example("quickstart")).unwrap();
    git(path, &["init", "-q"]);
    let wrong = |arguments: &[&str]| {
        let output = gpuc(path, arguments);
        assert_eq!(output.status.code(), Some(3));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let output = wrong(&["diff"]);
    assert!(
        output.contains("has no commit") && !output.contains("fetch"),
        "{output}"
    );
    commit(path);
    let output = wrong(&["diff", "--base", "HEAD~"]);
    assert!(
        output.contains("history is shorter") && !output.contains("fetch"),
        "{output}"
    );
}
