//! `gpuc check --manifests`.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::{CliResult, GOOD, Workspace};

const INVALID_POD: &str = "# mine\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    \
                   image: r.example.com/a:1\n    resources:\n      requests: {nvidia.com/gpu: 1}  # one\n";

fn fixed_pod() -> String {
    format!("{INVALID_POD}      limits:\n        nvidia.com/gpu: 1\n")
}

#[test]
fn findings_have_the_locations_of_manifests() {
    let place = Workspace::with(GOOD);
    place.write("apps/a/pod.yaml", INVALID_POD);
    place.write("apps/values.yml", "replicas: 1\n");
    place.write(
        "apps/chart/templates/pod.yaml",
        "{{ include \"x\" . }}\nspec: [\n",
    );
    place.write("apps/.hidden/pod.yaml", INVALID_POD);
    place.write("apps/picture.json", "\u{0}");
    let ran = place.run(&["check", "--manifests", "apps"]).expect_code(2);
    assert!(
        ran.stdout.contains("manifest-requests-differ"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("apps/a/pod.yaml:10:18"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains(".hidden"), "{}", ran.stdout);
    for said in [
        "`apps/chart/templates/pod.yaml`",
        "helm template",
        "`apps/values.yml`",
    ] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let ran = place
        .run(&["check", "--manifests", "apps", "--format", "json"])
        .expect_code(2);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let found = json["findings"].as_array().unwrap();
    let found = found.iter().find(|it| it["code"] == "GPUC4002").unwrap();
    assert_eq!(found["fix"][0]["file"], "apps/a/pod.yaml");
}

#[test]
fn fix_writes_once_and_keeps_the_mode() {
    use std::os::unix::fs::PermissionsExt;
    let place = Workspace::with(GOOD);
    place.write("pod.yaml", INVALID_POD);
    let mode = |mode| fs::set_permissions(place.path("pod.yaml"), fs::Permissions::from_mode(mode));
    mode(0o600).unwrap();
    let ran = place
        .run(&["check", "--manifests", "pod.yaml", "--fix"])
        .expect_code(0);
    assert!(
        ran.stderr.contains("1 finding fixed in `pod.yaml`"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("1 cluster and 1 object of 1 file checked"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.read("pod.yaml"), fixed_pod());
    let metadata = fs::metadata(place.path("pod.yaml")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let before = metadata.modified().unwrap();
    place
        .run(&["check", "--manifests", "pod.yaml", "--fix", "-q"])
        .expect_silent_success();
    assert_eq!(
        fs::metadata(place.path("pod.yaml"))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
}

#[test]
fn file_name_that_is_not_unicode_is_skipped() {
    use std::os::unix::ffi::OsStrExt;
    let place = Workspace::with(GOOD);
    place.write("apps/pod.yaml", INVALID_POD);
    let name = std::ffi::OsStr::from_bytes(b"a\xff.yaml");
    fs::write(place.path("apps").join(name), INVALID_POD).unwrap();
    let ran = place.run(&["check", "--manifests", "apps"]).expect_code(2);
    assert!(ran.stderr.contains("is not UTF-8"), "{}", ran.stderr);
    assert!(ran.stdout.contains("apps/pod.yaml"), "{}", ran.stdout);
}

#[test]
fn kustomized_objects_are_reported_and_not_counted() {
    let place = Workspace::with(GOOD);
    place.write("apps/base/kustomization.yaml", "resources: [pod.yaml]\n");
    place.write("apps/base/pod.yaml", INVALID_POD);
    let patches = "resources: [../base]\npatches: [{path: a.json, target: {kind: Pod}}]\n";
    place.write("apps/prod/kustomization.yaml", patches);
    let ran = place
        .run(&["check", "--manifests", "apps", "--fix"])
        .expect_code(0);
    let said = "`apps/base/pod.yaml`: not checked, because a kustomization patches it";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert!(ran.stderr.contains("0 objects of"), "{}", ran.stderr);
    assert_eq!(place.read("apps/base/pod.yaml"), INVALID_POD);
}

#[test]
fn json_objects_can_follow_each_other() {
    let place = Workspace::with(GOOD);
    let object = |name: &str| {
        format!(
            "{{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {{\"name\": \"{name}\"}}, \"spec\": \
             {{\"containers\": [{{\"name\": \"a\", \"image\": \"a:1\", \"resources\": {{\"limits\": \
             {{\"nvidia.com/GPU\": 1}}}}}}]}}}}\n"
        )
    };
    place.write("a.json", &format!("{}{}", object("a"), object("b")));
    place
        .run(&["check", "--manifests", "a.json"])
        .expect_code(2);
    let ran = place
        .run(&["check", "--manifests", "a.json", "--fix"])
        .expect_code(0);
    assert!(ran.stderr.contains("2 objects of 1 file"), "{}", ran.stderr);
    let text = place.read("a.json");
    assert_eq!(text.matches("nvidia.com/gpu").count(), 2, "{text}");
}

#[test]
fn links_are_not_written_through() {
    let place = Workspace::with(GOOD);
    place.write("outside/pod.yaml", INVALID_POD);
    fs::create_dir(place.path("apps")).unwrap();
    std::os::unix::fs::symlink(place.path("outside/pod.yaml"), place.path("apps/pod.yaml"))
        .unwrap();
    let ran = place
        .run(&["check", "--manifests", "apps", "--fix"])
        .expect_code(2);
    assert!(ran.stderr.contains("is a symbolic link"), "{}", ran.stderr);
    assert_eq!(place.read("outside/pod.yaml"), INVALID_POD);
}

#[test]
fn standard_input_is_checked_but_not_fixed() {
    let place = Workspace::with(GOOD);
    let mut command = place.command(&["check", "--manifests", "-"]);
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
    let ran = CliResult::from_output(child.wait_with_output().unwrap()).expect_code(2);
    assert!(
        ran.stdout.contains("manifest-requests-differ"),
        "{}",
        ran.stdout
    );
    place
        .run(&["check", "--manifests", "-", "--fix"])
        .expect_code(2);
    place
        .run(&["check", "-", "--manifests", "-"])
        .expect_code(2);
    place.run(&["check", "--fix"]).expect_code(2);
    place.run(&["check", "--manifests", "none"]).expect_code(3);
}

#[test]
fn one_cluster_must_be_chosen() {
    let place = Workspace::with(&format!(
        "{GOOD}---\n{}",
        GOOD.replace("name: demo", "name: other")
    ));
    place.write("pod.yaml", &fixed_pod());
    let ran = place
        .run(&["check", "--manifests", "pod.yaml"])
        .expect_code(2);
    assert!(ran.stderr.contains("--cluster"), "{}", ran.stderr);
    place
        .run(&[
            "check",
            "-q",
            "--manifests",
            "pod.yaml",
            "--cluster",
            "other",
        ])
        .expect_silent_success();
    place
        .run(&["check", "--manifests", "pod.yaml", "--cluster", "none"])
        .expect_code(2);
}

#[test]
fn warnings_can_be_allowed_and_denied() {
    let floating = fixed_pod().replace("a:1\n", "a:latest\n");
    let place = Workspace::with(GOOD);
    place.write("pod.yaml", &floating);
    place
        .run(&["check", "--manifests", "pod.yaml"])
        .expect_code(0);
    place
        .run(&[
            "check",
            "--manifests",
            "pod.yaml",
            "--deny",
            "manifest-image-floating",
        ])
        .expect_code(2);
    place.write(
        "gpu-cluster.yaml",
        &GOOD.replace(
            "kubernetes:",
            "allow: [manifest-image-floating]\nkubernetes:",
        ),
    );
    place
        .run(&["check", "-q", "--manifests", "pod.yaml"])
        .expect_silent_success();
    place.run(&["check", "-q"]).expect_silent_success();
}

#[test]
fn manifest_warnings_are_denied_separately() {
    let place = Workspace::with(&GOOD.replace("runtime:0.1.0", "runtime:latest"));
    place.write("pod.yaml", &fixed_pod());
    let with = |deny: &str, code| {
        let ran = place.run(&["check", "--manifests", "pod.yaml", "--deny", deny]);
        ran.expect_code(code)
    };
    let ran = with("manifest-warnings", 0);
    assert!(ran.stdout.contains("floating-tags"), "{}", ran.stdout);
    place.write("pod.yaml", &fixed_pod().replace("a:1\n", "a:latest\n"));
    with("manifest-warnings", 2);
    // Warnings about the cluster do not prevent checks of manifests.
    let ran = with("warnings", 2);
    for found in ["floating-tags", "manifest-image-floating"] {
        assert!(ran.stdout.contains(found), "{}", ran.stdout);
    }
    let alone = place.run(&["check", "--deny", "manifest-warnings"]);
    assert!(alone.expect_code(2).stderr.contains("`--manifests`"));
}

#[test]
fn cluster_after_the_manifests_is_required() {
    let place = Workspace::with(&format!(
        "{GOOD}---\n{}",
        GOOD.replace("name: demo", "name: other")
    ));
    place.write("pod.yaml", &fixed_pod());
    let ran = place.run(&["check", "--manifests", "pod.yaml", "gpu-cluster.yaml"]);
    let said = ran.expect_code(2).stderr;
    assert!(said.contains("before `--manifests`"), "{said}");
}

#[test]
fn cluster_errors_are_reported_first() {
    let place = Workspace::with(&GOOD.replace("A30", "A3000"));
    place.write("pod.yaml", INVALID_POD);
    let ran = place
        .run(&["check", "--manifests", "pod.yaml"])
        .expect_code(2);
    assert!(
        ran.stderr
            .contains("not checked, because the cluster has errors"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stdout.contains("pod.yaml"), "{}", ran.stdout);
}

#[test]
fn unreadable_argument_is_rejected() {
    let place = Workspace::with(GOOD);
    fs::write(place.path("utf16.yaml"), b"\xff\xfea\0").unwrap();
    for (path, why) in [("utf16.yaml", "is UTF-16"), ("/dev/zero", "MiB")] {
        let ran = place.run(&["check", "--manifests", path]).expect_code(2);
        assert!(ran.stderr.contains(why), "{path}: {}", ran.stderr);
    }
    let mut command = place.command(&["check", "--manifests", "-"]);
    let command = command.stdin(Stdio::null());
    CliResult::from_output(command.output().unwrap()).expect_code(2);
}

#[test]
fn files_without_objects_are_named() {
    let place = Workspace::with(GOOD);
    for text in ["", "# nothing\n---\n", "hello\n", "image: {tag: x}\n"] {
        place.write("empty.yaml", text);
        let ran = place
            .run(&["check", "--manifests", "empty.yaml"])
            .expect_code(0);
        let note = "note: `empty.yaml`: not checked, because it contains no Kubernetes object";
        assert!(ran.stderr.contains(note), "{text}: {}", ran.stderr);
    }
    let shell = "exec \"$0\" check --manifests <(true)";
    let gpuc = env!("CARGO_BIN_EXE_gpuc");
    let mut bash = std::process::Command::new("bash");
    let bash = bash.args(["-c", shell, gpuc]).current_dir(place.path(""));
    let ran = CliResult::from_output(bash.output().unwrap()).expect_code(2);
    assert!(
        ran.stderr.contains("contains no manifest"),
        "{}",
        ran.stderr
    );
    let nothing = "apiVersion: v1\nkind: List\nitems: []\n";
    for text in ["image: {tag: x}\n", nothing] {
        let ran =
            super::inputs::run_with_input(&place, &["check", "--manifests", "-"], text.as_bytes())
                .expect_code(2);
        let why = "no Kubernetes object on standard input";
        assert!(ran.stderr.contains(why), "{text}: {}", ran.stderr);
    }
}

#[test]
fn foreign_files_are_not_changed() {
    let place = Workspace::with(GOOD);
    place.write("kept.yaml", INVALID_POD);
    place.write("linked.yaml", INVALID_POD);
    fs::hard_link(place.path("linked.yaml"), place.path("other.yaml")).unwrap();
    let mut mode = fs::metadata(place.path("kept.yaml")).unwrap().permissions();
    mode.set_readonly(true);
    fs::set_permissions(place.path("kept.yaml"), mode).unwrap();
    for (path, why) in [("kept.yaml", "is read-only"), ("linked.yaml", "hard link")] {
        let ran = place
            .run(&["check", "--manifests", path, "--fix"])
            .expect_code(2);
        assert!(ran.stderr.contains(why), "{path}: {}", ran.stderr);
        assert_eq!(place.read(path), INVALID_POD);
    }
}

#[test]
fn generated_tree_is_checked_if_named() {
    let place = Workspace::with(GOOD);
    place.run(&["build", "--out", "trees/demo"]).expect_code(0);
    place.write("trees/node_modules/x/pod.yaml", INVALID_POD);
    let ran = place.run(&["check", "--manifests", "trees"]).expect_code(0);
    assert!(!ran.stderr.contains("0 objects"), "{}", ran.stderr);
}
