//! Resolves names to facts, fills in defaults, and derives values: `Config → Cluster`.
//!
//! A part that cannot be resolved is reported once and becomes an unresolved value; resolution continues with the rest.

mod advertised;
pub mod codes;
mod defaults;
mod device_classes;
mod gpus;
mod grants;
mod inputs;
mod labels;
mod machine;
mod nodes;
mod pool;
mod rdma;
mod sharing;
mod taints;
mod teams;

use std::sync::Arc;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Autoscaler, GpuCluster};
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::DerivationReason;

use crate::cloud;
use crate::{Cluster, KubernetesVersion, Operands, Pool, PoolSpec, Registry, Resolved, SUPPORTED};
use defaults::Defaults;
pub use inputs::Choices;
use inputs::Inputs;
use pool::SpecResolver;
use teams::TeamResolver;

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
        today: None,
        exported_metrics: None,
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
