//! Resolves names to facts, fills in defaults, and derives values: `Config → Cluster`.
//!
//! A part that cannot be resolved is reported once and becomes an unresolved value; resolution continues with the rest.

mod advertised;
pub mod codes;
mod device_classes;
mod gpus;
mod grants;
mod labels;
mod machine;
mod nodes;
mod pool;
mod rdma;
mod sharing;
mod taints;
mod teams;

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Autoscaler, GpuCluster};
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::DerivationReason;
use serde::Serialize;

use crate::cloud::{self, Cloud};
use crate::{
    Cluster, DefaultedSetting, KubernetesVersion, Operands, Pool, PoolSpec, Registry, Resolved,
    SUPPORTED,
};
use pool::SpecResolver;
use teams::TeamResolver;

/// Machine types that gpuc selected in earlier runs, by pool. A selection that still fits is kept, so that an extended
/// catalog does not replace nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The machine type of each pool without `machine`.
    pub machines: BTreeMap<String, String>,
}

/// The input of the resolution of a pool.
#[derive(Clone, Copy)]
struct Inputs<'i> {
    /// The file.
    config: &'i GpuCluster,
    /// The clouds and rules.
    registry: &'static Registry,
    /// The cluster's cloud.
    cloud: &'static dyn Cloud,
    /// The machine types of an earlier build.
    choices: &'i Choices,
}

/// Resolves a configuration.
pub fn resolve(
    config: Arc<GpuCluster>,
    registry: &'static Registry,
    choices: &Choices,
    report: &mut Report,
) -> Cluster {
    let cloud = registry.cloud_for(&config.cloud);
    let mut defaults = Defaults::default();
    let kubernetes = kubernetes(&config.kubernetes.version, report);
    let autoscaler = autoscaler(&config, cloud.facts(), &mut defaults);
    let inputs = Inputs {
        config: &config,
        registry,
        cloud,
        choices,
    };
    let mut resolver = SpecResolver {
        inputs,
        defaults: &mut defaults,
        report,
    };
    let specs: Vec<PoolSpec> = (0..config.node_pools.len())
        .map(|index| resolver.resolve(index))
        .collect();
    // All specifications determine whether the GPU Operator is installed.
    let uses_operator = specs
        .iter()
        .any(|it| Operands::for_pool(cloud, it).is_some());
    let pools: Vec<Pool> = specs
        .into_iter()
        .map(|spec| pool::derive(cloud, autoscaler, spec, uses_operator))
        .collect();
    let teams = TeamResolver {
        pools: &pools,
        defaults: &mut defaults,
        report,
    }
    .resolve(&config.teams);
    let mut cluster = Cluster {
        name: config.metadata.name.clone(),
        config,
        kubernetes,
        cloud,
        registry,
        autoscaler,
        pools,
        teams,
        defaulted_settings: Vec::new(),
    };
    defaults.fill_quota_totals(&cluster);
    cluster.defaulted_settings = defaults.settings;
    cluster
}

/// The version in a text such as `v1.34.2`.
fn likely_version(written: &str) -> Option<KubernetesVersion> {
    let parts = written.trim_start_matches('v').split(['.', '-', '+']);
    KubernetesVersion::parse(&parts.take(2).collect::<Vec<_>>().join("."))
}

fn kubernetes(
    written: &Spanned<String>,
    report: &mut Report,
) -> Resolved<Spanned<KubernetesVersion>> {
    let (oldest, newest) = (SUPPORTED.start(), SUPPORTED.end());
    let Some(version) = KubernetesVersion::parse(written) else {
        let message = format!("invalid Kubernetes version `{written}`");
        let likely = likely_version(written).filter(|version| SUPPORTED.contains(version));
        let help = format!(
            "write the major and minor version in quotes: \"{}\"",
            likely.unwrap_or(*newest)
        );
        return Resolved::Unresolved(
            report
                .diagnostic(&codes::KUBERNETES_VERSION_UNREADABLE, written.span, message)
                .help(help)
                .emit(),
        );
    };
    if !SUPPORTED.contains(&version) {
        let message = format!("Kubernetes {version} is not supported");
        let builder = report.diagnostic(
            &codes::KUBERNETES_VERSION_UNSUPPORTED,
            written.span,
            message,
        );
        let nearest = if version < *oldest { oldest } else { newest };
        let builder = builder
            .help(format!("write a version from {oldest} to {newest}"))
            .replace(written.span, format!("\"{nearest}\""));
        return Resolved::Unresolved(builder.emit());
    }
    Resolved::Value(Spanned::new(version, written.span))
}

fn autoscaler(
    config: &GpuCluster,
    facts: &cloud::CloudFacts,
    defaults: &mut Defaults,
) -> Spanned<Autoscaler> {
    config.autoscaler.unwrap_or_else(|| {
        let autoscaler = facts.autoscalers[0];
        let because =
            DerivationReason::Rule("the cloud's managed autoscaler if it has one, otherwise none");
        defaults.fill(["autoscaler"], &autoscaler, because);
        Spanned::without_span(autoscaler)
    })
}

/// The default values of settings that the file does not contain.
#[derive(Default)]
struct Defaults {
    settings: Vec<DefaultedSetting>,
}

impl Defaults {
    fn fill<S: ToString>(
        &mut self,
        path: impl IntoIterator<Item = S>,
        value: &impl Serialize,
        because: DerivationReason,
    ) {
        self.settings.push(DefaultedSetting {
            path: path.into_iter().map(|key| key.to_string()).collect(),
            value: serde_json::to_value(value).expect("the schema's types serialise to JSON"),
            source: because,
            is_selected: false,
        });
    }

    fn fill_pool(
        &mut self,
        pool: usize,
        keys: &[&str],
        value: &impl Serialize,
        because: DerivationReason,
    ) {
        let head = ["nodePools".to_owned(), pool.to_string()];
        let path = head
            .into_iter()
            .chain(keys.iter().map(|key| (*key).to_owned()));
        self.fill(path, value, because);
    }

    /// Adds the total quota of all teams to each pool.
    fn fill_quota_totals(&mut self, cluster: &Cluster) {
        for quota in cluster.quota_totals() {
            let (min, max) = (quota.total.start(), quota.total.end());
            let (guaranteed, limit) = (quota.guaranteed(), quota.limit());
            let value = format!("{guaranteed} guaranteed, limit {limit}, of {min} to {max}");
            let because = DerivationReason::Rule("the sum of the quotas of the teams");
            let key = format!("{} of teams", quota.resource);
            self.pick_for_pool(quota.pool, &key, &value, because);
        }
    }

    /// Fills in a value that was selected from several.
    fn pick_for_pool(
        &mut self,
        pool: usize,
        key: &str,
        value: &impl Serialize,
        because: DerivationReason,
    ) {
        self.fill_pool(pool, &[key], value, because);
        if let Some(filled) = self.settings.last_mut() {
            filled.is_selected = true;
        }
    }
}
