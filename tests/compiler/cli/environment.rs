//! The output does not depend on the environment of gpuc.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use super::{GOOD, Workspace, clean_build, gpuc};

#[test]
fn directory_locale_and_clock_have_no_effect() {
    let expected = clean_build(GOOD);
    let workspace = Workspace::with(GOOD);
    let input = workspace.path("gpu-cluster.yaml");
    let elsewhere = Workspace::empty();
    let environments: [&[(&str, &str)]; 4] = [
        &[
            ("LC_ALL", "tr_TR.UTF-8"),
            ("LANG", "tr_TR.UTF-8"),
            ("TZ", "Asia/Kathmandu"),
        ],
        &[
            ("LC_ALL", "C"),
            ("TZ", "America/St_Johns"),
            ("COLUMNS", "20"),
            ("TERM", "dumb"),
        ],
        &[
            ("HOME", "/nonexistent"),
            ("USER", "somebody"),
            ("RAYON_NUM_THREADS", "1"),
        ],
        &[
            ("RAYON_NUM_THREADS", "8"),
            ("CLICOLOR_FORCE", "1"),
            ("CI", "true"),
        ],
    ];
    for (number, environment) in environments.iter().enumerate() {
        // The lock contains the path from the tree to the input, but no absolute path.
        let out = workspace.path(&format!("out-{number}"));
        let (input, out) = (input.to_str().unwrap(), out.to_str().unwrap());
        let args = ["build", input, "-q", "-o", out];
        let mut command = elsewhere.command(&args);
        let output = command.envs(environment.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            workspace.files(&format!("out-{number}")),
            expected,
            "{environment:?}"
        );
    }
}

#[test]
fn date_changes_findings_and_not_the_output() {
    let code = gpuc::codes()
        .into_iter()
        .find(|code| code.name == "kubernetes-support-ending");
    let bad = code.unwrap().bad;
    let build = |seconds: &str| {
        let workspace = Workspace::with(bad);
        let mut command = workspace.command(&["build"]);
        let output = command.env("SOURCE_DATE_EPOCH", seconds).output().unwrap();
        let text =
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text, workspace.files("clusters"))
    };
    // 2026-01-01 and 2026-11-23. An empty variable is not set.
    let (early, late, unset) = (build("1767225600"), build("1795392000"), build(""));
    let is_reported = |text: &str| text.contains("GPUC2217");
    assert!(!is_reported(&early.1), "{}", early.1);
    assert!(is_reported(&late.1), "{}", late.1);
    assert!(is_reported(&unset.1), "{}", unset.1);
    assert_eq!(early.0, Some(0));
    assert_eq!(early.2, late.2);
    for invalid in [
        "today",
        "1.5",
        " ",
        "-99999999999999",
        "99999999999999999999",
    ] {
        let (status, text, files) = build(invalid);
        assert_eq!(status, Some(3), "{text}");
        assert!(text.contains("invalid SOURCE_DATE_EPOCH"), "{text}");
        assert_eq!(files.len(), 0);
    }
}

#[test]
fn paths_can_have_spaces_and_unicode() {
    let workspace = Workspace::empty();
    workspace.write("my clusters/größe 东京/gpu-cluster.yaml", GOOD);
    workspace
        .run(&["build", "my clusters", "-q", "-o", "aus gabe/ü"])
        .expect_silent_success();
    let without_lock = |mut files: BTreeMap<String, String>| {
        let lock = files.remove("demo/gpuc.lock.json").unwrap();
        assert!(
            !lock.contains("größe"),
            "the lock has a path although the output folder is outside: {lock}"
        );
        files
    };
    let built = without_lock(workspace.files("aus gabe/ü"));
    assert_eq!(built, without_lock(clean_build(GOOD)));
    workspace
        .run(&[
            "build",
            "./my clusters/größe 东京/gpu-cluster.yaml",
            "-q",
            "-o",
            "-x",
        ])
        .expect_code(2);
    workspace.write(
        "my clusters/größe 东京/gpu-cluster.yaml",
        &GOOD.replace("A30", "A31"),
    );
    let result = workspace.run(&["check", "my clusters"]).expect_code(2);
    assert!(
        result
            .stdout
            .contains("--> my clusters/größe 东京/gpu-cluster.yaml:9:"),
        "{}",
        result.stdout
    );
}

#[cfg(unix)]
#[test]
fn strict_umask_has_no_effect_on_files() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::with(GOOD);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "umask 077; exec \"$0\" build -q"])
        .arg(env!("CARGO_BIN_EXE_gpuc"));
    assert!(
        shell
            .current_dir(workspace.path(""))
            .status()
            .unwrap()
            .success()
    );
    let lock =
        gpuc_compile::lock::Lock::parse(&workspace.read("clusters/demo/gpuc.lock.json")).unwrap();
    assert!(!lock.executable.is_empty());
    for path in workspace.files("clusters").keys() {
        let metadata = fs::metadata(workspace.path("clusters").join(path)).unwrap();
        let is_script = lock.executable.contains(path.trim_start_matches("demo/"));
        let mode = if is_script { 0o755 } else { 0o644 };
        assert_eq!(metadata.permissions().mode() & 0o7777, mode, "{path}");
    }
    workspace.run(&["build", "--check"]).expect_silent_success();
}

#[cfg(unix)]
#[test]
fn unwritable_folder_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::with(GOOD);
    fs::create_dir(workspace.path("locked")).unwrap();
    fs::set_permissions(workspace.path("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(workspace.path("locked/probe"), "").is_ok() {
        // Root can write everywhere.
        return;
    }
    let result = workspace.run(&["build", "-o", "locked"]).expect_code(3);
    assert!(result.stderr.contains("locked/demo"), "{}", result.stderr);
}

/// Like `gpuc schema | head -1`.
#[cfg(unix)]
#[test]
fn closed_pipe_is_not_an_error() {
    for args in [
        &["schema"][..],
        &["catalog", "machines"],
        &["completions", "zsh"],
    ] {
        let mut child = gpuc()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{args:?}: {ended:?}");
        assert!(ended.stderr.is_empty(), "{ended:?}");
    }
}
