//! GPUs and network devices of a node: extended resources, DRA devices, and the effects of GPU sharing on a pod.

use std::collections::BTreeMap;

use gpuc_schema::Span;
use gpuc_schema::config::MigStrategy;
use gpuc_schema::gpu::Basis;

use super::demand::Request;
use super::{Demand, Feasibility, MisfitCause, Reason};
use crate::{
    Cluster, DeviceClass, DeviceKind, KubernetesVersion, Pool, PoolGpus, RDMA_RESOURCE, Sharing,
};

const GPU: &str = "nvidia.com/gpu";

/// The prefix of extended resources that are backed by a DeviceClass, before the name of the class.
const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Checks extended resources and claims against the devices of a node.
pub(super) fn check(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    if pool.advertised.is_unresolved() {
        return;
    }
    for request in demand.resources.iter().filter(|it| it.count > 0) {
        let resource = &request.resource.value;
        let (cause, feasibility) = match advertised_count(cluster, pool, resource) {
            Some(available) if request.count <= available => continue,
            Some(available) => (
                too_many_devices(resource, request.count, available),
                Feasibility::DoesNotFit,
            ),
            None if is_provider_known(cluster, resource) => {
                let (resource, advertised) = (resource.clone(), similar_resources(pool, resource));
                (
                    MisfitCause::NotAdvertised {
                        resource,
                        advertised,
                    },
                    Feasibility::DoesNotFit,
                )
            }
            None => {
                let resource = resource.clone();
                (
                    MisfitCause::ResourceUnknown { resource },
                    Feasibility::Unknown,
                )
            }
        };
        let is_count = matches!(cause, MisfitCause::TooManyDevices { .. });
        reasons.push(Reason {
            cause,
            feasibility,
            request_span: if is_count {
                request.span
            } else {
                request.resource.span
            },
            pool_span: advertised_span(pool),
        });
    }
    check_claims(demand, cluster, pool, reasons);
}

fn too_many_devices(resource: &str, requested: u64, available: u64) -> MisfitCause {
    let resource = resource.to_owned();
    MisfitCause::TooManyDevices {
        resource,
        requested,
        available,
    }
}

/// The location that determines the pool's advertised resources.
fn advertised_span(pool: &Pool) -> Span {
    let chosen = pool.gpus.get().and_then(|gpus| Some(gpus.as_ref()?.span));
    let spans = [Some(pool.sharing_span), chosen];
    let mut written = spans.into_iter().flatten().filter(|span| span.is_written());
    written.next().unwrap_or(pool.name.span)
}

/// The names of a node's advertised resources that are of the same kind as a resource.
fn similar_resources(pool: &Pool, resource: &str) -> Vec<String> {
    let gpus = pool.advertised.get().into_iter().flatten();
    let gpus = gpus.map(|it| it.name.clone());
    let classes = pool.classes.iter();
    let named = classes
        .clone()
        .filter_map(|it| it.extended_resource.clone());
    if resource.starts_with(DEVICE_CLASS_PREFIX) {
        let classes = classes.filter_map(DeviceClass::implicit_resource);
        return gpus.chain(named).chain(classes).collect();
    }
    if resource.starts_with("nvidia.com/") {
        return gpus.chain(named).collect();
    }
    let interconnect = pool.interconnect.iter();
    interconnect.map(|it| it.name.clone()).collect()
}

/// Whether gpuc knows every provider of a resource, so that a pool that does not advertise it has none.
fn is_provider_known(cluster: &Cluster, resource: &str) -> bool {
    let of_gpus = ["nvidia.com/gpu", "nvidia.com/mig-"];
    let interconnect = cluster.pools.iter().flat_map(|pool| &pool.interconnect);
    let mut interconnect = interconnect.map(|resource| &*resource.name);
    let mut of_clouds = cluster
        .registry
        .clouds
        .iter()
        .flat_map(|cloud| cloud.all_interconnect_resources());
    let mut classes = cluster.pools.iter().flat_map(|pool| &pool.classes);
    let is_class = (resource.strip_prefix(DEVICE_CLASS_PREFIX))
        .is_some_and(|name| classes.any(|class| class.name == name));
    is_class
        || of_gpus.iter().any(|prefix| resource.starts_with(prefix))
        || resource == RDMA_RESOURCE
        || interconnect.any(|name| name == resource)
        || of_clouds.any(|name| *name == resource)
}

/// The count of a resource on a node of the pool; `None` if the node does not advertise it.
fn advertised_count(cluster: &Cluster, pool: &Pool, resource: &str) -> Option<u64> {
    let advertised = pool.advertised.get()?.iter().chain(&pool.interconnect);
    let mut advertised =
        advertised.filter(|advertised_resource| advertised_resource.name == resource);
    if let Some(advertised_resource) = advertised.next() {
        return Some(advertised_resource.per_node.into());
    }
    let version = cluster.kubernetes.get()?.value;
    if version < KubernetesVersion::FIRST_WITH_DRA_EXTENDED_RESOURCES || pool.classes.is_empty() {
        return None;
    }
    let implicit = resource.strip_prefix(DEVICE_CLASS_PREFIX);
    let class = implicit.or_else(|| {
        let (_, class) = cluster.class_of_resource(resource)?;
        Some(&class.name)
    });
    let available = match class {
        Some(class) => devices_of_class(cluster, pool, class)?,
        // The class of NVIDIA's chart has this name unless a class of gpuc has it.
        None if resource == GPU => {
            count_devices(pool, |device| matches!(device, DeviceKind::FullGpu))
        }
        None => return None,
    };
    (available > 0).then_some(available)
}

fn count_devices(pool: &Pool, matches_device: impl Fn(&DeviceKind) -> bool) -> u64 {
    let classes = pool
        .classes
        .iter()
        .filter(|class| matches_device(&class.device_kind));
    classes.map(|class| u64::from(class.per_node)).sum()
}

/// The number of devices of a class on a node of the pool; `None` for a class that neither the file nor NVIDIA's DRA
/// driver defines. A class selects devices by GPU model, not by node: it also matches other pools of the same model.
pub fn devices_of_class(cluster: &Cluster, pool: &Pool, name: &str) -> Option<u64> {
    match name {
        "gpu.nvidia.com" => {
            return Some(count_devices(pool, |it| matches!(it, DeviceKind::FullGpu)));
        }
        "mig.nvidia.com" => {
            return Some(count_devices(pool, |it| {
                matches!(it, DeviceKind::MigDevice(_))
            }));
        }
        _ => {}
    }
    let owners = cluster.pools.iter();
    let (owner, class) = owners
        .flat_map(|owner| owner.classes.iter().map(move |class| (owner, class)))
        .find(|(_, class)| class.name == name)?;
    let model = |pool: &Pool| Some(pool.gpus.get()?.as_ref()?.model.key);
    if model(owner) != model(pool) {
        return Some(0);
    }
    let matches_device = |device: &DeviceKind| match (device, class.device_kind) {
        (DeviceKind::FullGpu, DeviceKind::FullGpu) => true,
        (DeviceKind::MigDevice(one), DeviceKind::MigDevice(other)) => one.name == other.name,
        _ => false,
    };
    Some(count_devices(pool, matches_device))
}

/// The number of requested devices of each class, with the location of the first request.
fn devices_by_class(demand: &Demand) -> BTreeMap<&str, (u64, Span)> {
    let mut requested = BTreeMap::new();
    for claim in &demand.claims {
        let so_far: &mut (u64, Span) = requested
            .entry(&*claim.class.value)
            .or_insert((0, claim.class.span));
        so_far.0 = so_far.0.saturating_add(claim.count);
    }
    requested
}

fn check_claims(demand: &Demand, cluster: &Cluster, pool: &Pool, reasons: &mut Vec<Reason>) {
    for (class, (requested, span)) in devices_by_class(demand) {
        let (cause, feasibility) = match devices_of_class(cluster, pool, class) {
            Some(0) => {
                let class_names = pool.classes.iter().map(|class| class.name.clone());
                let (class, pool_classes) = (class.to_owned(), class_names.collect());
                (
                    MisfitCause::DeviceClassNotInPool {
                        class,
                        pool_classes,
                    },
                    Feasibility::DoesNotFit,
                )
            }
            Some(available) if requested <= available => continue,
            Some(available) => (
                too_many_devices(class, requested, available),
                Feasibility::DoesNotFit,
            ),
            None => {
                let class = class.to_owned();
                (
                    MisfitCause::DeviceClassUnknown { class },
                    Feasibility::Unknown,
                )
            }
        };
        reasons.push(Reason {
            cause,
            feasibility,
            request_span: span,
            pool_span: advertised_span(pool),
        });
    }
    for name in &demand.unresolved_claims {
        reasons.push(Reason {
            cause: MisfitCause::ClaimUnresolved {
                name: name.value.clone(),
            },
            feasibility: Feasibility::Unknown,
            request_span: name.span,
            pool_span: pool.name.span,
        });
    }
}

/// The number of devices of a resource or class on a node of the pool, if it is known.
pub(super) fn count_per_node(cluster: &Cluster, pool: &Pool, name: &str) -> Option<u64> {
    advertised_count(cluster, pool, name).or_else(|| devices_of_class(cluster, pool, name))
}

/// The number of such pods that fit on a node by devices; `None` if the pod requests no known devices.
pub(super) fn max_pods_per_node(demand: &Demand, cluster: &Cluster, pool: &Pool) -> Option<u64> {
    let requests = demand.resources.iter();
    let of_requests = requests.filter_map(|request| {
        let available = advertised_count(cluster, pool, &request.resource)?;
        available.checked_div(request.count)
    });
    // Pods that share GPUs through MPS use one ResourceClaim.
    let is_shared = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
    let of_claims = devices_by_class(demand).into_iter().filter(|_| !is_shared);
    let of_claims = of_claims.filter_map(|(class, (requested, _))| {
        devices_of_class(cluster, pool, class)?.checked_div(requested)
    });
    of_requests.chain(of_claims).min()
}

/// Checks the pod's use of its GPUs against the sharing of the pool.
pub(super) fn check_use(demand: &Demand, pool: &Pool, reasons: &mut Vec<Reason>) {
    let (Some(Some(gpus)), Some(sharing)) = (pool.gpus.get(), pool.sharing.get()) else {
        return;
    };
    let advertised = pool.advertised.get().into_iter().flatten();
    for resource in advertised {
        let Some(request) = demand.request(&resource.name).filter(|it| it.count > 0) else {
            continue;
        };
        check_several(demand, pool, sharing, request, reasons);
        let profile = mig_profile_of(gpus, sharing, &resource.name);
        check_gpu_memory(demand, pool, &device(gpus, sharing, profile), reasons);
    }
    for class in &pool.classes {
        let mut claims = demand.claims.iter();
        let claim = claims.find(|claim| claim.class.value == class.name);
        let name = class.extended_resource.as_deref();
        let request = name
            .and_then(|name| demand.request(name))
            .filter(|it| it.count > 0);
        let claimed = claim.map(|claim| (claim.count, claim.span));
        let Some((count, span)) = claimed.or_else(|| request.map(|it| (it.count, it.span))) else {
            continue;
        };
        check_communication(demand, pool, class, count, span, reasons);
        let mig_profile = match class.device_kind {
            DeviceKind::FullGpu => None,
            DeviceKind::MigDevice(profile) => Some(profile.name),
        };
        check_gpu_memory(demand, pool, &device(gpus, sharing, mig_profile), reasons);
    }
}

/// The MIG profile that is advertised as a resource, if it is a MIG device; the largest of several.
fn mig_profile_of(gpus: &PoolGpus, sharing: &Sharing, resource: &str) -> Option<&'static str> {
    let Sharing::Mig {
        strategy,
        gpus: layouts,
    } = sharing
    else {
        return None;
    };
    let mig = gpus.model.mig?;
    let is_single = strategy.value == MigStrategy::Single;
    let has_full_gpus = layouts.iter().any(|gpu| gpu.placements.is_empty());
    if resource == GPU && (!is_single || has_full_gpus) {
        return None;
    }
    let largest = layouts
        .iter()
        .flat_map(|gpu| &gpu.placements)
        .filter_map(|placement| mig.profile(placement.profile))
        .filter(|profile| {
            is_single || resource.strip_prefix("nvidia.com/") == Some(&profile.resource_name())
        })
        .max_by_key(|profile| profile.memory_mib)?;
    Some(largest.name)
}

/// Reports several replicas, which provide no more than one, and several MIG devices, which cannot reach each other.
///
/// Source: docs.nvidia.com/datacenter/tesla/mig-user-guide, «Application Considerations» (from memory); NVIDIA's
/// device plugin, README, «Shared Access to GPUs».
fn check_several(
    demand: &Demand,
    pool: &Pool,
    sharing: &Sharing,
    request: &Request,
    reasons: &mut Vec<Reason>,
) {
    let resource = request.resource.value.clone();
    let must_communicate = demand.gpus_communicate && request.count > 1;
    let is_slice = matches!(sharing, Sharing::Mig { strategy, gpus } if resource != GPU
        || (strategy.value == MigStrategy::Single && gpus.iter().all(|gpu| !gpu.placements.is_empty())));
    let (cause, feasibility) = match sharing {
        Sharing::TimeSlicing { .. } | Sharing::Mps { .. }
            if request.container_max > 1 || must_communicate =>
        {
            let cause = MisfitCause::SeveralReplicas {
                resource,
                requested: request.container_max.max(request.count),
                is_rejected: matches!(sharing, Sharing::Mps { .. }) && request.container_max > 1,
            };
            (cause, Feasibility::DoesNotFit)
        }
        Sharing::Mig { .. } if is_slice && (request.container_max > 1 || must_communicate) => {
            let cause = MisfitCause::SeveralMigDevices {
                resource,
                requested: request.count,
                must_communicate,
            };
            (
                cause,
                if must_communicate {
                    Feasibility::DoesNotFit
                } else {
                    Feasibility::Unknown
                },
            )
        }
        _ => return,
    };
    reasons.push(Reason {
        cause,
        feasibility,
        request_span: request.span,
        pool_span: advertised_span(pool),
    });
}

fn check_communication(
    demand: &Demand,
    pool: &Pool,
    class: &DeviceClass,
    requested: u64,
    span: Span,
    reasons: &mut Vec<Reason>,
) {
    let is_slice = matches!(class.device_kind, DeviceKind::MigDevice(_));
    if is_slice && demand.gpus_communicate && requested > 1 {
        reasons.push(Reason {
            cause: MisfitCause::SeveralMigDevices {
                resource: class.name.clone(),
                requested,
                must_communicate: true,
            },
            feasibility: Feasibility::DoesNotFit,
            request_span: span,
            pool_span: advertised_span(pool),
        });
    }
}

/// A device of a container: its description, its memory in MiB, and the reliability of that number.
struct Device {
    description: String,
    memory_mib: u64,
    basis: Basis,
    nominal_mib: u64,
}

fn device(gpus: &PoolGpus, sharing: &Sharing, mig_profile: Option<&'static str>) -> Device {
    let model = gpus.model;
    let full = u64::from(model.memory_mib);
    let nominal = u64::from(model.memory_gb) << 10;
    let (description, memory_mib, nominal_mib) = match (mig_profile, sharing, gpus.fraction) {
        (Some(name), _, _) => {
            let profile = model.mig.and_then(|mig| mig.profile(name));
            let memory = profile.map_or(full, |profile| u64::from(profile.memory_mib));
            (format!("MIG devices {name}"), memory, memory)
        }
        (None, Sharing::Mps { replicas, .. }, _) => {
            let replica_count = u64::from(replicas.value.max(1));
            let description = format!("replicas with 1/{replica_count} of a GPU");
            (description, full / replica_count, nominal / replica_count)
        }
        (None, _, Some(fraction)) if fraction.denominator > 0 => {
            let fraction_of = |total: u64| {
                total * u64::from(fraction.numerator) / u64::from(fraction.denominator)
            };
            let (of, denominator) = (fraction.numerator, fraction.denominator);
            (
                format!("{of}/{denominator} of a GPU"),
                fraction_of(full),
                fraction_of(nominal),
            )
        }
        (None, _, Some(_)) => ("a part of a GPU".to_owned(), full, full),
        (None, _, None) => (format!("GPUs {}", model.key), full, nominal),
    };
    Device {
        description,
        memory_mib,
        basis: model.memory_basis,
        nominal_mib,
    }
}

fn check_gpu_memory(demand: &Demand, pool: &Pool, device: &Device, reasons: &mut Vec<Reason>) {
    let Some(requested) = &demand.gpu_memory else {
        return;
    };
    let memory_mib = device.memory_mib;
    if requested.value <= memory_mib {
        return;
    }
    // If only the product name gives the memory size, the actual size may be slightly larger.
    let is_uncertain = device.basis > Basis::Documented && requested.value <= device.nominal_mib;
    reasons.push(Reason {
        cause: MisfitCause::GpuMemory {
            requested: requested.value,
            available: memory_mib,
            device: device.description.clone(),
        },
        feasibility: if is_uncertain {
            Feasibility::Unknown
        } else {
            Feasibility::DoesNotFit
        },
        request_span: requested.span,
        pool_span: advertised_span(pool),
    });
}
