//! Teams: namespaces with quotas, their members and their limits.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use gpuc_model::{CHART_NAMESPACES, TEAM_LABEL};
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::json::{items, source, text};
use crate::pool::Pool;
use crate::queues::Queues;
use crate::quotas::{Quota, namespace_quota};
use crate::report::Report;
use crate::tree::{Entries, Evidence, Item};

/// A team of the new file, while its keys are found.
struct Team<'s> {
    name: String,
    evidence: Evidence,
    namespaces: Vec<&'s Object>,
}

/// The namespaces of Kubernetes, of the clouds and of common components, which belong to no team.
const SYSTEM_NAMESPACES: &[&str] = &[
    "argocd",
    "calico-system",
    "cert-manager",
    "default",
    "flux-system",
    "gatekeeper-system",
    "ingress-nginx",
    "istio-system",
    "karpenter",
    "tigera-operator",
];

/// The beginnings of the names of such namespaces.
const SYSTEM_PREFIXES: &[&str] = &[
    "kube-",
    "gke-",
    "gmp-",
    "aks-",
    "amazon-",
    "azure-",
    "openshift",
    "gpuc-",
    "dcgm-exporter-",
];

/// The key `teams`.
pub(crate) fn teams(
    cx: &Context<'_>,
    pools: &[Pool<'_>],
    queues: Option<&Queues<'_>>,
    report: &mut Report,
) -> Vec<Item> {
    let found = find_teams(cx, queues);
    if found.is_empty() && !cx.is_complete(Kind::Namespace) {
        report.leave_out(
            Some("teams"),
            "Namespaces",
            "the namespaces are not known, and with them the teams",
        );
    }
    let teams = found
        .iter()
        .map(|team| team_item(cx, team, pools, queues, report));
    teams.collect()
}

/// Whether a namespace belongs to Kubernetes, to a cloud or to a common component.
pub(crate) fn is_system(name: &str) -> bool {
    SYSTEM_NAMESPACES.contains(&name)
        || CHART_NAMESPACES.contains(&name)
        || SYSTEM_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// The teams: by gpuc's label, else one for each namespace with a quota or a queue.
fn find_teams<'s>(cx: &Context<'s>, queues: Option<&Queues<'_>>) -> Vec<Team<'s>> {
    let namespaces = cx.state.objects(Kind::Namespace);
    let mut teams: BTreeMap<String, Team<'s>> = BTreeMap::new();
    let mut add = |name: &str, evidence: Evidence, namespace: &'s Object| {
        let team = teams.entry(name.to_owned()).or_insert_with(|| Team {
            name: name.to_owned(),
            evidence,
            namespaces: Vec::new(),
        });
        team.namespaces.push(namespace);
    };
    for namespace in namespaces {
        let name = namespace.metadata.name.as_str();
        if let Some(team) = namespace.metadata.label(TEAM_LABEL) {
            let at = source(
                name_of("Namespace", namespace),
                format!("metadata.labels[{TEAM_LABEL}]"),
                team,
            );
            add(team, Evidence::sure(at), namespace);
            continue;
        }
        if is_system(name) {
            continue;
        }
        let queue = queues.and_then(|queues| queues.queue_of(name));
        if let Some((queue, at)) = queue {
            add(
                queue,
                Evidence::guess(at, "a team for each ClusterQueue"),
                namespace,
            );
            continue;
        }
        let quotas = cx.state.objects(Kind::ResourceQuota).iter();
        let mut own =
            quotas.filter(|it| it.metadata.namespace == name && crate::quotas::is_for_all_pods(it));
        if let Some(quota) = own.next() {
            let at = name_of("ResourceQuota", quota);
            add(
                name,
                Evidence::guess(at, "a team for each namespace with a quota"),
                namespace,
            );
        }
    }
    teams.into_values().collect()
}

fn team_item(
    cx: &Context<'_>,
    team: &Team<'_>,
    pools: &[Pool<'_>],
    queues: Option<&Queues<'_>>,
    report: &mut Report,
) -> Item {
    let name = &team.name;
    let mut entries = Entries::default();
    entries.push("name", Item::text(name).with(team.evidence.clone()));
    let names: Vec<&str> = team
        .namespaces
        .iter()
        .map(|it| it.metadata.name.as_str())
        .collect();
    if names != [name.as_str()] {
        // The first namespace has the name of the team, if there is one.
        let mut sorted = names.clone();
        sorted.sort_by_key(|it| (*it != name, *it));
        let items = sorted
            .into_iter()
            .map(|it| Item::text(it).sure(format!("Namespace {it}#metadata.name = {it}")));
        entries.push("namespaces", Item::list(items));
    }
    entries.push_list("members", members(cx, name, &names, report));
    let quotas: Vec<(&str, Quota)> = names
        .iter()
        .map(|namespace| {
            (
                *namespace,
                namespace_quota(cx, pools, namespace, queues.is_some(), report),
            )
        })
        .collect();
    let queue = queues.and_then(|queues| queues.quota(name, pools, report));
    let has_queue = queue.is_some();
    match (queue, quotas.as_slice()) {
        (Some(queue), own) => {
            let mut queue = queue;
            // One namespace: what the queue does not count is part of the same quota.
            if let [(_, quota)] = own {
                for (key, item) in &quota.amounts {
                    if !queue.0.iter().any(|(known, _)| known == key) {
                        queue.push(key, item.clone());
                    }
                }
            }
            entries.push_some("quota", queue.into_some());
        }
        (None, [(_, quota)]) => entries.push_some("quota", quota.item()),
        (None, _) => {}
    }
    if names.len() > 1 {
        let quotas = quotas.iter().filter_map(|(namespace, quota)| {
            let quota = quota.item()?;
            Some(Item::map([
                ("namespace", Item::text(*namespace)),
                ("quota", quota),
            ]))
        });
        entries.push_list("namespaceQuotas", quotas.collect());
    }
    entries.push_some(
        "weight",
        queues
            .filter(|_| has_queue)
            .and_then(|queues| queues.weight(name)),
    );
    let mut limits = limits(cx, name, &names, report);
    add_gpus_per_container(cx, name, &mut limits);
    entries.push_some("limits", limits);
    entries.push_some("podSecurity", pod_security(team, report));
    entries.push_some("network", network(cx, &names));
    entries.into_item()
}

/// The level that the API server enforces in the namespaces.
fn pod_security(team: &Team<'_>, report: &mut Report) -> Option<Item> {
    const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
    let levels: BTreeSet<&str> = (team.namespaces.iter())
        .map(|it| it.metadata.label(ENFORCE).unwrap_or("privileged"))
        .collect();
    let first = team.namespaces.first()?;
    let level = first.metadata.label(ENFORCE);
    let at = source(
        name_of("Namespace", first),
        format!("metadata.labels[{ENFORCE}]"),
        level.unwrap_or("none"),
    );
    if levels.len() > 1 {
        let reason = "the namespaces of a team have one level";
        report.leave_out(
            Some(&format!("teams[{}].podSecurity", team.name)),
            at.clone(),
            reason,
        );
    }
    match level {
        Some("baseline") => None,
        Some(level @ ("restricted" | "privileged")) => Some(Item::text(level).sure(at)),
        _ => {
            let reason =
                "without the label, the default of the API server applies, which admits all pods";
            Some(Item::text("privileged").guess(at, reason))
        }
    }
}

/// `isolated`, if a namespace has gpuc's NetworkPolicy.
fn network(cx: &Context<'_>, namespaces: &[&str]) -> Option<Item> {
    let mut policies = cx.state.objects(Kind::NetworkPolicy).iter();
    let policy = policies.find(|it| {
        it.metadata.name == "team-isolated" && namespaces.contains(&it.metadata.namespace.as_str())
    })?;
    Some(Item::text("isolated").sure(name_of("NetworkPolicy", policy)))
}

/// The roles of the file by ClusterRole, the highest last.
const ROLES: &[(&str, &str)] = &[
    ("view", "view"),
    ("gpuc-team-submit", "submit"),
    ("edit", "submit"),
    ("admin", "admin"),
];

fn members(cx: &Context<'_>, team: &str, namespaces: &[&str], report: &mut Report) -> Vec<Item> {
    let mut members: BTreeMap<(String, String), (usize, Evidence)> = BTreeMap::new();
    let bindings = cx.state.objects(Kind::RoleBinding).iter();
    let own = bindings.filter(|it| namespaces.contains(&it.metadata.namespace.as_str()));
    for binding in own {
        let role = binding.text("/roleRef/name");
        let is_cluster_role = binding.text("/roleRef/kind") == "ClusterRole";
        let at = source(
            name_of("RoleBinding", binding),
            "roleRef",
            format!("{} {role}", binding.text("/roleRef/kind")),
        );
        let Some(rank) = ROLES
            .iter()
            .rposition(|(name, _)| is_cluster_role && *name == role)
        else {
            if role != "gpuc-team-view" {
                let key = format!("teams[{team}].members");
                report.leave_out(
                    Some(&key),
                    at,
                    "members have the roles view, submit or admin",
                );
            }
            continue;
        };
        for subject in items(&binding.body, "/subjects") {
            let Some((kind, name)) = member(subject, &binding.metadata.namespace, namespaces)
            else {
                continue;
            };
            let evidence = match role {
                "edit" => Evidence::guess(
                    at.clone(),
                    "`edit` permits more than `submit`, such as Deployments and Secrets",
                ),
                _ => Evidence::sure(at.clone()),
            };
            let known = members
                .entry((kind, name))
                .or_insert((rank, evidence.clone()));
            if rank > known.0 {
                *known = (rank, evidence);
            }
        }
    }
    let items = members.into_iter().map(|((kind, name), (rank, evidence))| {
        let mut entries = vec![(kind, Item::text(name))];
        let role = ROLES[rank].1;
        if role != "submit" {
            entries.push(("role".to_owned(), Item::text(role)));
        }
        Item::map(entries).with(evidence)
    });
    items.collect()
}

/// The key and the name of a member.
fn member(subject: &Value, namespace: &str, namespaces: &[&str]) -> Option<(String, String)> {
    let name = text(subject, "/name")?;
    let (key, name) = match text(subject, "/kind")? {
        "Group" => ("group", name.to_owned()),
        "User" => ("user", name.to_owned()),
        "ServiceAccount" => {
            let own = text(subject, "/namespace").unwrap_or(namespace);
            // Without a namespace, it is in the first namespace of the team.
            let is_first = namespaces.first() == Some(&own) && namespaces.len() == 1;
            (
                "serviceAccount",
                if is_first {
                    name.to_owned()
                } else {
                    format!("{own}:{name}")
                },
            )
        }
        _ => return None,
    };
    Some((key.to_owned(), name))
}

/// A quantity: a whole number without quotes.
pub(crate) fn quantity(amount: &str) -> Item {
    match amount.parse::<u64>() {
        Ok(number) => Item::number(number),
        Err(_) => Item::text(amount),
    }
}

/// Default requests that gpuc sets by itself where a quota or a limit applies.
const DEFAULT_REQUESTS: [(&str, &str); 2] = [("cpu", "500m"), ("memory", "1Gi")];

/// Adds the limit of GPUs in gpuc's admission policy, whose messages have the names of teams.
///
/// Source: `compile/src/lower/admission/limits.rs`.
fn add_gpus_per_container(cx: &Context<'_>, team: &str, limits: &mut Option<Item>) {
    let policy = cx
        .state
        .object(Kind::ValidatingAdmissionPolicy, "", LIMIT_POLICY);
    let Some(policy) = policy else {
        return;
    };
    let start = format!("a container of team {team} may request at most ");
    let mut messages = policy
        .items("/spec/validations")
        .iter()
        .filter_map(|it| text(it, "/message"));
    let count = messages.find_map(|it| {
        it.strip_prefix(&start)?
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()
    });
    let Some(count) = count else {
        return;
    };
    let at = format!(
        "{}#spec.validations",
        name_of("ValidatingAdmissionPolicy", policy)
    );
    let item = Item::number(count).sure(at);
    let limits = limits.get_or_insert_with(|| Item::map::<String>([]));
    if let crate::tree::Value::Map(entries) = &mut limits.value {
        entries.retain(|(key, _)| key != "gpusPerContainer");
        entries.push(("gpusPerContainer".to_owned(), item));
    }
}

/// The policy against containers that request more GPUs than the limit of their team.
const LIMIT_POLICY: &str = "gpuc-gpus-per-container";

fn limits(cx: &Context<'_>, team: &str, namespaces: &[&str], report: &mut Report) -> Option<Item> {
    let ranges = cx.state.objects(Kind::LimitRange).iter();
    let mut own = ranges.filter(|it| namespaces.contains(&it.metadata.namespace.as_str()));
    let range = own.next()?;
    let object = name_of("LimitRange", range);
    let key = format!("teams[{team}].limits");
    for other in own.filter(|it| it.get("/spec/limits") != range.get("/spec/limits")) {
        let at = source(
            name_of("LimitRange", other),
            "spec.limits",
            other.get("/spec/limits"),
        );
        report.leave_out(Some(&key), at, "a team has one set of limits");
    }
    let mut entries = Entries::default();
    for limit in range.items("/spec/limits") {
        let kind = text(limit, "/type").unwrap_or_default();
        if kind != "Container" {
            let at = source(&object, "spec.limits", limit);
            report.leave_out(Some(&key), at, format!("gpuc has no limits for {kind}"));
            continue;
        }
        let amounts = |key: &str| -> BTreeMap<&str, String> {
            let entries = limit
                .get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            entries
                .map(|(name, value)| {
                    (
                        name.as_str(),
                        value.as_str().map_or(value.to_string(), str::to_owned),
                    )
                })
                .collect()
        };
        let (request, default, max) = (
            amounts("defaultRequest"),
            amounts("default"),
            amounts("max"),
        );
        let item = |amounts: &BTreeMap<&str, String>,
                    field: &str,
                    is_written: &dyn Fn(&str, &str) -> bool| {
            let written = ["cpu", "memory"].into_iter().filter_map(|name| {
                let amount = amounts
                    .get(name)
                    .filter(|amount| is_written(name, amount))?;
                let at = source(&object, format!("spec.limits[].{field}.{name}"), amount);
                Some((name, quantity(amount).sure(at)))
            });
            let written: Vec<_> = written.collect();
            (!written.is_empty()).then(|| Item::map(written))
        };
        let is_own_request = |name: &str, amount: &str| !DEFAULT_REQUESTS.contains(&(name, amount));
        let is_own_default =
            |name: &str, amount: &str| max.get(name).is_none_or(|max| max != amount);
        entries.push_some(
            "defaultRequest",
            item(&request, "defaultRequest", &is_own_request),
        );
        entries.push_some("default", item(&default, "default", &is_own_default));
        entries.push_some("max", item(&max, "max", &|_, _| true));
        let gpus = max
            .iter()
            .filter(|(name, _)| name.starts_with("nvidia.com/"));
        let gpus = gpus.filter_map(|(name, amount)| Some((*name, amount.parse::<u64>().ok()?)));
        if let Some((name, count)) = gpus.max_by_key(|(_, count)| *count) {
            let at = source(&object, format!("spec.limits[].max.{name}"), count);
            entries.push("gpusPerContainer", Item::number(count).sure(at));
        }
        for field in ["min", "maxLimitRequestRatio"] {
            if let Some(value) = limit.get(field) {
                let at = source(&object, format!("spec.limits[].{field}"), value);
                report.leave_out(Some(&key), at, format!("gpuc has no key for `{field}`"));
            }
        }
    }
    entries.into_some()
}
