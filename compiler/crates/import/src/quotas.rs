//! ResourceQuotas of namespaces as quotas of teams.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;

use crate::claims::extended_classes;
use crate::configs::name_of;
use crate::context::Context;
use crate::json::source;
use crate::pool::Pool;
use crate::report::Report;
use crate::sharing::Sharing;
use crate::teams::quantity;
use crate::tree::{Entries, Item};

/// The quota of a namespace.
#[derive(Debug, Default)]
pub(crate) struct Quota {
    /// The items of `gpus`.
    pub(crate) gpus: Vec<Item>,
    /// The source and the reason, if the amounts of pools are a guess.
    guess: Option<(String, String)>,
    /// The other keys.
    pub(crate) amounts: Vec<(&'static str, Item)>,
}

/// ResourceQuotas that clouds and gpuc create in every namespace.
const OWN: &[&str] = &["gke-resource-quotas", "team-system-priorities"];

/// Whether a ResourceQuota counts all pods of its namespace, and the user created it.
pub(crate) fn is_for_all_pods(quota: &Object) -> bool {
    let has_scope = !quota.items("/spec/scopes").is_empty()
        || quota.body.pointer("/spec/scopeSelector").is_some();
    !has_scope && !OWN.contains(&quota.metadata.name.as_str())
}

/// The quota of a namespace. With `with_queues`, the queues of Kueue count GPUs.
pub(crate) fn namespace_quota(
    cx: &Context<'_>,
    pools: &[Pool<'_>],
    namespace: &str,
    with_queues: bool,
    report: &mut Report,
) -> Quota {
    let mut hard: BTreeMap<&str, (String, String)> = BTreeMap::new();
    let quotas = cx.state.objects(Kind::ResourceQuota).iter();
    for quota in quotas.filter(|it| it.metadata.namespace == namespace) {
        if !is_for_all_pods(quota) {
            if !OWN.contains(&quota.metadata.name.as_str()) {
                let at = source(name_of("ResourceQuota", quota), "spec", quota.get("/spec"));
                report.leave_out(
                    Some("teams"),
                    at,
                    "gpuc has no quotas for some pods of a namespace only",
                );
            }
            continue;
        }
        let entries = quota.get("/spec/hard").as_object().into_iter().flatten();
        for (name, amount) in entries {
            let amount = amount
                .as_str()
                .map_or_else(|| amount.to_string(), str::to_owned);
            let at = source(
                name_of("ResourceQuota", quota),
                format!("spec.hard[{name}]"),
                &amount,
            );
            let thousandths = |it: &str| gpuc_schema::quantity::thousandths(it);
            // `cpu` is an old name of `requests.cpu`.
            let name = match name.as_str() {
                "cpu" => "requests.cpu",
                "memory" => "requests.memory",
                "count/pods" => "pods",
                name => name,
            };
            let known = hard.get(name);
            // Of several quotas, the smallest amount applies.
            if known.is_none_or(|(known, _)| thousandths(&amount) < thousandths(known)) {
                hard.insert(name, (amount, at));
            }
        }
    }
    let mut quota = Quota::default();
    let mut granted = BTreeSet::new();
    for (name, (amount, at)) in &hard {
        let key = match *name {
            "requests.cpu" => "cpu",
            "requests.memory" => "memory",
            "requests.storage" => "storage",
            "pods" | "count/pods" => "pods",
            other => {
                if let Some(devices) = devices(other) {
                    let amount = without_claimed(cx, &devices, amount, &hard);
                    let is_counted = with_queues && amount == "0";
                    if !is_counted && granted.insert(devices.clone()) {
                        add_devices(&mut quota, &devices, &amount, at, pools, report);
                    }
                } else if !is_driver_class(other) {
                    report.leave_out(
                        Some("teams"),
                        at.clone(),
                        "gpuc has no key for this resource",
                    );
                }
                continue;
            }
        };
        quota.amounts.push((key, quantity(amount).sure(at.clone())));
    }
    let order = ["cpu", "memory", "pods", "storage"];
    quota
        .amounts
        .sort_by_key(|(key, _)| order.iter().position(|it| it == key));
    quota.zero(pools, &hard);
    quota
}

/// What a quota of devices counts: an extended resource, or a DeviceClass of gpuc.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Devices {
    Resource(String),
    Class {
        pool: String,
        profile: Option<String>,
    },
}

/// The suffix of the name of a DeviceClass in a ResourceQuota.
const CLASS_SUFFIX: &str = ".deviceclass.resource.k8s.io/devices";

fn devices(name: &str) -> Option<Devices> {
    if let Some(resource) = name
        .strip_prefix("requests.")
        .filter(|it| it.starts_with("nvidia.com/"))
    {
        return Some(Devices::Resource(resource.to_owned()));
    }
    let class = name.strip_suffix(CLASS_SUFFIX)?.strip_suffix(".gpuc.dev")?;
    Some(
        match class
            .strip_prefix("mig-")
            .and_then(|rest| rest.rsplit_once('.'))
        {
            Some((profile, pool)) => Devices::Class {
                pool: pool.to_owned(),
                profile: Some(profile.to_owned()),
            },
            None => Devices::Class {
                pool: class.to_owned(),
                profile: None,
            },
        },
    )
}

/// The amount of an extended resource without the devices of gpuc's DeviceClasses with its name: a quota counts them
/// under both names.
fn without_claimed(
    cx: &Context<'_>,
    devices: &Devices,
    amount: &str,
    hard: &BTreeMap<&str, (String, String)>,
) -> String {
    let Devices::Resource(resource) = devices else {
        return amount.to_owned();
    };
    let named = extended_classes(cx).filter(|(_, name)| name == resource);
    let claimed: u64 = named
        .filter_map(|(class, _)| {
            let key = format!("{}{CLASS_SUFFIX}", class.metadata.name);
            hard.get(key.as_str())?.0.parse::<u64>().ok()
        })
        .sum();
    match amount.parse::<u64>() {
        Ok(all) if claimed > 0 => all.saturating_sub(claimed).to_string(),
        _ => amount.to_owned(),
    }
}

/// Whether a resource is that of the driver's own DeviceClasses, for which gpuc writes 0.
fn is_driver_class(name: &str) -> bool {
    name.strip_suffix(CLASS_SUFFIX)
        .is_some_and(|class| class.ends_with(".nvidia.com"))
}

fn add_devices(
    quota: &mut Quota,
    devices: &Devices,
    amount: &str,
    at: &str,
    pools: &[Pool<'_>],
    report: &mut Report,
) {
    if amount == "0" {
        return;
    }
    let Ok(count) = amount.parse::<u64>() else {
        report.leave_out(Some("teams"), at, "the amount is not a number of devices");
        return;
    };
    match devices {
        Devices::Resource(resource) => {
            let mut offering: Vec<&Pool<'_>> = pools
                .iter()
                .filter(|pool| pool.amount(resource).is_some())
                .collect();
            // The largest pool first.
            offering.sort_by_key(|pool| (std::cmp::Reverse(pool.capacity(resource)), &pool.name));
            match offering.as_slice() {
                [] => report.leave_out(Some("teams"), at, format!("no node advertises {resource}")),
                [pool] => quota.gpus.push(gpu_item(pool, resource, count, at)),
                several => {
                    quota.gpus.extend(split(several, resource, count, at));
                    let reason = format!(
                        "a ResourceQuota counts {resource} of all pools together; only the sum is known"
                    );
                    quota.guess.get_or_insert((at.to_owned(), reason));
                }
            }
        }
        Devices::Class { pool, profile } if pools.iter().any(|it| it.name == *pool) => {
            let mut entries = vec![("pool", Item::text(pool))];
            entries.extend(
                profile
                    .as_ref()
                    .map(|profile| ("profile", Item::text(profile))),
            );
            entries.push(("limit", Item::number(count)));
            quota.gpus.push(Item::map(entries).sure(at));
        }
        Devices::Class { pool, .. } => {
            report.leave_out(
                Some("teams"),
                at,
                format!("no nodes belong to the pool {pool} of this DeviceClass"),
            );
        }
    }
}

/// One entry for each pool with a resource. A ResourceQuota counts the resource in all of them; their sum is its
/// amount.
fn split(pools: &[&Pool<'_>], resource: &str, count: u64, at: &str) -> Vec<Item> {
    let mut rest = count;
    let last = pools.len() - 1;
    let items = pools.iter().enumerate().map(|(index, pool)| {
        let own = if index == last {
            rest
        } else {
            rest.min(pool.capacity(resource))
        };
        rest -= own;
        gpu_item(pool, resource, own, at)
    });
    items.collect()
}

/// An entry of `gpus`. A ResourceQuota guarantees nothing, so that the amount is a limit.
fn gpu_item(pool: &Pool<'_>, resource: &str, count: u64, at: &str) -> Item {
    let mut entries = vec![("pool", Item::text(&pool.name))];
    entries.extend(profile(pool, resource).map(|profile| ("profile", Item::text(profile))));
    entries.push(("limit", Item::number(count)));
    Item::map(entries).sure(at)
}

/// The profile of a resource of a pool with MIG devices of several profiles.
pub(crate) fn profile(pool: &Pool<'_>, resource: &str) -> Option<String> {
    let resource = resource.strip_prefix("nvidia.com/mig-")?;
    let Some(Sharing::Mig { layouts, .. }) = &pool.sharing else {
        return Some(resource.to_owned());
    };
    let mut profiles = layouts.iter().flat_map(|(_, layout)| layout.keys());
    let found = profiles.find(|profile| profile.replace('+', ".") == resource);
    Some(found.map_or(resource, String::as_str).to_owned())
}

impl Quota {
    /// Without an entry, nothing is limited. A quota of 0 of every resource needs one entry.
    fn zero(&mut self, pools: &[Pool<'_>], hard: &BTreeMap<&str, (String, String)>) {
        if !self.gpus.is_empty() {
            return;
        }
        let zero = hard.iter().find_map(|(name, (amount, at))| {
            let Devices::Resource(resource) = devices(name).filter(|_| amount == "0")? else {
                return None;
            };
            let pool = pools.iter().find(|pool| pool.amount(&resource).is_some())?;
            Some(gpu_item(pool, &resource, 0, at))
        });
        self.gpus.extend(zero);
    }

    /// The value of `quota`; `None` if nothing is limited.
    pub(crate) fn item(&self) -> Option<Item> {
        let mut entries = Entries::default();
        if !self.gpus.is_empty() {
            let mut gpus = Item::list(self.gpus.clone());
            if let Some((at, reason)) = &self.guess {
                gpus = gpus.guess(at, reason);
            }
            entries.push("gpus", gpus);
        }
        for (key, item) in &self.amounts {
            entries.push(key, item.clone());
        }
        entries.into_some()
    }
}
