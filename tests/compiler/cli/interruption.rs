//! gpuc can be killed at any moment.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{GOOD, Workspace};

const CLUSTERS: usize = 6;

/// Clusters with enough pools that writing them takes a while.
fn fleet_text(hosts: &str, pools: usize) -> String {
    let mut text = String::new();
    for cluster in 0..CLUSTERS {
        let name = format!("name: demo-{cluster}");
        write!(text, "---\n{}", GOOD.replace("name: demo", &name)).unwrap();
        for pool in 0..pools {
            let card = "gpu: {model: A30, perNode: 2}";
            writeln!(
                text,
                "  - {{name: more-{pool}, {card}, hosts: [{hosts}-{pool}], nodes: {{count: 1}}}}"
            )
            .unwrap();
        }
    }
    text
}

/// A pseudorandom sequence, the same in every run (Knuth, TAOCP 3.3.4, line 26).
struct PseudoRandom(u64);

impl PseudoRandom {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn kill_repeatedly(times: usize) {
    let versions = [fleet_text("old", 12), fleet_text("new", 9)];
    let workspace = Workspace::empty();
    let clean = versions.each_ref().map(|text| {
        workspace.write("gpu-cluster.yaml", text);
        workspace
            .run(&["build", "-q", "-o", "clean"])
            .expect_silent_success();
        let files = workspace.files("clean");
        std::fs::remove_dir_all(workspace.path("clean")).unwrap();
        files
    });
    workspace.build();
    let start = Instant::now();
    workspace.write("gpu-cluster.yaml", &versions[0]);
    workspace.build();
    let duration = u64::try_from(start.elapsed().as_micros()).unwrap();
    let mut spread = PseudoRandom(0x9e37_79b9);
    let mut interrupted = 0;
    let mut round = 0;
    // The duration of a run varies. The test repeats until enough runs were killed while they wrote.
    while round < times || (interrupted <= times / 10 && round < 20 * times) {
        round += 1;
        let version = (round + 1) % 2;
        workspace.write("gpu-cluster.yaml", &versions[version]);
        let mut child = workspace
            .command(&["build", "-q"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if spread.below(2) == 0 {
            // A run first reads and compiles. It writes only in its second half.
            std::thread::sleep(Duration::from_micros(duration / 3 + spread.below(duration)));
        } else {
            while child.try_wait().unwrap().is_none() && !has_pending_lock(&workspace) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(spread.below(duration / 4)));
        }
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        let found = workspace.files("clusters");
        interrupted +=
            usize::from(!ended.success() && found != clean[version] && found != clean[1 - version]);
        assert_complete_files(&found, &clean);
        // Sometimes the next run is killed too, and the run after it starts from the result of both.
        if spread.below(3) > 0 {
            workspace.build();
            assert_eq!(workspace.files("clusters"), clean[version], "round {round}");
            assert!(
                empty_folders(&workspace.path("clusters")).is_empty(),
                "round {round}"
            );
        }
    }
    assert!(
        interrupted > times / 20,
        "only {interrupted} of {round} runs were killed while they wrote"
    );
}

/// Whether a run has written a lock that lists files to be written.
fn has_pending_lock(workspace: &Workspace) -> bool {
    (0..CLUSTERS).any(|cluster| {
        let lock = workspace.path(&format!(
            "clusters/demo-{cluster}/{}",
            gpuc_compile::lock::LOCK_FILE
        ));
        std::fs::read_to_string(lock).is_ok_and(|lock| lock.contains("\"pending\""))
    })
}

/// Asserts that every file has either its old or its new content.
fn assert_complete_files(found: &BTreeMap<String, String>, clean: &[BTreeMap<String, String>; 2]) {
    for (path, contents) in found {
        let name = path.rsplit('/').next().unwrap();
        if name == gpuc_compile::lock::LOCK_FILE {
            gpuc_compile::lock::Lock::parse(contents).unwrap();
        } else if !name.starts_with(gpuc_compile::lock::TEMPORARY_PREFIX) {
            let known = clean.iter().any(|files| files.get(path) == Some(contents));
            assert!(known, "{path} is incomplete:\n{contents}");
        }
    }
}

fn empty_folders(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut empty = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let entries: Vec<_> = entries.collect();
        if entries.is_empty() {
            empty.push(folder);
        }
        folders.extend(entries.into_iter().filter(|path| path.is_dir()));
    }
    empty
}

#[test]
fn killed_run_leaves_complete_files() {
    kill_repeatedly(12);
}

#[test]
#[ignore = "takes half a minute"]
fn needs_time_80_killed_runs_leave_whole_files() {
    kill_repeatedly(80);
}
