//! Teams: what their quotas speak of, in the words of the pools.

use gpuc_schema::config::{
    Allocation, Amounts, GpuCluster, GpuQuota, MigStrategy, Quantity, Quota, Team as Written,
};
use gpuc_schema::{Span, Spanned};

use super::{Defaults, codes};
use crate::diag::words::{counted, nearest, some};
use crate::diag::{Report, Reported};
use crate::model::{Claimed, Grant, Known, Pool, Sharing, Team, Unit};
use crate::node::Because;

/// What is kept for a container that says nothing, of CPU and of memory, where something has to be.
const REQUESTS: [(&str, &str); 2] = [("cpu", "500m"), ("memory", "1Gi")];

/// Understands the teams.
pub(super) fn resolve(
    config: &GpuCluster,
    pools: &[Pool],
    defaults: &mut Defaults,
    report: &mut Report,
) -> Vec<Team> {
    let teams = config.teams.iter().enumerate();
    teams
        .map(|(index, written)| team(index, written, pools, defaults, report))
        .collect()
}

fn team(
    index: usize,
    written: &Written,
    pools: &[Pool],
    defaults: &mut Defaults,
    report: &mut Report,
) -> Team {
    let namespaces = if written.namespaces.is_empty() {
        let because = Because::Rule("called like the team");
        let path = ["teams", &index.to_string(), "namespaces"];
        defaults.fill(path, &[&written.name], because);
        vec![written.name.clone()]
    } else {
        written.namespaces.clone()
    };
    let mut grants = Vec::new();
    let head = ["teams".to_owned(), index.to_string()];
    if let Some(quota) = &written.quota {
        let path: Vec<_> = head.iter().cloned().chain(["quota".to_owned()]).collect();
        add(
            &mut grants,
            quota,
            Ok(None),
            (pools, &path),
            (defaults, report),
        );
    }
    for (part, own) in written.namespace_quotas.iter().enumerate() {
        let place = namespaces.iter().position(|name| *name == own.namespace);
        let namespace = place
            .map(Some)
            .ok_or_else(|| unknown(own, &namespaces, report));
        let rest = ["namespaceQuotas", &part.to_string(), "quota"].map(str::to_owned);
        let path: Vec<_> = head.iter().cloned().chain(rest).collect();
        add(
            &mut grants,
            &own.quota,
            namespace,
            (pools, &path),
            (defaults, report),
        );
    }
    Team {
        index,
        name: written.name.clone(),
        default_request: default_request(index, written, defaults),
        written: written.clone(),
        namespaces,
        grants,
    }
}

fn unknown(
    own: &gpuc_schema::config::NamespaceQuota,
    namespaces: &[Spanned<String>],
    report: &mut Report,
) -> Reported {
    let name = &own.namespace;
    let message = format!("`{name}` is none of the team's namespaces");
    let draft = report.draft(&codes::QUOTA_NAMESPACE_UNKNOWN, name.span, message);
    let names: Vec<_> = namespaces.iter().map(|it| it.as_str()).collect();
    let first = namespaces.first().map_or(Span::NONE, |it| it.span);
    let draft = draft.label(first, "the team's namespaces");
    let help = format!(
        "write one of {}, or add it to `namespaces`",
        some(&names, 12)
    );
    draft.help(help).emit()
}

/// Adds what one quota gives.
fn add(
    grants: &mut Vec<Known<Grant>>,
    quota: &Quota,
    namespace: Result<Option<usize>, Reported>,
    (pools, path): (&[Pool], &[String]),
    (defaults, report): (&mut Defaults, &mut Report),
) {
    let before = grants.len();
    for (index, written) in quota.gpus.iter().enumerate() {
        let found = match (grant(written, pools, report), namespace) {
            (Ok(grant), Ok(namespace)) => Ok(Grant { namespace, ..grant }),
            (Err(reported), _) | (_, Err(reported)) => Err(reported),
        };
        let found = found.and_then(|grant| once(grant, &grants[before..], report));
        if let (Ok(grant), None) = (&found, &written.limit) {
            let rest = ["gpus".to_owned(), index.to_string(), "limit".to_owned()];
            let because = Because::Rule("as many as are guaranteed");
            defaults.fill(path.iter().cloned().chain(rest), &grant.limit, because);
        }
        grants.push(match found {
            Ok(grant) => Known::Yes(grant),
            Err(reported) => Known::No(reported),
        });
    }
}

/// A grant, unless the same quota has spoken of the same thing.
fn once(grant: Grant, before: &[Known<Grant>], report: &mut Report) -> Result<Grant, Reported> {
    let same = |it: &&Grant| it.pool == grant.pool && it.resource == grant.resource;
    let Some(first) = before.iter().filter_map(Known::get).find(same) else {
        return Ok(grant);
    };
    let message = "a quota speaks of the same GPUs twice";
    let draft = report.draft(&codes::QUOTA_AMOUNT_UNCLEAR, grant.span, message);
    let draft = draft.label(first.span, "here first");
    Err(draft.help("keep one of them, with both amounts").emit())
}

fn grant(
    written: &Spanned<GpuQuota>,
    pools: &[Pool],
    report: &mut Report,
) -> Result<Grant, Reported> {
    let pool = pool(&written.pool, pools, report)?;
    let amount = amount(written, report);
    let devices = devices(written, pool, report)?;
    let (guaranteed, limit) = amount?;
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

fn pool<'p>(
    name: &Spanned<String>,
    pools: &'p [Pool],
    report: &mut Report,
) -> Result<&'p Pool, Reported> {
    if let Some(pool) = pools.iter().find(|pool| pool.name == *name) {
        return Ok(pool);
    }
    let names: Vec<_> = pools.iter().map(|pool| pool.name.as_str()).collect();
    let message = format!("no pool is called `{name}`");
    let draft = report.draft(&codes::QUOTA_POOL_UNKNOWN, name.span, message);
    let near = nearest(name, names.iter().copied());
    let Some(near) = near.and_then(|near| pools.iter().find(|pool| pool.name.value == near)) else {
        return Err(draft
            .help(format!("write one of {}", some(&names, 12)))
            .emit());
    };
    let draft = draft.label(near.name.span, "the nearest name");
    let draft = draft.replace(name.span, near.name.value.clone());
    Err(draft.help(format!("did you mean `{}`?", near.name)).emit())
}

/// How many are guaranteed, and how many there may be.
fn amount(
    written: &Spanned<GpuQuota>,
    report: &mut Report,
) -> Result<(Spanned<u32>, Spanned<u32>), Reported> {
    let code = &codes::QUOTA_AMOUNT_UNCLEAR;
    let guaranteed = match (written.guaranteed, written.shares, written.limit) {
        (Some(gpus), Some(shares), _) => {
            let message = "a quota counts GPUs and shares of the same pool";
            let draft = report.draft(code, shares.span, message);
            let draft = draft.label(gpus.span, "the GPUs");
            let help = "keep `shares` where containers share GPUs, `guaranteed` elsewhere";
            return Err(draft.help(help).emit());
        }
        (Some(count), None, _) | (None, Some(count), _) => count,
        (None, None, Some(limit)) => Spanned::new(0, limit.span),
        (None, None, None) => {
            // A key that is misspelt has been reported: with it, the quota may well say how many.
            if let Some(reported) = report.error_inside(written.span) {
                return Err(reported);
            }
            let message = format!("a quota does not say how much of pool `{}`", written.pool);
            let draft = report.draft(code, written.pool.span, message);
            let help = "add `guaranteed`, or `shares` where containers share GPUs";
            return Err(draft.help(help).emit());
        }
    };
    match written.limit {
        Some(limit) if limit.value < guaranteed.value => {
            let message = format!("at most {limit} are fewer than the guaranteed {guaranteed}");
            let draft = report.draft(code, limit.span, message);
            let draft = draft.label(guaranteed.span, "these are guaranteed");
            let help = format!("write {guaranteed} or more, or remove `limit`");
            Err(draft.help(help).emit())
        }
        Some(limit) => Ok((guaranteed, limit)),
        None => Ok((guaranteed, guaranteed)),
    }
}

/// What a pool has that can be counted.
struct Devices {
    unit: Unit,
    resource: String,
    quota_name: String,
    per_node: u32,
}

/// What a quota speaks of.
fn devices(written: &GpuQuota, pool: &Pool, report: &mut Report) -> Result<Devices, Reported> {
    let sharing = match (&pool.gpus, &pool.sharing, &pool.offers) {
        (Known::No(reported), _, _) | (_, Known::No(reported), _) | (_, _, Known::No(reported)) => {
            return Err(*reported);
        }
        (Known::Yes(None), _, _) => {
            let misfit = Misfit::new("has no GPUs", "name a pool with GPUs, or remove this entry");
            return Err(misfit.emit(written.pool.span, pool.name.span, pool, report));
        }
        (Known::Yes(Some(_)), Known::Yes(sharing), _) => sharing,
    };
    let place = [pool.written.sharing.span, pool.name.span];
    let place = place.into_iter().find(|span| span.is_written());
    let misfit = match misfit(written, pool, sharing) {
        Some(misfit) => misfit,
        None => match kinds(pool).into_iter().find(|it| is_meant(written, it)) {
            Some(devices) => return Ok(devices),
            None => missing(written, pool),
        },
    };
    let asked = [
        written.profile.as_ref().map(|it| it.span),
        written.shares.map(|it| it.span),
        written.guaranteed.map(|it| it.span),
    ];
    let asked = if misfit.of_profile {
        asked[0]
    } else {
        asked[1].or(asked[2])
    };
    let span = asked.unwrap_or(written.pool.span);
    Err(misfit.emit(span, place.unwrap_or(Span::NONE), pool, report))
}

/// Whether a quota's `profile`, or its having none, speaks of this.
fn is_meant(written: &GpuQuota, devices: &Devices) -> bool {
    let slice = slice_of(&devices.resource);
    match &written.profile {
        Some(profile) => slice.is_some_and(|slice| slice == profile.replace('+', ".")),
        None => slice.is_none(),
    }
}

/// The profile of a slice that has a name of its own, as resources have it; of a DeviceClass as well.
fn slice_of(resource: &str) -> Option<&str> {
    if let Some(slice) = resource.strip_prefix("nvidia.com/mig-") {
        return Some(slice);
    }
    // `mig-3g.20gb.POOL.gpuc.dev`
    let class = resource.strip_prefix("mig-")?.strip_suffix(".gpuc.dev")?;
    class.rsplit_once('.').map(|(slice, _)| slice)
}

/// All that can be counted of a pool.
fn kinds(pool: &Pool) -> Vec<Devices> {
    let classes = pool.classes.iter().map(|class| Devices {
        unit: match class.device {
            Claimed::Gpu => Unit::Gpu,
            Claimed::Slice(_) => Unit::Slice,
        },
        resource: class.name.clone(),
        quota_name: class.quota(),
        per_node: class.per_node,
    });
    let offers = pool
        .offers
        .get()
        .into_iter()
        .flatten()
        .map(|offer| Devices {
            unit: match pool.sharing.get() {
                Some(Sharing::TimeSlicing { .. } | Sharing::Mps { .. }) => Unit::Share,
                Some(Sharing::Mig { strategy, .. })
                    if strategy.value == MigStrategy::Single
                        || slice_of(&offer.resource).is_some() =>
                {
                    Unit::Slice
                }
                _ => Unit::Gpu,
            },
            resource: offer.resource.clone(),
            quota_name: format!("requests.{}", offer.resource),
            per_node: offer.per_node,
        });
    classes.chain(offers).collect()
}

/// Why a quota cannot speak so of a pool.
struct Misfit {
    what: String,
    help: String,
    of_profile: bool,
}

impl Misfit {
    fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            help: help.into(),
            of_profile: false,
        }
    }

    fn of_profile(self) -> Self {
        Self {
            of_profile: true,
            ..self
        }
    }

    fn emit(self, span: Span, place: Span, pool: &Pool, report: &mut Report) -> Reported {
        let message = format!("pool `{}` {}", pool.name, self.what);
        let draft = report.draft(&codes::QUOTA_UNIT_WRONG, span, message);
        let draft = draft.label(place, "what it offers follows from here");
        draft.help(self.help).emit()
    }
}

fn misfit(written: &GpuQuota, pool: &Pool, sharing: &Sharing) -> Option<Misfit> {
    let is_claimed = pool.allocation.value == Allocation::Dra;
    let (replicas, is_mig) = match sharing {
        Sharing::TimeSlicing { replicas, .. } | Sharing::Mps { replicas, .. } if !is_claimed => {
            (Some(replicas.value), false)
        }
        Sharing::Mig { strategy, .. } => {
            let mixed = strategy.value == MigStrategy::Mixed;
            (None, mixed || is_claimed)
        }
        _ => (None, false),
    };
    let profile = written.profile.as_ref().filter(|_| !is_mig);
    if profile.is_some() {
        let misfit = Misfit::new(
            "offers no slices by a name of their own",
            "remove `profile`, or cut the pool with `sharing.mig.strategy: mixed`",
        );
        return Some(misfit.of_profile());
    }
    match (replicas, written.guaranteed, written.shares) {
        (Some(replicas), Some(gpus), _) => Some(Misfit::new(
            "offers shares of its GPUs, not whole ones",
            format!(
                "write `shares`; {} are {}",
                counted(gpus.value, "GPU"),
                u64::from(gpus.value) * u64::from(replicas)
            ),
        )),
        (None, _, Some(_)) if is_claimed => Some(Misfit::new(
            "has its GPUs claimed, and a quota counts what is claimed",
            "write `guaranteed`, in GPUs or slices",
        )),
        (None, _, Some(_)) => Some(Misfit::new(
            "offers no shares of its GPUs",
            "write `guaranteed`, in GPUs or slices",
        )),
        _ => None,
    }
}

/// Why nothing that the pool has is meant.
fn missing(written: &GpuQuota, pool: &Pool) -> Misfit {
    let kinds = kinds(pool);
    let slices = kinds.iter().filter_map(|it| slice_of(&it.resource));
    let slices: Vec<_> = slices.map(|it| it.replacen(".me", "+me", 1)).collect();
    let names = some(&slices, 12);
    let misfit = match &written.profile {
        Some(profile) => Misfit::new(
            format!("offers no slice `{profile}`"),
            format!("write one of {names}"),
        ),
        None => Misfit::new(
            "offers nothing but slices",
            format!("add `profile`, one of {names}"),
        ),
    };
    misfit.of_profile()
}

/// What is kept for a container that says nothing. With a quota of CPU or memory a pod that says nothing is refused,
/// and where only a most is set Kubernetes keeps that much for each container.
///
/// Source: `SetDefaults_LimitRangeItem` in kubernetes `pkg/apis/core/v1/defaults.go`, read 2026-11-21.
fn default_request(index: usize, written: &Written, defaults: &mut Defaults) -> Amounts {
    let limits = written.limits.as_ref();
    let whole = written.quota.iter().map(|it| &it.value);
    let parts = written.namespace_quotas.iter().map(|it| &it.quota);
    let quotas: Vec<_> = whole.chain(parts).collect();
    let mut amounts = limits
        .and_then(|it| it.default_request.clone())
        .unwrap_or_default();
    for (key, least) in REQUESTS {
        let of = |amounts: &Amounts| match key {
            "cpu" => amounts.cpu.clone(),
            _ => amounts.memory.clone(),
        };
        let is_counted = quotas.iter().any(|quota| match key {
            "cpu" => quota.cpu.is_some(),
            _ => quota.memory.is_some(),
        });
        let most = limits.and_then(|it| {
            let default = it.default.as_ref().and_then(of);
            default.or_else(|| it.max.as_ref().and_then(of))
        });
        let is_limited = most.is_some();
        let counted = quotas.iter().filter_map(|quota| match key {
            "cpu" => quota.cpu.clone(),
            _ => quota.memory.clone(),
        });
        // A quota of nothing leaves nothing to ask for.
        let counted = counted.filter(|it| it.thousandths().is_some_and(|count| count > 0));
        let all = most.into_iter().chain(counted);
        let most = all.min_by_key(|it| it.thousandths());
        if of(&amounts).is_some() || (!is_counted && !is_limited) {
            continue;
        }
        let least = Quantity(least.to_owned());
        // What cannot be counted is a finding of its own.
        let is_less = |most: &Spanned<Quantity>| most.thousandths() < least.thousandths();
        let value = match most.filter(is_less) {
            Some(most) => most.value,
            None => least,
        };
        let path = ["teams", &index.to_string(), "limits", "defaultRequest", key];
        let because = Because::Rule("a pod that says nothing needs something where it is counted");
        defaults.fill(path, &value, because);
        let slot = match key {
            "cpu" => &mut amounts.cpu,
            _ => &mut amounts.memory,
        };
        *slot = Some(Spanned::unwritten(value));
    }
    amounts
}
