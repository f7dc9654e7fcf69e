//! Clusters that gpuc does not make: services and distributions, each a row of [`providers`].
//!
//! No script creates, labels or taints nodes here: a pool selects its nodes by their labels. Everything in the cluster
//! is as elsewhere. [`node_pool`] writes the pools of CoreWeave, which are Kubernetes objects.

mod node_pool;
mod providers;
mod rules;

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
    /// A cluster of another provider is another cluster.
    fn container<'c>(&self, _cluster: &'c Cluster) -> Option<(&'static str, &'c str)> {
        Some(("provider", self.provider.facts.name))
    }

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
        notes.map(|note| (*note).to_owned()).collect()
    }

    fn objects(&self, cluster: &Checked<'_>) -> Vec<Object> {
        let pools = cluster.pools.iter();
        let pools = pools.filter(|pool| node_pool::is_written(self.provider, pool));
        pools.map(node_pool::object).collect()
    }
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
