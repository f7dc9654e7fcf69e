//! Machines of the user's own, with a Kubernetes that already runs.
//!
//! gpuc makes no machine and no cluster here. It writes a script that prepares each host, and one that labels and taints
//! the nodes of a pool.

mod host;
mod os;
mod pool;
mod rules;

use gpuc_schema::config::{
    Autoscaler, CloudSection, DevicePlugin, DriverOwner, GpuCluster, OnPrem as Section,
};

use super::machine::Machine;
use super::{Cloud, Facts, MachineName, NameRule};
use crate::check::{Checked, Rule};
use crate::model::{Cluster, Label, Pool, PoolTaint};
use crate::plan::{Command, Credentials, IdentityCheck, Provisioning, ResourceKind};

/// Hosts of the user's.
#[derive(Debug)]
pub struct OnPrem;

static FACTS: Facts = Facts {
    key: "onPrem",
    name: "Kubernetes on premises",
    autoscalers: &[Autoscaler::None],
    os: os::OS,
    makes_machines: false,
    machine_word: "host",
    pool_name: NameRule {
        words: "lower-case letters, digits and -, starting and ending with a letter or digit",
        max: 63,
        allows: is_dns_label,
        source: "kubernetes.io/docs/concepts/overview/working-with-objects/labels: the name is a label's value",
    },
    cluster_name: NameRule {
        words: "lower-case letters, digits and -, starting and ending with a letter or digit",
        max: 63,
        allows: is_dns_label,
        source: "kubernetes.io/docs/concepts/overview/working-with-objects/names: RFC 1123 labels",
    },
    taint_needs_value: None,
    reserved_prefixes: &[],
    drivers: &[
        DriverOwner::Host,
        DriverOwner::Preinstalled,
        DriverOwner::Operator,
    ],
    plugins: &[
        DevicePlugin::Gpuc,
        DevicePlugin::Nvidia,
        DevicePlugin::Operator,
    ],
    // kubernetes.io/docs/setup/best-practices/cluster-large, 2026-11: no more than 5000 nodes in a cluster.
    max_nodes: 5000,
    capacities: &["onDemand"],
};

impl Cloud for OnPrem {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn owns(&self, section: &CloudSection) -> bool {
        matches!(section, CloudSection::OnPrem(_))
    }

    fn machines(&self) -> Vec<&'static Machine> {
        Vec::new()
    }

    fn machine(&self, _name: &str) -> Option<&'static Machine> {
        None
    }

    fn machine_name(&self, _name: &str) -> MachineName {
        MachineName::Impossible
    }

    /// gpuc's script for the host, whoever advertises the GPUs.
    fn default_driver(&self, _plugin: DevicePlugin) -> DriverOwner {
        DriverOwner::Host
    }

    fn labels(&self, _config: &GpuCluster, _pool: &Pool) -> Vec<Label> {
        Vec::new()
    }

    fn taints(&self, _config: &GpuCluster, _pool: &Pool) -> Vec<PoolTaint> {
        Vec::new()
    }

    fn rules(&self) -> &'static [&'static Rule] {
        rules::RULES
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
            tools: vec!["kubectl", "jq"],
            identity: vec![IdentityCheck {
                what: "kubeconfig context",
                ask: Command::new(["kubectl", "config", "get-contexts", context, "-o", "name"]),
                want: context.clone(),
                otherwise: "set KUBECONFIG to the kubeconfig that has this context".to_owned(),
            }],
            resources: pools()
                .filter(|pool| !pool.is_existing())
                .flat_map(|pool| pool::resources(pool, context))
                .collect(),
            credentials: Credentials::Context(context.clone()),
            files: pools()
                .filter_map(|pool| host::file(pool, section.distribution.value))
                .collect(),
        }
    }
}

/// The user's section of the file.
fn section(cluster: &Cluster) -> &Section {
    match &cluster.written.cloud.value {
        CloudSection::OnPrem(section) => section,
        _ => unreachable!("this cloud owns `onPrem` alone"),
    }
}

/// Lower-case letters, digits and `-`, with a letter or digit at both ends. Its length is another question.
fn is_dns_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = |c: Option<char>| c.is_some_and(|c| c != '-' && inner(c));
    ends(text.chars().next()) && ends(text.chars().next_back()) && text.chars().all(inner)
}
