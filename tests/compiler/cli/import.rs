//! `gpuc import` as users run it.

use super::Workspace;

/// A node of EKS with GPUs, in two lists of kubectl.
const NODES: &str = r#"{"kind": "NodeList", "apiVersion": "v1", "items": [
    {"metadata": {"name": "a", "labels": {"eks.amazonaws.com/nodegroup": "gpu", "node.kubernetes.io/instance-type": "g6.xlarge",
        "topology.kubernetes.io/region": "us-east-1"}},
     "spec": {"providerID": "aws:///us-east-1a/i-1", "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
     "status": {"capacity": {"nvidia.com/gpu": "1"}, "nodeInfo": {"kubeletVersion": "v1.36.2"}}}]}"#;

#[test]
fn the_file_is_data_and_the_report_a_message() {
    let place = Workspace::empty();
    place.write("case/nodes.json", NODES);
    let result = place.run(&["import", "--from", "case"]).expect_code(0);
    assert!(
        result.stdout.contains("machine: g6.xlarge"),
        "{}",
        result.stdout
    );
    assert!(result.stderr.starts_with("imported "), "{}", result.stderr);
    assert!(result.stderr.contains("pods"), "{}", result.stderr);
    let other = place
        .run(&["import", "--from", "case", "-o", "-"])
        .expect_code(0);
    assert_eq!(other.stdout, result.stdout);
    // The file is one that gpuc reads.
    place.write("gpu-cluster.yaml", &result.stdout);
    place.run(&["check"]).expect_code(0);
}

#[test]
fn an_existing_file_is_replaced_only_by_force() {
    let place = Workspace::empty();
    place.write("case/nodes.json", NODES);
    place.write("mine.yaml", "mine");
    let arguments = ["import", "--from", "case", "-o", "mine.yaml"];
    let result = place.run(&arguments).expect_code(2);
    assert!(
        result.stderr.contains("replace it with `--force`"),
        "{}",
        result.stderr
    );
    let forced: Vec<&str> = arguments.into_iter().chain(["--force"]).collect();
    let result = place.run(&forced).expect_code(0);
    assert_eq!(result.stdout, "");
}

#[test]
fn a_check_names_what_the_cluster_lacks() {
    let place = Workspace::empty();
    place.write("case/nodes.json", NODES);
    place.write(
        "case/daemonsets.json",
        r#"{"kind": "DaemonSetList", "apiVersion": "apps/v1", "items": []}"#,
    );
    let result = place
        .run(&["import", "--from", "case", "--check"])
        .expect_code(1);
    assert!(
        result
            .stderr
            .contains("DaemonSet gpuc-system/gpuc-runtime-gpu: not in the cluster"),
        "{}",
        result.stderr
    );
    assert!(
        result.stderr.contains("not compared: ConfigMap: not read"),
        "{}",
        result.stderr
    );
    let other = r#"{"nodegroup": {"nodegroupName": "gpu", "instanceTypes": ["g6.xlarge"],
        "nodegroupArn": "arn:aws:eks:eu-west-1:123456789012:nodegroup/other/gpu/x"}}"#;
    place.write("other.json", other);
    let arguments = ["import", "--from", "case", "--cloud", "other.json"];
    let result = place.run(&arguments).expect_code(3);
    assert!(
        result
            .stderr
            .contains("but Node a is in us-east-1\nhelp: pass the files of one cluster"),
        "{}",
        result.stderr
    );
}

#[test]
fn files_of_clouds_describe_pools_in_full() {
    let place = Workspace::empty();
    place.write("case/nodes.json", NODES);
    let group = r#"{"nodegroup": {"nodegroupName": "gpu", "instanceTypes": ["g6.xlarge"], "subnets": ["subnet-1"],
        "scalingConfig": {"minSize": 1, "maxSize": 1, "desiredSize": 1}, "diskSize": 300}}"#;
    place.write("case/cloud/group.json", group);
    let result = place.run(&["import", "--from", "case"]).expect_code(0);
    assert!(result.stdout.contains("diskGiB: 300"), "{}", result.stdout);
    place.write("wrong.json", "{}");
    let result = place
        .run(&["import", "--from", "case", "--cloud", "wrong.json"])
        .expect_code(3);
    assert!(
        result
            .stderr
            .contains("no cluster and no node pool of EKS, GKE or AKS"),
        "{}",
        result.stderr
    );
}

#[test]
fn a_folder_without_nodes_is_an_error() {
    let place = Workspace::empty();
    place.write(
        "case/pods.json",
        r#"{"kind": "PodList", "apiVersion": "v1", "items": []}"#,
    );
    let result = place.run(&["import", "--from", "case"]).expect_code(3);
    assert!(
        result.stderr.contains("the cluster has no nodes to import"),
        "{}",
        result.stderr
    );
}
