//! The cohort of all teams, with the capacity that is not guaranteed to any of them.

use std::collections::BTreeMap;

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{Team, resource_groups};
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::{API_VERSION, COMPONENT, flavor};

/// The name of the cohort.
pub(super) const COHORT: &str = "teams";

/// The cohort. It owns the capacity of the pools, at their maximum nodes, that is not guaranteed to any team: otherwise
/// no team could borrow it.
pub(super) fn object(cluster: &Checked<'_>) -> Object {
    let rest = unguaranteed_capacity(cluster);
    let advertised = rest.keys().map(|(pool, resource)| (*pool, *resource));
    let resource_groups: Vec<Value> = resource_groups(advertised)
        .iter()
        .map(|group| {
            let flavors = group.pools.iter().map(|pool| {
                let resources = group.resources.iter().map(|resource| {
                    let free = rest.get(&(*pool, resource.as_str())).copied();
                    json!({"name": resource, "nominalQuota": free.unwrap_or(0)})
                });
                json!({
                    "name": flavor::flavor_name(&cluster.pools[*pool]),
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
        let nodes = cluster.pools[grant.pool].nodes.expect_resolved();
        [nodes.max_span, grant.guaranteed.span]
    });
    let mut inputs = vec![cluster.config.queueing.span];
    inputs.extend(nodes);
    inputs.sort_unstable();
    inputs.dedup();
    let reason = "teams may borrow the capacity of the pools that is not guaranteed to any team";
    Object::new(COMPONENT, &object, Origin::rule(inputs, reason))
}

/// The capacity of each pool at its maximum nodes that is not guaranteed, for every resource that a team may use.
fn unguaranteed_capacity<'c>(cluster: &'c Checked<'_>) -> BTreeMap<(usize, &'c str), u64> {
    let mut rest: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    for grant in cluster.teams.iter().flat_map(Team::grants) {
        let nodes = cluster.pools[grant.pool].nodes.expect_resolved();
        let free = rest
            .entry((grant.pool, grant.resource.as_str()))
            .or_insert(*grant.total(nodes).end());
        *free = free.saturating_sub(u64::from(grant.guaranteed.value));
    }
    rest.retain(|_, free| *free > 0);
    rest
}
