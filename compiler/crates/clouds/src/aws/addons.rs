//! EKS add-ons: IAM roles for pods, CSI drivers, and monitoring of unhealthy nodes.
//!
//! They are installed after the pools, because some of them wait for nodes. The scripts never delete an add-on: the
//! add-ons of a cluster that gpuc created are deleted with it, and those of an existing cluster may have other users.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::{Change, Command, Field, FieldKind, Observe, Resource, ResourceKind, Word};
use gpuc_schema::Span;
use gpuc_syntax::node::Origin;
use serde_json::json;

use super::commands::{Target, aws};
use super::{autoscaler, karpenter, section, storage};

/// An add-on. EKS and the user manage its version.
pub(super) static KIND: ResourceKind = ResourceKind {
    name: "EKS add-on",
    fields: &[],
    definitions: "",
};

/// The network plugin, if gpuc configures it to enforce network policies.
pub(super) static NETWORK_KIND: ResourceKind = ResourceKind {
    name: "EKS network plugin",
    fields: &[POLICIES],
    definitions: r#"def configured: .addon.configurationValues // "" | if . == "" then {} else fromjson end;
"#,
};

/// The network plugin. eksctl installs it in every cluster, without its network policy agent.
/// Source: <https://docs.aws.amazon.com/eks/latest/eksctl/addons.html>; `enableNetworkPolicy` in
/// <https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html>, 2026-11-22.
const NETWORK: &str = "vpc-cni";

const POLICIES: FieldKind = FieldKind {
    name: "network policies",
    read: r#"configured.enableNetworkPolicy // "false" | tostring"#,
    create: Some("--configuration-values"),
    change: Change::InPlace,
    source: "botocore 1.43.11, eks UpdateAddon, 2026-11-22",
};

/// The agent that provides IAM roles to pods.
const POD_IDENTITY: &str = "eks-pod-identity-agent";

/// The agent that reports unhealthy GPUs and nodes. Without it, EKS repairs only nodes that do not respond.
/// Source: <https://docs.aws.amazon.com/eks/latest/userguide/node-repair.html> and `node-health.html` next to it,
/// 2026-11-21.
const MONITORING: &str = "eks-node-monitoring-agent";

/// The add-ons that the file requires, each with the spans it follows from.
fn wanted(checked: Checked<'_>) -> BTreeMap<&'static str, Vec<Span>> {
    let mut wanted = storage::STORAGE.addons(&checked.config);
    let repairs = checked.pools.iter().filter_map(|pool| {
        let repair = pool.settings.auto_repair.filter(|repair| repair.value);
        repair.map(|repair| repair.span)
    });
    let repairs: Vec<_> = repairs.collect();
    // CSI drivers and autoscalers call AWS APIs, so their pods need roles.
    let mut identities: Vec<_> = wanted.values().flatten().copied().collect();
    identities.extend(autoscaler::installed(&checked));
    identities.extend(karpenter::installed(&checked));
    if checked.config.cloud.creates_cluster() {
        identities.push(section(&checked.config).cluster.span);
    }
    if !repairs.is_empty() {
        wanted.insert(MONITORING, repairs);
    }
    if !identities.is_empty() {
        wanted.insert(POD_IDENTITY, identities);
    }
    wanted
}

/// The add-ons, with the agent that provides roles before the add-ons that need them.
pub(super) fn resources(checked: Checked<'_>) -> Vec<Resource> {
    let target = Target::cluster(&checked);
    let mut wanted: Vec<_> = wanted(checked).into_iter().collect();
    wanted.sort_by_key(|(name, _)| *name != POD_IDENTITY);
    let resource = |(name, spans)| resource(name, spans, &target);
    let enforced: Vec<_> = checked.isolation().collect();
    let creates = checked.config.cloud.creates_cluster();
    let network = (creates && !enforced.is_empty()).then(|| network(enforced, &target));
    network
        .into_iter()
        .chain(wanted.into_iter().map(resource))
        .collect()
}

/// The network plugin, which enforces the policies of isolated teams. Its other settings and its role are kept.
fn network(spans: Vec<Span>, target: &Target) -> Resource {
    let on = |command: &[&str]| {
        aws(command.iter().copied(), &target.region).with([
            "--cluster-name",
            &target.cluster,
            "--addon-name",
            NETWORK,
        ])
    };
    let wait = on(&["eks", "wait", "addon-active"]);
    let configuration = json!({"enableNetworkPolicy": "true"}).to_string();
    let create = on(&["eks", "create-addon"]).with(["--configuration-values", &configuration]);
    let with_own = r#"configured + {enableNetworkPolicy: "true"} | tojson"#;
    let kept = r#"["--resolve-conflicts", "PRESERVE"]
        + (.addon.serviceAccountRoleArn | if . then ["--service-account-role-arn", .] else [] end)"#;
    let update = on(&["eks", "update-addon"])
        .with(["--configuration-values"])
        .with_word(Word::Observed(with_own.to_owned()))
        .with_word(Word::ObservedWords(kept.to_owned()));
    let origin = Origin::rule(
        spans,
        "the network policies of isolated teams must be enforced",
    );
    Resource {
        kind: &NETWORK_KIND,
        name: NETWORK.to_owned(),
        script: "addons".to_owned(),
        about: about(target),
        observe: Observe {
            command: on(&["eks", "describe-addon"]).with(["--output", "json"]),
            absent: "ResourceNotFoundException",
        },
        create: vec![
            create.with(["--resolve-conflicts", "OVERWRITE"]),
            wait.clone(),
        ],
        by_hand: Vec::new(),
        comes_with: None,
        fields: vec![Field {
            kind: &POLICIES,
            want: json!("true"),
            update: vec![update, wait],
            others: None,
            origin: origin.clone(),
        }],
        delete: Vec::new(),
        origin,
    }
}

fn about(target: &Target) -> String {
    format!("add-ons of EKS cluster {}", target.cluster)
}

fn resource(name: &'static str, spans: Vec<Span>, target: &Target) -> Resource {
    let observe = aws(["eks", "describe-addon"], &target.region)
        .with(["--cluster-name", &target.cluster, "--addon-name", name])
        .with(["--output", "json"]);
    // eksctl-io/eksctl:pkg/ctl/create/addon.go (the flags), userdocs/src/usage/pod-identity-associations.md (the effect
    // of the last one), @99984adb, 2026-08-21.
    let create = Command::new(["eksctl", "create", "addon"]).with([
        format!("--cluster={}", target.cluster),
        format!("--name={name}"),
        format!("--region={}", target.region),
        "--auto-apply-pod-identity-associations".to_owned(),
    ]);
    Resource {
        kind: &KIND,
        name: name.to_owned(),
        script: "addons".to_owned(),
        about: about(target),
        observe: Observe {
            command: observe,
            absent: "ResourceNotFoundException",
        },
        create: vec![create],
        by_hand: Vec::new(),
        comes_with: None,
        fields: Vec::new(),
        delete: Vec::new(),
        origin: Origin::rule(spans, "settings of the file require this add-on"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAD, line, provision, provision_whole};
    use gpuc_model::plan::Provisioning;

    const POOL: &str = "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}}]";

    fn addons(made: &Provisioning) -> Vec<&str> {
        let resources = made.resources.iter();
        let addons = resources.filter(|it| it.script == "addons");
        addons.map(|it| it.name.as_str()).collect()
    }

    #[test]
    fn new_cluster_gets_the_pod_identity_agent() {
        let made = provision(POOL);
        assert_eq!(addons(&made), ["eks-pod-identity-agent"]);
        let agent = &made.resources[2];
        assert_eq!(agent.script, "addons");
        assert_eq!(
            line(&agent.create[0]),
            "eksctl create addon --cluster=demo --name=eks-pod-identity-agent --region=us-east-1 \
             --auto-apply-pod-identity-associations"
        );
        assert_eq!(
            line(&agent.observe.command),
            "aws eks describe-addon --region us-east-1 --cluster-name demo --addon-name eks-pod-identity-agent --output json"
        );
        let existing = HEAD.replace("{create: {}}", "{existing: {}}");
        assert!(addons(&provision_whole(&format!("{existing}{POOL}"))).is_empty());
    }

    #[test]
    fn isolated_team_enables_network_policies() {
        let isolated = format!("{POOL}\nteams: [{{name: a, network: isolated}}]");
        let made = provision(&isolated);
        assert_eq!(addons(&made), ["vpc-cni", "eks-pod-identity-agent"]);
        let network = made.resources.iter().find(|it| it.name == "vpc-cni");
        let network = network.expect("the network plugin");
        assert_eq!(network.fields[0].want, "true");
        assert_eq!(
            line(&network.create[0]),
            "aws eks create-addon --region us-east-1 --cluster-name demo --addon-name vpc-cni \
             --configuration-values {\"enableNetworkPolicy\":\"true\"} --resolve-conflicts OVERWRITE"
        );
        let existing = HEAD.replace("{create: {}}", "{existing: {}}");
        assert!(addons(&provision_whole(&format!("{existing}{isolated}"))).is_empty());
    }

    #[test]
    fn volumes_and_node_repair_add_addons() {
        let existing = HEAD.replace("{create: {}}", "{existing: {}}");
        let made = provision_whole(&format!(
            "{existing}storage: {{classes: [{{name: fast, volumes: {{disk: {{}}}}}}, \
             {{name: shared, volumes: {{files: {{id: fs-0123456789abcdef0}}}}}}]}}\n\
             nodePools: [{{name: a, machine: m7i.large, nodes: {{count: 1}}, autoRepair: true}}]"
        ));
        assert_eq!(
            addons(&made),
            [
                "eks-pod-identity-agent",
                "aws-ebs-csi-driver",
                "aws-efs-csi-driver",
                "eks-node-monitoring-agent",
            ]
        );
    }
}
