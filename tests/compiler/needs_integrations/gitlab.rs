//! The GitLab jobs.

use serde_json::{Value, json};

use super::{TestRepository, add_gpus, make_tree_stale, use_unknown_gpu, yaml};

struct JobResult {
    code: i32,
    log: String,
}

/// Runs a job as GitLab does: its lines are one script, which the image's shell runs in the checkout.
fn run_job(
    work: &TestRepository,
    job: &str,
    shell: &[&str],
    variables: &[(&str, &str)],
) -> JobResult {
    let file = yaml("integrations/gitlab/gpuc.gitlab-ci.yml");
    let lines = file[job]["script"].as_array().unwrap().iter();
    let lines: Vec<_> = lines.map(|line| line.as_str().unwrap()).collect();
    work.write("temp/job.sh", &lines.join("\n"));
    let mut command = work.command(shell[0]);
    command
        .args(&shell[1..])
        .arg(work.path("temp/job.sh"))
        .current_dir(work.checkout())
        .env("CI_PROJECT_DIR", work.checkout())
        .env("CI_API_V4_URL", "https://gitlab.example.com/api/v4")
        .env("CI_PROJECT_ID", "7")
        .env("CI_MERGE_REQUEST_IID", "3")
        .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &work.base)
        .env("CI_JOB_NAME", job)
        .env("CI_JOB_TOKEN", "of the job");
    for (name, variable) in file["variables"].as_object().unwrap() {
        command.env(name, variable["value"].as_str().unwrap());
    }
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let log =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    JobResult {
        code: output.status.code().unwrap(),
        log: log.concat(),
    }
}

const BASH: &[&str] = &["bash", "-eo", "pipefail"];

/// The shell of images without Bash.
const SH: &[&str] = &["sh", "-e"];

const TOKEN: (&str, &str) = ("GPUC_GITLAB_TOKEN", "secret");

fn note_bodies(work: &TestRepository) -> Vec<String> {
    let state = work.state("GITLAB");
    let notes = state["notes"].as_array().unwrap().iter();
    notes
        .map(|note| note["body"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn check_writes_a_code_quality_report() {
    for shell in [BASH, SH] {
        let work = TestRepository::with_commit(add_gpus);
        let result = run_job(&work, "gpuc-check", shell, &[]);
        assert_eq!(result.code, 0, "{}", result.log);
        assert_eq!(work.read("checkout/gpuc-code-quality.json"), "[]\n");
        let work = TestRepository::with_commit(use_unknown_gpu);
        let result = run_job(
            &work,
            "gpuc-check",
            shell,
            &[
                ("GPUC_PATHS", "gpu-cluster.yaml"),
                ("GPUC_DENY", "warnings"),
            ],
        );
        assert_eq!(result.code, 2, "{}", result.log);
        assert!(
            result.log.contains("--> gpu-cluster.yaml:9:"),
            "{}",
            result.log
        );
        let report: Value =
            serde_json::from_str(&work.read("checkout/gpuc-code-quality.json")).unwrap();
        assert_eq!(
            report[0]["location"],
            json!({"path": "gpu-cluster.yaml", "lines": {"begin": 9, "end": 9}})
        );
    }
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn build_compares_with_the_committed_tree() {
    let work = TestRepository::with_commit(add_gpus);
    assert_eq!(run_job(&work, "gpuc-build", BASH, &[]).code, 0);
    let work = TestRepository::with_commit(make_tree_stale);
    let result = run_job(&work, "gpuc-build", SH, &[]);
    assert_eq!(result.code, 1, "{}", result.log);
    assert!(
        result.log.contains("stale: clusters/demo/") && result.log.contains("run 'gpuc build'"),
        "{}",
        result.log
    );
    // Paths are not expanded as patterns.
    let result = run_job(&work, "gpuc-build", BASH, &[("GPUC_PATHS", "*.yaml")]);
    assert!(
        result.code > 1 && result.log.contains("*.yaml"),
        "{}",
        result.log
    );
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn merge_request_note_is_updated() {
    let work = TestRepository::with_commit(add_gpus);
    // More than one page of other users' notes, one of them with the marker.
    let mut notes: Vec<_> = (0..150)
        .map(|id| json!({"id": id, "author": {"id": 1}, "body": "hello"}))
        .collect();
    notes[3]["body"] = json!("<!-- gpuc:gpuc-diff -->\n\nfake");
    work.set("GITLAB", "notes", json!(notes));
    let result = run_job(&work, "gpuc-diff", BASH, &[TOKEN]);
    assert_eq!(result.code, 0, "{}", result.log);
    let first = note_bodies(&work);
    assert_eq!(first.len(), 151);
    assert_eq!(
        first[150],
        "<!-- gpuc:gpuc-diff -->\n\n### What changes\n\nNothing that runs.\n"
    );
    assert!(
        work.read("diff/calls")
            .contains(&format!("--base={}", work.base))
    );
    work.set_diff_result("### What changes\n\n\"quoted\", ü and \\n\n", 0);
    let result = run_job(&work, "gpuc-diff", SH, &[TOKEN]);
    assert_eq!(result.code, 0, "{}", result.log);
    let second = note_bodies(&work);
    assert!(
        second.len() == 151 && second[150].ends_with("\"quoted\", ü and \\n\n"),
        "{second:?}"
    );
    assert_eq!(second[..150], first[..150]);
    // The token is not in the arguments of any process.
    assert!(!work.state("GITLAB")["calls"].to_string().contains("secret"));
    // A report above the limit is truncated.
    work.set_diff_result(&"0123456789\n".repeat(200_000), 0);
    assert_eq!(run_job(&work, "gpuc-diff", BASH, &[TOKEN]).code, 0);
    assert!(note_bodies(&work)[150].len() < 1_000_000);
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn read_only_token_does_not_fail() {
    let message = "no comment was written: ";
    for shell in [BASH, SH] {
        let work = TestRepository::with_commit(add_gpus);
        let result = run_job(&work, "gpuc-diff", shell, &[]);
        assert_eq!(result.code, 0, "{}", result.log);
        assert!(
            result.log.contains("Nothing that runs.") && result.log.contains(message),
            "{}",
            result.log
        );
        for refused in ["all", "GET", "POST"] {
            work.set("GITLAB", "refuses", json!(refused));
            let result = run_job(&work, "gpuc-diff", shell, &[TOKEN]);
            assert_eq!(result.code, 0, "{refused}: {}", result.log);
            assert!(result.log.contains(message), "{refused}: {}", result.log);
        }
        assert!(note_bodies(&work).is_empty());
    }
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn impact_gate_fails() {
    let work = TestRepository::with_commit(add_gpus);
    work.set_diff_result("### Pool `gpu` is replaced\n", 1);
    assert_eq!(run_job(&work, "gpuc-diff", BASH, &[TOKEN]).code, 0);
    for token in [TOKEN, ("OTHER", "")] {
        let result = run_job(
            &work,
            "gpuc-diff",
            BASH,
            &[token, ("GPUC_FAIL_ON", "replaced")],
        );
        assert_eq!(result.code, 1, "{}", result.log);
    }
    assert_eq!(note_bodies(&work).len(), 1);
    // A failed comparison fails the job only if `GPUC_FAIL_ON` is set.
    work.set_diff_result("", 3);
    for (fail_on, code) in [("", 0), ("replaced", 3)] {
        let result = run_job(
            &work,
            "gpuc-diff",
            BASH,
            &[TOKEN, ("GPUC_FAIL_ON", fail_on)],
        );
        assert_eq!(result.code, code, "{}", result.log);
        assert!(
            result.log.contains("could not be compared"),
            "{}",
            result.log
        );
    }
    let unknown_base = "0".repeat(40);
    let base = ("CI_MERGE_REQUEST_DIFF_BASE_SHA", unknown_base.as_str());
    for (fail_on, code) in [("", 0), ("replaced", 2)] {
        let result = run_job(&work, "gpuc-diff", BASH, &[base, ("GPUC_FAIL_ON", fail_on)]);
        assert_eq!(result.code, code, "{}", result.log);
        assert!(result.log.contains("set GIT_DEPTH to 0"), "{}", result.log);
    }
}

#[test]
#[ignore = "needs bash, git, jq and python3"]
fn missing_image_names_the_variable() {
    let work = TestRepository::with_commit(add_gpus);
    for job in ["gpuc-check", "gpuc-build", "gpuc-diff"] {
        let result = run_job(&work, job, &["/bin/sh", "-e"], &[("PATH", "/nowhere")]);
        assert!(
            result.code == 1 && result.log.contains("set the variable GPUC_IMAGE"),
            "{}",
            result.log
        );
    }
}

/// GitLab compares the report of a merge request with that of its target branch, and a merge request has one pipeline.
/// Jobs without rules would run in a separate pipeline.
#[test]
fn jobs_run_in_one_merge_request_pipeline() {
    let file = yaml("integrations/gitlab/gpuc.gitlab-ci.yml");
    let common = &file[".gpuc"]["rules"];
    let merge_request = json!({"if": "$CI_PIPELINE_SOURCE == \"merge_request_event\""});
    assert_eq!(common[0], merge_request);
    assert_eq!(
        common[1],
        json!({"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"})
    );
    let jobs = file.as_object().unwrap().iter();
    let jobs: Vec<_> = jobs.filter(|(name, _)| name.starts_with("gpuc-")).collect();
    assert_eq!(jobs.len(), 3);
    for (name, job) in jobs {
        assert_eq!(job["extends"], ".gpuc", "{name}");
        let Some(rules) = job.get("rules") else {
            continue;
        };
        // The job's own rules: the common rules, unless trees are not committed, or merge requests only.
        let own = if name == "gpuc-build" {
            let never = json!({"if": "$GPUC_TREE != \"true\"", "when": "never"});
            json!([never, common[0], common[1]])
        } else {
            json!([merge_request])
        };
        assert_eq!(rules, &own, "{name}");
    }
}
