//! `gpuc check --manifests`.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::{CliResult, GOOD, Workspace};

const INVALID_POD: &str = "# mine\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    \
                   image: r.example.com/a:1\n    resources:\n      requests: {nvidia.com/gpu: 1}  # one\n";

const FIX_POD: [&str; 5] = [
    "check",
    "--manifests",
    "pod.yaml",
    "--fix",
    "--unsafe-fixes",
];

fn fixed_pod() -> String {
    format!("{INVALID_POD}      limits:\n        nvidia.com/gpu: 1\n")
}

#[test]
fn findings_have_the_locations_of_manifests() {
    let workspace = Workspace::with(GOOD);
    workspace.write("apps/a/pod.yaml", INVALID_POD);
    workspace.write("apps/values.yml", "replicas: 1\n");
    workspace.write(
        "apps/chart/templates/pod.yaml",
        "{{ include \"x\" . }}\nspec: [\n",
    );
    workspace.write("apps/.hidden/pod.yaml", INVALID_POD);
    workspace.write("apps/picture.json", "\u{0}");
    let result = workspace
        .run(&["check", "--manifests", "apps"])
        .expect_code(2);
    assert!(
        result.stdout.contains("manifest-requests-differ"),
        "{}",
        result.stdout
    );
    assert!(
        result.stdout.contains("apps/a/pod.yaml:10:18"),
        "{}",
        result.stdout
    );
    assert!(!result.stdout.contains(".hidden"), "{}", result.stdout);
    for message in [
        "`apps/chart/templates/pod.yaml`",
        "helm template",
        "`apps/values.yml`",
    ] {
        assert!(result.stderr.contains(message), "{}", result.stderr);
    }
    let result = workspace
        .run(&["check", "--manifests", "apps", "--format", "json"])
        .expect_code(2);
    let json: serde_json::Value = serde_json::from_str(&result.stdout).unwrap();
    let found = json["findings"].as_array().unwrap();
    let found = found.iter().find(|it| it["code"] == "GPUC4002").unwrap();
    assert_eq!(found["fix"][0]["file"], "apps/a/pod.yaml");
}

#[test]
fn fix_writes_once_and_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::with(GOOD);
    workspace.write("pod.yaml", INVALID_POD);
    let mode =
        |mode| fs::set_permissions(workspace.path("pod.yaml"), fs::Permissions::from_mode(mode));
    mode(0o600).unwrap();
    // Adding a limit is not safe.
    let result = workspace
        .run(&["check", "--manifests", "pod.yaml", "--fix"])
        .expect_code(2);
    let note = "`--unsafe-fixes` also fixes 1 finding";
    assert!(result.stderr.contains(note), "{}", result.stderr);
    assert_eq!(workspace.read("pod.yaml"), INVALID_POD);
    let result = workspace.run(&FIX_POD).expect_code(0);
    assert!(
        result.stderr.contains("1 finding fixed in `pod.yaml`"),
        "{}",
        result.stderr
    );
    assert!(
        result
            .stderr
            .contains("1 cluster and 1 object of 1 file checked"),
        "{}",
        result.stderr
    );
    assert_eq!(workspace.read("pod.yaml"), fixed_pod());
    let metadata = fs::metadata(workspace.path("pod.yaml")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let before = metadata.modified().unwrap();
    workspace
        .run(&[&FIX_POD[..], &["-q"]].concat())
        .expect_silent_success();
    assert_eq!(
        fs::metadata(workspace.path("pod.yaml"))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
}

#[test]
fn file_name_that_is_not_unicode_is_skipped() {
    use std::os::unix::ffi::OsStrExt;
    let workspace = Workspace::with(GOOD);
    workspace.write("apps/pod.yaml", INVALID_POD);
    let name = std::ffi::OsStr::from_bytes(b"a\xff.yaml");
    fs::write(workspace.path("apps").join(name), INVALID_POD).unwrap();
    let result = workspace
        .run(&["check", "--manifests", "apps"])
        .expect_code(2);
    assert!(result.stderr.contains("is not UTF-8"), "{}", result.stderr);
    assert!(result.stdout.contains("apps/pod.yaml"), "{}", result.stdout);
}

#[test]
fn kustomized_objects_are_reported_and_not_counted() {
    let workspace = Workspace::with(GOOD);
    workspace.write("apps/base/kustomization.yaml", "resources: [pod.yaml]\n");
    workspace.write("apps/base/pod.yaml", INVALID_POD);
    let patches = "resources: [../base]\npatches: [{path: a.json, target: {kind: Pod}}]\n";
    workspace.write("apps/prod/kustomization.yaml", patches);
    let result = workspace
        .run(&["check", "--manifests", "apps", "--fix", "--unsafe-fixes"])
        .expect_code(0);
    let message = "`apps/base/pod.yaml`: not checked, because a kustomization patches it";
    assert!(result.stderr.contains(message), "{}", result.stderr);
    assert!(result.stderr.contains("0 objects of"), "{}", result.stderr);
    assert_eq!(workspace.read("apps/base/pod.yaml"), INVALID_POD);
}

#[test]
fn json_objects_can_follow_each_other() {
    let workspace = Workspace::with(GOOD);
    let object = |name: &str| {
        format!(
            "{{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {{\"name\": \"{name}\"}}, \"spec\": \
             {{\"containers\": [{{\"name\": \"a\", \"image\": \"a:1\", \"resources\": {{\"limits\": \
             {{\"nvidia.com/GPU\": 1}}}}}}]}}}}\n"
        )
    };
    workspace.write("a.json", &format!("{}{}", object("a"), object("b")));
    workspace
        .run(&["check", "--manifests", "a.json"])
        .expect_code(2);
    let result = workspace
        .run(&["check", "--manifests", "a.json", "--fix"])
        .expect_code(0);
    assert!(
        result.stderr.contains("2 objects of 1 file"),
        "{}",
        result.stderr
    );
    let text = workspace.read("a.json");
    assert_eq!(text.matches("nvidia.com/gpu").count(), 2, "{text}");
}

#[test]
fn fixes_do_not_follow_symbolic_links() {
    let workspace = Workspace::with(GOOD);
    workspace.write("outside/pod.yaml", INVALID_POD);
    fs::create_dir(workspace.path("apps")).unwrap();
    std::os::unix::fs::symlink(
        workspace.path("outside/pod.yaml"),
        workspace.path("apps/pod.yaml"),
    )
    .unwrap();
    let result = workspace
        .run(&["check", "--manifests", "apps", "--fix", "--unsafe-fixes"])
        .expect_code(2);
    assert!(
        result.stderr.contains("is a symbolic link"),
        "{}",
        result.stderr
    );
    assert_eq!(workspace.read("outside/pod.yaml"), INVALID_POD);
}

#[test]
fn standard_input_is_checked_but_not_fixed() {
    let workspace = Workspace::with(GOOD);
    let mut command = workspace.command(&["check", "--manifests", "-"]);
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(INVALID_POD.as_bytes())
        .unwrap();
    let result = CliResult::from_output(child.wait_with_output().unwrap()).expect_code(2);
    assert!(
        result.stdout.contains("manifest-requests-differ"),
        "{}",
        result.stdout
    );
    workspace
        .run(&["check", "--manifests", "-", "--fix"])
        .expect_code(2);
    workspace
        .run(&["check", "-", "--manifests", "-"])
        .expect_code(2);
    workspace.run(&["check", "--fix"]).expect_code(2);
    workspace
        .run(&["check", "--manifests", "a.yaml", "--unsafe-fixes"])
        .expect_code(2);
    workspace
        .run(&["check", "--manifests", "none"])
        .expect_code(3);
}

#[test]
fn one_cluster_must_be_chosen() {
    let workspace = Workspace::with(&format!(
        "{GOOD}---\n{}",
        GOOD.replace("name: demo", "name: other")
    ));
    workspace.write("pod.yaml", &fixed_pod());
    let result = workspace
        .run(&["check", "--manifests", "pod.yaml"])
        .expect_code(2);
    assert!(result.stderr.contains("--cluster"), "{}", result.stderr);
    workspace
        .run(&[
            "check",
            "-q",
            "--manifests",
            "pod.yaml",
            "--cluster",
            "other",
        ])
        .expect_silent_success();
    workspace
        .run(&["check", "--manifests", "pod.yaml", "--cluster", "none"])
        .expect_code(2);
}

#[test]
fn warnings_can_be_allowed_and_denied() {
    let floating = fixed_pod().replace("a:1\n", "a:latest\n");
    let workspace = Workspace::with(GOOD);
    workspace.write("pod.yaml", &floating);
    workspace
        .run(&["check", "--manifests", "pod.yaml"])
        .expect_code(0);
    workspace
        .run(&[
            "check",
            "--manifests",
            "pod.yaml",
            "--deny",
            "manifest-image-floating",
        ])
        .expect_code(2);
    workspace.write(
        "gpu-cluster.yaml",
        &GOOD.replace(
            "kubernetes:",
            "allow: [manifest-image-floating]\nkubernetes:",
        ),
    );
    workspace
        .run(&["check", "-q", "--manifests", "pod.yaml"])
        .expect_silent_success();
    workspace.run(&["check", "-q"]).expect_silent_success();
}

#[test]
fn manifest_warnings_are_denied_separately() {
    let workspace = Workspace::with(&GOOD.replace("runtime:0.1.0", "runtime:latest"));
    workspace.write("pod.yaml", &fixed_pod());
    let with = |deny: &str, code| {
        let result = workspace.run(&["check", "--manifests", "pod.yaml", "--deny", deny]);
        result.expect_code(code)
    };
    let result = with("manifest-warnings", 0);
    assert!(result.stdout.contains("floating-tags"), "{}", result.stdout);
    workspace.write("pod.yaml", &fixed_pod().replace("a:1\n", "a:latest\n"));
    with("manifest-warnings", 2);
    // Warnings about the cluster do not prevent the check of manifests.
    let result = with("warnings", 2);
    for found in ["floating-tags", "manifest-image-floating"] {
        assert!(result.stdout.contains(found), "{}", result.stdout);
    }
    let alone = workspace.run(&["check", "--deny", "manifest-warnings"]);
    assert!(alone.expect_code(2).stderr.contains("`--manifests`"));
}

#[test]
fn cluster_after_the_manifests_is_required() {
    let workspace = Workspace::with(&format!(
        "{GOOD}---\n{}",
        GOOD.replace("name: demo", "name: other")
    ));
    workspace.write("pod.yaml", &fixed_pod());
    let result = workspace.run(&["check", "--manifests", "pod.yaml", "gpu-cluster.yaml"]);
    let message = result.expect_code(2).stderr;
    assert!(message.contains("before `--manifests`"), "{message}");
}

#[test]
fn cluster_errors_are_reported_first() {
    let workspace = Workspace::with(&GOOD.replace("A30", "A3000"));
    workspace.write("pod.yaml", INVALID_POD);
    let result = workspace
        .run(&["check", "--manifests", "pod.yaml"])
        .expect_code(2);
    assert!(
        result
            .stderr
            .contains("not checked, because the cluster has errors"),
        "{}",
        result.stderr
    );
    assert!(!result.stdout.contains("pod.yaml"), "{}", result.stdout);
}

#[test]
fn unreadable_argument_is_rejected() {
    let workspace = Workspace::with(GOOD);
    fs::write(workspace.path("utf16.yaml"), b"\xff\xfea\0").unwrap();
    for (path, why) in [("utf16.yaml", "is UTF-16"), ("/dev/zero", "MiB")] {
        let result = workspace
            .run(&["check", "--manifests", path])
            .expect_code(2);
        assert!(result.stderr.contains(why), "{path}: {}", result.stderr);
    }
    let mut command = workspace.command(&["check", "--manifests", "-"]);
    let command = command.stdin(Stdio::null());
    CliResult::from_output(command.output().unwrap()).expect_code(2);
}

#[test]
fn files_without_objects_are_named() {
    let workspace = Workspace::with(GOOD);
    for text in ["", "# nothing\n---\n", "hello\n", "image: {tag: x}\n"] {
        workspace.write("empty.yaml", text);
        let result = workspace
            .run(&["check", "--manifests", "empty.yaml"])
            .expect_code(0);
        let note = "note: `empty.yaml`: not checked, because it contains no Kubernetes object";
        assert!(result.stderr.contains(note), "{text}: {}", result.stderr);
    }
    let shell = "exec \"$0\" check --manifests <(true)";
    let gpuc = env!("CARGO_BIN_EXE_gpuc");
    let mut bash = std::process::Command::new("bash");
    let bash = bash
        .args(["-c", shell, gpuc])
        .current_dir(workspace.path(""));
    let result = CliResult::from_output(bash.output().unwrap()).expect_code(2);
    assert!(
        result.stderr.contains("contains no manifest"),
        "{}",
        result.stderr
    );
    let nothing = "apiVersion: v1\nkind: List\nitems: []\n";
    for text in ["image: {tag: x}\n", nothing] {
        let result = super::inputs::run_with_input(
            &workspace,
            &["check", "--manifests", "-"],
            text.as_bytes(),
        )
        .expect_code(2);
        let why = "no Kubernetes object on standard input";
        assert!(result.stderr.contains(why), "{text}: {}", result.stderr);
    }
}

#[test]
fn unmanaged_files_are_not_changed() {
    let workspace = Workspace::with(GOOD);
    workspace.write("kept.yaml", INVALID_POD);
    workspace.write("linked.yaml", INVALID_POD);
    fs::hard_link(workspace.path("linked.yaml"), workspace.path("other.yaml")).unwrap();
    let mut mode = fs::metadata(workspace.path("kept.yaml"))
        .unwrap()
        .permissions();
    mode.set_readonly(true);
    fs::set_permissions(workspace.path("kept.yaml"), mode).unwrap();
    for (path, why) in [("kept.yaml", "is read-only"), ("linked.yaml", "hard link")] {
        // A fix that cannot be written is not offered.
        let safe = workspace.run(&["check", "--manifests", path, "--fix"]);
        let safe = safe.expect_code(2);
        assert!(!safe.stderr.contains("--unsafe-fixes"), "{}", safe.stderr);
        let result = workspace
            .run(&["check", "--manifests", path, "--fix", "--unsafe-fixes"])
            .expect_code(2);
        assert!(result.stderr.contains(why), "{path}: {}", result.stderr);
        assert_eq!(workspace.read(path), INVALID_POD);
    }
}

#[test]
fn generated_tree_is_checked_if_named() {
    let workspace = Workspace::with(GOOD);
    workspace
        .run(&["build", "--out", "trees/demo"])
        .expect_code(0);
    workspace.write("trees/node_modules/x/pod.yaml", INVALID_POD);
    let result = workspace
        .run(&["check", "--manifests", "trees"])
        .expect_code(0);
    assert!(!result.stderr.contains("0 objects"), "{}", result.stderr);
}
