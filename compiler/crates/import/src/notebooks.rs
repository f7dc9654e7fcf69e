//! The key `notebooks`: JupyterHub, if a GitOps controller has the values of its chart.
//!
//! Source of the values: `compile/src/charts/jupyterhub.rs`.

use gpuc_live::redact::{REDACTED, redact_object};
use gpuc_live::state::Kind;
use serde_json::Value;

use crate::context::Context;
use crate::json::{items, number, text, text_entries};
use crate::pool::Pool;
use crate::releases::{Release, releases};
use crate::report::Report;
use crate::tree::{Entries, Item};
use crate::workloads::json_item;

/// The key `notebooks`, and the values of the chart that gpuc does not generate: the authenticator and secrets.
pub(crate) fn notebooks(
    cx: &Context<'_>,
    pools: &[Pool<'_>],
    report: &mut Report,
) -> Option<(Item, Option<Item>)> {
    let all = releases(cx);
    let hub = all.iter().find(|it| it.chart == "jupyterhub");
    let Some(hub) = hub else {
        if cx.state.object(Kind::Namespace, "", "jupyterhub").is_some() {
            let reason =
                "JupyterHub is configured in the values of its chart, which are in a Secret";
            report.leave_out(Some("notebooks"), "Namespace jupyterhub", reason);
        }
        return None;
    };
    // Values that look like secrets are not written to the file, wherever they are from.
    let mut values = hub.values.clone();
    redact_object(Kind::HelmRelease, &mut values);
    let own = own_values(&values);
    let item = jupyter_hub(hub, pools)?;
    let own = own
        .as_object()
        .is_some_and(|it| !it.is_empty())
        .then(|| Item::single("values", value_item(&own, &hub.source)));
    Some((
        Item::single("jupyterHub", item.sure(hub.source.clone())),
        own,
    ))
}

/// Whether a text is a key for encryption: 32 bytes in hexadecimal digits.
fn is_key(text: &str) -> bool {
    text.len() >= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A value of the chart; secrets, which gpuc removes before it reads them, are placeholders.
fn value_item(value: &Value, at: &str) -> Item {
    match value {
        Value::String(text) if text.contains(REDACTED) || is_key(text) => {
            Item::text("replace-me").guess(at, "gpuc does not read secrets; replace it")
        }
        Value::Object(entries) => {
            Item::map(entries.iter().map(|(key, it)| (key, value_item(it, at))))
        }
        Value::Array(items) => Item::list(items.iter().map(|it| value_item(it, at))),
        value => json_item(value).sure(at),
    }
}

/// The values of the hub and of its proxy that gpuc does not generate.
fn own_values(values: &Value) -> Value {
    let mut own = serde_json::Map::new();
    for (part, generated) in [
        ("hub", &["existingSecret", "db"][..]),
        ("proxy", &["service"][..]),
    ] {
        let mut entries = values
            .get(part)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        entries.retain(|key, _| !generated.contains(&key.as_str()));
        if !entries.is_empty() {
            own.insert(part.to_owned(), Value::Object(entries));
        }
    }
    Value::Object(own)
}

fn jupyter_hub(hub: &Release<'_>, pools: &[Pool<'_>]) -> Option<Item> {
    let values = hub.values;
    let profiles = items(values, "/singleuser/profileList").iter();
    let profiles: Vec<Item> = profiles.filter_map(|it| profile(it, pools)).collect();
    if profiles.is_empty() {
        return None;
    }
    let mut entries = Entries::default();
    entries.push("profiles", Item::list(profiles));
    let minutes = number(values, "/cull/timeout").map(|seconds| seconds / 60);
    let minutes = minutes.filter(|minutes| *minutes != 60);
    entries.push_some("idleMinutes", minutes.map(Item::number));
    let size = text(values, "/singleuser/storage/capacity").and_then(|it| it.strip_suffix("Gi"));
    if let Some(size) = size.and_then(|size| size.parse::<u32>().ok()) {
        let mut storage = Entries::default();
        storage.push("sizeGiB", Item::number(size));
        let class = text(values, "/singleuser/storage/dynamic/storageClass");
        storage.push_some("class", class.map(Item::text));
        entries.push("storage", storage.into_item());
    }
    let secret = text(values, "/hub/existingSecret");
    entries.push_some(
        "secret",
        secret.map(|name| value_item(&name.into(), &hub.source)),
    );
    let service = text(values, "/proxy/service/type").filter(|kind| *kind != "ClusterIP");
    entries.push_some("service", service.map(Item::text));
    Some(entries.into_item())
}

/// A profile that users choose. Its image is that of the profile or of all profiles.
fn profile(entry: &Value, pools: &[Pool<'_>]) -> Option<Item> {
    let mut entries = Entries::default();
    entries.push("name", Item::text(text(entry, "/display_name")?));
    let own = entry.get("kubespawner_override").unwrap_or(&Value::Null);
    let selector = text_entries(own, "/node_selector");
    let pool = pools.iter().find(|pool| {
        let is_named = selector == [("gpuc.dev/pool", pool.name.as_str())];
        let mut labels = pool.selector.iter();
        let is_selected = labels.len() == selector.len()
            && labels.all(|(key, value)| selector.contains(&(key, value)));
        !selector.is_empty() && (is_named || is_selected)
    });
    entries.push_some("pool", pool.map(|pool| Item::text(&pool.name)));
    if let Some((resource, count)) = text_entries(own, "/extra_resource_limits").first() {
        let profile = resource
            .strip_prefix("nvidia.com/mig-")
            .map(|it| it.replace(".shared", ""));
        if *count != "1" {
            entries.push("gpus", Item::number(count.parse::<u32>().ok()?));
        }
        entries.push_some(
            "profile",
            profile.map(|it| Item::text(it.replace(".me", "+me"))),
        );
    }
    let cpu = own.get("cpu_limit").map(json_item);
    entries.push_some("cpu", cpu);
    if let Some(bytes) = number(own, "/mem_limit") {
        entries.push("memory", Item::number(bytes));
    }
    let image = text(own, "/image");
    entries.push_some("image", image.map(Item::text));
    Some(entries.into_item())
}
