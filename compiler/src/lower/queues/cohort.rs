//! The cohort of all teams, with what was promised to none of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{API_VERSION, COMPONENT, flavor};
use crate::check::Checked;
use crate::model::{Team, groups};
use crate::node::Origin;
use crate::plan::Object;

/// What the cohort is called.
pub(super) const COHORT: &str = "teams";

/// The cohort. What pools hold at their most nodes and nobody was promised is the cohort's own: without it nobody could
/// borrow it, and it would lie idle.
pub(super) fn object(cluster: &Checked<'_>) -> Object {
    let rest = rest(cluster);
    let offers = rest.keys().map(|(pool, resource)| (*pool, *resource));
    let resource_groups: Vec<Value> = groups(offers)
        .iter()
        .map(|group| {
            let flavors = group.pools.iter().map(|pool| {
                let resources = group.resources.iter().map(|resource| {
                    let free = rest.get(&(*pool, resource.as_str())).copied();
                    json!({"name": resource, "nominalQuota": free.unwrap_or(0)})
                });
                json!({
                    "name": flavor::name(&cluster.pools[*pool]),
                    "resources": resources.collect::<Vec<_>>(),
                })
            });
            json!({
                "coveredResources": group.resources,
                "flavors": flavors.collect::<Vec<_>>(),
            })
        })
        .collect();
    let mut spec = json!({});
    if !resource_groups.is_empty() {
        spec["resourceGroups"] = json!(resource_groups);
    }
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": "Cohort",
        "metadata": {"name": COHORT, "labels": {"app.kubernetes.io/managed-by": "gpuc"}},
        "spec": spec,
    });
    let grants = cluster.teams.iter().flat_map(Team::grants);
    let nodes = grants.flat_map(|grant| {
        let nodes = cluster.pools[grant.pool].nodes.sure();
        [nodes.max_span, grant.guaranteed.span]
    });
    let mut inputs = vec![cluster.written.queueing.span];
    inputs.extend(nodes);
    inputs.sort_unstable();
    inputs.dedup();
    let why = "teams may borrow what the pools hold and no team is guaranteed";
    Object::new(COMPONENT, &object, Origin::rule(inputs, why))
}

/// What each pool holds at its most nodes and nobody is guaranteed, of all that some team may use.
fn rest<'c>(cluster: &'c Checked<'_>) -> BTreeMap<(usize, &'c str), u64> {
    let mut rest: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for grant in cluster.teams.iter().flat_map(Team::grants) {
        let nodes = cluster.pools[grant.pool].nodes.sure();
        let free = rest
            .entry((grant.pool, grant.resource.as_str()))
            .or_insert(*grant.total(nodes).end());
        *free = free.saturating_sub(u64::from(grant.guaranteed.value));
    }
    rest.retain(|_, free| *free > 0);
    rest
}
