//! A managed node group: how it is created, read and updated.

mod fields;
mod kinds;

use gpuc_model::check::Checked;
use gpuc_model::plan::{Argument, Command, Observation, Resource};
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::{AwsCluster, DevicePlugin};
use gpuc_syntax::node::Origin;

use super::commands::Target;
use super::eksctl;
use super::node_group::NodeGroup;
use super::{section, state};
use fields::fields;
pub(super) use kinds::NODE_GROUP;

/// The node group of a pool that gpuc creates.
pub(super) fn resource(checked: Checked<'_>, pool: &Pool) -> Resource {
    let group = NodeGroup::new(&checked, pool);
    let target = Target::for_cluster(&checked);
    let name = pool.name.value.as_str();
    let delete = Command::new(["eksctl", "delete", "nodegroup"])
        .with_arguments([
            format!("--cluster={}", target.cluster),
            format!("--name={name}"),
            format!("--region={}", target.region),
        ])
        .with_arguments(["--wait"]);
    let about = format!(
        "Creates and updates node group {name} of EKS cluster {}: {} x {}.",
        target.cluster,
        node_count_text(&group),
        group.machine
    );
    Resource {
        kind: &NODE_GROUP,
        name: name.to_owned(),
        script: format!("pool-{name}"),
        description: about,
        observation: Observation {
            command: target
                .group_command("describe-nodegroup", name)
                .with_arguments(["--output", "json"]),
            absent_pattern: "ResourceNotFoundException",
        },
        create: create_commands(&group, &target),
        contents: None,
        manual_delete: vec![delete.clone()],
        remnant: Some(state::node_group_stack(
            &target,
            name,
            creates_cluster(&checked),
        )),
        recovery: state::node_group_recovery(&target, name, &delete),
        created_with: None,
        fields: fields(&group, &target),
        delete: vec![delete.with_arguments(teardown_flags(&checked))],
        origin: Origin::rule([pool.name.span], "each pool is a managed node group"),
    }
}

/// The flags of a deletion together with the cluster: the PodDisruptionBudget of CoreDNS prevents the eviction from the
/// last nodes (github.com/eksctl-io/eksctl/issues/7719, 2026-11-23; pkg/ctl/delete/nodegroup.go @00617d06).
fn teardown_flags(cluster: &Cluster) -> Option<&'static str> {
    creates_cluster(cluster).then_some("--disable-eviction")
}

/// Whether gpuc creates the cluster, which then has its mark.
fn creates_cluster(cluster: &Cluster) -> bool {
    matches!(
        section(&cluster.config).cluster.value,
        AwsCluster::Create(_)
    )
}

fn create_commands(group: &NodeGroup<'_>, target: &Target) -> Vec<Command> {
    let name = &group.pool.name.value;
    let mut commands = vec![eksctl_command(group)];
    if group.pool.is_reserved() {
        let config = Argument::Text(group.update_config().to_string());
        commands.extend(target.update_group(name, "--update-config", config));
    }
    commands
}

fn node_count_text(group: &NodeGroup<'_>) -> String {
    if group.nodes.is_fixed() {
        return group.nodes.min.to_string();
    }
    format!("{} to {}", group.nodes.min, group.nodes.max)
}

fn eksctl_command(group: &NodeGroup<'_>) -> Command {
    let command = Command::new(["eksctl", "create", "nodegroup", "--config-file"])
        .with_argument(Argument::CloudFile(eksctl::CONFIG_PATH.to_owned()))
        .with_arguments([format!("--include={}", group.pool.name.value)]);
    // On Amazon Linux, `cloud` is the plugin that eksctl installs by default, on the nodes of other pools too.
    let uses_eksctl_plugin = group.pool.has_gpus()
        && group.pool.plugin.value == DevicePlugin::Cloud
        && !group.advertises_by_itself();
    if uses_eksctl_plugin {
        command
    } else {
        command.with_arguments(["--install-nvidia-plugin=false"])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{command_line, field, provision};
    use super::*;
    use gpuc_model::plan::{Change, Field};

    fn only_pool(pool: &str) -> Resource {
        let mut resources = provision(pool).resources;
        assert!(resources.len() > 1, "the cluster and the pool");
        let index = resources
            .iter()
            .position(|it| it.kind.name == NODE_GROUP.name);
        resources.remove(index.expect("a node group"))
    }

    #[test]
    fn eksctl_creates_a_pool_without_its_plugin() {
        let pool = only_pool("nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}}]");
        let create: Vec<_> = pool.create.iter().map(command_line).collect();
        assert_eq!(
            create,
            [
                "eksctl create nodegroup --config-file ./eksctl.yaml --include=gpu --install-nvidia-plugin=false"
            ]
        );
        assert_eq!(
            command_line(&pool.observation.command),
            "aws eks describe-nodegroup --region us-east-1 --cluster-name demo --nodegroup-name gpu --output json"
        );
        assert_eq!(pool.script, "pool-gpu");
    }

    #[test]
    fn plugin_of_the_cloud_is_that_of_eksctl() {
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}, stack: {devicePlugin: cloud}}]",
        );
        assert!(!command_line(&pool.create[0]).contains("nvidia-plugin"));
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}, os: {family: Bottlerocket}}]",
        );
        assert!(command_line(&pool.create[0]).ends_with("--install-nvidia-plugin=false"));
    }

    #[test]
    fn image_matches_machine_type_and_os() {
        for (machine, os, image) in [
            ("g5.xlarge", "AmazonLinux2023", "AL2023_x86_64_NVIDIA"),
            ("g5g.xlarge", "AmazonLinux2023", "AL2023_ARM_64_NVIDIA"),
            ("m7i.large", "AmazonLinux2023", "AL2023_x86_64_STANDARD"),
            ("m7g.large", "AmazonLinux2023", "AL2023_ARM_64_STANDARD"),
            ("m7g.large", "Bottlerocket", "BOTTLEROCKET_ARM_64"),
            ("g5.xlarge", "Bottlerocket", "BOTTLEROCKET_x86_64_NVIDIA"),
            ("m7i.large", "Ubuntu2404", "Ubuntu2404"),
        ] {
            let pool = only_pool(&format!(
                "nodePools: [{{name: a, machine: {machine}, nodes: {{count: 1}}, os: {{family: {os}}}}}]"
            ));
            assert_eq!(field(&pool, "node image").desired, image, "{machine} {os}");
        }
    }

    #[test]
    fn version_of_an_ubuntu_image_is_immutable() {
        let pool = only_pool(
            "nodePools: [{name: a, machine: m7i.large, nodes: {count: 1}, os: {family: Ubuntu2404}}]",
        );
        let version = field(&pool, "Kubernetes version of the image");
        assert!(matches!(version.kind.change, Change::Replacement { .. }));
        assert!(version.update.is_empty());
    }

    #[test]
    fn values_that_eks_does_not_report_are_recorded() {
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: p5.48xlarge, zones: [us-east-1b], nodes: {min: 1, max: 1}, \
             network: {efa: {}}, maxPods: 50, capacity: {capacityBlock: {id: cr-0123456789abcdef0, count: 4, start: '2096-12-01T11:30:00Z', end: '2096-12-15T11:30:00Z'}}}]",
        );
        for (name, desired) in [
            ("disk size in GiB", json!("100")),
            ("EFA", json!("yes")),
            ("max pods per node", json!("50")),
            ("capacity reservation", json!("cr-0123456789abcdef0")),
            ("capacity", json!("CAPACITY_BLOCK")),
            ("zones or subnets", json!(["us-east-1b"])),
            ("placement group", json!("")),
        ] {
            assert_eq!(field(&pool, name).desired, desired, "{name}");
        }
    }

    #[test]
    fn reserved_machines_use_the_minimal_strategy() {
        let strategy = |capacity: &str| {
            let pool = only_pool(&format!(
                "nodePools: [{{name: gpu, machine: p4d.24xlarge, zones: [us-east-1b], nodes: {{count: 2}}, capacity: {capacity}}}]"
            ));
            let desired = field(&pool, "upgrade settings").desired.clone();
            (
                desired,
                pool.create.iter().map(command_line).collect::<Vec<_>>(),
            )
        };
        let (desired, create) = strategy("{reservation: {id: cr-0123456789abcdef0, count: 2}}");
        assert_eq!(
            desired,
            json!({"maxUnavailable": 1, "updateStrategy": "MINIMAL"})
        );
        assert_eq!(
            create[1],
            "aws eks update-nodegroup-config --region us-east-1 --cluster-name demo --nodegroup-name gpu \
             --update-config {\"maxUnavailable\":1,\"updateStrategy\":\"MINIMAL\"}"
        );
        let (desired, create) = strategy("onDemand");
        assert_eq!(
            desired,
            json!({"maxUnavailable": 1, "updateStrategy": "DEFAULT"})
        );
        assert_eq!(create.len(), 1);
    }

    #[test]
    fn local_disks_are_scratch_space_only_if_set() {
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}, localDisks: scratch, autoRepair: true}]",
        );
        assert_eq!(field(&pool, "local disks").desired, "scratch");
        assert_eq!(field(&pool, "node repair").desired, json!(true));
        let pool = only_pool("nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}}]");
        assert_eq!(field(&pool, "local disks").desired, "none");
    }

    #[test]
    fn taints_are_those_of_the_file() {
        let pool = only_pool(
            "nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}, dedicatedTo: ml, \
             taints: [{key: a, effect: NoExecute}]}]",
        );
        assert_eq!(
            field(&pool, "taints").desired,
            json!([
                {"key": "a", "value": "", "effect": "NO_EXECUTE"},
                {"key": "gpuc.dev/dedicated-to", "value": "ml", "effect": "NO_SCHEDULE"},
            ])
        );
    }

    #[test]
    fn every_field_belongs_to_the_kind() {
        let pool = only_pool("nodePools: [{name: gpu, machine: g5.xlarge, nodes: {count: 2}}]");
        assert!(
            pool.fields
                .iter()
                .all(|field| NODE_GROUP.fields.contains(field.kind))
        );
        let replaced = |field: &Field| matches!(field.kind.change, Change::Replacement { .. });
        assert!(
            pool.fields
                .iter()
                .all(|field| replaced(field) == field.update.is_empty())
        );
    }
}
