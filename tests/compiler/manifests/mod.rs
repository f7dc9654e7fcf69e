//! User manifests: every mistake is found at its line, without other findings. Fixes change only what is wrong. Correct
//! manifests, including those that gpuc generates, have no findings.

mod allow_annotations;
mod api_validation;
mod ephemeral_storage;
mod formatting;
mod helps;
mod hostile;
mod idempotence;
mod kustomize;
mod objects;
mod pod_locations;
mod safe_fixes;
mod services;
mod workload_kinds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use gpuc_manifests as manifests;
use gpuc_manifests::{FixedFiles, Manifests};
use gpuc_syntax::diag::{Applicability, Diagnostic, Report};
use gpuc_syntax::source::Sources;

use crate::corpus::cases;
use crate::support::{Outcome, compile_text, expect_files, files_below, repository};

const FOLDER: &str = "tests/compiler/manifests";

/// The cluster for manifests whose file name begins with no cluster's name.
const LAB: &str = "lab.yaml";

/// The cluster files, by name.
fn clusters() -> &'static BTreeMap<String, String> {
    static TEXTS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| files("clusters"));
    &TEXTS
}

/// The cluster file for a manifest.
pub(crate) fn cluster_text(path: &str) -> &'static str {
    let end = path.find(['-', '.']).unwrap_or(path.len());
    let text = clusters().get(&format!("{}.yaml", &path[..end]));
    text.unwrap_or(&clusters()[LAB])
}

/// The cluster for a manifest, by the beginning of the manifest's file name, such as `gke.yaml` or `gke-images.yaml`.
fn cluster(path: &str) -> Outcome {
    let outcome = compile_text(cluster_text(path));
    assert!(outcome.findings.is_empty(), "{}", outcome.text());
    outcome
}

/// The outcome with the findings of a manifest, and the checked manifests.
fn check(path: &str, text: &str) -> (Outcome, Manifests) {
    let mut outcome = cluster(path);
    let manifests = outcome.add_manifests(&[(path, text)]);
    (outcome, manifests)
}

/// The text with all fixes, and the number of fixed findings.
fn apply_fixes(path: &str, text: &str) -> (String, usize) {
    apply_fixes_up_to(Applicability::Unsafe, path, text)
}

fn apply_fixes_up_to(applicability: Applicability, path: &str, text: &str) -> (String, usize) {
    let outcome = cluster(path);
    let cluster = outcome.compilations[0].cluster.as_ref().unwrap();
    let files = [(path.to_owned(), text.to_owned(), true)];
    let fixed: FixedFiles =
        manifests::fix_files(cluster, &outcome.sources, &files, applicability, &|_| {});
    let after = fixed.files.get(path).cloned();
    (after.unwrap_or_else(|| text.to_owned()), fixed.fixed_count)
}

pub(crate) fn files(folder: &str) -> BTreeMap<String, String> {
    let files = files_below(&repository().join(FOLDER).join(folder));
    assert!(!files.is_empty());
    files
}

/// The expected findings of a text: `# expect CODE…` at the end of a line.
fn expected_findings(text: &str) -> BTreeSet<(usize, String)> {
    let lines = text.lines().enumerate();
    let marked =
        lines.filter_map(|(index, line)| Some((index + 1, line.split_once("# expect ")?.1)));
    let codes =
        marked.flat_map(|(line, codes)| codes.split(' ').map(move |code| (line, code.to_owned())));
    codes.collect()
}

fn actual_findings(outcome: &Outcome) -> BTreeSet<(usize, String)> {
    let place = |found: &Diagnostic| {
        let (_, position) = outcome.sources.locate(found.primary.span).unwrap();
        (position.line, found.code.id.to_owned())
    };
    outcome.findings.iter().map(place).collect()
}

/// Kubernetes creates claims for the resources of DeviceClasses since 1.36.
#[test]
fn resources_of_classes_need_a_recent_version() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  \
               tolerations: [{key: nvidia.com/gpu, operator: Exists}]\n  containers: [{name: a, image: \"a:1\", \
               resources: {limits: {deviceclass.resource.kubernetes.io/train.gpuc.dev: 1}}}]\n";
    let text = &clusters()["claims.yaml"];
    for (version, expected) in [("1.35", 1), ("1.36", 0)] {
        let mut outcome = compile_text(&text.replace("1.36", version));
        outcome.add_manifests(&[("pod.yaml", pod)]);
        let found = outcome.findings.iter();
        let found = found.filter(|it| it.code.id == "GPUC4001").count();
        assert_eq!(found, expected, "{version}: {}", outcome.text());
    }
}

#[test]
fn mistakes_are_found_at_their_lines_only() {
    let mut codes = BTreeSet::new();
    for (path, text) in files("mistakes") {
        let (outcome, _) = check(&path, &text);
        let expected = expected_findings(&text);
        assert_eq!(
            actual_findings(&outcome),
            expected,
            "{path}:\n{}",
            outcome.text()
        );
        codes.extend(expected.into_iter().map(|(_, code)| code));
    }
    for rule in manifests::RULES {
        assert!(
            codes.contains(rule.code.id),
            "{} has no expected finding",
            rule.code.id
        );
    }
}

#[test]
fn findings_refer_to_the_cluster_file() {
    let (outcome, _) = check("a.yaml", &files("mistakes")["places.yaml"]);
    for finding in &outcome.findings {
        let mut labels = finding.labels.iter();
        let in_cluster = labels.any(|label| {
            let place = outcome.sources.locate(label.span);
            place.is_some_and(|(path, _)| path == "gpu-cluster.yaml")
        });
        assert!(in_cluster, "{}", finding.message);
    }
}

/// Findings that appear only after others are fixed: a pod that requests a misspelled resource lacks a toleration only
/// after the name is corrected.
const FINDINGS_AFTER_FIXES: &[(&str, usize)] = &[("custom.yaml", 1), ("public.yaml", 1)];

/// The files in `fixed/` are diffs against the files in `mistakes/`. A file without fixes has no diff.
#[test]
fn fixes_match_golden_diffs() {
    let mut diffs = BTreeMap::new();
    for (path, text) in files("mistakes") {
        let (after, count) = apply_fixes(&path, &text);
        let before = check(&path, &text).0.findings.len();
        let left = check(&path, &after).0;
        assert_eq!(count > 0, after != text, "{path}");
        let later = FINDINGS_AFTER_FIXES.iter().find(|(file, _)| *file == path);
        assert_eq!(
            left.findings.len() + count,
            before + later.map_or(0, |(_, later)| *later),
            "{path}:\n{}",
            left.text()
        );
        let fixes = left.findings.iter().filter(|found| found.fix.is_some());
        assert_eq!(fixes.count(), 0, "{path}:\n{}", left.text());
        assert_eq!(
            apply_fixes(&path, &after),
            (after.clone(), 0),
            "{path} again"
        );
        assert_only_finding_lines_differ(&path, &text, &after);
        if after != text {
            diffs.insert(path.replace(".yaml", ".diff"), unified_diff(&text, &after));
        }
    }
    expect_files(&format!("{FOLDER}/fixed"), &diffs);
}

fn unified_diff(before: &str, after: &str) -> String {
    let diff = similar::TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(1).to_string()
}

/// Asserts that every line without a fix is kept, in the same order.
fn assert_only_finding_lines_differ(path: &str, text: &str, after: &str) {
    let mut may_differ = BTreeSet::new();
    let mut text_now = text.to_owned();
    // Fixes that become possible only after other fixes are on the same lines here.
    for _ in 0..2 {
        let (outcome, _) = check(path, &text_now);
        for finding in outcome.findings.iter().filter(|found| found.fix.is_some()) {
            let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
            for span in edits.map(|edit| edit.span).chain([finding.primary.span]) {
                let (_, position) = outcome.sources.locate(span).unwrap();
                // An edit may span several lines.
                let more = outcome.sources.text(span).matches('\n').count();
                let lines = text_now.lines().skip(position.line - 1).take(more + 1);
                may_differ.extend(lines.map(str::to_owned));
            }
        }
        after.clone_into(&mut text_now);
    }
    let mut rest = after.lines();
    for line in text.lines().filter(|line| !may_differ.contains(*line)) {
        assert!(rest.any(|other| other == line), "{path} lost: {line}");
    }
}

#[test]
fn good_manifests_have_no_findings() {
    for (path, text) in files("good") {
        let (outcome, manifests) = check(&path, &text);
        assert!(outcome.findings.is_empty(), "{path}:\n{}", outcome.text());
        assert_eq!(manifests.skipped, [], "{path}");
        assert_eq!(apply_fixes(&path, &text).0, text);
    }
}

#[test]
fn generated_manifests_have_no_findings() {
    let mut looked_at = 0;
    for case in cases() {
        let cluster = case.cluster();
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let mut manifests = Manifests::default();
        let files = case.tree().files();
        let yaml = files.filter(|(path, _)| {
            path.rsplit('.').next() == Some("yaml") && !path.starts_with("helm/")
        });
        for (path, file) in yaml {
            manifests.read(path, &file.contents, &mut sources, &mut report);
        }
        manifests::check(cluster, &manifests, &sources, &mut report);
        looked_at += manifests.objects.len();
        let found: Vec<_> = report
            .diagnostics()
            .iter()
            .map(|it| (it.code.id, &it.message))
            .collect();
        assert!(found.is_empty(), "{}: {found:#?}", case.name);
    }
    assert!(looked_at > 1000);
}
