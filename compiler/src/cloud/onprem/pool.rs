//! The nodes of a pool: their labels and taints.
//!
//! A node has labels and taints of others too. Which of them are gpuc's stands in two annotations on the node, so that
//! one that is no longer wanted is found and removed, and nobody else's is touched.

use gpuc_schema::Spanned;
use gpuc_schema::config::TaintEffect;
use serde_json::{Value, json};

use crate::model::{Pool, PoolTaint, SetBy};
use crate::node::Origin;
use crate::plan::{Change, Command, Field, FieldKind, Observe, Resource, ResourceKind, Word};

/// A node that is there already.
pub(super) static NODE: ResourceKind = ResourceKind {
    name: "node",
    fields: &[LABELS, TAINTS],
    definitions: "",
};

/// gpuc's labels. The pool's and the owner's are gpuc's wherever they are; others are where the annotation says so.
const LABELS: FieldKind = FieldKind {
    name: "labels",
    read: r#"((.metadata.annotations["gpuc.dev/labels"] // "" | split(",")) + ["gpuc.dev/dedicated-to", "gpuc.dev/pool"]) as $ours | .metadata.labels // {} | with_entries(select(.key | IN($ours[]))) | to_entries | sort_by(.key) | from_entries"#,
    create: None,
    change: Change::InPlace,
    source: "kubernetes.io/docs/concepts/overview/working-with-objects/labels, 2026-11",
};

/// gpuc's taints, each as `key:Effect` in the annotation.
const TAINTS: FieldKind = FieldKind {
    name: "taints",
    read: r#"((.metadata.annotations["gpuc.dev/taints"] // "" | split(",")) + ["gpuc.dev/dedicated-to:NoSchedule"]) as $ours | [.spec.taints // [] | .[] | select("\(.key):\(.effect)" | IN($ours[])) | {key, value: (.value // ""), effect}] | sort_by(.key, .effect)"#,
    create: None,
    change: Change::InPlace,
    source: "kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration, 2026-11",
};

/// A merge patch: the wanted labels, `null` for each of gpuc's that is not wanted any more, and the annotation.
const LABELS_PATCH: &str = r#"((.metadata.annotations["gpuc.dev/labels"] // "" | split(",") | map(select(. != ""))) + ["gpuc.dev/dedicated-to", "gpuc.dev/pool"]) as $ours | ([.metadata.labels // {} | keys[] | select(IN($ours[]))] - ($want | keys) | map({(.): null}) | add // {}) as $gone | {metadata: {labels: ($want + $gone), annotations: {"gpuc.dev/labels": ($want | keys | join(","))}}} | tojson"#;

/// A JSON patch: everybody else's taints as they are, and the wanted ones. Kubernetes sets taints by itself (a node
/// that is not ready, a node that is cordoned), so the patch is refused if they changed since they were read.
const TAINTS_PATCH: &str = r#"((.metadata.annotations["gpuc.dev/taints"] // "" | split(",")) + ["gpuc.dev/dedicated-to:NoSchedule"] + [$want[] | "\(.key):\(.effect)"]) as $ours | (.spec.taints // []) as $now | ([$now[] | select("\(.key):\(.effect)" | IN($ours[]) | not)] + [$want[] | if .value == "" then del(.value) else . end]) as $all | (if $now == [] then [] else [{op: "test", path: "/spec/taints", value: $now}] end) + [{op: "add", path: "/spec/taints", value: $all}] | tojson"#;

/// One resource for each host of a pool, all in the pool's script.
pub(super) fn resources(pool: &Pool, context: &str) -> Vec<Resource> {
    let hosts = pool.written.hosts.iter();
    hosts.map(|host| resource(pool, host, context)).collect()
}

fn resource(pool: &Pool, host: &Spanned<String>, context: &str) -> Resource {
    let kubectl =
        |words: &[&str]| Command::new(["kubectl", "--context", context]).with(words.to_vec());
    let patch = |kind: &str, program: &str| {
        kubectl(&["patch", "node", host, "--type", kind, "--patch"])
            .with_word(Word::Observed(program.to_owned()))
    };
    let annotate = |change: &str| kubectl(&["annotate", "node", host, "--overwrite", change]);
    let taints_off: Vec<_> = taint_keys(pool).map(|taint| format!("{taint}-")).collect();
    let untaint =
        (!taints_off.is_empty()).then(|| kubectl(&["taint", "node", host]).with(taints_off));
    Resource {
        kind: &NODE,
        name: host.value.clone(),
        script: format!("pool-{}", pool.name),
        about: format!("The nodes of pool {}: their labels and taints.", pool.name),
        observe: Observe {
            command: kubectl(&["get", "node", host, "--output", "json"]),
            // No script makes a host: where a node is missing, there is nothing to create it by, and the script says
            // so.
            absent: r"\(NotFound\)",
        },
        create: Vec::new(),
        by_hand: untaint
            .into_iter()
            .chain([
                kubectl(&["label", "node", host])
                    .with(pool.labels.iter().map(|it| format!("{}-", it.key))),
                kubectl(&[
                    "annotate",
                    "node",
                    host,
                    "gpuc.dev/labels-",
                    "gpuc.dev/taints-",
                ]),
            ])
            .collect(),
        comes_with: None,
        fields: vec![
            Field {
                kind: &NODE.fields[0],
                want: labels(pool),
                update: vec![patch("merge", LABELS_PATCH)],
                others: None,
                origin: Origin::rule(
                    [pool.name.span, host.span],
                    "a pool's nodes have its labels",
                ),
            },
            Field {
                kind: &NODE.fields[1],
                want: taints(pool),
                // A run that is cut short between the two finds the taints unexplained, and does both again.
                update: vec![
                    patch("json", TAINTS_PATCH),
                    annotate(&format!(
                        "gpuc.dev/taints={}",
                        taint_keys(pool).collect::<Vec<_>>().join(",")
                    )),
                ],
                others: None,
                origin: Origin::rule(
                    [pool.name.span, host.span],
                    "a pool's nodes have its taints",
                ),
            },
        ],
        delete: vec![
            patch("json", UNTAINT_PATCH),
            annotate("gpuc.dev/taints-"),
            patch("merge", UNLABEL_PATCH),
        ],
        origin: Origin::rule([host.span], "the host is a node of the pool"),
    }
}

/// Removes gpuc's labels and their annotation; the node stays.
const UNLABEL_PATCH: &str = r#"((.metadata.annotations["gpuc.dev/labels"] // "" | split(",") | map(select(. != ""))) + ["gpuc.dev/dedicated-to", "gpuc.dev/pool"]) as $ours | {metadata: {labels: ($ours | map({(.): null}) | add), annotations: {"gpuc.dev/labels": null}}} | tojson"#;

/// Removes gpuc's taints.
const UNTAINT_PATCH: &str = r#"((.metadata.annotations["gpuc.dev/taints"] // "" | split(",")) + ["gpuc.dev/dedicated-to:NoSchedule"]) as $ours | (.spec.taints // []) as $now | (if $now == [] then [] else [{op: "test", path: "/spec/taints", value: $now}] end) + [{op: "add", path: "/spec/taints", value: [$now[] | select("\(.key):\(.effect)" | IN($ours[]) | not)]}] | tojson"#;

fn labels(pool: &Pool) -> Value {
    let labels = pool.labels.iter();
    let mut labels: Vec<_> = labels
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    labels.sort_by(|a, b| a.0.cmp(&b.0));
    Value::Object(labels.into_iter().collect())
}

/// The taints that gpuc sets, in the order that [`TAINTS`] reads them.
fn ours(pool: &Pool) -> Vec<&PoolTaint> {
    let ours = |taint: &&PoolTaint| taint.set_by == SetBy::Gpuc;
    let mut taints: Vec<_> = pool.taints.iter().filter(ours).collect();
    taints.sort_by_key(|taint| (taint.key.clone(), effect(taint.effect)));
    taints
}

/// The taints that gpuc sets, without their values, as the annotation has them.
fn taint_keys(pool: &Pool) -> impl Iterator<Item = String> {
    let keys = ours(pool).into_iter();
    keys.map(|taint| format!("{}:{}", taint.key, effect(taint.effect)))
}

fn taints(pool: &Pool) -> Value {
    let json = |taint: &PoolTaint| json!({"key": taint.key, "value": taint.value, "effect": effect(taint.effect)});
    Value::Array(ours(pool).into_iter().map(json).collect())
}

fn effect(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}
