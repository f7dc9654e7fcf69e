//! The state of node pools in the output of the clouds' command-line tools.
//!
//! Sources, 2026-11-28: the models of botocore for EKS (`Nodegroup`, `Issue`), `container_v1_messages.py` of the Google
//! Cloud CLI for GKE (`NodePool`, `StatusCondition`), azure-mgmt-containerservice 41.8.0 for AKS (`AgentPool`,
//! `AgentPoolStatus`, `PowerState`); the meaning of the states is that of `facts/states.md`.

use serde_json::Value;

use crate::state::{CloudPool, CloudProblem};

/// The pools that a value describes: the output of `aws eks describe-nodegroup`, `gcloud container clusters describe`,
/// `gcloud container node-pools list`, `az aks show` or `az aks nodepool list`.
pub(super) fn pools(value: &Value) -> Vec<CloudPool> {
    if let Value::Array(items) = value {
        return items.iter().filter_map(pool).collect();
    }
    let lists = ["nodePools", "agentPoolProfiles"];
    let mut lists = lists.iter().filter_map(|key| value[*key].as_array());
    match lists.next() {
        Some(items) => items.iter().filter_map(pool).collect(),
        None => pool(value).into_iter().collect(),
    }
}

fn pool(value: &Value) -> Option<CloudPool> {
    eks_pool(value)
        .or_else(|| aks_pool(value))
        .or_else(|| gke_pool(value))
}

fn eks_pool(value: &Value) -> Option<CloudPool> {
    let group = value["nodegroup"].as_object()?;
    let status = group.get("status")?.as_str()?;
    let issues = group.get("health").map(|it| &it["issues"]);
    let is_failed = matches!(status, "CREATE_FAILED" | "DELETE_FAILED" | "DEGRADED");
    Some(CloudPool {
        name: group.get("nodegroupName")?.as_str()?.to_owned(),
        title: "EKS node group",
        status: status.to_owned(),
        is_failed,
        problems: problems(issues, &["code"]),
    })
}

fn gke_pool(value: &Value) -> Option<CloudPool> {
    // Other objects have a name and a status too.
    value["config"]["machineType"].as_str()?;
    let status = value["status"].as_str()?;
    let mut problems = problems(Some(&value["conditions"]), &["canonicalCode", "code"]);
    if problems.is_empty()
        && let Some(message) = value["statusMessage"].as_str().filter(|it| !it.is_empty())
    {
        problems.push(CloudProblem {
            code: String::new(),
            message: message.to_owned(),
        });
    }
    Some(CloudPool {
        name: value["name"].as_str()?.to_owned(),
        title: "GKE node pool",
        status: status.to_owned(),
        is_failed: matches!(status, "ERROR" | "RUNNING_WITH_ERROR"),
        problems,
    })
}

fn aks_pool(value: &Value) -> Option<CloudPool> {
    value["vmSize"].as_str()?;
    let status = value["provisioningState"].as_str()?;
    let is_stopped = value["powerState"]["code"] == "Stopped";
    let error = &value["status"]["provisioningError"];
    let status = if is_stopped { "Stopped" } else { status };
    Some(CloudPool {
        name: value["name"].as_str()?.to_owned(),
        title: "AKS node pool",
        status: status.to_owned(),
        is_failed: matches!(status, "Failed" | "Canceled" | "Stopped"),
        problems: problem(error, &["code"]).into_iter().collect(),
    })
}

/// The problems of a list. The first of `codes` that exists is the code.
fn problems(list: Option<&Value>, codes: &[&str]) -> Vec<CloudProblem> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| problem(item, codes)).collect()
}

fn problem(item: &Value, codes: &[&str]) -> Option<CloudProblem> {
    let text = |key: &str| item[key].as_str().filter(|it| !it.is_empty());
    let code = codes.iter().find_map(|key| text(key));
    let message = text("message");
    code.or(message)?;
    Some(CloudProblem {
        code: code.unwrap_or_default().to_owned(),
        message: message.unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::pools;

    #[test]
    fn pools_of_each_tool_are_read() {
        let gke = |name: &str, status: &str| json!({"name": name, "status": status, "config": {"machineType": "a"}});
        let aks = |name: &str, state: &str| json!({"name": name, "vmSize": "a", "provisioningState": state});
        for (value, expected) in [
            (
                json!({"nodegroup": {"nodegroupName": "a", "status": "ACTIVE"}}),
                "a ACTIVE ok",
            ),
            (
                json!({"nodegroup": {"nodegroupName": "a", "status": "DEGRADED"}}),
                "a DEGRADED failed",
            ),
            (
                json!({"nodePools": [gke("a", "RUNNING"), gke("b", "ERROR")]}),
                "a RUNNING ok, b ERROR failed",
            ),
            (
                json!([gke("a", "RUNNING_WITH_ERROR")]),
                "a RUNNING_WITH_ERROR failed",
            ),
            (
                json!({"agentPoolProfiles": [aks("a", "Updating")]}),
                "a Updating ok",
            ),
            (
                json!([aks("a", "Failed"), aks("b", "Succeeded")]),
                "a Failed failed, b Succeeded ok",
            ),
            (
                json!({"name": "a", "vmSize": "b", "provisioningState": "Succeeded",
                "powerState": {"code": "Stopped"}}),
                "a Stopped failed",
            ),
            (json!({"name": "a", "status": "ERROR"}), ""),
            (
                json!({"nodegroup": null, "nodePools": 3, "agentPoolProfiles": [null, 1, {}]}),
                "",
            ),
            (json!({"nodegroups": ["a"]}), ""),
            (json!("text"), ""),
        ] {
            let found: Vec<String> = pools(&value)
                .iter()
                .map(|pool| {
                    let result = if pool.is_failed { "failed" } else { "ok" };
                    format!("{} {} {result}", pool.name, pool.status)
                })
                .collect();
            assert_eq!(found.join(", "), expected, "{value}");
        }
    }

    #[test]
    fn problems_have_codes_and_messages() {
        for value in [
            json!({"nodegroup": {"nodegroupName": "a", "status": "DEGRADED",
                "health": {"issues": [{"code": "C", "message": "m", "resourceIds": []}, {}]}}}),
            json!({"name": "a", "status": "ERROR", "config": {"machineType": "b"},
                "conditions": [{"code": "UNKNOWN", "canonicalCode": "C", "message": "m"}], "statusMessage": "old"}),
            json!({"name": "a", "vmSize": "b", "provisioningState": "Failed",
                "status": {"provisioningError": {"code": "C", "message": "m"}}}),
        ] {
            let pools = pools(&value);
            let problems: Vec<(&str, &str)> = (pools[0].problems.iter())
                .map(|it| (it.code.as_str(), it.message.as_str()))
                .collect();
            assert_eq!(problems, [("C", "m")], "{value}");
        }
        let old = json!({"name": "a", "status": "ERROR", "config": {"machineType": "b"}, "statusMessage": "old"});
        assert_eq!(pools(&old)[0].problems[0].message, "old");
    }
}
