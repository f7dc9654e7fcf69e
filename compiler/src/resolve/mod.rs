//! Names bound to facts, defaults filled in, consequences drawn: `Config → Cluster`.
//!
//! A part that cannot be understood is reported once and becomes a hole; the rest goes on.

mod classes;
pub mod codes;
mod gpus;
mod machine;
mod nodes;
mod offers;
mod operator;
mod pool;
mod rdma;
mod sharing;
mod taints;
mod teams;

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_schema::Spanned;
use gpuc_schema::config::{Autoscaler, GpuCluster};
use serde::Serialize;

use crate::cloud;
use crate::diag::Report;
use crate::model::{Cluster, Filled, Known, KubernetesVersion, SUPPORTED};
use crate::node::Because;

/// Machine types that gpuc picked before, by pool. A pick that still fits is kept, so that a larger catalog replaces
/// nobody's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The machine type of each pool that names none.
    pub machines: BTreeMap<String, String>,
}

/// Understands a configuration.
pub fn resolve(config: Arc<GpuCluster>, choices: &Choices, report: &mut Report) -> Cluster {
    let cloud = cloud::of(&config.cloud);
    let mut defaults = Defaults::default();
    let kubernetes = kubernetes(&config.kubernetes.version, report);
    let autoscaler = autoscaler(&config, cloud.facts(), &mut defaults);
    let pools = config.node_pools.iter().enumerate();
    let mut pools: Vec<_> = pools
        .map(|(index, _)| pool::resolve(&config, index, choices, &mut defaults, report))
        .collect();
    operator::label(cloud, &mut pools);
    let teams = teams::resolve(&config, &pools, &mut defaults, report);
    let mut cluster = Cluster {
        name: config.metadata.name.clone(),
        written: config,
        kubernetes,
        cloud,
        autoscaler,
        pools,
        teams,
        filled: Vec::new(),
    };
    defaults.promised(&cluster);
    cluster.filled = defaults.filled;
    cluster
}

/// The version that somebody means who writes `v1.34.2`.
fn meant(written: &str) -> Option<KubernetesVersion> {
    let parts = written.trim_start_matches('v').split(['.', '-', '+']);
    KubernetesVersion::parse(&parts.take(2).collect::<Vec<_>>().join("."))
}

fn kubernetes(written: &Spanned<String>, report: &mut Report) -> Known<Spanned<KubernetesVersion>> {
    let (oldest, newest) = (SUPPORTED.start(), SUPPORTED.end());
    let Some(version) = KubernetesVersion::parse(written) else {
        let message = format!("`{written}` is not a Kubernetes version");
        let draft = report.draft(&codes::KUBERNETES_VERSION_UNREADABLE, written.span, message);
        let meant = meant(written).filter(|version| SUPPORTED.contains(version));
        let draft = draft.help(format!(
            "write major and minor version, quoted: \"{}\"",
            meant.unwrap_or(*newest)
        ));
        return Known::No(draft.emit());
    };
    if !SUPPORTED.contains(&version) {
        let message = format!("Kubernetes {version} is not supported");
        let draft = report.draft(
            &codes::KUBERNETES_VERSION_UNSUPPORTED,
            written.span,
            message,
        );
        let nearest = if version < *oldest { oldest } else { newest };
        let draft = draft
            .help(format!("gpuc compiles for {oldest} to {newest}"))
            .replace(written.span, format!("\"{nearest}\""));
        return Known::No(draft.emit());
    }
    Known::Yes(Spanned::new(version, written.span))
}

fn autoscaler(
    config: &GpuCluster,
    facts: &cloud::Facts,
    defaults: &mut Defaults,
) -> Spanned<Autoscaler> {
    config.autoscaler.unwrap_or_else(|| {
        let autoscaler = facts.autoscalers[0];
        let because = Because::Rule("the cloud's own autoscaler where it has one, else none");
        defaults.fill(["autoscaler"], &autoscaler, because);
        Spanned::unwritten(autoscaler)
    })
}

/// The values that nobody wrote, as they are filled in.
#[derive(Default)]
struct Defaults {
    filled: Vec<Filled>,
}

impl Defaults {
    fn fill<S: ToString>(
        &mut self,
        path: impl IntoIterator<Item = S>,
        value: &impl Serialize,
        because: Because,
    ) {
        self.filled.push(Filled {
            path: path.into_iter().map(|key| key.to_string()).collect(),
            value: serde_json::to_value(value).expect("the schema's types serialise to JSON"),
            because,
            is_pick: false,
        });
    }

    fn fill_pool(&mut self, pool: usize, keys: &[&str], value: &impl Serialize, because: Because) {
        let head = ["nodePools".to_owned(), pool.to_string()];
        let path = head
            .into_iter()
            .chain(keys.iter().map(|key| (*key).to_owned()));
        self.fill(path, value, because);
    }

    /// Writes beside each pool what teams were promised of it.
    fn promised(&mut self, cluster: &Cluster) {
        for promise in cluster.promises() {
            let (least, most) = (promise.total.start(), promise.total.end());
            let (kept, limit) = (promise.guaranteed(), promise.limit());
            let value = format!("{kept} guaranteed and {limit} at most, of {least} to {most}");
            let because = Because::Rule("by the quotas of the teams");
            let key = format!("{} of teams", promise.resource);
            self.pick_for_pool(promise.pool, &key, &value, because);
        }
    }

    /// Fills in what was picked among others.
    fn pick_for_pool(&mut self, pool: usize, key: &str, value: &impl Serialize, because: Because) {
        self.fill_pool(pool, &[key], value, because);
        if let Some(filled) = self.filled.last_mut() {
            filled.is_pick = true;
        }
    }
}
