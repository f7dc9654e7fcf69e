//! Two concurrent runs on one folder.

use super::{GOOD, Workspace, clean_build, without_gpus};

#[test]
fn concurrent_runs_are_serialized() {
    let workspace = Workspace::with(GOOD);
    workspace.write("other.yaml", &without_gpus());
    let one = clean_build(GOOD);
    // Generated files name their input file.
    let clean = Workspace::empty();
    clean.write("other.yaml", &without_gpus());
    clean
        .run(&["build", "-q", "other.yaml"])
        .expect_silent_success();
    let other = clean.files("clusters");
    for _ in 0..10 {
        let files = [
            "gpu-cluster.yaml",
            "other.yaml",
            "gpu-cluster.yaml",
            "other.yaml",
        ];
        let children: Vec<_> = files
            .iter()
            .map(|file| {
                let mut command = workspace.command(&["build", "-q", "--force", file]);
                command
                    .stderr(std::process::Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in children {
            let ended = child.wait_with_output().unwrap();
            assert!(ended.status.success(), "{ended:?}");
        }
        let found = workspace.files("clusters");
        assert!(
            found == one || found == other,
            "a mixture: {:?}",
            found.keys()
        );
    }
    // The last run owns the tree.
    workspace
        .run(&["build", "-q", "--force"])
        .expect_silent_success();
    assert_eq!(workspace.files("clusters"), one);
}
