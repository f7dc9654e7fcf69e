//! What the API server refuses, so that nothing that comes after it is brought.

use super::super::judge::SMALLER_CLAIM;
use super::super::shown::{Change, Step};
use super::{Rollout, ids};

impl Rollout<'_> {
    /// Volume claims that shall get smaller.
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
                "No volume claim gets smaller, and what comes after it would not be brought: write the size as it was of \
                 {}, or a claim of another name, and copy its data",
                names.join(", ")
            ),
            commands: Vec::new(),
            changes: ids(&smaller),
        })
    }
}
