//! The steps of the GitHub Action.

use std::fs;

use serde_json::{Value, json};

use super::runner::{ActionResult, run_action};
use super::{TestRepository, add_gpus, make_tree_stale, use_unknown_gpu};

/// The gpuc under test replaces the downloaded binary.
const HAS_GPUC: (&str, &str) = ("gpuc", "gpuc");

const MARKER: &str = "<!-- gpuc:default -->\n";

fn run_in_pull_request(work: &TestRepository, inputs: &[(&str, &str)]) -> ActionResult {
    run_action(work, &[&[HAS_GPUC], inputs].concat(), true)
}

fn comment_bodies(work: &TestRepository) -> Vec<String> {
    let state = work.state("GH");
    let comments = state["comments"].as_array().unwrap().iter();
    comments
        .map(|comment| comment["body"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn pull_request_comment_is_updated() {
    let work = TestRepository::with_commit(add_gpus);
    // Comments of other users and of other actions, one of them with the marker.
    let other_comments = json!([
        {"id": 1, "user": {"login": "mallory"}, "body": MARKER},
        {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "of another action"},
        {"id": 3, "user": {"login": "github-actions[bot]"}, "body": "<!-- gpuc:other -->"},
    ]);
    work.set("GH", "comments", other_comments.clone());
    let result = run_in_pull_request(&work, &[]);
    assert_eq!(result.failed, None, "{}", result.log);
    assert_eq!(result.outputs["result"], "0");
    let first = comment_bodies(&work);
    assert_eq!(first.len(), 4, "{first:#?}");
    assert_eq!(
        first[3],
        format!("{MARKER}### What changes\n\nNothing that runs.\n")
    );
    assert!(
        result.summary.contains("Nothing that runs."),
        "{}",
        result.summary
    );
    assert!(
        !result.steps.contains(&"Build gpuc".to_owned()),
        "{:?}",
        result.steps
    );
    // The base is missing from the shallow checkout, so that the action fetches it.
    let calls = work.read("diff/calls");
    assert!(calls.contains(&format!("--base={}", work.base)), "{calls}");
    assert!(calls.contains("--out=clusters\n"), "{calls}");
    assert!(
        result
            .log
            .contains("::notice file=gpu-cluster.yaml,line=8::"),
        "{}",
        result.log
    );

    work.set_diff_result("### What changes\n\nThe driver restarts on 1 node.\n", 0);
    let result = run_in_pull_request(&work, &[]);
    assert_eq!(result.failed, None, "{}", result.log);
    let second = comment_bodies(&work);
    assert_eq!(
        second[3],
        format!("{MARKER}### What changes\n\nThe driver restarts on 1 node.\n")
    );
    assert_eq!((second.len(), &second[..3]), (4, &first[..3]));

    // Two uses of the action in one pull request have separate comments.
    run_in_pull_request(&work, &[("comment-key", "prod")]);
    assert_eq!(comment_bodies(&work).len(), 5);
    run_in_pull_request(&work, &[("comment", "false"), ("comment-key", "third")]);
    assert_eq!(comment_bodies(&work).len(), 5);
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn findings_are_annotations_and_sarif() {
    let work = TestRepository::with_commit(use_unknown_gpu);
    let result = run_in_pull_request(&work, &[]);
    assert_eq!(result.failed.as_deref(), Some("Decide"), "{}", result.log);
    assert_eq!(result.outputs["result"], "2");
    assert!(
        result.log.contains("::error file=gpu-cluster.yaml,line=9,"),
        "{}",
        result.log
    );
    let upload = &result.step_inputs["Upload findings to code scanning"];
    let sarif = fs::read_to_string(&upload["sarif_file"]).unwrap();
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "gpu-cluster.yaml");
    assert!(
        !result.steps.contains(&"Compare".to_owned()),
        "the action compares although there is no base"
    );
    let bodies = comment_bodies(&work);
    assert!(
        bodies[0].starts_with(&format!("{MARKER}### Findings\n\n**1 error**")),
        "{bodies:?}"
    );
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn stale_tree_fails_after_the_report() {
    let work = TestRepository::with_commit(make_tree_stale);
    let result = run_in_pull_request(&work, &[]);
    assert_eq!(result.failed.as_deref(), Some("Decide"), "{}", result.log);
    assert_eq!(result.outputs["result"], "1");
    assert!(
        result.log.contains("title=GPUC0301 tree-stale::"),
        "{}",
        result.log
    );
    let body = &comment_bodies(&work)[0];
    assert!(body.contains("\n    stale: clusters/demo/"), "{body}");
    assert!(body.contains("### What changes"), "{body}");
    let result = run_in_pull_request(&work, &[("tree", "false")]);
    assert_eq!(result.failed, None, "{}", result.log);
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn warning_next_to_stale_tree_is_shown_once() {
    let warns = gpuc::codes()
        .into_iter()
        .find(|code| code.name == "floating-tags");
    let work = TestRepository::with_commit(|folder| {
        fs::write(folder.join("gpu-cluster.yaml"), warns.unwrap().bad).unwrap();
    });
    let result = run_in_pull_request(&work, &[]);
    assert_eq!(result.outputs["result"], "1", "{}", result.log);
    assert_eq!(
        result.log.matches("::warning file=").count(),
        1,
        "{}",
        result.log
    );
    let result = run_in_pull_request(&work, &[("deny", "\n floating-tags\n")]);
    assert_eq!(result.outputs["result"], "2", "{}", result.log);
    assert!(!result.log.contains("::warning file="), "{}", result.log);
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn manifest_paths_and_warnings_are_passed_on() {
    let work = TestRepository::with_commit(|folder| {
        add_gpus(folder);
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec:\n  containers:\n  - name: c\n    \
                   image: d:1\n    resources: {limits: {nvidia.com/gpu: 99}}\n";
        fs::create_dir(folder.join("apps")).unwrap();
        fs::write(folder.join("apps/pod of a.yaml"), pod).unwrap();
    });
    assert_eq!(run_in_pull_request(&work, &[]).failed, None);
    let result = run_in_pull_request(
        &work,
        &[
            ("manifests", "\n  apps/pod of a.yaml  \n"),
            ("cluster", "demo"),
        ],
    );
    assert_eq!(result.outputs["result"], "2", "{}", result.log);
    assert!(
        result
            .log
            .contains("::error file=apps/pod of a.yaml,line=8,"),
        "{}",
        result.log
    );
    let result = run_in_pull_request(&work, &[("paths", "none/a.yaml")]);
    assert_eq!(
        (result.outputs["result"].as_str(), result.failed.as_deref()),
        ("3", Some("Decide"))
    );
    assert!(
        result.outputs["sarif"].is_empty(),
        "{}",
        result.outputs["sarif"]
    );
    let denied = run_in_pull_request(&work, &[("deny", "warnings\n floating-tags\n")]);
    assert_eq!(denied.failed, None, "{}", denied.log);
    let unknown = run_in_pull_request(&work, &[("deny", "no-such-thing")]);
    assert_ne!(unknown.outputs["result"], "0", "{}", unknown.log);
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn long_comments_are_truncated_safely() {
    let work = TestRepository::with_commit(add_gpus);
    let table = "| pool `ü` | drained |\n".repeat(60);
    let long = format!(
        "| what | impact |\n|---|---|\n{table}\n<details>\n{}</details>\n",
        "ü\n".repeat(60_000)
    );
    work.set_diff_result(&long, 0);
    let result = run_in_pull_request(&work, &[]);
    assert_eq!(result.failed, None, "{}", result.log);
    let body = &comment_bodies(&work)[0];
    assert!(
        body.contains(&table) && !body.contains("<details"),
        "{body}"
    );
    assert!(body.ends_with(
        "[the summary of the run](https://github.com/acme/gitops/actions/runs/99) contains the rest.\n"
    ));
    assert!(result.summary.contains("</details>"));
    // A `<details>` element or a diagram is never truncated: the comment contains all of it or none of it.
    let folded = |text: &str| format!("<details><summary>a</summary>\n\n{text}\n</details>\n");
    let diagram = |text: &str| format!("```mermaid\n{text}\n```\n");
    let long = "a --> b\n".repeat(60_000);
    for whole in [folded("a"), diagram("a --> b")] {
        for truncated in [folded(&long), diagram(&long)] {
            work.set_diff_result(&format!("{whole}{truncated}"), 0);
            run_in_pull_request(&work, &[]);
            let body = &comment_bodies(&work)[0];
            let rest = body.strip_prefix(&format!("{MARKER}{whole}\n"));
            assert!(
                rest.is_some_and(|rest| rest.starts_with("This comment is shortened")),
                "{body}"
            );
        }
    }
    // The limit counts characters, not bytes, so that a comment within the limit of gpuc is complete.
    work.set_diff_result(&"ü".repeat(65_500), 0);
    run_in_pull_request(&work, &[]);
    assert_eq!(comment_bodies(&work)[0].matches('ü').count(), 65_500);
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn read_only_token_does_not_fail() {
    for refused in ["all", "GET", "POST"] {
        let work = TestRepository::with_commit(add_gpus);
        work.set("GH", "refuses", json!(refused));
        let result = run_in_pull_request(&work, &[]);
        assert_eq!(result.failed, None, "{refused}: {}", result.log);
        assert!(
            result.log.contains("the job's summary contains its text"),
            "{}",
            result.log
        );
        assert!(
            result.summary.contains("Nothing that runs."),
            "{}",
            result.summary
        );
        assert!(comment_bodies(&work).is_empty());
    }
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn push_has_a_summary_and_no_comment() {
    let work = TestRepository::with_commit(add_gpus);
    let result = run_action(&work, &[HAS_GPUC], false);
    assert_eq!(result.failed, None, "{}", result.log);
    assert_eq!(result.summary, "gpuc found no problems.\n\n");
    assert!(!result.log.contains("::notice"), "{}", result.log);
    assert_eq!(work.state("GH")["calls"], json!([]));
    assert!(work.read("diff/calls").is_empty());
    // A base can be a branch, which the action fetches.
    let result = run_action(&work, &[HAS_GPUC, ("base", "main")], false);
    assert!(
        result.summary.contains("Nothing that runs."),
        "{}",
        result.log
    );
    assert!(work.read("diff/calls").contains(&work.base));
    // A base that the server does not have is reported, and does not fail the action.
    let result = run_action(&work, &[HAS_GPUC, ("base", &"0".repeat(40))], false);
    assert_eq!(result.failed, None, "{}", result.log);
    assert!(
        result
            .log
            .contains("use actions/checkout with fetch-depth 0"),
        "{}",
        result.log
    );
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn impact_gate_fails() {
    let work = TestRepository::with_commit(add_gpus);
    work.set_diff_result("### Pool `gpu` is replaced\n", 1);
    assert_eq!(run_in_pull_request(&work, &[]).failed, None);
    let result = run_in_pull_request(&work, &[("fail-on", "replaced")]);
    assert_eq!(result.failed.as_deref(), Some("Decide"), "{}", result.log);
    assert!(work.read("diff/calls").contains("--fail-on=replaced"));
    assert!(comment_bodies(&work)[0].contains("is replaced"));
    // A failed comparison is reported. It fails the action only if `fail-on` is set.
    work.set_diff_result("half an ans", 3);
    work.write(
        "diff/stderr",
        "error: no commit\n::set-output name=code::0\n##[set-output name=code]0\n",
    );
    for (fail_on, failed) in [("", None), ("replaced", Some("Decide"))] {
        let result = run_in_pull_request(&work, &[("fail-on", fail_on)]);
        assert_eq!(result.failed.as_deref(), failed, "{}", result.log);
        assert!(result.log.contains("error: no commit"), "{}", result.log);
        assert!(!comment_bodies(&work)[0].contains("half an ans"));
    }
    let unknown_base = ("base", "0000000000000000000000000000000000000000");
    for (fail_on, failed) in [("", None), ("replaced", Some("Decide"))] {
        let result = run_in_pull_request(&work, &[("fail-on", fail_on), unknown_base]);
        assert_eq!(result.failed.as_deref(), failed, "{}", result.log);
        assert!(
            result.log.contains("use actions/checkout"),
            "{}",
            result.log
        );
    }
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn untrusted_text_is_not_executed() {
    let hostile = "a b; touch pwned; $(touch pwned) `touch pwned` ::set-output name=code::0 ##[set-output name=code]0";
    let work = TestRepository::with_commit(|folder| {
        let text = crate::cli::GOOD.replace(
            "name: demo",
            "name: \"demo\\n::set-output name=code::0\\n##[set-output name=code]0\"",
        );
        let folder = folder.join(hostile);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("gpu-cluster.yaml"), text).unwrap();
        fs::write(
            folder.join("::stop-commands::x.gpu-cluster.yaml"),
            "kind: [",
        )
        .unwrap();
    });
    for input in [
        "paths",
        "out",
        "manifests",
        "cluster",
        "deny",
        "base",
        "fail-on",
        "comment-key",
        "comment-author",
    ] {
        let result = run_in_pull_request(&work, &[(input, hostile)]);
        assert!(
            !result.log.contains("unbound variable"),
            "{input}: {}",
            result.log
        );
        for folder in [work.checkout(), work.path("temp"), work.path("")] {
            assert!(!folder.join("pwned").exists(), "{input} was run");
        }
        if input == "paths" {
            assert_eq!(result.failed.as_deref(), Some("Decide"), "{}", result.log);
            let found = result
                .log
                .lines()
                .filter(|line| line.starts_with("::error file="));
            assert!(found.count() >= 2, "{}", result.log);
        }
    }
    // A base or a path that begins with `-` is not treated as an option.
    let result = run_in_pull_request(&work, &[("base", "--upload-pack=touch pwned;")]);
    assert!(!work.checkout().join("pwned").exists(), "{}", result.log);
    let result = run_in_pull_request(&work, &[("paths", "--help")]);
    assert_eq!(result.outputs["result"], "3", "{}", result.log);
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn missing_binary_is_built_from_source() {
    let work = TestRepository::with_commit(add_gpus);
    let result = run_action(&work, &[], true);
    assert_eq!(result.failed, None, "{}", result.log);
    let calls = work.read("calls");
    let version = env!("CARGO_PKG_RUST_VERSION");
    assert!(
        calls.contains(&format!("rustup toolchain install {version} ")),
        "{calls}"
    );
    assert!(
        calls.contains(&format!(
            "cargo +{version} install --locked --path compiler --root "
        )),
        "{calls}"
    );
    let cache = &result.step_inputs["Restore gpuc from the cache"];
    let (key, sum) = cache["key"].rsplit_once('-').unwrap();
    assert_eq!(key, "gpuc-Linux-X64-self-hosted");
    assert!(
        sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{sum}"
    );
    assert!(
        std::path::Path::new(&cache["path"])
            .join("bin/gpuc")
            .is_file()
    );
}
