//! Any file content is read or reported, in bounded time.

use std::fmt::Write;

use gpuc_manifests::SkipReason;
use proptest::prelude::*;

use super::{apply_fixes, check};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  tolerations: [{operator: Exists}]\n  \
                   containers:\n  - name: a\n    image: r.example.com/a:1\n    resources:\n      requests: \
                   {nvidia.com/gpu: 1}\n";

#[test]
fn line_endings_and_byte_order_marks_stay() {
    let crlf = format!("\u{feff}{}", POD.replace('\n', "\r\n"));
    let (after, count) = apply_fixes("a.yaml", &crlf);
    assert_eq!(count, 1);
    assert!(
        after.starts_with('\u{feff}') && !after.replace("\r\n", "").contains('\n'),
        "{after:?}"
    );
    assert_eq!(
        after.replace("\r\n", "\n").trim_start_matches('\u{feff}'),
        apply_fixes("a.yaml", POD).0
    );
}

#[test]
fn many_documents_are_all_checked() {
    let pods = (0..10_000).map(|index| {
        let pod = POD.replacen("name: a", &format!("name: a{index}"), 1);
        format!("{pod}---\n")
    });
    let many: String = pods.collect();
    let (outcome, manifests) = check("a.yaml", &many);
    assert_eq!(
        (manifests.objects.len(), outcome.findings.len()),
        (10_000, 10_000)
    );
}

#[test]
fn aliases_are_checked_and_not_fixed() {
    let text = "x: &r {requests: {nvidia.com/gpu: 1}}\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  \
                tolerations: [{operator: Exists}]\n  containers:\n  - {name: a, image: 'r.example.com/a:1', resources: \
                *r}\n";
    let (outcome, _) = check("a.yaml", text);
    // A Pod has no field `x`.
    assert_eq!(outcome.codes(), ["GPUC4002", "GPUC4035"]);
    assert_eq!(apply_fixes("a.yaml", text).0, text);
    let (outcome, _) = check(
        "a.yaml",
        "apiVersion: v1\nkind: Pod\nspec: &a {containers: [*a]}\n",
    );
    assert_eq!(outcome.codes(), ["GPUC0006"]);
}

#[test]
fn files_without_manifests_are_reported() {
    let why = |text: &str| check("a.yaml", text).1.skipped.pop().map(|it| it.reason);
    assert_eq!(
        why("spec:\n  {{- toYaml .Values.spec | nindent 2 }}\n"),
        Some(SkipReason::Template)
    );
    assert_eq!(why("replicaCount: 1\n"), Some(SkipReason::NoObjects));
    assert_eq!(why(""), Some(SkipReason::NoObjects));
    assert_eq!(why("a:\n\tb: 1\n"), Some(SkipReason::NoObjects));
    let broken = "apiVersion: v1\nkind: Pod\na:\n\tb: 1\n";
    assert_eq!(check("a.yaml", broken).0.codes(), ["GPUC0001"]);
    let mut deep = String::from("apiVersion: v1\nkind: Pod\nspec: ");
    write!(deep, "{}1{}", "[".repeat(500), "]".repeat(500)).unwrap();
    assert_eq!(check("a.yaml", &deep).0.codes(), ["GPUC0003"]);
}

#[test]
fn wrong_shapes_do_not_panic() {
    for shape in [
        "1",
        "[]",
        "{}",
        "~",
        "text",
        "[{}]",
        "[[1]]",
        "{a: {b: [c]}}",
    ] {
        for part in ["spec", "metadata", "items", "kind"] {
            let text = format!("apiVersion: v1\n{part}: {shape}\n");
            check("a.yaml", &text);
            apply_fixes("a.yaml", &text);
        }
        for part in [
            "tolerations",
            "volumes",
            "nodeSelector",
            "affinity",
            "resources",
            "env",
            "image",
        ] {
            let text = POD.replace("    image: ", &format!("    {part}: {shape}\n    image: "));
            let text = text.replace(
                "  tolerations",
                &format!("  {part}: {shape}\n  tolerations"),
            );
            check("a.yaml", &text);
            apply_fixes("a.yaml", &text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_mutation_is_read_or_reported(at in 0..POD.len(), put in "[-a-c0-9:{}\\[\\],&*!|>'\"#% \t\n\r~]{0,6}") {
        let mut text = POD.to_owned();
        text.insert_str(at, &put);
        let (after, _) = apply_fixes("a.yaml", &text);
        prop_assert_eq!(apply_fixes("a.yaml", &after).0, after);
    }
}
