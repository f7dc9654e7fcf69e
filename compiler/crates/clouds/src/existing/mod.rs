//! Clusters that gpuc does not create: services and distributions, each a row of `providers`.
//!
//! No script creates, labels or taints nodes here: a pool selects its nodes by their labels. Everything in the cluster
//! is as elsewhere. `node_pool` writes the pools of CoreWeave, which are Kubernetes objects.

mod node_pool;
mod providers;
mod rules;

use std::collections::BTreeSet;

use gpuc_schema::Spanned;
use gpuc_schema::config::{
    Autoscaler, CloudSection, DevicePlugin, DriverOwner, ExistingPlatform, GpuCluster, Provider,
    Rdma,
};
use gpuc_syntax::node::Origin;

use gpuc_model::check::{Checked, Rule};
use gpuc_model::cloud::machine::Machine;
use gpuc_model::cloud::{Catalog, Cloud, CloudFacts, MachineName, NoRdma, NodeFacts, Provision};
use gpuc_model::plan::{
    Command, Credentials, IdentityCheck, Object, Provisioning, ResourceKind, Tool,
};
use gpuc_model::{Cluster, Label, Pool, PoolSpec, PoolTaint, SetBy};
use providers::{ProviderFacts, ROWS};

/// A cluster of one provider.
#[derive(Debug)]
pub struct Existing {
    provider: &'static ProviderFacts,
}

/// The cloud of the section `existing`, for lists of clouds. A section selects the variant for its provider.
pub static EXISTING: Existing = Existing {
    provider: &providers::ANY,
};

/// The variant of each provider, in the order of [`ROWS`].
static VARIANTS: [Existing; ROWS.len()] = {
    let mut variants = [const {
        Existing {
            provider: &providers::ANY,
        }
    }; ROWS.len()];
    let mut index = 0;
    while index < ROWS.len() {
        variants[index].provider = &ROWS[index];
        index += 1;
    }
    variants
};

impl Catalog for Existing {
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

impl NodeFacts for Existing {
    /// The operator installs the driver together with its device plugin, where it may.
    fn default_driver(&self, plugin: DevicePlugin) -> DriverOwner {
        let by_operator = self.provider.facts.drivers.contains(&DriverOwner::Operator);
        match plugin {
            DevicePlugin::Operator if by_operator => DriverOwner::Operator,
            _ => DriverOwner::Preinstalled,
        }
    }

    fn default_plugin(&self) -> Option<(DevicePlugin, &'static str)> {
        self.provider.default_plugin
    }

    /// The provider selects the operating system.
    fn os_release(&self, _cluster: &Cluster, _pool: &Pool) -> Option<&'static str> {
        None
    }

    fn required_labels(&self, _autoscaler: Spanned<Autoscaler>, _pool: &PoolSpec) -> Vec<Label> {
        Vec::new()
    }

    fn automatic_taints(&self, pool: &PoolSpec) -> Vec<PoolTaint> {
        let taint = self.provider.gpu_taint.filter(|_| pool.has_gpus());
        let taint = taint.map(|taint| PoolTaint {
            key: taint.key.to_owned(),
            value: taint.value.to_owned(),
            effect: taint.effect,
            set_by: SetBy::Cloud,
            span: pool.name.span,
            origin: Origin::fact(
                [pool.name.span],
                "the provider taints its nodes with GPUs",
                taint.source,
            ),
        });
        taint.into_iter().collect()
    }

    fn rdma(&self, _pool: &Pool, _rdma: &Rdma) -> Result<(), NoRdma> {
        self.provider.rdma.map_err(|(reason, help)| NoRdma {
            reason: reason.to_owned(),
            help,
        })
    }
}

impl Provision for Existing {
    fn resources(&self) -> &'static [&'static ResourceKind] {
        &[]
    }

    fn provision(&self, cluster: &Checked<'_>) -> Provisioning {
        let context = context(cluster);
        Provisioning {
            tools: ["kubectl", "jq"].map(Tool::any_version).into(),
            identity: vec![IdentityCheck {
                subject: "kubeconfig context",
                is_location: true,
                query: Command::new(["kubectl", "config", "get-contexts", context, "-o", "name"]),
                expected: context.to_owned(),
                mismatch_message: "set KUBECONFIG to the kubeconfig that contains this context"
                    .to_owned(),
            }],
            resources: Vec::new(),
            known_errors: &[],
            update_state: None,
            credentials: Credentials::Context(context.to_owned()),
            files: Vec::new(),
        }
    }

    fn operator_toolkit(&self, _config: &GpuCluster) -> &'static [(&'static str, &'static str)] {
        self.provider.toolkit
    }

    fn platform_notes(&self, cluster: &Cluster) -> Vec<String> {
        let has_gpus = cluster.gpu_pools().next().is_some();
        let notes = self.provider.notes.iter().filter(|_| has_gpus);
        let pools = cluster.pools.iter();
        let pools = pools.filter(|pool| node_pool::is_written(self.provider, pool));
        let names: Vec<&str> = pools.map(|pool| pool.name.as_str()).collect();
        let kept = (!names.is_empty()).then(|| {
            let names = names.join(" ");
            format!(
                "Neither uninstalling nor a GitOps controller deletes the NodePools of this tree, because their nodes would \
                 go with them. To delete them, drain the nodes, and run kubectl delete nodepool {names}."
            )
        });
        let notes = notes.map(|note| (*note).to_owned());
        let others = [self.tolerations_note(cluster), imex_note(cluster)];
        notes
            .chain(kept)
            .chain(others.into_iter().flatten())
            .collect()
    }

    fn objects(&self, cluster: &Checked<'_>) -> Vec<Object> {
        let pools = cluster.pools.iter();
        let pools = pools.filter(|pool| node_pool::is_written(self.provider, pool));
        pools.map(node_pool::object).collect()
    }
}

impl Existing {
    /// The taints of pools that the owner's GPU Operator must tolerate. By default, its operands tolerate
    /// `nvidia.com/gpu` only.
    ///
    /// Source: NVIDIA/gpu-operator@v26.7.0 deployments/gpu-operator/values.yaml (`daemonsets.tolerations`), 2026-11-21.
    fn tolerations_note(&self, cluster: &Cluster) -> Option<String> {
        if self.provider.writes_node_pools {
            return None;
        }
        let pools = cluster.pools_advertised_by(DevicePlugin::Cloud);
        let taints = pools.flat_map(|pool| &pool.taints);
        let taints = taints.filter(|it| it.set_by == SetBy::Gpuc && it.key != "nvidia.com/gpu");
        let taints: BTreeSet<_> = taints
            .map(|it| format!("{}={}", it.key, it.value))
            .collect();
        (!taints.is_empty()).then(|| {
            format!(
                "The components that install the driver and advertise the GPUs must tolerate these taints, or they do not \
                 run on the nodes: {}. With the GPU Operator, set daemonsets.tolerations in its ClusterPolicy.",
                taints.into_iter().collect::<Vec<_>>().join(", ")
            )
        })
    }
}

/// What the owner of hosts must do for `ComputeDomains`.
fn imex_note(cluster: &Cluster) -> Option<String> {
    let pools = cluster.pools.iter();
    let pools = pools.filter(|pool| pool.settings.network.compute_domains.is_some());
    let names: Vec<&str> = pools.map(|pool| pool.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "For ComputeDomains, the hosts of {} need the driver 570.158.01 or later and the package nvidia-imex, whose \
             service must be stopped and masked: the DRA driver starts the daemon for each domain.",
            names.join(", ")
        )
    })
}

impl Cloud for Existing {
    fn facts(&self) -> &'static CloudFacts {
        &self.provider.facts
    }

    fn for_section(&'static self, section: &CloudSection) -> Option<&'static dyn Cloud> {
        let CloudSection::Existing(platform) = section else {
            return None;
        };
        let provider = platform.provider.value;
        let variant = VARIANTS
            .iter()
            .find(|variant| variant.provider.provider == provider);
        Some(variant.unwrap_or_else(|| unreachable!("every provider has a row")))
    }

    fn rules(&self) -> &'static [&'static Rule] {
        rules::RULES
    }
}

/// The `cloud.existing` section of the file.
fn section(cluster: &Cluster) -> &ExistingPlatform {
    match &cluster.config.cloud.value {
        CloudSection::Existing(section) => section,
        _ => unreachable!("this cloud handles only `existing`"),
    }
}

/// The row of the cluster's provider.
fn provider_facts(cluster: &Cluster) -> &'static ProviderFacts {
    let provider: Provider = section(cluster).provider.value;
    let row = ROWS.iter().find(|row| row.provider == provider);
    row.unwrap_or_else(|| unreachable!("every provider has a row"))
}

/// The kubeconfig context: by default the name of the cluster.
fn context(cluster: &Cluster) -> &str {
    let written = section(cluster).context.as_ref();
    written.map_or(cluster.name.value.as_str(), |context| &context.value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{json as read, resolved};
    use gpuc_model::check::check;

    /// A cluster of a provider with these pools, and its diagnostics.
    fn cluster(provider: &str, pools: &str) -> (Cluster, gpuc_syntax::diag::Report) {
        resolved(read(&format!(
            "{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, \
             kubernetes: {{version: '1.36'}}, cloud: {{existing: {{provider: {provider}}}}}, nodePools: [{pools}]}}"
        )))
    }

    const POOL: &str = "{name: gpu, gpu: {model: H100, perNode: 8}, nodes: {count: 2}, \
                        existing: {selector: {gpuc.dev/pool: gpu}}}";

    /// Names of the diagnostics of this cloud's rules.
    fn codes(provider: &str, pools: &str) -> Vec<&'static str> {
        let (cluster, mut report) = cluster(provider, pools);
        for rule in cluster.cloud.rules() {
            (rule.run)(&cluster, &mut report);
        }
        report.diagnostics().iter().map(|it| it.code.name).collect()
    }

    #[test]
    fn every_provider_has_one_row() {
        for (index, row) in ROWS.iter().enumerate() {
            let keyword = serde_json::to_value(row.provider).expect("a keyword");
            let (cluster, _) = cluster(keyword.as_str().expect("a text"), POOL);
            assert_eq!(cluster.cloud.facts().name, row.facts.name);
            assert!(ROWS[..index].iter().all(|it| it.provider != row.provider));
            assert_eq!(context(&cluster), "demo");
        }
    }

    #[test]
    fn a_node_pool_of_coreweave_has_the_labels_and_taints() {
        let pool = "{name: gpu, machine: gd-8xh100ib-i128, gpu: {model: H100, perNode: 8}, nodes: {count: 2}, \
                    dedicatedTo: research}";
        let (cluster, mut report) = cluster("coreweave", pool);
        let checked =
            check(&cluster, &mut report).unwrap_or_else(|| panic!("{:?}", report.diagnostics()));
        let objects = cluster.cloud.objects(&checked);
        let object: Value = serde_json::to_value(&objects[0].node).expect("JSON");
        let taint =
            json!({"key": "gpuc.dev/dedicated-to", "value": "research", "effect": "NoSchedule"});
        assert_eq!(
            object["spec"],
            json!({
                "computeClass": "default", "instanceType": "gd-8xh100ib-i128", "autoscaling": false, "targetNodes": 2,
                "nodeAnnotations": {"gpuc.dev/labels": "gpuc.dev/dedicated-to,gpuc.dev/pool"},
                "nodeLabels": {"gpuc.dev/dedicated-to": "research", "gpuc.dev/pool": "gpu"}, "nodeTaints": [taint],
            })
        );
    }

    #[test]
    fn invalid_pools_are_refused() {
        let plain = "{name: gpu, gpu: {model: H100, perNode: 8}, nodes: {count: 2}}";
        let machine = "{name: gpu, machine: gd-8xh100ib-i128, gpu: {model: H100, perNode: 8}, nodes: {min: 1, max: 2}}";
        assert_eq!(codes("rke2", plain), ["nodes-not-selected"]);
        assert_eq!(codes("rke2", POOL), [""; 0]);
        assert_eq!(codes("coreweave", machine), ["node-pool-autoscaled"]);
        assert_eq!(codes("crusoe", POOL), ["gpu-owner-unstated"]);
        let zones = machine.replace("{min: 1, max: 2}", "{count: 2}, tags: {a: b}");
        assert_eq!(codes("coreweave", &zones), ["provider-key-unused"]);
    }

    #[test]
    fn owners_read_what_they_must_configure() {
        let notes = |provider: &str, pool: &str| {
            let (cluster, _) = cluster(provider, pool);
            cluster.cloud.platform_notes(&cluster).join("\n")
        };
        let dedicated = POOL.replace("nodes:", "dedicatedTo: research, nodes:");
        let tolerations =
            "gpuc.dev/dedicated-to=research. With the GPU Operator, set daemonsets.tolerations";
        assert!(notes("openshift", &dedicated).contains(tolerations));
        assert!(!notes("openshift", POOL).contains("daemonsets.tolerations"));
        // gpuc's own components tolerate the taint.
        assert!(!notes("rke2", &dedicated).contains("daemonsets.tolerations"));
        let domains = POOL.replace("nodes:", "network: {computeDomains: {}}, nodes:");
        assert!(notes("rke2", &domains).contains("nvidia-imex"));
        assert!(!notes("rke2", POOL).contains("nvidia-imex"));
        let written = "{name: gpu, machine: gd-8xh100ib-i128, gpu: {model: H100, perNode: 8}, nodes: {count: 2}}";
        assert!(notes("coreweave", written).contains("kubectl delete nodepool gpu"));
        assert!(!notes("coreweave", POOL).contains("kubectl delete nodepool"));
    }
}
