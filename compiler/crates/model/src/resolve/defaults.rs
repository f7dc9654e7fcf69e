//! The default values of settings that the file does not contain.

use gpuc_syntax::node::DerivationReason;
use serde::Serialize;

use crate::{Cluster, DefaultedSetting};

/// The default values of settings that the file does not contain.
#[derive(Default)]
pub(super) struct Defaults {
    pub(super) settings: Vec<DefaultedSetting>,
}

impl Defaults {
    pub(super) fn fill<S: ToString>(
        &mut self,
        path: impl IntoIterator<Item = S>,
        value: &impl Serialize,
        because: DerivationReason,
    ) {
        self.settings.push(DefaultedSetting {
            path: path.into_iter().map(|key| key.to_string()).collect(),
            value: serde_json::to_value(value).expect("the schema's types serialise to JSON"),
            source: because,
            is_selected: false,
        });
    }

    pub(super) fn fill_pool(
        &mut self,
        pool: usize,
        keys: &[&str],
        value: &impl Serialize,
        because: DerivationReason,
    ) {
        let head = ["nodePools".to_owned(), pool.to_string()];
        let path = head
            .into_iter()
            .chain(keys.iter().map(|key| (*key).to_owned()));
        self.fill(path, value, because);
    }

    /// Adds the total quota of all teams to each pool.
    pub(super) fn fill_quota_totals(&mut self, cluster: &Cluster) {
        for quota in cluster.quota_totals() {
            let (min, max) = (quota.total.start(), quota.total.end());
            let (guaranteed, limit) = (quota.guaranteed(), quota.limit());
            let value = format!("{guaranteed} guaranteed, limit {limit}, of {min} to {max}");
            let because = DerivationReason::Rule("the sum of the quotas of the teams");
            let key = format!("{} of teams", quota.resource);
            self.pick_for_pool(quota.pool, &key, &value, because);
        }
    }

    /// Fills in a value that was selected from several.
    pub(super) fn pick_for_pool(
        &mut self,
        pool: usize,
        key: &str,
        value: &impl Serialize,
        because: DerivationReason,
    ) {
        self.fill_pool(pool, &[key], value, because);
        if let Some(filled) = self.settings.last_mut() {
            filled.is_selected = true;
        }
    }
}
