//! The real `az`, without a network: every command is accepted, and created resources read back as desired.

use serde_json::json;

use super::rehearsal::{asked, judge, steps};
use crate::needs::{self, CLOUD_OFFLINE, PYTHON};

#[test]
#[ignore = "needs GPUC_PYTHON with azure-cli, GPUC_CLOUD_OFFLINE and jq"]
fn commands_are_accepted_and_show_the_desired_values() {
    let offline = needs::path(CLOUD_OFFLINE).join("az_offline.py");
    let python = needs::path(PYTHON);
    let pools = [true, false].map(|on| {
        json!({
            "enableAutoScaling": on,
            "tags": {"old": "a", "gpuc-tags": "old", "bill to": "a=b, c"},
            "nodeLabels": {"theirs.dev/zone": "left", "kubernetes.azure.com/scalesetpriority": "spot"},
            "nodeTaints": ["theirs=x:NoExecute", "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"],
        })
    });
    let steps = steps("az", &pools);
    let asked = asked(&steps, &["az", "aks", "nodepool", "add", "--bogus", "1"]);
    let input = json!({"offline": offline, "steps": asked});
    let answers = needs::python(python.to_str().unwrap(), "az.py", &input);
    judge(&steps, &answers);
}
