//! Rules about a cluster that was understood, one file each, and the proof that they passed.
//!
//! A rule holds its own page: what it checks, why it matters, what to do, and an example that breaks it. The examples
//! are the test. A rule that meets a hole stays quiet, because what made the hole was reported.

use std::ops::Deref;

use gpuc_schema::config::GpuCluster;

use crate::diag::{Code, Report};
use crate::model::Cluster;

/// A rule: its page, and the function that looks.
#[derive(Debug)]
pub struct Rule {
    /// Its page.
    pub code: Code,
    /// Looks at a whole cluster.
    pub run: fn(&Cluster, &mut Report),
}

/// The rules that hold on every cloud, by id.
pub static RULES: &[&Rule] = &[];

/// Codes that no rule of the list reports by itself.
pub static CODES: &[&Code] = &[];

/// Speaks up about an `allow:` that nothing needed. `used` answers for each word whether it was of use.
pub fn allow_unused(config: &GpuCluster, used: &[bool], report: &mut Report) {
    let _ = (config, used, report);
}

/// A cluster without holes that broke no rule with an error: what may be lowered.
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

/// Runs every rule. Answers the proof when nothing stands against building the cluster.
pub fn check<'c>(cluster: &'c Cluster, report: &mut Report) -> Option<Checked<'c>> {
    for rule in RULES.iter().chain(cluster.cloud.rules()) {
        (rule.run)(cluster, report);
    }
    let whole = !report.has_errors() && !has_holes(cluster);
    whole.then_some(Checked { cluster })
}

fn has_holes(cluster: &Cluster) -> bool {
    cluster.kubernetes.is_hole()
        || cluster.pools.iter().any(|pool| {
            pool.machine.is_hole()
                || pool.gpus.is_hole()
                || pool.nodes.is_hole()
                || pool.sharing.is_hole()
                || pool.offers.is_hole()
        })
}
