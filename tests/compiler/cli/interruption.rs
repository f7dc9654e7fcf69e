//! A run can be killed at any moment.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{GOOD, Workspace};

const CLUSTERS: usize = 6;

/// Clusters with so many pools that writing them takes a while.
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

/// Well-distributed numbers, the same in every run (Knuth, TAOCP 3.3.4, line 26).
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
    let place = Workspace::empty();
    let clean = versions.each_ref().map(|text| {
        place.write("gpu-cluster.yaml", text);
        place
            .run(&["build", "-q", "-o", "clean"])
            .expect_silent_success();
        let files = place.files("clean");
        std::fs::remove_dir_all(place.path("clean")).unwrap();
        files
    });
    place.build();
    let begin = Instant::now();
    place.write("gpu-cluster.yaml", &versions[0]);
    place.build();
    let whole = u64::try_from(begin.elapsed().as_micros()).unwrap();
    let mut spread = PseudoRandom(0x9e37_79b9);
    let mut interrupted = 0;
    let mut round = 0;
    // How long a run takes differs from one to the next: the test repeats until enough were hit while they wrote.
    while round < times || (interrupted <= times / 10 && round < 20 * times) {
        round += 1;
        let version = (round + 1) % 2;
        place.write("gpu-cluster.yaml", &versions[version]);
        let mut child = place
            .command(&["build", "-q"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if spread.below(2) == 0 {
            // Most of a run is reading and compiling; what matters happens in its second half.
            std::thread::sleep(Duration::from_micros(whole / 3 + spread.below(whole)));
        } else {
            while child.try_wait().unwrap().is_none() && !has_pending_lock(&place) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(spread.below(whole / 4)));
        }
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        let found = place.files("clusters");
        interrupted +=
            usize::from(!ended.success() && found != clean[version] && found != clean[1 - version]);
        assert_complete_files(&found, &clean);
        // Now and then the next run is killed too, and the one after it begins from both.
        if spread.below(3) > 0 {
            place.build();
            assert_eq!(place.files("clusters"), clean[version], "round {round}");
            assert!(
                empty_folders(&place.path("clusters")).is_empty(),
                "round {round}"
            );
        }
    }
    assert!(
        interrupted > times / 20,
        "only {interrupted} of {round} runs were killed while they wrote"
    );
}

/// Whether a run has written a lock that lists files to come.
fn has_pending_lock(place: &Workspace) -> bool {
    (0..CLUSTERS).any(|cluster| {
        let lock = place.path(&format!(
            "clusters/demo-{cluster}/{}",
            gpuc_compile::lock::LOCK_FILE
        ));
        std::fs::read_to_string(lock).is_ok_and(|lock| lock.contains("\"pending\""))
    })
}

/// Every file has either its old or its new content.
fn assert_complete_files(found: &BTreeMap<String, String>, clean: &[BTreeMap<String, String>; 2]) {
    for (path, contents) in found {
        let name = path.rsplit('/').next().unwrap();
        if name == gpuc_compile::lock::LOCK_FILE {
            gpuc_compile::lock::Lock::parse(contents).unwrap();
        } else if !name.starts_with(gpuc_compile::lock::TEMPORARY_PREFIX) {
            let known = clean.iter().any(|files| files.get(path) == Some(contents));
            assert!(known, "{path} is torn:\n{contents}");
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
#[ignore = "takes a minute"]
fn needs_time_200_killed_runs_leave_whole_files() {
    kill_repeatedly(200);
}
