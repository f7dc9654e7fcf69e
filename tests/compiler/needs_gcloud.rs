//! The real `gcloud`, without a network: it accepts every command, and created resources have the desired values.

use gpuc_model::plan::Contents;
use gpuc_syntax::yaml::to_yaml;
use serde_json::json;

use crate::corpus::cases;
use crate::external_data;
use crate::needs_clouds::command_batch::{assert_results, cli_steps, driver_input};

#[test]
#[ignore = "needs gcloud and jq"]
fn commands_are_accepted_and_show_the_desired_values() {
    let observed = json!({
        "config": {
            "resourceLabels": {"theirs": "a", "goog-gke-node": ""},
            "labels": {"theirs.dev/zone": "left"},
            "taints": [{"key": "theirs", "effect": "NO_EXECUTE"}],
        },
        // `gpuc-labels` records the ownership of `extra`. A step that desires no labels removes `extra`.
        "resourceLabels": {"extra": "a", "gpuc-labels": "yde5di"},
        "locations": ["us-central1-a", "us-central1-b"],
        "currentMasterVersion": "1.36.1-gke.100",
        "maintenancePolicy": {"window": {"maintenanceExclusions": {"gpuc": {}}}},
    });
    let mut steps = cli_steps("gcloud", &[observed]);
    let folder = cloud_files();
    for step in &mut steps {
        step.locate_files(folder.path());
    }
    let installed = gcloud_version();
    for (flag, version) in NEWER_FLAGS {
        if installed < *version {
            for step in &mut steps {
                step.remove_flag(flag);
            }
        }
    }
    let refused = "gcloud container node-pools update n --num-nodes=1";
    let input = driver_input(&steps, &refused.split(' ').collect::<Vec<_>>());
    // gcloud contains its libraries, so that any supported Python 3 can import them.
    let answers = external_data::python("python3", "gcloud.py", &input);
    assert_results(&steps, &answers);
}

/// A folder with the files of all clusters that commands read.
fn cloud_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for case in cases() {
        for file in &case.plan().provisioning.files {
            if let Contents::Yaml(node) = &file.contents {
                std::fs::write(folder.path().join(&file.path), to_yaml(node)).unwrap();
            }
        }
    }
    folder
}

/// Flags of newer releases than the oldest gcloud that most scripts need. An older one tests the rest of the command.
const NEWER_FLAGS: &[(&str, u32)] = &[("--accelerator-network-profile", 563)];

/// The major version of gcloud.
fn gcloud_version() -> u32 {
    let output = std::process::Command::new("gcloud")
        .arg("version")
        .output()
        .expect("this test needs gcloud");
    let text = String::from_utf8(output.stdout).unwrap();
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("Google Cloud SDK "));
    let major = version.and_then(|version| version.split('.').next());
    major.unwrap().parse().unwrap()
}
