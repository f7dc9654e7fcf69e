//! A team's ClusterQueue, with its quota on each pool.

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{Grant, QueuedClaim, ResourceGroup, Team, resource_groups};
use gpuc_schema::config::{Kueue, Preempting, QueueOrder, Reclaiming};
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::cohort::COHORT;
use super::{API_VERSION, COMPONENT, flavor, provisioning};

/// The queue of a team.
pub(super) fn object(cluster: &Checked<'_>, team: &Team) -> Object {
    let settings = cluster.config.kueue.as_ref();
    let settings = settings.map(|it| it.value.clone()).unwrap_or_default();
    let mut resource_groups: Vec<Value> = resource_groups(granted_resources(team))
        .iter()
        .map(|group| resource_group(cluster, team, group))
        .collect();
    let claims = cluster.queued_claims();
    resource_groups.extend(unpinned_quota(team, &claims));
    let names: Vec<_> = team.namespaces.iter().map(|it| &it.value).collect();
    let mut spec = json!({
        "cohortName": COHORT,
        "namespaceSelector": {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": names},
        ]},
        "queueingStrategy": queueing_strategy(settings.order.value),
        "preemption": preemption(&settings),
        "resourceGroups": resource_groups,
    });
    if let Some(weight) = team.settings.weight.filter(|_| settings.fair_sharing.value) {
        spec["fairSharing"] = json!({"weight": weight.value});
    }
    if let Some(strategy) = provisioning::checks_strategy(cluster, team) {
        spec["admissionChecksStrategy"] = strategy;
    }
    let object = json!({
        "apiVersion": API_VERSION,
        "kind": "ClusterQueue",
        "metadata": {
            "name": team.name.value,
            "labels": {"app.kubernetes.io/managed-by": "gpuc"},
        },
        "spec": spec,
    });
    let grants = team.grants().map(|grant| grant.span);
    let anywhere = team.unpinned_resources().map(|(_, _, span)| span);
    let spaces = team.namespaces.iter().map(|it| it.span);
    let own = [
        settings.order.span,
        settings.reclaim.span,
        settings.preempt.span,
    ];
    let weight = team.settings.weight.iter().map(|it| it.span);
    let inputs = [team.name.span].into_iter().chain(grants).chain(anywhere);
    let claimed = claims.iter().flat_map(|claim| claim.spans.iter().copied());
    let inputs = inputs.chain(spaces).chain(own).chain(weight).chain(claimed);
    let reason = "the guaranteed amount of a team is its nominal quota; it borrows up to its limit";
    let mut object = Object::new(COMPONENT, &object, Origin::rule(inputs, reason));
    attach_origins(team, &mut object);
    object
}

/// Attaches the origin of each quota.
fn attach_origins(team: &Team, object: &mut Object) {
    for (g, group) in resource_groups(granted_resources(team)).iter().enumerate() {
        for (f, pool) in group.pools.iter().enumerate() {
            for (r, resource) in group.resources.iter().enumerate() {
                let mut grants = team.grants();
                let grant = grants.find(|it| it.pool == *pool && it.resource == *resource);
                let Some(grant) = grant else { continue };
                let lend = grant.lend.iter().map(|lend| lend.span);
                let spans = [grant.guaranteed.span, grant.limit.span]
                    .into_iter()
                    .chain(lend);
                let reason = "the team's guaranteed amount of the pool; it borrows up to its limit";
                let [g, f, r] = [g, f, r].map(|number| number.to_string());
                let keys = ["spec", "resourceGroups", &g, "flavors", &f, "resources", &r];
                object.node.set_origin(&keys, Origin::rule(spans, reason));
            }
        }
    }
}

/// The pools and resources of a team's grants.
fn granted_resources(team: &Team) -> impl Iterator<Item = (usize, &str)> {
    let grants = team.grants();
    grants.map(|grant| (grant.pool, grant.resource.as_str()))
}

fn resource_group(cluster: &Checked<'_>, team: &Team, group: &ResourceGroup) -> Value {
    let quota = |pool: usize, resource: &String| {
        let mut grants = team.grants();
        let grant = grants.find(|it| it.pool == pool && it.resource == *resource);
        // Every flavor of a group must cover all of its resources, even those that its pool does not have.
        let Some(grant) = grant else {
            return json!({"name": resource, "nominalQuota": 0, "borrowingLimit": 0});
        };
        grant_quota(grant)
    };
    let flavors = group.pools.iter().map(|pool| {
        let resources = group.resources.iter().map(|it| quota(*pool, it));
        json!({
            "name": flavor::flavor_name(&cluster.pools[*pool]),
            "resources": resources.collect::<Vec<_>>(),
        })
    });
    json!({
        "coveredResources": group.resources,
        "flavors": flavors.collect::<Vec<_>>(),
    })
}

fn grant_quota(grant: &Grant) -> Value {
    let guaranteed = grant.guaranteed.value;
    let mut quota = json!({
        "name": grant.resource,
        "nominalQuota": guaranteed,
        "borrowingLimit": grant.limit.value.saturating_sub(guaranteed),
    });
    if let Some(lend) = grant.lend {
        quota["lendingLimit"] = json!(lend.value);
    }
    quota
}

/// The quota of CPU and memory, which teams neither lend nor borrow, and of the devices that pods claim for their
/// interconnect: every team may use all of them, because the GPUs of their nodes limit it.
fn unpinned_quota(team: &Team, claims: &[QueuedClaim]) -> Option<Value> {
    let own = (team.unpinned_resources()).map(|(name, amount, _)| (name.to_owned(), amount));
    let claimed = (claims.iter()).map(|claim| (claim.resource.clone(), json!(claim.total)));
    let (names, quotas): (Vec<_>, Vec<_>) = own
        .chain(claimed)
        .map(|(name, amount)| {
            let quota = json!({
                "name": name,
                "nominalQuota": amount,
                "borrowingLimit": 0,
                "lendingLimit": 0,
            });
            (name, quota)
        })
        .unzip();
    let flavors = json!([{"name": flavor::UNPINNED, "resources": quotas}]);
    (!names.is_empty()).then(|| json!({"coveredResources": names, "flavors": flavors}))
}

fn queueing_strategy(order: QueueOrder) -> &'static str {
    match order {
        QueueOrder::BestEffortFifo => "BestEffortFIFO",
        QueueOrder::StrictFifo => "StrictFIFO",
    }
}

fn preemption(settings: &Kueue) -> Value {
    let reclaim = match settings.reclaim.value {
        Reclaiming::Any => "Any",
        Reclaiming::LowerPriority => "LowerPriority",
        Reclaiming::Never => "Never",
    };
    let preempt = match settings.preempt.value {
        Preempting::LowerPriority => "LowerPriority",
        Preempting::LowerOrNewerEqualPriority => "LowerOrNewerEqualPriority",
        Preempting::Never => "Never",
    };
    json!({"reclaimWithinCohort": reclaim, "withinClusterQueue": preempt})
}
