//! The nodes of a pool: their labels and taints.
//!
//! A node also has externally managed labels and taints. Two annotations on the node list those of gpuc, so that gpuc
//! removes its obsolete entries and does not touch any others.

use gpuc_schema::Spanned;
use serde_json::{Value, json};

use gpuc_model::plan::{
    Argument, Change, Command, Field, FieldKind, Observation, Resource, ResourceKind,
};
use gpuc_model::{Pool, PoolTaint, SetBy};
use gpuc_syntax::node::Origin;

/// An existing node.
pub(super) static NODE: ResourceKind = ResourceKind {
    name: "node",
    protection: None,
    fields: &[LABELS, TAINTS],
    definitions: "",
    state: None,
    mark: None,
};

/// gpuc's labels: the pool label and the dedicated-to label, and all labels that the annotation lists.
const LABELS: FieldKind = FieldKind {
    name: "labels",
    read: r#"((.metadata.annotations["gpuc.dev/labels"] // "" | split(",")) + ["gpuc.dev/dedicated-to", "gpuc.dev/pool"]) as $ours | .metadata.labels // {} | with_entries(select(.key | IN($ours[]))) | to_entries | sort_by(.key) | from_entries"#,
    create_flag: None,
    change: Change::InPlace,
    source: "kubernetes.io/docs/concepts/overview/working-with-objects/labels, 2026-11",
};

/// gpuc's taints, each as `key:Effect` in the annotation.
const TAINTS: FieldKind = FieldKind {
    name: "taints",
    read: r#"((.metadata.annotations["gpuc.dev/taints"] // "" | split(",")) + ["gpuc.dev/dedicated-to:NoSchedule"]) as $ours | [.spec.taints // [] | .[] | select("\(.key):\(.effect)" | IN($ours[])) | {key, value: (.value // ""), effect}] | sort_by(.key, .effect)"#,
    create_flag: None,
    change: Change::InPlace,
    source: "kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration, 2026-11",
};

/// A merge patch: the desired labels, `null` for each obsolete label of gpuc, and the annotation.
const LABELS_PATCH: &str = r#"((.metadata.annotations["gpuc.dev/labels"] // "" | split(",") | map(select(. != ""))) + ["gpuc.dev/dedicated-to", "gpuc.dev/pool"]) as $ours | ([.metadata.labels // {} | keys[] | select(IN($ours[]))] - ($want | keys) | map({(.): null}) | add // {}) as $gone | {metadata: {labels: ($want + $gone), annotations: {"gpuc.dev/labels": ($want | keys | join(","))}}} | tojson"#;

/// A JSON patch: the externally managed taints unchanged, and the desired ones. Kubernetes also sets taints (for nodes
/// that are not ready or cordoned), so the API server refuses the patch if the taints changed since they were read.
const TAINTS_PATCH: &str = r#"((.metadata.annotations["gpuc.dev/taints"] // "" | split(",")) + ["gpuc.dev/dedicated-to:NoSchedule"] + [$want[] | "\(.key):\(.effect)"]) as $ours | (.spec.taints // []) as $now | ([$now[] | select("\(.key):\(.effect)" | IN($ours[]) | not)] + [$want[] | if .value == "" then del(.value) else . end]) as $all | (if $now == [] then [] else [{op: "test", path: "/spec/taints", value: $now}] end) + [{op: "add", path: "/spec/taints", value: $all}] | tojson"#;

/// One resource for each host of a pool, all in the script of the pool.
pub(super) fn node_resources(pool: &Pool, context: &str) -> Vec<Resource> {
    let hosts = pool.settings.hosts.iter();
    hosts
        .map(|host| node_resource(pool, host, context))
        .collect()
}

fn node_resource(pool: &Pool, host: &Spanned<String>, context: &str) -> Resource {
    let kubectl = |words: &[&str]| {
        Command::new(["kubectl", "--context", context]).with_arguments(words.to_vec())
    };
    let patch = |kind: &str, program: &str| {
        kubectl(&["patch", "node", host, "--type", kind, "--patch"])
            .with_argument(Argument::Observed(program.to_owned()))
    };
    let annotate = |change: &str| kubectl(&["annotate", "node", host, "--overwrite", change]);
    let removals: Vec<_> = taint_keys_with_effect(pool)
        .map(|taint| format!("{taint}-"))
        .collect();
    let untaint =
        (!removals.is_empty()).then(|| kubectl(&["taint", "node", host]).with_arguments(removals));
    Resource {
        kind: &NODE,
        name: host.value.clone(),
        script: format!("pool-{}", pool.name),
        description: format!(
            "Sets the labels and taints of the nodes of pool {}.",
            pool.name
        ),
        observation: Observation {
            command: kubectl(&["get", "node", host, "--output", "json"]),
            // No script creates a host: if a node is missing, there is no creation command, and the script reports it.
            absent_pattern: r"\(NotFound\)",
        },
        create: Vec::new(),
        contents: None,
        manual_delete: untaint
            .into_iter()
            .chain([
                kubectl(&["label", "node", host])
                    .with_arguments(pool.labels.iter().map(|label| format!("{}-", label.key))),
                kubectl(&[
                    "annotate",
                    "node",
                    host,
                    "gpuc.dev/labels-",
                    "gpuc.dev/taints-",
                ]),
            ])
            .collect(),
        remnant: None,
        recovery: Vec::new(),
        created_with: None,
        fields: vec![
            Field {
                kind: &NODE.fields[0],
                desired: labels_json(pool),
                update: vec![patch("merge", LABELS_PATCH)],
                lookup: None,
                is_set_after_creation: false,
                external_entries: None,
                origin: Origin::rule(
                    [pool.name.span, host.span],
                    "a pool's nodes have its labels",
                ),
            },
            Field {
                kind: &NODE.fields[1],
                desired: taints_json(pool),
                // After an interruption between the two commands, the next run repeats both, because the annotation
                // does not list the taints.
                update: vec![
                    patch("json", TAINTS_PATCH),
                    annotate(&format!(
                        "gpuc.dev/taints={}",
                        taint_keys_with_effect(pool).collect::<Vec<_>>().join(",")
                    )),
                ],
                lookup: None,
                is_set_after_creation: false,
                external_entries: None,
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

/// Removes gpuc's labels and their annotation, but not the node.
const UNLABEL_PATCH: &str = r#"((.metadata.annotations["gpuc.dev/labels"] // "" | split(",") | map(select(. != ""))) + ["gpuc.dev/dedicated-to", "gpuc.dev/pool"]) as $ours | {metadata: {labels: ($ours | map({(.): null}) | add), annotations: {"gpuc.dev/labels": null}}} | tojson"#;

/// Removes gpuc's taints.
const UNTAINT_PATCH: &str = r#"((.metadata.annotations["gpuc.dev/taints"] // "" | split(",")) + ["gpuc.dev/dedicated-to:NoSchedule"]) as $ours | (.spec.taints // []) as $now | (if $now == [] then [] else [{op: "test", path: "/spec/taints", value: $now}] end) + [{op: "add", path: "/spec/taints", value: [$now[] | select("\(.key):\(.effect)" | IN($ours[]) | not)]}] | tojson"#;

fn labels_json(pool: &Pool) -> Value {
    let labels = pool.labels.iter();
    let mut labels: Vec<_> = labels
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    labels.sort_by(|a, b| a.0.cmp(&b.0));
    Value::Object(labels.into_iter().collect())
}

/// The taints that gpuc sets, in the order of [`TAINTS`].
fn sorted_gpuc_taints(pool: &Pool) -> Vec<&PoolTaint> {
    let is_set_by_gpuc = |taint: &&PoolTaint| taint.set_by == SetBy::Gpuc;
    let mut taints: Vec<_> = pool.taints.iter().filter(is_set_by_gpuc).collect();
    taints.sort_by_key(|taint| (taint.key.clone(), taint.effect.as_str()));
    taints
}

/// The taints that gpuc sets, without their values, in the format of the annotation.
fn taint_keys_with_effect(pool: &Pool) -> impl Iterator<Item = String> {
    let taints = sorted_gpuc_taints(pool).into_iter();
    taints.map(|taint| format!("{}:{}", taint.key, taint.effect.as_str()))
}

fn taints_json(pool: &Pool) -> Value {
    let json = |taint: &PoolTaint| json!({"key": taint.key, "value": taint.value, "effect": taint.effect.as_str()});
    Value::Array(sorted_gpuc_taints(pool).into_iter().map(json).collect())
}
