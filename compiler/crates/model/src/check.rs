//! The type of rules, and the proof that a cluster passed them.

use std::ops::Deref;

use gpuc_syntax::diag::{Code, Report, accept_allowed};

use super::{Cluster, Pool, Team};

/// A rule: its code with the explanation, and the function that checks it.
#[derive(Debug)]
pub struct Rule {
    /// The code and its explanation.
    pub code: Code,
    /// Checks a whole cluster.
    pub run: fn(&Cluster, &mut Report),
}

/// A cluster without unresolved values and without errors. Only such a cluster can be lowered.
#[derive(Clone, Copy)]
pub struct Checked<'c> {
    cluster: &'c Cluster,
}

impl Deref for Checked<'_> {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.cluster
    }
}

/// Runs every rule. Returns the proof if the cluster can be built.
pub fn check<'c>(cluster: &'c Cluster, report: &mut Report) -> Option<Checked<'c>> {
    for rule in cluster.registry.rules.iter().chain(cluster.cloud.rules()) {
        (rule.run)(cluster, report);
    }
    let allow = cluster.config.allow.iter().map(|word| word.value.as_str());
    let allow: Vec<_> = allow.collect();
    accept_allowed(report.diagnostics_mut(), &allow);
    let passed = !report.has_errors() && !has_unresolved_values(cluster);
    passed.then_some(Checked { cluster })
}

/// Whether a value is unresolved. Every field is named, so that a new field with an unresolved state cannot be
/// forgotten here.
fn has_unresolved_values(cluster: &Cluster) -> bool {
    let Cluster {
        kubernetes,
        pools,
        teams,
        config: _,
        name: _,
        cloud: _,
        registry: _,
        autoscaler: _,
        today: _,
        exported_metrics: _,
        defaulted_settings: _,
    } = cluster;
    kubernetes.is_unresolved()
        || pools.iter().any(Pool::has_unresolved_values)
        || teams.iter().any(Team::has_unresolved_values)
}
