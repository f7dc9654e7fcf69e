//! The kinds of input files, and how generated files refer to them.

use std::io::Write;
use std::process::Stdio;

use super::{CliResult, GOOD, Workspace};

pub(super) fn run_with_input(workspace: &Workspace, args: &[&str], text: &[u8]) -> CliResult {
    let mut command = workspace.command(args);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The write fails if gpuc exits before it has read everything.
    let _ = stdin.write_all(text);
    drop(stdin);
    CliResult::from_output(child.wait_with_output().unwrap())
}

#[test]
fn dash_is_standard_input() {
    let workspace = Workspace::empty();
    run_with_input(&workspace, &["check", "-", "-q"], GOOD.as_bytes()).expect_silent_success();
    let bad = GOOD.replace("A30", "A31");
    let result = run_with_input(&workspace, &["check", "-"], bad.as_bytes()).expect_code(2);
    assert!(
        result.stdout.contains("--> <stdin>:9:"),
        "{}",
        result.stdout
    );
    let result = run_with_input(&workspace, &["expand", "-"], GOOD.as_bytes()).expect_code(0);
    assert!(result.stdout.contains("name: demo"), "{}", result.stdout);
    let result = run_with_input(&workspace, &["check", "-"], b"a: \xff").expect_code(2);
    assert!(
        result.stdout.contains("`<stdin>` is not UTF-8"),
        "{}",
        result.stdout
    );
    let large = vec![b' '; gpuc_syntax::yaml::limits::BYTES + 1];
    let result = run_with_input(&workspace, &["check", "-"], &large).expect_code(2);
    assert!(
        result.stdout.contains("is larger than"),
        "{}",
        result.stdout
    );
    assert!(workspace.files("").is_empty());
    run_with_input(&workspace, &["build", "-", "-q"], GOOD.as_bytes()).expect_silent_success();
    let readme = workspace.read("clusters/demo/README.md");
    assert!(
        readme.contains(" this folder from the file on standard input:\n"),
        "{readme}"
    );
    run_with_input(&workspace, &["build", "-", "--check"], GOOD.as_bytes()).expect_silent_success();
}

/// Messages quote lines of bases: a stranger's pull request must not print other files of the machine.
#[test]
fn base_is_in_the_repository_of_its_file() {
    let workspace = Workspace::empty();
    workspace.write("secret.yaml", "password: [hunter2\n");
    std::fs::create_dir_all(workspace.path("repo/.git")).unwrap();
    workspace.write("repo/base.yaml", GOOD);
    let check = |base: &str| {
        let text = format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: other}}\nbase: {base}\n"
        );
        workspace.write("repo/clusters/gpu-cluster.yaml", &text);
        workspace.run(&["check", "repo/clusters", "-q"])
    };
    check("../base.yaml").expect_silent_success();
    let secret = workspace.path("secret.yaml").display().to_string();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, workspace.path("repo/link.yaml")).unwrap();
    workspace.write("repo/.git/config", "token: [hunter2\n");
    let outside = [
        "../../secret.yaml",
        &secret,
        "../link.yaml",
        "../../missing.yaml",
    ];
    for base in outside.into_iter().chain(["../.git/config"]) {
        if base.ends_with("link.yaml") && !cfg!(unix) {
            continue;
        }
        let result = check(base).expect_code(2);
        let message = "is not a file of the repository";
        assert!(result.stdout.contains(message), "{base}: {}", result.stdout);
        assert!(!result.stdout.contains("hunter2"), "{}", result.stdout);
    }
    // A submodule is in the repository around it.
    let link = workspace.path("repo/clusters/.git");
    std::fs::write(&link, "gitdir: ../.git/modules/clusters").unwrap();
    check("../base.yaml").expect_silent_success();
    // A worktree, and a clone in the folder of another repository, do not.
    std::fs::write(&link, "gitdir: /elsewhere/.git/worktrees/clusters").unwrap();
    check("../base.yaml").expect_code(2);
    std::fs::remove_file(&link).unwrap();
    std::fs::create_dir(&link).unwrap();
    check("../base.yaml").expect_code(2);
}

#[test]
fn piped_input_can_name_a_base() {
    let workspace = Workspace::empty();
    workspace.write("base.yaml", GOOD);
    let text = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: other}\nbase: base.yaml\n";
    run_with_input(&workspace, &["build", "-", "-q"], text.as_bytes()).expect_silent_success();
    assert!(workspace.path("clusters/other/README.md").is_file());
}

#[test]
fn file_can_have_the_name_of_standard_input() {
    let workspace = Workspace::empty();
    workspace.write("-", GOOD);
    workspace
        .run(&["check", "./-", "-q"])
        .expect_silent_success();
}

#[test]
fn generated_files_name_their_source() {
    let workspace = Workspace::empty();
    workspace.write("fleet/prod.gpu-cluster.yaml", GOOD);
    workspace
        .run(&["build", "fleet", "-q"])
        .expect_silent_success();
    let mut headers = 0;
    for (path, text) in workspace.files("clusters") {
        assert!(
            !text.contains(" gpu-cluster.yaml") && !text.contains("`gpu-cluster.yaml"),
            "{path}:\n{text}"
        );
        headers +=
            usize::from(text.contains("\n# Generated by gpuc from prod.gpu-cluster.yaml. Edit"));
    }
    assert!(headers > 1);
    // Only the file name matters, not the path on the command line.
    let before = workspace.files("clusters");
    let file = workspace.path("fleet/prod.gpu-cluster.yaml");
    workspace
        .run(&["build", "-q", file.to_str().unwrap()])
        .expect_silent_success();
    assert_eq!(workspace.files("clusters"), before);
}

#[cfg(unix)]
#[test]
fn hostile_file_name_stays_in_its_comment() {
    let name = "a\ntouch pwned\r\u{85}\u{1b}[2J`$(touch pwned)`.yaml";
    let workspace = Workspace::empty();
    workspace.write(name, GOOD);
    workspace
        .run(&["build", "-q", name])
        .expect_silent_success();
    for (path, text) in workspace.files("clusters") {
        if path.ends_with("gpuc.lock.json") {
            continue;
        }
        assert!(!text.contains(['\r', '\u{85}', '\u{1b}']), "{path}");
        assert!(
            !text.lines().any(|line| line.starts_with("touch")),
            "{path}"
        );
    }
    for script in ["lib.sh", "verify.sh"] {
        let script = workspace.path("clusters/demo/cloud").join(script);
        let parsed = std::process::Command::new("bash")
            .arg("-n")
            .arg(script)
            .status();
        assert!(parsed.unwrap().success());
    }
}

#[test]
fn other_file_extension_gets_a_hint() {
    let workspace = Workspace::empty();
    workspace.write("gpu-cluster.yml", GOOD);
    workspace.write("deep/prod.gpu-cluster.yml", GOOD);
    for args in [&["build"][..], &["check", "."], &["build", "deep"]] {
        let result = workspace.run(args).expect_code(3);
        assert!(result.stderr.contains("help: rename "), "{}", result.stderr);
        assert!(
            result
                .stderr
                .contains("gpu-cluster.yml to use the extension .yaml"),
            "{}",
            result.stderr
        );
    }
    workspace
        .run(&["check", "-q", "gpu-cluster.yml"])
        .expect_silent_success();
    // In a folder with other input files, a skipped file is reported.
    workspace.write("deep/gpu-cluster.yaml", GOOD);
    let result = workspace.run(&["check", "deep"]).expect_code(0);
    assert!(
        result.stderr.contains(
            "note: deep/prod.gpu-cluster.yml was not read: rename deep/prod.gpu-cluster.yml"
        ),
        "{}",
        result.stderr
    );
}

#[test]
fn base_file_gets_a_hint() {
    let workspace = Workspace::empty();
    let base = GOOD
        .lines()
        .filter(|line| !line.starts_with("cloud") && !line.starts_with("metadata"));
    workspace.write("base.yaml", &base.collect::<Vec<_>>().join("\n"));
    let result = workspace.run(&["check", "base.yaml"]).expect_code(2);
    assert_eq!(
        result.stdout.matches("if this file is a base").count(),
        1,
        "{}",
        result.stdout
    );
    // A file that names a base is not itself a base.
    workspace.write(
        "top.yaml",
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nbase: base.yaml\n",
    );
    let result = workspace.run(&["check", "top.yaml"]).expect_code(2);
    assert!(
        !result.stdout.contains("if this file is a base"),
        "{}",
        result.stdout
    );
}

#[test]
fn named_pipe_is_read() {
    let workspace = Workspace::with(GOOD);
    let path = workspace.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let writer = std::thread::spawn(move || std::fs::write(path, GOOD).unwrap());
    let result = workspace.run(&["check", "pipe"]).expect_code(0);
    assert!(
        result.stderr.contains("1 cluster checked"),
        "{}",
        result.stderr
    );
    writer.join().unwrap();
    let result = workspace.run(&["check", "/dev/zero"]).expect_code(2);
    assert!(
        result.stdout.contains("16 MiB"),
        "{}{}",
        result.stdout,
        result.stderr
    );
}

/// Runs `gpuc`, and ends it after 20 seconds: a pipe without a writer blocks forever, and some devices are endless.
fn run_limited(workspace: &Workspace, args: &[&str]) -> std::process::Output {
    let mut command = workspace.command(args);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let started = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() && started.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    // A process that has ended cannot be killed.
    let _ = child.kill();
    child.wait_with_output().unwrap()
}

#[test]
fn pipes_and_devices_that_are_not_named_are_errors() {
    let make_pipe = |path: std::path::PathBuf| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let expected = "it is a pipe or a device, not a regular file";
    let assert_refused = |workspace: &Workspace, args: &[&str]| {
        let output = run_limited(workspace, args);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(text.contains(expected), "{args:?}: {text}");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    };
    let folder = Workspace::empty();
    make_pipe(folder.path("gpu-cluster.yaml"));
    for args in [&["check"][..], &["check", "."], &["build"], &["expand"]] {
        assert_refused(&folder, args);
    }
    let base =
        Workspace::with("apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nbase: common.yaml\n");
    make_pipe(base.path("common.yaml"));
    assert_refused(&base, &["check"]);
    let device = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nbase: /dev/zero\n";
    base.write("gpu-cluster.yaml", device);
    let output = run_limited(&base, &["check"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// The lock of another's repository can name any file as its input.
#[test]
fn endless_file_in_a_lock_is_not_read() {
    let workspace = Workspace::with(GOOD);
    workspace.build();
    let lock = workspace
        .files("")
        .into_keys()
        .find(|path| path.ends_with("gpuc.lock.json"))
        .unwrap();
    let text = workspace.read(&lock);
    let up = "../".repeat(20);
    let hostile = text.replace("gpu-cluster.yaml", &format!("{up}dev/zero"));
    assert_ne!(hostile, text);
    workspace.write(&lock, &hostile);
    let output = run_limited(&workspace, &["build"]);
    // A process that was killed has no code.
    assert_ne!(output.status.code(), None, "{output:?}");
}

#[test]
fn starter_is_printed_to_standard_output() {
    let workspace = Workspace::empty();
    let result = workspace
        .run(&["init", "--cloud", "aws", "-"])
        .expect_code(0);
    assert!(
        result.stdout.contains("kind: GpuCluster"),
        "{}",
        result.stdout
    );
    assert!(workspace.files("").is_empty());
}
