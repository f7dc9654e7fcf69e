//! Changes that the API server rejects, which stop the deployment.

use super::super::classify::SMALLER_CLAIM;
use super::super::report::{Change, Step};
use super::{Rollout, ids};

impl Rollout<'_> {
    /// PersistentVolumeClaims that would shrink.
    pub(super) fn smaller_claims(&self) -> Option<Step> {
        let is_smaller = |change: &&Change| {
            let mut fields = change
                .fields
                .iter()
                .filter_map(|field| field.because.as_ref());
            fields.any(|because| because.starts_with(SMALLER_CLAIM))
        };
        let smaller: Vec<&Change> = self.changes.iter().filter(is_smaller).collect();
        let names: Vec<&str> = smaller
            .iter()
            .flat_map(|change| &change.names)
            .map(String::as_str)
            .collect();
        (!smaller.is_empty()).then(|| Step {
            what: format!(
                "A PersistentVolumeClaim cannot shrink, and the deployment would stop there: restore the size of {}, \
                 or write a claim with another name and copy the data",
                names.join(", ")
            ),
            commands: Vec::new(),
            changes: ids(&smaller),
        })
    }
}
