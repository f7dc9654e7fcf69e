//! The real `gcloud`, without a network: it accepts every command, and created resources have the desired values.

use serde_json::json;

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
    let steps = cli_steps("gcloud", &[observed]);
    let refused = "gcloud container node-pools update n --num-nodes=1";
    let input = driver_input(&steps, &refused.split(' ').collect::<Vec<_>>());
    // gcloud contains its libraries, so that any supported Python 3 can import them.
    let answers = external_data::python("python3", "gcloud.py", &input);
    assert_results(&steps, &answers);
}
