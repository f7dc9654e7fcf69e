//! The taints, machines, purchase options and drivers of one node pool.

use gpuc_model::{Cluster, Pool};
use gpuc_schema::{Span, gpu};
use gpuc_syntax::diag::Report;
use gpuc_syntax::diag::phrases::{pluralize, quoted_list};

use super::MAX_NAMED;
use crate::codes;
use crate::contract::{DriverContract, PoolContract, TaintContract};
use crate::terraform::DeclaredPool;

/// The taint of Spot machines on AKS.
const SPOT_TAINT: &str = "kubernetes.azure.com/scalesetpriority";

/// Compares a pool with a node pool.
pub(super) fn check_pool(
    cluster: &Cluster,
    (pool, wanted): (&Pool, &PoolContract),
    declared: &DeclaredPool,
    report: &mut Report,
) {
    check_taints(pool, wanted, declared, report);
    check_machine(cluster, (pool, wanted), declared, report);
    check_capacity(pool, wanted, declared, report);
    check_driver(pool, wanted, declared, report);
}

/// The location of a key, or of the name of its pool if the key is not written.
pub(super) fn written(span: Span, pool: &Pool) -> Span {
    if span.is_written() {
        span
    } else {
        pool.name.span
    }
}

fn check_taints(pool: &Pool, wanted: &PoolContract, declared: &DeclaredPool, report: &mut Report) {
    let Some(found) = &declared.taints else {
        return;
    };
    let text = |taint: &TaintContract| format!("{}={}:{}", taint.key, taint.value, taint.effect);
    let address = &declared.address;
    let attribute = declared.attributes.taints;
    let has_same_place = |one: &TaintContract, other: &TaintContract| {
        (&one.key, one.effect) == (&other.key, other.effect)
    };
    for taint in wanted.taints.iter().filter(|it| !found.contains(it)) {
        let mut taints = pool.taints.iter();
        let same = taints.find(|it| it.key == taint.key && it.effect.as_str() == taint.effect);
        let span = same.map_or(pool.name.span, |it| written(it.span, pool));
        let other = found.iter().find(|it| has_same_place(it, taint));
        let message = match other {
            Some(other) => format!(
                "`{address}` has the taint `{}`, not `{}`",
                text(other),
                text(taint)
            ),
            None => format!("`{address}` does not have the taint `{}`", text(taint)),
        };
        let help = if other.is_some() {
            format!("write the same value in the pool and in `{attribute}` of the resource")
        } else {
            format!(
                "add it to `{attribute}` of the resource: without the taint, other pods take the GPUs"
            )
        };
        let finding = report.diagnostic(&codes::TAINTS, span, message);
        finding.help(help).emit();
    }
    let is_of_pool = |taint: &TaintContract| {
        let mut taints = pool.taints.iter();
        taints.any(|it| it.key == taint.key && it.effect.as_str() == taint.effect)
    };
    let others = found.iter().filter(|it| !is_of_pool(it) && !is_removed(it));
    for taint in others.filter(|it| it.effect != "PreferNoSchedule") {
        report
            .diagnostic(
                &codes::TAINTS,
                pool.name.span,
                format!("`{address}` has the taint `{}`, which pool `{}` does not have", text(taint), pool.name),
            )
            .help(format!(
                "add `{{key: {:?}, value: {:?}, effect: {}}}` to `taints` of the pool, or remove it from `{attribute}` of \
                 the resource",
                taint.key, taint.value, taint.effect
            ))
            .emit();
    }
}

/// Whether the cloud sets a taint by itself, or a component removes it after the start of the node.
///
/// Source: docs.cilium.io/en/stable/installation/taints; kubernetes-sigs/aws-ebs-csi-driver docs/install.md (startup
/// taint); the Cluster Autoscaler's FAQ (startup taints), from memory.
fn is_removed(taint: &TaintContract) -> bool {
    let key = taint.key.as_str();
    // Terraform requires this taint of Spot machines in the configuration.
    key == SPOT_TAINT
        || key.ends_with("/agent-not-ready")
        || key.starts_with("startup-taint.cluster-autoscaler.kubernetes.io/")
        || key.starts_with("ignore-taint.cluster-autoscaler.kubernetes.io/")
}

fn check_machine(
    cluster: &Cluster,
    (pool, wanted): (&Pool, &PoolContract),
    declared: &DeclaredPool,
    report: &mut Report,
) {
    let attributes = declared.attributes;
    let mut emit = |message: String, help: String| {
        let span = pool
            .machine_name
            .as_ref()
            .map_or(pool.name.span, |it| it.span);
        let finding = report.diagnostic(&codes::MACHINE, span, message);
        finding.help(help).emit();
    };
    let address = &declared.address;
    if let Some(found) = &declared.machine_types
        && let Some(first) = wanted.machine_types.first()
        && !has_alike(cluster, found, first)
    {
        let noun = if found.len() == 1 { "type" } else { "types" };
        let names = quoted_list(found, MAX_NAMED);
        let own = match found.as_slice() {
            [one] => format!("write `{one}`, or change"),
            _ => "change".to_owned(),
        };
        emit(
            format!(
                "`{address}` has the machine {noun} {names}, and pool `{}` has `{first}`",
                pool.name
            ),
            format!("{own} `{}` of the resource", attributes.machine_types),
        );
        return;
    }
    let Some(gpus) = pool.gpus.get().and_then(Option::as_ref) else {
        return;
    };
    let help = format!(
        "change `{}` of the resource, or `gpu` of the pool",
        attributes.gpus_per_node
    );
    if let Some(found) = declared.gpus_per_node
        && u64::from(gpus.per_node) != found
    {
        let own = pluralize(gpus.per_node as usize, "GPU");
        let found = pluralize(usize::try_from(found).unwrap_or(usize::MAX), "GPU");
        emit(
            format!(
                "a node of `{address}` has {found}, and one of pool `{}` has {own}",
                pool.name
            ),
            help,
        );
        return;
    }
    match &declared.accelerator {
        Some(Some(kind)) => {
            let models = gpu::find_by_product(kind);
            if !models.is_empty() && models.iter().all(|it| it.key != gpus.model.key) {
                emit(
                    format!(
                        "`{address}` has GPUs of the type `{kind}`, and pool `{}` has {}",
                        pool.name, gpus.model.key
                    ),
                    help,
                );
            }
        }
        Some(None) if has_attached_gpus(cluster, pool) => {
            emit(format!("the nodes of `{address}` have no GPUs"), help);
        }
        Some(None) | None => {}
    }
}

/// Whether machine types contain the pool's, and the others have the same GPUs.
fn has_alike(cluster: &Cluster, found: &[String], own: &str) -> bool {
    let gpus = |name: &str| {
        let gpus = &cluster.cloud.machine(name)?.gpus;
        Some((gpus.model.key, gpus.count, gpus.fraction))
    };
    let is_own = |name: &String| name.eq_ignore_ascii_case(own);
    let has_same = |name: &String| gpus(name).is_some() && gpus(name) == gpus(own);
    found.iter().any(is_own) && found.iter().all(|name| is_own(name) || has_same(name))
}

/// Whether the GPUs of a pool are attached to a machine type without GPUs.
fn has_attached_gpus(cluster: &Cluster, pool: &Pool) -> bool {
    let gpus = pool.gpus.get().and_then(Option::as_ref);
    let machine = pool.machine_name.as_ref();
    machine.zip(gpus).is_some_and(|(machine, gpus)| {
        let attached = cluster.cloud.attach(machine, gpus.model, gpus.per_node);
        attached.is_some_and(|it| it.is_ok())
    })
}

/// Compares Spot machines on AKS. Elsewhere, `capacity` has no effect in an existing pool.
fn check_capacity(
    pool: &Pool,
    wanted: &PoolContract,
    declared: &DeclaredPool,
    report: &mut Report,
) {
    let Some(found) = declared.capacity.filter(|_| declared.taints_spot) else {
        return;
    };
    let wanted = wanted.capacity.unwrap_or("onDemand");
    if wanted == found {
        return;
    }
    let help = if found == "spot" {
        "set `capacity: {spot: {}}` in the pool"
    } else {
        "remove `capacity`"
    };
    report
        .diagnostic(
            &codes::CAPACITY,
            written(pool.settings.capacity.span, pool),
            format!(
                "`{}` has the capacity `{found}`, not `{wanted}`",
                declared.address
            ),
        )
        .help(format!(
            "{help}, or change `{}` of the resource",
            declared.attributes.capacity
        ))
        .emit();
}

fn check_driver(pool: &Pool, wanted: &PoolContract, declared: &DeclaredPool, report: &mut Report) {
    let (Some(wanted), Some((has_driver, attribute))) = (wanted.driver, declared.driver) else {
        return;
    };
    let needs_driver = wanted == DriverContract::Node;
    if needs_driver == has_driver {
        return;
    }
    let address = &declared.address;
    let message = if needs_driver {
        format!(
            "the nodes of `{address}` have no driver, and pool `{}` installs none",
            pool.name
        )
    } else {
        format!(
            "the nodes of `{address}` have a driver, and pool `{}` installs another one",
            pool.name
        )
    };
    report
        .diagnostic(&codes::DRIVER, written(pool.driver.span, pool), message)
        .help(format!(
            "change `{attribute}` of the resource, or `stack.driver` of the pool"
        ))
        .emit();
}
