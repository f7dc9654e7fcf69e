//! Queues of Kueue: the keys `queueing` and `kueue`, and the quotas of teams.

use std::collections::BTreeMap;

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::json::{items, number, parse_yaml, source, text};
use crate::pool::Pool;
use crate::quotas::profile;
use crate::report::Report;
use crate::teams::quantity;
use crate::tree::{Entries, Evidence, Item};

/// The objects of Kueue.
pub(crate) struct Queues<'s> {
    clusters: Vec<&'s Object>,
    /// The ClusterQueues by namespace, with the LocalQueue.
    locals: BTreeMap<&'s str, (&'s str, &'s Object)>,
    flavors: &'s [Object],
}

impl<'s> Queues<'s> {
    /// The objects of Kueue; `None` without ClusterQueues.
    pub(crate) fn new(cx: &Context<'s>) -> Option<Self> {
        let clusters: Vec<&Object> = cx.state.objects(Kind::ClusterQueue).iter().collect();
        let locals = cx.state.objects(Kind::LocalQueue).iter();
        let locals = locals.map(|it| {
            (
                it.metadata.namespace.as_str(),
                (it.text("/spec/clusterQueue"), it),
            )
        });
        (!clusters.is_empty()).then(|| Self {
            clusters,
            locals: locals.collect(),
            flavors: cx.state.objects(Kind::ResourceFlavor),
        })
    }

    /// The ClusterQueue of a namespace, with the LocalQueue.
    pub(crate) fn queue_of(&self, namespace: &str) -> Option<(&'s str, String)> {
        let (queue, local) = self.locals.get(namespace)?;
        Some((
            queue,
            source(name_of("LocalQueue", local), "spec.clusterQueue", queue),
        ))
    }

    fn queue(&self, name: &str) -> Option<&'s Object> {
        self.clusters
            .iter()
            .find(|it| it.metadata.name == name)
            .copied()
    }

    /// The key `weight` of a team.
    pub(crate) fn weight(&self, name: &str) -> Option<Item> {
        let queue = self.queue(name)?;
        let weight = queue.get("/spec/fairSharing/weight");
        let weight: u64 = match weight {
            Value::String(text) => text.parse().ok()?,
            other => other.as_u64()?,
        };
        let at = source(
            name_of("ClusterQueue", queue),
            "spec.fairSharing.weight",
            weight,
        );
        (weight != 1).then(|| Item::number(weight).sure(at))
    }

    /// The quota of a team in its ClusterQueue.
    pub(crate) fn quota(
        &self,
        name: &str,
        pools: &[Pool<'_>],
        report: &mut Report,
    ) -> Option<Entries> {
        let queue = self.queue(name)?;
        let object = name_of("ClusterQueue", queue);
        let (mut gpus, mut amounts) = (Vec::new(), Vec::new());
        for group in queue.items("/spec/resourceGroups") {
            for flavor in items(group, "/flavors") {
                let flavor_name = text(flavor, "/name").unwrap_or_default();
                let pool = self.pool_of(flavor_name, pools);
                for resource in items(flavor, "/resources") {
                    let resource_name = text(resource, "/name").unwrap_or_default();
                    let nominal = resource.get("nominalQuota").cloned().unwrap_or_default();
                    let nominal = nominal
                        .as_str()
                        .map_or_else(|| nominal.to_string(), str::to_owned);
                    let at = source(
                        &object,
                        format!("flavors[{flavor_name}].{resource_name}"),
                        resource,
                    );
                    let is_kept = if let "cpu" | "memory" | "pods" = resource_name {
                        let amount = amount_item(resource_name, &nominal, &at);
                        amounts.extend(amount);
                        true
                    } else {
                        match pool.map(|pool| gpu_entry(pool, resource_name, resource, &at)) {
                            Some(GpuEntry::Item(item)) => {
                                gpus.push(item);
                                true
                            }
                            Some(GpuEntry::Nothing) => true,
                            Some(GpuEntry::NotAdvertised) | None => false,
                        }
                    };
                    if !is_kept {
                        let key = format!("teams[{name}].quota");
                        let reason = "no pool has this flavor and this resource";
                        report.leave_out(Some(&key), at, reason);
                    }
                }
            }
        }
        let mut entries = Entries::default();
        entries.push_list("gpus", gpus);
        for (key, item) in amounts {
            entries.push(key, item);
        }
        Some(entries)
    }

    /// The pool whose nodes have the labels of a flavor.
    fn pool_of<'p, 'n>(&self, flavor: &str, pools: &'p [Pool<'n>]) -> Option<&'p Pool<'n>> {
        let flavor = self.flavors.iter().find(|it| it.metadata.name == flavor)?;
        let labels = flavor.get("/spec/nodeLabels").as_object()?;
        let has_labels = |pool: &&Pool<'_>| {
            !labels.is_empty()
                && labels.iter().all(|(key, value)| {
                    let is_selected = pool
                        .selector
                        .iter()
                        .any(|(own, it)| own == key && Some(it.as_str()) == value.as_str());
                    let mut nodes = pool.group.nodes.iter();
                    let is_on_nodes = !pool.group.nodes.is_empty()
                        && nodes.all(|node| node.metadata.label(key) == value.as_str());
                    is_selected || is_on_nodes
                })
        };
        pools.iter().find(has_labels)
    }

    /// The key `kueue`.
    pub(crate) fn settings(
        &self,
        cx: &Context<'_>,
        pools: &[Pool<'_>],
        report: &mut Report,
    ) -> Option<Item> {
        let mut entries = Entries::default();
        let first = self.clusters.first()?;
        let object = name_of("ClusterQueue", first);
        let settings = [
            (
                "order",
                "/spec/queueingStrategy",
                "BestEffortFIFO",
                &[
                    ("StrictFIFO", "strictFifo"),
                    ("BestEffortFIFO", "bestEffortFifo"),
                ][..],
            ),
            (
                "reclaim",
                "/spec/preemption/reclaimWithinCohort",
                "Never",
                &[
                    ("Any", "any"),
                    ("LowerPriority", "lowerPriority"),
                    ("Never", "never"),
                ],
            ),
            (
                "preempt",
                "/spec/preemption/withinClusterQueue",
                "Never",
                &[
                    ("LowerPriority", "lowerPriority"),
                    ("LowerOrNewerEqualPriority", "lowerOrNewerEqualPriority"),
                    ("Never", "never"),
                ],
            ),
        ];
        for (key, pointer, kueue_default, words) in settings {
            let written = |it: &Object| match it.text(pointer) {
                "" => kueue_default.to_owned(),
                text => text.to_owned(),
            };
            let value = written(first);
            let at = source(
                &object,
                pointer.trim_start_matches('/').replace('/', "."),
                &value,
            );
            let others = self.clusters.iter().filter(|it| written(it) != value);
            for other in others {
                let at = source(
                    name_of("ClusterQueue", other),
                    pointer.trim_start_matches('/').replace('/', "."),
                    written(other),
                );
                report.leave_out(
                    Some(&format!("kueue.{key}")),
                    at,
                    "all queues have one setting",
                );
            }
            let default = match key {
                "order" => "bestEffortFifo",
                "reclaim" => "any",
                _ => "lowerPriority",
            };
            let word = words
                .iter()
                .find(|(api, _)| *api == value)
                .map(|(_, word)| *word);
            if let Some(word) = word.filter(|word| *word != default) {
                entries.push(key, Item::text(word).sure(at));
            }
        }
        entries.push_some("fairSharing", self.fair_sharing(cx));
        entries.push_some("topology", topology(cx, self.flavors, pools, self));
        entries.into_some()
    }

    /// Whether the configuration of Kueue enables fair sharing, or a queue has a weight.
    fn fair_sharing(&self, cx: &Context<'_>) -> Option<Item> {
        let config_maps = cx.state.objects(Kind::ConfigMap).iter();
        let mut configs = config_maps.filter(|it| it.metadata.name == "kueue-manager-config");
        if let Some(object) = configs.next() {
            let data = object.get("/data").as_object().into_iter().flatten();
            let mut parsed = data.filter_map(|(_, value)| parse_yaml(value.as_str()?));
            let config = parsed.find(|it| it.get("fairSharing").is_some())?;
            let at = source(
                name_of("ConfigMap", object),
                "fairSharing",
                &config["fairSharing"],
            );
            let is_off = config.pointer("/fairSharing/enable") == Some(&Value::Bool(false));
            return (!is_off).then(|| Item::bool(true).sure(at));
        }
        let weighted = self
            .clusters
            .iter()
            .find(|it| !it.get("/spec/fairSharing/weight").is_null())?;
        let at = source(
            name_of("ClusterQueue", weighted),
            "spec.fairSharing",
            weighted.get("/spec/fairSharing"),
        );
        Some(Item::bool(true).guess(
            at,
            "a queue has a weight; the configuration of Kueue is not known",
        ))
    }
}

/// The key `topology`.
fn topology(
    cx: &Context<'_>,
    flavors: &[Object],
    pools: &[Pool<'_>],
    queues: &Queues<'_>,
) -> Option<Item> {
    let of_flavors: Vec<&Object> = flavors
        .iter()
        .filter(|it| !it.text("/spec/topologyName").is_empty())
        .collect();
    let names: Vec<Item> = (of_flavors.iter())
        .filter_map(|flavor| {
            let pool = queues.pool_of(&flavor.metadata.name, pools)?;
            let at = source(
                name_of("ResourceFlavor", flavor),
                "spec.topologyName",
                flavor.text("/spec/topologyName"),
            );
            Some(Item::text(&pool.name).sure(at))
        })
        .collect();
    let name = of_flavors.first()?.text("/spec/topologyName");
    let mut entries = Entries::default();
    entries.push("pools", Item::list(names));
    let topologies = cx.state.objects(Kind::Topology);
    if let Some(topology) = topologies.iter().find(|it| it.metadata.name == name) {
        let at = name_of("Topology", topology);
        let levels = topology
            .items("/spec/levels")
            .iter()
            .filter_map(|it| text(it, "/nodeLabel"));
        let levels: Vec<Item> = levels.map(|it| Item::text(it).sure(at.clone())).collect();
        entries.push_list("levels", levels);
    }
    entries.into_some()
}

fn amount_item(resource: &str, nominal: &str, at: &str) -> Option<(&'static str, Item)> {
    let key = match resource {
        "cpu" => "cpu",
        "memory" => "memory",
        "pods" => "pods",
        _ => return None,
    };
    Some((key, quantity(nominal).sure(at)))
}

/// What a queue has of a resource of a pool.
enum GpuEntry {
    /// An entry of `gpus`.
    Item(Item),
    /// Nothing.
    Nothing,
    /// A resource that the pool does not advertise.
    NotAdvertised,
}

/// What a queue has of a resource of a pool.
fn gpu_entry(pool: &Pool<'_>, name: &str, resource: &Value, at: &str) -> GpuEntry {
    let nominal = number(resource, "/nominalQuota").unwrap_or(0);
    let borrowing = number(resource, "/borrowingLimit");
    // Every flavor of a group covers all of its resources, even those that its nodes do not have.
    if nominal == 0 && borrowing == Some(0) {
        return GpuEntry::Nothing;
    }
    let class = name.strip_suffix(".gpuc.dev");
    let Some(amount) = pool.amount(name).or_else(|| class.map(|_| 0)) else {
        return GpuEntry::NotAdvertised;
    };
    let is_shared = matches!(pool.sharing, Some(crate::sharing::Sharing::Replicas { .. }));
    let mut entries = vec![("pool", Item::text(&pool.name))];
    let of_class = class.and_then(|it| {
        it.strip_prefix("mig-")?
            .rsplit_once('.')
            .map(|(profile, _)| profile.to_owned())
    });
    let profile = profile(pool, name).or(of_class);
    entries.extend(profile.map(|profile| ("profile", Item::text(profile))));
    let key = if is_shared { "shares" } else { "guaranteed" };
    entries.push((key, Item::number(nominal)));
    let mut evidence = Evidence::sure(at);
    match borrowing {
        Some(0) => {}
        Some(more) => entries.push(("limit", Item::number(nominal.saturating_add(more)))),
        None => {
            let capacity = amount.saturating_mul(pool.max_nodes.unwrap_or(1));
            let capacity = i64::try_from(capacity).unwrap_or(i64::MAX);
            if capacity > nominal {
                entries.push(("limit", Item::number(capacity)));
                let reason =
                    "the queue borrows without a limit; this is what the nodes of the pool have";
                evidence = Evidence::guess(at, reason);
            }
        }
    }
    if let Some(lend) = number(resource, "/lendingLimit") {
        entries.push(("lend", Item::number(lend)));
    }
    GpuEntry::Item(Item::map(entries).with(evidence))
}
