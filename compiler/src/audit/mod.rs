//! `Plan → Audited`: the last look before anything is printed.
//!
//! What is wrong here that no rule before could see is a bug in gpuc, not in anybody's input; it stops the run with
//! the promise that was broken. What users patch in, and manifests of others, will be looked at by rules here.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::check::Checked;
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

/// Looks at a plan as a whole.
///
/// # Panics
///
/// When gpuc broke one of its promises: two objects of one identity, or a name that Kubernetes refuses.
pub fn audit(plan: Plan, cluster: &Checked<'_>) -> Audited {
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
    Audited { plan }
}
