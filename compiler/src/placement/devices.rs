//! What a node's GPUs and network cards give to a pod: by resource, by claim, and whether it works as it is meant.

use std::collections::BTreeMap;

use gpuc_schema::Span;
use gpuc_schema::config::MigStrategy;
use gpuc_schema::gpu::Basis;

use super::demand::Request;
use super::{Answer, Demand, Reason, Why};
use crate::cloud::CLOUDS;
use crate::model::{
    Claimed, Cluster, DeviceClass, KubernetesVersion, Pool, PoolGpus, RDMA_RESOURCE, Sharing,
};

const GPU: &str = "nvidia.com/gpu";

/// What a container asks for instead of making a claim, before the class's name.
const BRIDGE: &str = "deviceclass.resource.kubernetes.io/";

/// Holds resources and claims against what a node has.
pub(super) fn look(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    if pool.offers.is_hole() {
        return;
    }
    for request in demand.resources.iter().filter(|it| it.count > 0) {
        let resource = &request.resource.value;
        let (why, answer) = match offered(cluster, pool, resource) {
            Some(has) if request.count <= has => continue,
            Some(has) => (too_many(resource, request.count, has), Answer::No),
            None if is_known(cluster, resource) => {
                let (resource, offered) = (resource.clone(), names(pool, resource));
                (Why::NotOffered { resource, offered }, Answer::No)
            }
            None => {
                let resource = resource.clone();
                (Why::ResourceUnknown { resource }, Answer::Perhaps)
            }
        };
        let is_count = matches!(why, Why::TooMany { .. });
        reasons.push(Reason {
            why,
            answer,
            asked: if is_count {
                request.span
            } else {
                request.resource.span
            },
            place: place(pool),
        });
    }
    claims(demand, cluster, pool, reasons);
}

fn too_many(resource: &str, asked: u64, has: u64) -> Why {
    let resource = resource.to_owned();
    Why::TooMany {
        resource,
        asked,
        has,
    }
}

/// Where a pool says what its nodes offer.
fn place(pool: &Pool) -> Span {
    let chosen = pool.gpus.get().and_then(|gpus| Some(gpus.as_ref()?.chosen));
    let spans = [Some(pool.written.sharing.span), chosen];
    let mut written = spans.into_iter().flatten().filter(|span| span.is_written());
    written.next().unwrap_or(pool.name.span)
}

/// What a node's offers are called that are of the same kind as a resource.
fn names(pool: &Pool, resource: &str) -> Vec<String> {
    let gpus = pool.offers.get().into_iter().flatten();
    let offers: Vec<_> = if resource.starts_with("nvidia.com/") {
        gpus.collect()
    } else {
        pool.fabric.iter().collect()
    };
    offers.iter().map(|offer| offer.resource.clone()).collect()
}

/// Whether a resource is one of those that gpuc knows all about, so that a pool that does not offer it has none.
fn is_known(cluster: &Cluster, resource: &str) -> bool {
    let of_gpus = ["nvidia.com/gpu", "nvidia.com/mig-"];
    let fabric = cluster.pools.iter().flat_map(|pool| &pool.fabric);
    let mut fabric = fabric.map(|offer| &*offer.resource);
    let mut of_clouds = CLOUDS.iter().flat_map(|cloud| cloud.fabric_resources());
    of_gpus.iter().any(|prefix| resource.starts_with(prefix))
        || resource == RDMA_RESOURCE
        || fabric.any(|name| name == resource)
        || of_clouds.any(|name| *name == resource)
}

/// How many of a resource a node of the pool has; `None` where it has no such thing.
fn offered(cluster: &Cluster, pool: &Pool, resource: &str) -> Option<u64> {
    let offers = pool.offers.get()?.iter().chain(&pool.fabric);
    let mut offers = offers.filter(|offer| offer.resource == resource);
    if let Some(offer) = offers.next() {
        return Some(offer.per_node.into());
    }
    let version = cluster.kubernetes.get()?.value;
    if version < KubernetesVersion::FIRST_WITH_BRIDGE || pool.classes.is_empty() {
        return None;
    }
    let has = match resource.strip_prefix(BRIDGE) {
        Some(class) => of_class(cluster, pool, class)?,
        // NVIDIA's driver makes whole GPUs this resource.
        None if resource == GPU => of_kind(pool, |device| matches!(device, Claimed::Gpu)),
        None => return None,
    };
    (has > 0).then_some(has)
}

fn of_kind(pool: &Pool, is_it: impl Fn(&Claimed) -> bool) -> u64 {
    let classes = pool.classes.iter().filter(|class| is_it(&class.device));
    classes.map(|class| u64::from(class.per_node)).sum()
}

/// How many devices of a class a node of the pool has; `None` for a class that is none of the file's and none that
/// NVIDIA's driver brings. A class looks at the card, not at the node: another pool's with the same card has them too.
fn of_class(cluster: &Cluster, pool: &Pool, name: &str) -> Option<u64> {
    match name {
        "gpu.nvidia.com" => return Some(of_kind(pool, |it| matches!(it, Claimed::Gpu))),
        "mig.nvidia.com" => return Some(of_kind(pool, |it| matches!(it, Claimed::Slice(_)))),
        _ => {}
    }
    let owners = cluster.pools.iter();
    let (owner, class) = owners
        .flat_map(|owner| owner.classes.iter().map(move |class| (owner, class)))
        .find(|(_, class)| class.name == name)?;
    let card = |pool: &Pool| Some(pool.gpus.get()?.as_ref()?.model.key);
    if card(owner) != card(pool) {
        return Some(0);
    }
    let is_it = |device: &Claimed| match (device, class.device) {
        (Claimed::Gpu, Claimed::Gpu) => true,
        (Claimed::Slice(one), Claimed::Slice(other)) => one.name == other.name,
        _ => false,
    };
    Some(of_kind(pool, is_it))
}

/// What is claimed of each class, and where it is asked for first.
fn claimed(demand: &Demand) -> BTreeMap<&str, (u64, Span)> {
    let mut claimed = BTreeMap::new();
    for claim in &demand.claims {
        let so_far: &mut (u64, Span) = claimed
            .entry(&*claim.class.value)
            .or_insert((0, claim.class.span));
        so_far.0 = so_far.0.saturating_add(claim.count);
    }
    claimed
}

fn claims(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    for (class, (asked, span)) in claimed(demand) {
        let (why, answer) = match of_class(cluster, pool, class) {
            Some(0) => {
                let offered = pool.classes.iter().map(|class| class.name.clone());
                let (class, offered) = (class.to_owned(), offered.collect());
                (Why::ClassNotHere { class, offered }, Answer::No)
            }
            Some(has) if asked <= has => continue,
            Some(has) => (too_many(class, asked, has), Answer::No),
            None => {
                let class = class.to_owned();
                (Why::ClassUnknown { class }, Answer::Perhaps)
            }
        };
        reasons.push(Reason {
            why,
            answer,
            asked: span,
            place: place(pool),
        });
    }
    for name in &demand.unread_claims {
        reasons.push(Reason {
            why: Why::ClaimUnread {
                name: name.value.clone(),
            },
            answer: Answer::Perhaps,
            asked: name.span,
            place: pool.name.span,
        });
    }
}

/// How many devices of a resource or a class a node of the pool has, where that is known.
pub(super) fn on_a_node(cluster: &Cluster, pool: &Pool, name: &str) -> Option<u64> {
    offered(cluster, pool, name).or_else(|| of_class(cluster, pool, name))
}

/// How many such pods a node's devices are enough for; `None` where it asks for none that are known.
pub(super) fn pods_on_a_node(demand: &Demand, cluster: &Cluster, pool: &Pool) -> Option<u64> {
    let requests = demand.resources.iter();
    let of_requests = requests.filter_map(|request| {
        let has = offered(cluster, pool, &request.resource)?;
        has.checked_div(request.count)
    });
    // Pods that share GPUs through the Multi-Process Service name one claim.
    let is_shared = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
    let of_claims = claimed(demand).into_iter().filter(|_| !is_shared);
    let of_claims = of_claims
        .filter_map(|(class, (asked, _))| of_class(cluster, pool, class)?.checked_div(asked));
    of_requests.chain(of_claims).min()
}

/// Holds what a pod does with its GPUs against how they are shared.
pub(super) fn look_at_use(demand: &Demand, pool: &Pool, reasons: &mut Vec<Reason>) {
    let (Some(Some(gpus)), Some(sharing)) = (pool.gpus.get(), pool.sharing.get()) else {
        return;
    };
    let offers = pool.offers.get().into_iter().flatten();
    for offer in offers {
        let Some(request) = demand.request(&offer.resource).filter(|it| it.count > 0) else {
            continue;
        };
        several(demand, pool, sharing, request, reasons);
        let slice = slice_of(gpus, sharing, &offer.resource);
        memory(demand, pool, &device(gpus, sharing, slice), reasons);
    }
    for class in &pool.classes {
        let mut claims = demand.claims.iter();
        let Some(claim) = claims.find(|claim| claim.class.value == class.name) else {
            continue;
        };
        slices_talk(demand, pool, class, claim.count, claim.span, reasons);
        let slice = match class.device {
            Claimed::Gpu => None,
            Claimed::Slice(profile) => Some(profile.name),
        };
        memory(demand, pool, &device(gpus, sharing, slice), reasons);
    }
}

/// The profile of what is offered under a name, where it is a slice. Of several the largest.
fn slice_of(gpus: &PoolGpus, sharing: &Sharing, resource: &str) -> Option<&'static str> {
    let Sharing::Mig {
        strategy,
        gpus: layouts,
    } = sharing
    else {
        return None;
    };
    let mig = gpus.model.mig?;
    let is_single = strategy.value == MigStrategy::Single;
    let whole = layouts.iter().any(|gpu| gpu.slices.is_empty());
    if resource == GPU && (!is_single || whole) {
        return None;
    }
    let slices = layouts.iter().flat_map(|gpu| &gpu.slices);
    let profiles = slices.filter_map(|slice| mig.profile(slice.profile));
    let named = profiles.filter(|profile| {
        is_single || resource.strip_prefix("nvidia.com/") == Some(&profile.resource_name())
    });
    let largest = named.max_by_key(|profile| profile.memory_mib)?;
    Some(largest.name)
}

/// Several shares give no more than one, and several slices are seen one at a time and cannot reach each other.
///
/// Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, «Application Considerations» (from memory); NVIDIA's
/// device plugin, README, «Shared Access to GPUs».
fn several(
    demand: &Demand,
    pool: &Pool,
    sharing: &Sharing,
    request: &Request,
    reasons: &mut Vec<Reason>,
) {
    let resource = request.resource.value.clone();
    let talk = demand.gpus_talk && request.count > 1;
    let is_slice = matches!(sharing, Sharing::Mig { strategy, gpus } if resource != GPU
        || (strategy.value == MigStrategy::Single && gpus.iter().all(|gpu| !gpu.slices.is_empty())));
    let (why, answer) = match sharing {
        Sharing::TimeSlicing { .. } | Sharing::Mps { .. } if request.largest > 1 || talk => {
            let why = Why::Shares {
                resource,
                asked: request.largest.max(request.count),
                refused: matches!(sharing, Sharing::Mps { .. }) && request.largest > 1,
            };
            (why, Answer::No)
        }
        Sharing::Mig { .. } if is_slice && (request.largest > 1 || talk) => {
            let why = Why::Slices {
                resource,
                asked: request.count,
                talk,
            };
            (why, if talk { Answer::No } else { Answer::Perhaps })
        }
        _ => return,
    };
    reasons.push(Reason {
        why,
        answer,
        asked: request.span,
        place: place(pool),
    });
}

fn slices_talk(
    demand: &Demand,
    pool: &Pool,
    class: &DeviceClass,
    asked: u64,
    span: Span,
    reasons: &mut Vec<Reason>,
) {
    let is_slice = matches!(class.device, Claimed::Slice(_));
    if is_slice && demand.gpus_talk && asked > 1 {
        reasons.push(Reason {
            why: Why::Slices {
                resource: class.name.clone(),
                asked,
                talk: true,
            },
            answer: Answer::No,
            asked: span,
            place: place(pool),
        });
    }
}

/// What a container gets, in words, with its memory in MiB and how well that is known.
struct Device {
    words: String,
    memory_mib: u64,
    basis: Basis,
    nominal_mib: u64,
}

fn device(gpus: &PoolGpus, sharing: &Sharing, slice: Option<&'static str>) -> Device {
    let model = gpus.model;
    let card = u64::from(model.memory_mib);
    let nominal = u64::from(model.memory_gb) << 10;
    let (words, memory_mib, nominal_mib) = match (slice, sharing, gpus.fraction) {
        (Some(name), _, _) => {
            let profile = model.mig.and_then(|mig| mig.profile(name));
            let memory = profile.map_or(card, |profile| u64::from(profile.memory_mib));
            (format!("slices {name}"), memory, memory)
        }
        (None, Sharing::Mps { replicas, .. }, _) => {
            let parts = u64::from(replicas.value.max(1));
            let words = format!("shares of 1/{parts} of a GPU");
            (words, card / parts, nominal / parts)
        }
        (None, _, Some(fraction)) if fraction.denominator > 0 => {
            let part = |whole: u64| {
                whole * u64::from(fraction.numerator) / u64::from(fraction.denominator)
            };
            let (of, whole) = (fraction.numerator, fraction.denominator);
            (format!("{of}/{whole} of a GPU"), part(card), part(nominal))
        }
        (None, _, Some(_)) => ("a part of a GPU".to_owned(), card, card),
        (None, _, None) => (format!("GPUs {}", model.key), card, nominal),
    };
    Device {
        words,
        memory_mib,
        basis: model.memory_basis,
        nominal_mib,
    }
}

fn memory(demand: &Demand, pool: &Pool, device: &Device, reasons: &mut Vec<Reason>) {
    let Some(asked) = &demand.gpu_memory else {
        return;
    };
    let has = device.memory_mib;
    if asked.value <= has {
        return;
    }
    // What only the product's name says may be a little more.
    let is_open = device.basis > Basis::Documented && asked.value <= device.nominal_mib;
    reasons.push(Reason {
        why: Why::GpuMemory {
            asked: asked.value,
            has,
            device: device.words.clone(),
        },
        answer: if is_open { Answer::Perhaps } else { Answer::No },
        asked: asked.span,
        place: place(pool),
    });
}
