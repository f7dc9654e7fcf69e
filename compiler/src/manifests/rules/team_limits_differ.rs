//! A `ResourceQuota` or a `LimitRange` by hand says something else than the file says of its team.

use gpuc_schema::config::{Amounts, Quantity};
use gpuc_schema::{Span, Spanned};

use crate::diag::{Code, Report, Severity};
use crate::manifests::limits::is_made;
use crate::manifests::read::Object;
use crate::manifests::{Rule, Scene};
use crate::model::{Cluster, Team};
use crate::node::{Entry, Node};
use crate::placement::{What, limits, thousandths_of};

/// A `ResourceQuota` or a `LimitRange` by hand says something else than the file says of its team.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4057",
        name: "manifest-team-limits-differ",
        severity: Severity::Warning,
        summary: "a ResourceQuota or LimitRange by hand differs from what the file says of its team",
        explain: "### What it checks

Whether a ResourceQuota or a LimitRange in a team's namespace says another amount than the team's `quota`
or `limits` in the file, of which gpuc makes a quota and a range of its own. What only one of the two says
is left in peace, and so is a quota with scopes.

### Why it matters

Kubernetes holds pods to every quota and every range that there is, so that of two quotas or two most the
lower one counts, and of two defaults whichever comes first. A team does not get what the file promises it.

### What to do

Remove the object, and write into the file what is meant.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 4}]}}
--- # manifest.yaml
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus, namespace: research}
spec:
  hard: {requests.nvidia.com/gpu: 2}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 4}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
teams:
  - {name: research, quota: {gpus: [{pool: gpu, guaranteed: 2}]}}
--- # manifest.yaml
apiVersion: v1
kind: ResourceQuota
metadata: {name: gpus, namespace: research}
spec:
  hard: {requests.nvidia.com/gpu: 2}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for object in scene.objects.iter().filter(|it| !is_made(it)) {
        let namespace = object.namespace.as_deref();
        let Some((team, index)) = namespace.and_then(|it| scene.cluster.team_of(it)) else {
            continue;
        };
        match object.kind.as_str() {
            "ResourceQuota" => quota(scene.cluster, object, team, index, report),
            "LimitRange" => range(object, team, report),
            _ => {}
        }
    }
}

/// What a quota's names count beside devices, with how many thousandths one of it is.
fn counted(name: &str) -> Option<(What, u64)> {
    Some(match name {
        "cpu" | "requests.cpu" => (What::Cpu, 1),
        "memory" | "requests.memory" => (What::Memory, 1000),
        "pods" | "count/pods" => (What::Pods, 1000),
        "requests.storage" => (What::Storage, 1000),
        _ => return None,
    })
}

fn quota(cluster: &Cluster, object: &Object, team: &Team, index: usize, report: &mut Report) {
    let Some(spec) = object.root.get("spec") else {
        return;
    };
    if ["scopes", "scopeSelector"]
        .iter()
        .any(|key| spec.get(key).is_some())
    {
        return;
    }
    let is_only = team.namespaces.len() == 1;
    for entry in spec.get("hard").map_or(&[][..], Node::entries) {
        let Some(written) = thousandths_of(&entry.value) else {
            continue;
        };
        let (has, words, span) = if let Some((what, unit)) = counted(&entry.key) {
            let mut own = limits(cluster, team)
                .into_iter()
                .filter(|it| it.what == what);
            let is_here = |namespace: Option<&str>| match namespace {
                Some(name) => name == team.namespaces[index].as_str(),
                None => is_only,
            };
            let Some(own) = own.find(|it| is_here(it.namespace)) else {
                continue;
            };
            (
                own.has.saturating_mul(unit),
                own.what.words(own.has),
                own.span,
            )
        } else {
            let grants = team.grants().filter(|it| it.quota_name == entry.key);
            let is_here = |namespace: Option<usize>| namespace.map_or(is_only, |it| it == index);
            let grants: Vec<_> = grants.filter(|it| is_here(it.namespace)).collect();
            let Some(first) = grants.first() else {
                continue;
            };
            let limits = grants.iter().map(|it| u64::from(it.limit.value));
            let has = limits.fold(0, u64::saturating_add);
            (has.saturating_mul(1000), has.to_string(), first.span)
        };
        let why = "of two quotas the lower one counts";
        differ(
            object,
            team,
            entry,
            "hard",
            written,
            (has, &words, span, why),
            report,
        );
    }
}

/// The lists of a range, with what the file says of each.
fn range(object: &Object, team: &Team, report: &mut Report) {
    let limits = team.written.limits.as_ref();
    let none = Amounts::default();
    let most = limits.and_then(|it| it.max.as_ref()).unwrap_or(&none);
    let default = limits.and_then(|it| it.default.as_ref()).unwrap_or(&none);
    let defaults = "of two defaults whichever comes first is given";
    let lists = [
        ("default", [default, most], defaults),
        ("defaultRequest", [&team.default_request, &none], defaults),
        ("max", [most, &none], "of two most the lower one counts"),
    ];
    let items = object.root.get("spec").and_then(|it| it.get("limits"));
    for item in items.map_or(&[][..], Node::items) {
        if item.get("type").and_then(Node::text) != Some("Container") {
            continue;
        }
        for (list, own, why) in lists {
            for entry in item.get(list).map_or(&[][..], Node::entries) {
                let written = thousandths_of(&entry.value);
                let mut own = own.into_iter().filter_map(|it| of(it, &entry.key));
                let Some((written, own)) = written.zip(own.next()) else {
                    continue;
                };
                let Some(has) = own.thousandths() else {
                    continue;
                };
                let words = format!("`{}`", own.value.0);
                differ(
                    object,
                    team,
                    entry,
                    list,
                    written,
                    (has, &words, own.span, why),
                    report,
                );
            }
        }
    }
}

fn of<'a>(amounts: &'a Amounts, key: &str) -> Option<&'a Spanned<Quantity>> {
    match key {
        "cpu" => amounts.cpu.as_ref(),
        "memory" => amounts.memory.as_ref(),
        _ => None,
    }
}

fn differ(
    object: &Object,
    team: &Team,
    entry: &Entry,
    list: &str,
    written: u64,
    (has, words, span, why): (u64, &str, Span, &str),
    report: &mut Report,
) {
    if written == has {
        return;
    }
    let value = entry.value.text().unwrap_or_default();
    let message = format!(
        "{} says `{list}.{}: {value}`, and the file says {words} of team `{}`",
        object.title(),
        entry.key,
        team.name
    );
    report
        .draft(&RULE.code, entry.value.span(), message)
        .here(why)
        .label(span, "what the file says")
        .help("remove it here, and write into the file what is meant")
        .emit();
}
