//! `Plan → Audited`: the last look before anything is printed.
//!
//! What is wrong here that no rule before could see is a bug in gpuc, not in anybody's input; it stops the run with
//! the promise that was broken. What users lay over it has findings of its own, at the line they wrote.

mod charts;
pub mod codes;
mod images;
mod undone;
mod workloads;

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::check::Checked;
use crate::check::syntax::LONGEST_RELEASE;
use crate::diag::{Report, Severity};
use crate::plan::Plan;

/// The longest name of a Kubernetes object whose pods carry it in a label.
const LONGEST_NAME: usize = 63;

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

/// Looks at a plan as a whole. `None` when something that a user wrote does not fit what became of it.
///
/// # Panics
///
/// When gpuc broke one of its promises: two objects of one identity, a name that Kubernetes or Helm refuses, steps that
/// wait for each other.
pub fn audit(plan: Plan, cluster: &Checked<'_>, report: &mut Report) -> Option<Audited> {
    objects(&plan, cluster);
    releases(&plan);
    steps(&plan);
    let errors = report.count(Severity::Error);
    charts::look(&plan, cluster, report);
    images::look(&plan, cluster, report);
    undone::look(cluster, report);
    workloads::look(cluster, report);
    (report.count(Severity::Error) == errors).then_some(Audited { plan })
}

fn objects(plan: &Plan, cluster: &Checked<'_>) {
    let mut seen = BTreeSet::new();
    for object in &plan.objects {
        let identity = &object.identity;
        assert!(
            seen.insert((&identity.kind, &identity.namespace, &identity.name)),
            "two objects are called {} {}",
            identity.kind,
            identity.name
        );
        assert!(
            identity.name.len() <= LONGEST_NAME,
            "the name {} is too long",
            identity.name
        );
    }
    for expectation in &plan.expectations {
        assert!(
            cluster.pool(&expectation.pool).is_some(),
            "{} is no pool of the cluster",
            expectation.pool
        );
    }
}

/// Helm takes the name of every release, Kubernetes that of its namespace. GPUC2001 sees to those called after a pool.
fn releases(plan: &Plan) {
    for release in &plan.releases {
        for (name, longest) in [
            (&release.name, LONGEST_RELEASE),
            (&release.namespace, LONGEST_NAME),
        ] {
            assert!(name.len() <= longest, "the name {name} is too long");
        }
    }
}

/// Every step has a name of its own, and comes after what it needs.
fn steps(plan: &Plan) {
    let mut done = BTreeSet::new();
    for step in &plan.steps {
        for need in &step.needs {
            let (name, other) = (&step.name, &need.step);
            assert!(
                done.contains(other.as_str()),
                "{name} comes before {other}, which it needs"
            );
        }
        assert!(
            done.insert(step.name.as_str()),
            "two steps are called {}",
            step.name
        );
    }
    let parts: BTreeSet<_> = plan
        .objects
        .iter()
        .map(|object| &object.component)
        .collect();
    assert_eq!(
        plan.steps.len(),
        parts.len() + plan.releases.len(),
        "every component and every release is a step"
    );
}
