//! Lists that could not be read.

use serde_json::json;

use super::{daemon_pod, node, provided, read, state_without};
use crate::{ImportError, Input, import};

fn cluster() -> Vec<serde_json::Value> {
    let labels = json!({"eks.amazonaws.com/nodegroup": "gpu", "node.kubernetes.io/instance-type": "g6.12xlarge"});
    let gpu = node("gpu-1", &labels, &[], &json!({"nvidia.com/gpu": "4"}));
    vec![provided(gpu, "aws:///us-east-1a/i-1")]
}

fn input(state: &gpuc_live::state::ClusterState) -> Input<'_> {
    Input {
        state,
        cloud: &[],
        context: None,
        builder: None,
    }
}

#[test]
fn the_file_and_the_report_name_what_was_not_read() {
    let forbidden = ["namespaces", "resourcequotas", "configmaps", "pods"];
    let state = state_without(&cluster(), &forbidden);
    let import = import(input(&state), &super::REGISTRY).unwrap();
    let names: Vec<&str> = import
        .report
        .not_read
        .iter()
        .map(|it| it.source.as_str())
        .collect();
    assert_eq!(
        names,
        ["pods", "configmaps", "namespaces", "resourcequotas"]
    );
    let reason = &import.report.not_read[0].reason;
    assert!(
        reason.contains("forbidden; the user lacks the right to list them"),
        "{reason}"
    );
    assert!(
        import
            .yaml
            .contains("# Not read, and therefore not in this file: pods, configmaps"),
        "{}",
        import.yaml
    );
    assert!(import.report.summary().ends_with("4 kinds not read"));
}

#[test]
fn absent_pods_do_not_mean_that_no_plugin_runs() {
    let without = import(
        input(&state_without(&cluster(), &["pods"])),
        &super::REGISTRY,
    )
    .unwrap();
    let with = import(input(&state_without(&cluster(), &[])), &super::REGISTRY).unwrap();
    let reason = |import: &crate::Import| {
        let key = Some("nodePools[gpu].stack.devicePlugin");
        let found = import
            .report
            .left_out
            .iter()
            .find(|it| it.key.as_deref() == key);
        found.map(|it| it.reason.clone()).unwrap_or_default()
    };
    assert!(
        reason(&with).starts_with("no device plugin that gpuc knows runs"),
        "{}",
        reason(&with)
    );
    assert!(
        reason(&without).starts_with("the pods are not known"),
        "{}",
        reason(&without)
    );
}

#[test]
fn a_daemon_set_is_a_guess_while_pods_are_not_known() {
    let mut objects = cluster();
    let mut set = daemon_pod(
        "kube-system",
        "x",
        "gpu-1",
        "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
        "ctr",
    );
    set["kind"] = "DaemonSet".into();
    set["apiVersion"] = "apps/v1".into();
    set["spec"] = json!({"template": {"spec": set["spec"]}});
    set["metadata"]["name"] = "nvidia-device-plugin".into();
    objects.push(set);
    let import = import(input(&state_without(&objects, &["pods"])), &super::REGISTRY).unwrap();
    assert_eq!(read(&import)["stack"]["devicePlugin"], "nvidia");
    assert!(
        import.yaml.contains("guessed: the pods are not known"),
        "{}",
        import.yaml
    );
}

#[test]
fn an_incomplete_list_of_nodes_makes_counts_guesses() {
    let import = import(
        input(&state_without(&cluster(), &["nodes"])),
        &super::REGISTRY,
    )
    .unwrap();
    assert!(
        import
            .yaml
            .contains("count: 1 # guessed: the list of nodes is incomplete"),
        "{}",
        import.yaml
    );
}

#[test]
fn without_nodes_nothing_is_imported() {
    let error = import(input(&state_without(&[], &["nodes"])), &super::REGISTRY).unwrap_err();
    let ImportError::NoNodes(completeness) = &error else {
        panic!("{error}")
    };
    assert!(!completeness.is_complete());
    assert!(
        error.to_string().contains("the right to list nodes"),
        "{error}"
    );
}
