//! Changes that the API server rejects, which stop the deployment.

use super::super::classify::CLAIM_CANNOT_SHRINK;
use super::super::report::{Change, Step};
use super::changed_pools::change_ids;
use super::phases::{Phase, Planned};
use super::states::Rollout;

/// The step for PersistentVolumeClaims that would shrink.
pub(super) fn restore_claim_sizes(rollout: &Rollout<'_>) -> Vec<Planned> {
    let smaller: Vec<&Change> = (rollout.changes.iter())
        .filter(|change| {
            (change.fields.iter())
                .filter_map(|field| field.reason.as_ref())
                .any(|reason| reason.starts_with(CLAIM_CANNOT_SHRINK))
        })
        .collect();
    let names: Vec<&str> = (smaller.iter().flat_map(|change| &change.names))
        .map(String::as_str)
        .collect();
    Phase::Preconditions.plan((!smaller.is_empty()).then(|| Step {
        instruction: format!(
            "A PersistentVolumeClaim cannot shrink, and the deployment would stop there: restore the size of {}, or \
             write a claim with another name and copy the data",
            names.join(", ")
        ),
        commands: Vec::new(),
        changes: change_ids(&smaller),
    }))
}
