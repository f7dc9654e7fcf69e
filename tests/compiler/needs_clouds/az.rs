//! The real `az`, without a network: every command is taken, and what it makes reads back as what was wanted.

use serde_json::json;

use super::rehearsal::{asked, judge, steps};
use crate::needs::{self, CLOUD_OFFLINE, PYTHON};

#[test]
#[ignore = "needs GPUC_PYTHON with azure-cli, GPUC_CLOUD_OFFLINE and jq"]
fn az_takes_every_command_and_shows_what_was_wanted() {
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
