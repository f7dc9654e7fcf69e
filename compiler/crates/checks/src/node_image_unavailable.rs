//! `nodeImage` is set, but the cloud selects the release of node images.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2228",
        name: "node-image-unavailable",
        severity: Severity::Error,
        summary: "a pool cannot select the release of its node image on this cloud",
        checks: "Whether gpuc can select the release of a pool's node image on this cloud: it can on EKS.",
        reason: "GKE and AKS select the release of node images for the whole cluster. Your own hosts have none. The key
would have no effect.",
        remedy: "Remove `nodeImage`, and use the settings of the cluster that the help names.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
  - {name: gpu, machine: Standard_NC4as_T4_v3, nodes: {count: 1}, nodeImage: {channel: latest}}
"#,
        correction: Correction::Replace(", nodeImage: {channel: latest}", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    let Err(alternative) = facts.node_image else {
        return;
    };
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        let Some(image) = &pool.settings.node_image else {
            continue;
        };
        let message = format!(
            "pools of {} cannot select the release of their node image",
            facts.name
        );
        report
            .diagnostic(&RULE.code, image.span, message)
            .help(format!("remove `nodeImage`; {alternative}"))
            .emit();
    }
}
