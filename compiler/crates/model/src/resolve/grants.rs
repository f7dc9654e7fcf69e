//! Resolution of quotas of the pools' GPUs.

use gpuc_schema::config::{Allocation, GpuQuota, MigStrategy};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::diag::phrases::{closest_match, pluralize, quoted_list};
use gpuc_syntax::diag::{Report, Reported};

use super::codes;
use crate::{DeviceKind, Grant, Pool, Resolved, Sharing, Unit};

/// Reports a grant whose resource an earlier entry of the same quota contains.
pub(super) fn reject_duplicate(
    grant: Grant,
    earlier: &[Resolved<Grant>],
    report: &mut Report,
) -> Result<Grant, Reported> {
    let is_same = |it: &&Grant| it.pool == grant.pool && it.resource == grant.resource;
    let Some(first) = earlier.iter().filter_map(Resolved::get).find(is_same) else {
        return Ok(grant);
    };
    let message = "a quota contains the same GPUs twice";
    Err(report
        .diagnostic(&codes::QUOTA_AMOUNT_UNCLEAR, grant.span, message)
        .label(first.span, "first set here")
        .help("merge the two entries into one")
        .emit())
}

/// Resolves an entry of a quota.
pub(super) fn resolve_grant(
    written: &Spanned<GpuQuota>,
    pools: &[Pool],
    report: &mut Report,
) -> Result<Grant, Reported> {
    let pool = find_pool(&written.pool, pools, report)?;
    let amounts = resolve_amounts(written, report);
    let devices = resolve_devices(written, pool, report)?;
    let (guaranteed, limit) = amounts?;
    Ok(Grant {
        pool: pool.index,
        unit: devices.unit,
        quota_name: devices.quota_name,
        resource: devices.resource,
        per_node: devices.per_node,
        guaranteed,
        limit,
        lend: written.lend,
        namespace: None,
        span: written.span,
    })
}

fn find_pool<'p>(
    name: &Spanned<String>,
    pools: &'p [Pool],
    report: &mut Report,
) -> Result<&'p Pool, Reported> {
    if let Some(pool) = pools.iter().find(|pool| pool.name == *name) {
        return Ok(pool);
    }
    let names: Vec<_> = pools.iter().map(|pool| pool.name.as_str()).collect();
    let message = format!("unknown pool `{name}`");
    let builder = report.diagnostic(&codes::QUOTA_POOL_UNKNOWN, name.span, message);
    let closest = closest_match(name, names.iter().copied())
        .and_then(|closest| pools.iter().find(|pool| pool.name.value == closest));
    let Some(closest) = closest else {
        return Err(builder
            .help(format!("write one of {}", quoted_list(&names, 12)))
            .emit());
    };
    Err(builder
        .label(closest.name.span, "a pool with a similar name")
        .replace(name.span, closest.name.value.clone())
        .help(format!("did you mean `{}`?", closest.name))
        .emit())
}

/// The guaranteed amount and the limit.
fn resolve_amounts(
    written: &Spanned<GpuQuota>,
    report: &mut Report,
) -> Result<(Spanned<u32>, Spanned<u32>), Reported> {
    let code = &codes::QUOTA_AMOUNT_UNCLEAR;
    let guaranteed = match (written.guaranteed, written.shares, written.limit) {
        (Some(gpus), Some(shares), _) => {
            let message = "a quota has both `guaranteed` and `shares`";
            let help = "keep `shares` where containers share GPUs, otherwise `guaranteed`";
            return Err(report
                .diagnostic(code, shares.span, message)
                .label(gpus.span, "`guaranteed` is set here")
                .help(help)
                .emit());
        }
        (Some(count), None, _) | (None, Some(count), _) => count,
        (None, None, Some(limit)) => Spanned::new(0, limit.span),
        (None, None, None) => {
            // A misspelled key was reported, and may be the missing one.
            if let Some(reported) = report.error_inside(written.span) {
                return Err(reported);
            }
            let message = format!("the quota of pool `{}` has no amount", written.pool);
            let help = "add `guaranteed`, or `shares` where containers share GPUs";
            return Err(report
                .diagnostic(code, written.pool.span, message)
                .help(help)
                .emit());
        }
    };
    match written.limit {
        Some(limit) if limit.value < guaranteed.value => {
            let message = format!("the limit {limit} is less than the guaranteed {guaranteed}");
            let help = format!("write {guaranteed} or more, or remove `limit`");
            Err(report
                .diagnostic(code, limit.span, message)
                .label(guaranteed.span, "guaranteed here")
                .help(help)
                .emit())
        }
        Some(limit) => Ok((guaranteed, limit)),
        None => Ok((guaranteed, guaranteed)),
    }
}

/// A kind of device that a quota can count.
struct Devices {
    unit: Unit,
    resource: String,
    quota_name: String,
    per_node: u32,
}

/// The devices that a quota counts.
fn resolve_devices(
    written: &GpuQuota,
    pool: &Pool,
    report: &mut Report,
) -> Result<Devices, Reported> {
    let sharing = match (&pool.gpus, &pool.sharing, &pool.advertised) {
        (Resolved::Unresolved(reported), _, _)
        | (_, Resolved::Unresolved(reported), _)
        | (_, _, Resolved::Unresolved(reported)) => {
            return Err(*reported);
        }
        (Resolved::Value(None), _, _) => {
            let mismatch = Mismatch::new(
                "has no GPUs",
                "write a pool with GPUs, or remove this entry",
            );
            return Err(mismatch.emit(written.pool.span, pool.name.span, pool, report));
        }
        (Resolved::Value(Some(_)), Resolved::Value(sharing), _) => sharing,
    };
    let pool_span = [pool.sharing_span, pool.name.span]
        .into_iter()
        .find(|span| span.is_written())
        .unwrap_or(Span::NONE);
    let mismatch = if let Some(mismatch) = unit_mismatch(written, pool, sharing) {
        mismatch
    } else {
        let mut kinds = countable_devices(pool).into_iter();
        match kinds.find(|it| matches_profile(written, it)) {
            Some(devices) => return Ok(devices),
            None => profile_mismatch(written, pool),
        }
    };
    let span = if mismatch.concerns_profile {
        written.profile.as_ref().map(|it| it.span)
    } else {
        written.shares.or(written.guaranteed).map(|it| it.span)
    };
    let span = span.unwrap_or(written.pool.span);
    Err(mismatch.emit(span, pool_span, pool, report))
}

/// Whether the `profile` of a quota, or its absence, matches these devices.
fn matches_profile(written: &GpuQuota, devices: &Devices) -> bool {
    let profile = mig_profile(&devices.resource);
    match &written.profile {
        Some(written) => profile.is_some_and(|profile| profile == written.replace('+', ".")),
        None => profile.is_none(),
    }
}

/// The MIG profile in the name of an extended resource or a DeviceClass.
fn mig_profile(resource: &str) -> Option<&str> {
    if let Some(profile) = resource.strip_prefix("nvidia.com/mig-") {
        return Some(profile);
    }
    // `mig-3g.20gb.POOL.gpuc.dev`
    let class = resource.strip_prefix("mig-")?.strip_suffix(".gpuc.dev")?;
    class.rsplit_once('.').map(|(profile, _)| profile)
}

/// All kinds of devices of a pool.
fn countable_devices(pool: &Pool) -> Vec<Devices> {
    let classes = pool.classes.iter().map(|class| Devices {
        unit: match class.device_kind {
            DeviceKind::FullGpu => Unit::Gpu,
            DeviceKind::MigDevice(_) => Unit::MigDevice,
        },
        resource: class.name.clone(),
        quota_name: class.quota_resource(),
        per_node: class.per_node,
    });
    let advertised = pool
        .advertised
        .get()
        .into_iter()
        .flatten()
        .map(|resource| Devices {
            unit: match pool.sharing.get() {
                Some(Sharing::TimeSlicing { .. } | Sharing::Mps { .. }) => Unit::Replica,
                Some(Sharing::Mig { strategy, .. })
                    if strategy.value == MigStrategy::Single
                        || mig_profile(&resource.name).is_some() =>
                {
                    Unit::MigDevice
                }
                _ => Unit::Gpu,
            },
            resource: resource.name.clone(),
            quota_name: format!("requests.{}", resource.name),
            per_node: resource.per_node,
        });
    classes.chain(advertised).collect()
}

/// A mismatch between a quota and the devices of its pool.
struct Mismatch {
    problem: String,
    help: String,
    concerns_profile: bool,
}

impl Mismatch {
    fn new(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            help: help.into(),
            concerns_profile: false,
        }
    }

    fn of_profile(self) -> Self {
        Self {
            concerns_profile: true,
            ..self
        }
    }

    fn emit(self, span: Span, pool_span: Span, pool: &Pool, report: &mut Report) -> Reported {
        let message = format!("pool `{}` {}", pool.name, self.problem);
        report
            .diagnostic(&codes::QUOTA_UNIT_WRONG, span, message)
            .label(pool_span, "this determines the resources of the pool")
            .help(self.help)
            .emit()
    }
}

fn unit_mismatch(written: &GpuQuota, pool: &Pool, sharing: &Sharing) -> Option<Mismatch> {
    let is_dra = pool.allocation.value == Allocation::Dra;
    let (replicas, is_mig) = match sharing {
        Sharing::TimeSlicing { replicas, .. } | Sharing::Mps { replicas, .. } if !is_dra => {
            (Some(replicas.value), false)
        }
        Sharing::Mig { strategy, .. } => {
            let is_mixed = strategy.value == MigStrategy::Mixed;
            (None, is_mixed || is_dra)
        }
        _ => (None, false),
    };
    if written.profile.is_some() && !is_mig {
        let mismatch = Mismatch::new(
            "does not advertise MIG devices by profile",
            "remove `profile`, or write `sharing.mig.strategy: mixed` in the pool",
        );
        return Some(mismatch.of_profile());
    }
    match (replicas, written.guaranteed, written.shares) {
        (Some(replicas), Some(gpus), _) => Some(Mismatch::new(
            "advertises replicas of its GPUs, not full GPUs",
            format!(
                "write `shares: {}` instead, for {}",
                u64::from(gpus.value) * u64::from(replicas),
                pluralize(gpus.value, "GPU")
            ),
        )),
        (None, _, Some(_)) if is_dra => Some(Mismatch::new(
            "allocates its GPUs through DRA, and a quota counts claimed devices",
            "write `guaranteed`, in GPUs or MIG devices",
        )),
        (None, _, Some(_)) => Some(Mismatch::new(
            "does not advertise replicas of its GPUs",
            "write `guaranteed`, in GPUs or MIG devices",
        )),
        _ => None,
    }
}

/// The mismatch of a quota whose `profile` matches no device of the pool.
fn profile_mismatch(written: &GpuQuota, pool: &Pool) -> Mismatch {
    let profiles: Vec<_> = countable_devices(pool)
        .iter()
        .filter_map(|it| mig_profile(&it.resource))
        .map(|it| it.replacen(".me", "+me", 1))
        .collect();
    let names = quoted_list(&profiles, 12);
    let mismatch = match &written.profile {
        Some(profile) => Mismatch::new(
            format!("has no MIG devices of profile `{profile}`"),
            format!("write one of {names}"),
        ),
        None => Mismatch::new(
            "only advertises MIG devices",
            format!("add `profile`, one of {names}"),
        ),
    };
    mismatch.of_profile()
}
