//! Blue-green upgrades are a strategy of GKE: every other cloud refuses them.

use crate::support::compile_text;

/// Findings for a pool with blue-green upgrades, by name.
fn findings(cloud: &str, pools: &str) -> Vec<&'static str> {
    let file = format!(
        r#"{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, kubernetes: {{version: "1.36"}},
        cloud: {cloud}, stack: {{runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}}, nodePools: [{pools}]}}"#
    );
    let outcome = compile_text(&file);
    let mut names: Vec<_> = outcome.findings.iter().map(|it| it.code.name).collect();
    names.dedup();
    names
}

#[test]
fn only_gke_accepts_them() {
    let upgrade = "upgrade: {blueGreen: {}}";
    let pools = |system: &str, machine: &str| {
        format!(
            "{{name: system, machine: {system}, nodes: {{count: 2}}}}, \
             {{name: gpu, machine: {machine}, nodes: {{count: 1}}, {upgrade}}}"
        )
    };
    let gcp = "{gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {}}}}";
    assert_eq!(
        findings(gcp, &pools("e2-standard-4", "g2-standard-8")),
        [""; 0]
    );
    let aws = r#"{aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}"#;
    let expected = ["upgrade-unavailable"];
    assert_eq!(findings(aws, &pools("m7i.xlarge", "g6.xlarge")), expected);
    let azure = r#"{azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus,
        cluster: {create: {nodeImageChannel: securityPatch}}}}"#;
    let pools = pools("Standard_D4s_v5", "Standard_NC24ads_A100_v4");
    assert_eq!(findings(azure, &pools), ["aks-upgrade-settings"]);
    let hosts = format!(
        "{{name: gpu, gpu: {{model: L4, perNode: 1}}, hosts: [a], nodes: {{count: 1}}, {upgrade}}}"
    );
    assert_eq!(
        findings("{onPrem: {context: demo}}", &hosts),
        ["cloud-only-key"]
    );
}
