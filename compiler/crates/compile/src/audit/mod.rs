//! `Plan → Audited`: the final checks before anything is printed.
//!
//! An inconsistency in what gpuc derived is a bug in gpuc, and panics with the violated invariant. Values and patches
//! of the user have diagnostics of their own, at their spans.

mod charts;
pub mod codes;
mod images;
mod kubernetes_versions;
mod notebook_profiles;
mod overridden_values;
mod plugin_configs;
mod workloads;

use std::collections::BTreeSet;
use std::ops::Deref;

use gpuc_kubernetes::names::MAX_RELEASE_NAME;
use gpuc_model::check::Checked;
use gpuc_model::plan::Plan;
use gpuc_syntax::diag::{Report, Severity};

/// The longest name of a Kubernetes object whose pods carry it in a label.
const MAX_LABEL_NAME_LENGTH: usize = 63;

/// A plan that may be printed.
#[derive(Clone, Debug)]
pub struct Audited {
    plan: Plan,
}

impl Deref for Audited {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl Audited {
    /// The plan itself.
    pub fn into_plan(self) -> Plan {
        self.plan
    }
}

/// Checks a plan as a whole. `None` if a value or patch of the user conflicts with the derived plan.
///
/// # Panics
///
/// If gpuc violates one of its invariants: two objects with the same identity, a name that Kubernetes or Helm rejects,
/// cyclic steps.
pub fn audit(plan: Plan, cluster: &Checked<'_>, report: &mut Report) -> Option<Audited> {
    assert_objects(&plan, cluster);
    assert_releases(&plan);
    assert_steps(&plan);
    let errors = report.count(Severity::Error);
    charts::check(&plan, cluster, report);
    images::check(&plan, cluster, report);
    kubernetes_versions::check(&plan, cluster, report);
    overridden_values::check(cluster, report);
    plugin_configs::check(&plan, cluster, report);
    notebook_profiles::check(&plan, cluster, report);
    workloads::check(cluster, report);
    (report.count(Severity::Error) == errors).then_some(Audited { plan })
}

fn assert_objects(plan: &Plan, cluster: &Checked<'_>) {
    let mut seen = BTreeSet::new();
    for object in &plan.objects {
        let identity = &object.identity;
        assert!(
            seen.insert((&identity.kind, &identity.namespace, &identity.name)),
            "two objects have the name {} {}",
            identity.kind,
            identity.name
        );
        assert!(
            identity.name.len() <= MAX_LABEL_NAME_LENGTH,
            "the name {} is too long",
            identity.name
        );
    }
    for expectation in &plan.expectations {
        assert!(
            cluster.pool(&expectation.pool).is_some(),
            "{} is not a pool of the cluster",
            expectation.pool
        );
    }
}

/// Helm accepts the name of every release, and Kubernetes that of its namespace. GPUC2001 covers those named after a
/// pool.
fn assert_releases(plan: &Plan) {
    for release in &plan.releases {
        for (name, max_length) in [
            (&release.name, MAX_RELEASE_NAME),
            (&release.namespace, MAX_LABEL_NAME_LENGTH),
        ] {
            assert!(name.len() <= max_length, "the name {name} is too long");
        }
    }
}

/// Every step has a unique name and follows its dependencies.
fn assert_steps(plan: &Plan) {
    let mut done = BTreeSet::new();
    for step in &plan.steps {
        for need in &step.dependencies {
            let (name, other) = (&step.name, &need.step);
            assert!(
                done.contains(other.as_str()),
                "{name} comes before {other}, which it needs"
            );
        }
        assert!(
            done.insert(step.name.as_str()),
            "two steps have the name {}",
            step.name
        );
    }
    let components: BTreeSet<_> = plan
        .objects
        .iter()
        .map(|object| &object.component)
        .collect();
    assert_eq!(
        plan.steps.len(),
        components.len() + plan.releases.len(),
        "every component and every release is a step"
    );
}
