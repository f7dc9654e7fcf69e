//! The real `gcloud`, without a network: every command is accepted, and created resources read back as desired.

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
        // The mark of `extra`: where nothing is wanted, nothing is left.
        "resourceLabels": {"extra": "a", "gpuc-labels": "yde5di"},
        "locations": ["us-central1-a", "us-central1-b"],
        "currentMasterVersion": "1.34.1-gke.100",
    });
    let steps = cli_steps("gcloud", &[observed]);
    let refused = "gcloud container node-pools update n --num-nodes=1";
    let asked = driver_input(&steps, &refused.split(' ').collect::<Vec<_>>());
    // gcloud includes its own libraries; any Python 3 that it supports reads them.
    let answers = external_data::python("python3", "gcloud.py", &asked);
    assert_results(&steps, &answers);
}
