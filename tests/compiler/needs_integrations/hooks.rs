//! The pre-commit hooks.

use std::fs;
use std::os::unix::fs::symlink;

use crate::external_data;
use crate::support::repository;

use super::{TestRepository, make_tree_stale, use_unknown_gpu};

#[test]
#[ignore = "needs pre-commit: see tests/README.md"]
fn invalid_commit_is_rejected() {
    let work = TestRepository::with_commit(|_| ());
    let hooks = work.path("hooks");
    fs::create_dir(&hooks).unwrap();
    let manifest = ".pre-commit-hooks.yaml";
    fs::copy(repository().join(manifest), hooks.join(manifest)).unwrap();
    work.git(&hooks, &["init", "-q"]);
    work.git(&hooks, &["add", "-A"]);
    work.git(&hooks, &["commit", "-qm", "hooks"]);
    let revision = work.git(&hooks, &["rev-parse", "HEAD"]);
    let checkout = work.checkout();
    let config = format!(
        "repos:\n- repo: {}\n  rev: {revision}\n  hooks: [{{id: gpuc-check}}, {{id: gpuc-build}}, \
         {{id: gpuc-manifests, args: [apps]}}]\n",
        hooks.display()
    );
    fs::write(checkout.join(".pre-commit-config.yaml"), config).unwrap();
    let pod = checkout.join("apps/pod.yaml");
    let asking = |resource: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n  - name: a\n    \
             image: registry.example.com/a:1\n    resources: {{limits: {{{resource}: 1}}}}\n"
        )
    };
    fs::create_dir(checkout.join("apps")).unwrap();
    fs::write(&pod, asking("nvidia.com/gpu")).unwrap();
    // The hooks run the gpuc on the path.
    fs::create_dir(work.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_gpuc"), work.path("bin/gpuc")).unwrap();
    let python = external_data::path(external_data::PYTHON);
    let run = |words: &[&str]| {
        work.git(&checkout, &["add", "-A"]);
        let mut command = work.command(python.to_str().unwrap());
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", work.path("bin").display());
        command
            .args(["-m", "pre_commit"])
            .args(words)
            .env("PATH", path);
        let output = command.current_dir(&checkout).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (
            output.status.success(),
            text + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (passed, output) = run(&["validate-manifest", hooks.join(manifest).to_str().unwrap()]);
    assert!(passed, "{output}");
    let (passed, output) = run(&["run"]);
    assert!(passed && output.matches("Passed").count() == 3, "{output}");
    fs::write(&pod, asking("nvidia.com/gpus")).unwrap();
    let (passed, output) = run(&["run"]);
    assert!(
        !passed && output.contains("--> apps/pod.yaml:8:"),
        "{output}"
    );
    fs::write(&pod, asking("nvidia.com/gpu")).unwrap();
    use_unknown_gpu(&checkout);
    let (passed, output) = run(&["run"]);
    assert!(
        !passed && output.contains("--> gpu-cluster.yaml:9:"),
        "{output}"
    );
    make_tree_stale(&checkout);
    let (passed, output) = run(&["run"]);
    assert!(
        !passed && output.contains("stale: clusters/demo/"),
        "{output}"
    );
    // A commit that only deletes a generated file.
    work.git(
        &checkout,
        &["checkout", "-q", "HEAD", "--", "gpu-cluster.yaml"],
    );
    work.git(&checkout, &["add", "-A"]);
    work.git(&checkout, &["commit", "-qm", "hooks"]);
    fs::remove_file(checkout.join("clusters/demo/README.md")).unwrap();
    let (passed, output) = run(&["run"]);
    assert!(
        !passed && output.contains("missing: clusters/demo/README.md"),
        "{output}"
    );
}
