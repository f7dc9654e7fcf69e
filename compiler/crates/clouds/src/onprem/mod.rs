//! Existing machines with an existing Kubernetes cluster.
//!
//! gpuc creates neither machines nor clusters here. It generates a script that prepares each host, and one that labels
//! and taints the nodes of a pool.

mod host;
mod os;
mod pool;
mod rules;
mod sources;

use crate::names::is_dns_label;
use gpuc_schema::Spanned;
use gpuc_schema::config::{
    Autoscaler, CloudSection, DevicePlugin, Distribution, DriverOwner, GpuCluster,
    OnPrem as Section, Rdma,
};

use gpuc_model::check::{Checked, Rule};
use gpuc_model::cloud::machine::Machine;
use gpuc_model::cloud::{
    ARCHITECTURE, Catalog, Cloud, CloudFacts, HOSTNAME, KUBELET_DIR, MachineName, NameRule, NoRdma,
    NodeFacts, NodeRepair, OPERATING_SYSTEM, Provision, SupportFacts,
};
use gpuc_model::plan::{Command, Credentials, IdentityCheck, Provisioning, ResourceKind, Tool};
use gpuc_model::{Cluster, Label, Pool, PoolSpec, PoolTaint};

/// The user's own hosts.
#[derive(Debug)]
pub struct OnPrem;

static FACTS: CloudFacts = CloudFacts {
    key: "onPrem",
    name: "Kubernetes on premises",
    autoscalers: &[Autoscaler::None],
    os: os::OS,
    creates_machines: false,
    kubelet_dir: KUBELET_DIR,
    support: &SupportFacts::NONE,
    regions: &[],
    region_of: |_| None,
    machine_term: "host",
    pool_name: NameRule {
        description: "lower-case letters, digits and -, starting and ending with a letter or digit",
        max: 63,
        is_valid: is_dns_label,
        source: "kubernetes.io/docs/concepts/overview/working-with-objects/labels: the name is a label value",
    },
    cluster_name: NameRule {
        description: "lower-case letters, digits and -, starting and ending with a letter or digit",
        max: 63,
        is_valid: is_dns_label,
        source: "kubernetes.io/docs/concepts/overview/working-with-objects/names: RFC 1123 labels",
    },
    taint_needs_value: None,
    // The nodes exist before gpuc taints them, so a startup taint would block a pool that is in use.
    startup_taints_source: None,
    tolerates_requested_resources: false,
    has_compact_placement: false,
    has_alternative_machines: false,
    reserved_prefixes: &[HOSTNAME, ARCHITECTURE, OPERATING_SYSTEM],
    deprecated_labels: &[],
    other_accelerators: &[],
    bare_labels: &[],
    label_prefixes: &[],
    drivers: &[
        DriverOwner::Host,
        DriverOwner::Preinstalled,
        DriverOwner::Operator,
    ],
    has_driver_daemon_set: false,
    driver_keywords: &[],
    plugins: &[
        DevicePlugin::Gpuc,
        DevicePlugin::Nvidia,
        DevicePlugin::Operator,
    ],
    // kubernetes.io/docs/setup/best-practices/cluster-large, 2026-11: no more than 5000 nodes in a cluster.
    max_nodes: 5000,
    capacity_kinds: &["onDemand"],
    has_managed_control_plane: false,
    announces_node_resources: false,
    storage: None,
    node_repair: NodeRepair::Never,
    node_image: Err("hosts have no node images"),
    // Source: kubernetes.io/docs/concepts/services-networking/network-policies; the plugins from memory, 2026-11-22.
    policy_enforcement_check: "the network plugin of the cluster: Calico and Cilium enforce NetworkPolicies, Flannel \
                        alone does not",
    reserved_resources: None,
};

impl Catalog for OnPrem {
    fn machines(&self) -> Vec<&'static Machine> {
        Vec::new()
    }

    fn machine(&self, _name: &str) -> Option<&'static Machine> {
        None
    }

    fn machine_name(&self, _name: &str) -> MachineName {
        MachineName::Impossible
    }
}

impl NodeFacts for OnPrem {
    /// gpuc's script for the host, for every device plugin.
    fn default_driver(&self, _plugin: DevicePlugin) -> DriverOwner {
        DriverOwner::Host
    }

    fn driver_version(&self, pool: &Pool) -> Option<String> {
        host::driver_version(pool)
    }

    fn required_labels(&self, _autoscaler: Spanned<Autoscaler>, _pool: &PoolSpec) -> Vec<Label> {
        Vec::new()
    }

    fn automatic_taints(&self, _pool: &PoolSpec) -> Vec<PoolTaint> {
        Vec::new()
    }

    /// gpuc does not know the network hardware of the hosts.
    fn rdma(&self, _pool: &Pool, _rdma: &Rdma) -> Result<(), NoRdma> {
        Ok(())
    }
}

impl Provision for OnPrem {
    /// The distribution cannot be changed without a new cluster.
    fn container<'c>(&self, cluster: &'c Cluster) -> Option<(&'static str, &'c str)> {
        let CloudSection::OnPrem(section) = &cluster.config.cloud.value else {
            unreachable!("this cloud handles only `onPrem`");
        };
        let name = host::distribution_name(section.distribution.value);
        Some(("Kubernetes distribution", name))
    }

    fn resources(&self) -> &'static [&'static ResourceKind] {
        static RESOURCES: &[&ResourceKind] = &[&pool::NODE];
        RESOURCES
    }

    fn provision(&self, cluster: &Checked<'_>) -> Provisioning {
        let section = section(cluster);
        let context = &section.context.value;
        let pools = || cluster.pools.iter();
        Provisioning {
            tools: ["kubectl", "jq"].map(Tool::any_version).into(),
            identity: vec![IdentityCheck {
                subject: "kubeconfig context",
                is_location: true,
                query: Command::new(["kubectl", "config", "get-contexts", context, "-o", "name"]),
                expected: context.clone(),
                mismatch_message: "set KUBECONFIG to the kubeconfig that contains this context"
                    .to_owned(),
            }],
            resources: pools()
                .filter(|pool| !pool.is_existing())
                .flat_map(|pool| pool::node_resources(pool, context))
                .collect(),
            known_errors: &[],
            update_state: None,
            credentials: Credentials::Context(context.clone()),
            files: pools()
                .filter_map(|pool| host::script_file(pool, section))
                .collect(),
        }
    }

    /// K3s and RKE2 run their own containerd.
    ///
    /// Source: rancher/rke2-docs docs/add-ons/gpu_operators.md @09157fbd, read 2026-11-21.
    fn operator_toolkit(&self, config: &GpuCluster) -> &'static [(&'static str, &'static str)] {
        let CloudSection::OnPrem(section) = &config.cloud.value else {
            unreachable!("this cloud handles only `onPrem`");
        };
        match section.distribution.value {
            Distribution::K3s | Distribution::Rke2 => {
                &[("CONTAINERD_SOCKET", "/run/k3s/containerd/containerd.sock")]
            }
            Distribution::Kubeadm => &[],
        }
    }
}

impl Cloud for OnPrem {
    fn facts(&self) -> &'static CloudFacts {
        &FACTS
    }

    fn for_section(&'static self, section: &CloudSection) -> Option<&'static dyn Cloud> {
        matches!(section, CloudSection::OnPrem(_)).then_some(self as &dyn Cloud)
    }

    fn rules(&self) -> &'static [&'static Rule] {
        rules::RULES
    }
}

/// The `cloud.onPrem` section of the file.
fn section(cluster: &Cluster) -> &Section {
    match &cluster.config.cloud.value {
        CloudSection::OnPrem(section) => section,
        _ => unreachable!("this cloud handles only `onPrem`"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use gpuc_model::check::check;
    use gpuc_model::plan::{Argument, Contents};
    use gpuc_model::resolve::{Choices, resolve};
    use gpuc_syntax::diag::Report;

    /// A cluster with these pools, and its diagnostics.
    fn cluster(distribution: &str, pools: &Value) -> (Cluster, Report) {
        let config = json!({
            "apiVersion": "gpuc.dev/v1alpha1",
            "kind": "GpuCluster",
            "metadata": {"name": "lab"},
            "kubernetes": {"version": "1.36"},
            "cloud": {"onPrem": {"context": "it's lab", "distribution": distribution}},
            "stack": {"runtimeImage": "registry.example.com/gpuc-runtime:0.1.0"},
            "nodePools": pools,
        });
        let config: GpuCluster = serde_json::from_value(config).expect("a valid configuration");
        let mut report = Report::default();
        let cluster = resolve(
            Arc::new(config),
            &crate::testing::REGISTRY,
            &Choices::default(),
            &mut report,
        );
        (cluster, report)
    }

    fn provision(distribution: &str, pools: &Value) -> Provisioning {
        let (cluster, mut report) = cluster(distribution, pools);
        let checked =
            check(&cluster, &mut report).unwrap_or_else(|| panic!("{:?}", report.diagnostics()));
        OnPrem.provision(&checked)
    }

    /// Names of the diagnostics of this cloud's rules.
    fn codes(pools: &Value) -> Vec<&'static str> {
        let (cluster, mut report) = cluster("kubeadm", pools);
        for rule in OnPrem.rules() {
            (rule.run)(&cluster, &mut report);
        }
        let diagnostics = report.diagnostics().iter();
        diagnostics.map(|diagnostic| diagnostic.code.name).collect()
    }

    fn script(provisioning: &Provisioning) -> &str {
        match &provisioning.files[0].contents {
            Contents::Script(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_host_gets_the_labels_and_taints_of_its_pool() {
        let provisioning = provision(
            "kubeadm",
            &json!([{
                "name": "train", "gpu": {"model": "A30", "perNode": 4}, "hosts": ["dgx-1", "dgx-2"],
                "nodes": {"count": 2}, "dedicatedTo": "research", "labels": {"rack": "a"},
                "taints": [{"key": "sku", "effect": "PreferNoSchedule"}],
            }]),
        );
        let names: Vec<_> = provisioning
            .resources
            .iter()
            .map(|node| &*node.name)
            .collect();
        assert_eq!(names, ["dgx-1", "dgx-2"]);
        let node = &provisioning.resources[1];
        assert_eq!(node.script, "pool-train");
        assert_eq!(
            node.observation.command,
            Command::new([
                "kubectl",
                "--context",
                "it's lab",
                "get",
                "node",
                "dgx-2",
                "--output",
                "json"
            ])
        );
        let labels =
            json!({"gpuc.dev/dedicated-to": "research", "gpuc.dev/pool": "train", "rack": "a"});
        assert_eq!(node.fields[0].desired, labels);
        let taints = json!([
            {"key": "gpuc.dev/dedicated-to", "value": "research", "effect": "NoSchedule"},
            {"key": "sku", "value": "", "effect": "PreferNoSchedule"},
        ]);
        assert_eq!(node.fields[1].desired, taints);
        for field in &node.fields {
            assert!(matches!(
                field.update[0].0.last(),
                Some(Argument::Observed(_))
            ));
        }
        let annotation = "gpuc.dev/taints=gpuc.dev/dedicated-to:NoSchedule,sku:PreferNoSchedule";
        let last = node.fields[1].update[1].0.last();
        assert_eq!(last, Some(&Argument::Text(annotation.to_owned())));
        assert_eq!(provisioning.identity[0].expected, "it's lab");
    }

    #[test]
    fn host_script_depends_on_the_gpu_model() {
        for (model, count, lines) in [
            (
                "h100-sxm5-80gb",
                8,
                [
                    "driver_version=580",
                    "kernel_modules=open",
                    "nvlink_subnet=no",
                ],
            ),
            (
                "b200-sxm6-180gb",
                8,
                [
                    "driver_version=580",
                    "kernel_modules=open",
                    "nvlink_subnet=yes",
                ],
            ),
            (
                "v100-sxm2-16gb",
                8,
                [
                    "driver_version=580",
                    "kernel_modules=proprietary",
                    "nvlink_subnet=no",
                ],
            ),
            (
                "gb200-186gb",
                4,
                [
                    "architecture=aarch64",
                    "kernel_modules=open",
                    "nvlink_subnet=no",
                ],
            ),
        ] {
            let provisioning = provision(
                "rke2",
                &json!([{
                    "name": "gpu", "gpu": {"model": model, "perNode": count}, "hosts": ["a", "b"],
                    "nodes": {"count": 2},
                }]),
            );
            assert_eq!(provisioning.files[0].path, "host-gpu.sh");
            let script = script(&provisioning);
            for line in lines.into_iter().chain(["kubernetes=rke2", "hosts=(a b)"]) {
                assert!(script.lines().any(|other| other == line), "{model}: {line}");
            }
        }
    }

    #[test]
    fn scripts_only_for_hosts_whose_driver_gpuc_installs() {
        let pools = json!([
            {"name": "cpu", "hosts": ["a"], "nodes": {"count": 1}},
            {"name": "own", "hosts": ["b"], "nodes": {"count": 1},
             "gpu": {"model": "L4", "perNode": 1}, "stack": {"driver": "preinstalled"}},
            {"name": "hand", "nodes": {"count": 3}, "existing": {"selector": {"rack": "b"}},
             "gpu": {"model": "L4", "perNode": 1}},
        ]);
        let provisioning = provision("kubeadm", &pools);
        let files: Vec<_> = provisioning.files.iter().map(|file| &*file.path).collect();
        assert_eq!(files, ["host-hand.sh"]);
        let names: Vec<_> = provisioning
            .resources
            .iter()
            .map(|node| &*node.name)
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn invalid_host_pools_are_refused() {
        let pool = |change: Value| {
            let mut pool = json!({"name": "gpu", "gpu": {"model": "L4", "perNode": 1}, "hosts": ["a"], "nodes": {"count": 1}});
            for (key, value) in change.as_object().expect("a change is a map") {
                pool[key] = value.clone();
            }
            pool
        };
        for (change, code) in [
            (json!({"hosts": []}), "hosts-missing"),
            (
                json!({"hosts": ["a", "a"], "nodes": {"count": 2}}),
                "host-twice",
            ),
            (json!({"hosts": ["-a"]}), "host-name-invalid"),
            (json!({"nodes": {"count": 3}}), "host-count-mismatch"),
            (
                json!({"nodes": {"min": 1, "max": 2}}),
                "node-range-unsupported",
            ),
            (
                json!({"existing": {"selector": {"a": "b"}}}),
                "existing-with-hosts",
            ),
            (json!({"machine": "dgx"}), "cloud-only-key"),
            (json!({"zones": ["a"]}), "cloud-only-key"),
            (json!({"subnets": ["a"]}), "cloud-only-key"),
            (json!({"capacity": {"spot": {}}}), "cloud-only-key"),
            (json!({"network": {"efa": {}}}), "cloud-only-key"),
            (
                json!({"network": {"placement": "compact"}}),
                "cloud-only-key",
            ),
            (json!({"maxPods": 64}), "cloud-only-key"),
            (json!({"tags": {"a": "b"}}), "cloud-only-key"),
            (json!({"upgrade": {"maxSurge": 1}}), "cloud-only-key"),
        ] {
            assert_eq!(codes(&json!([pool(change.clone())])), [code], "{change}");
        }
        assert!(codes(&json!([pool(json!({}))])).is_empty());
        let duplicate = json!([pool(json!({})), pool(json!({"name": "other"}))]);
        assert_eq!(codes(&duplicate), ["host-twice"]);
    }
}
