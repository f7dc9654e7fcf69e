//! The real `az`, without a network: it accepts every command, and created resources have the desired values.

use serde_json::json;

use super::command_batch::{assert_results, cli_steps, driver_input};
use crate::external_data::{self, CLOUD_OFFLINE, PYTHON};

#[test]
#[ignore = "needs GPUC_PYTHON with azure-cli, GPUC_CLOUD_OFFLINE and jq"]
fn commands_are_accepted_and_show_the_desired_values() {
    let offline = external_data::path(CLOUD_OFFLINE).join("az_offline.py");
    let python = external_data::path(PYTHON);
    let pools = [true, false].map(|on| {
        json!({
            "enableAutoScaling": on,
            "tags": {"old": "a", "gpuc-tags": "old", "bill to": "a=b, c"},
            "nodeLabels": {"theirs.dev/zone": "left", "kubernetes.azure.com/scalesetpriority": "spot"},
            "nodeTaints": ["theirs=x:NoExecute", "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"],
        })
    });
    let steps = cli_steps("az", &pools);
    let batch = driver_input(&steps, &["az", "aks", "nodepool", "add", "--bogus", "1"]);
    let input = json!({"offline": offline, "steps": batch});
    let answers = external_data::python(python.to_str().unwrap(), "az.py", &input);
    assert_results(&steps, &answers);
}
