//! Pools that a cloud's command-line tool describes: the keys that only the cloud knows.

mod aks;
mod eks;
mod gke;
pub(crate) mod launch_record;

use serde_json::Value;

use crate::cloud_files::CloudPool;
use crate::groups::Group;
use crate::json::{number, source};
use crate::report::Report;
use crate::stack::NO_GKE_PLUGIN;
use crate::tree::{Entries, Item};

/// A pool that a cloud describes, while its keys are found.
pub(crate) struct Described<'a> {
    /// The pool.
    pub(crate) pool: &'a CloudPool<'a>,
    /// The name of the pool in the file.
    pub(crate) name: &'a str,
    /// Its nodes.
    pub(crate) group: &'a Group<'a>,
    /// Whether an autoscaler may change the number of nodes.
    pub(crate) is_scaled: bool,
    /// The cloud's description of the cluster; null without one.
    pub(crate) cluster: &'a Value,
    /// The report.
    pub(crate) report: &'a mut Report,
}

/// The keys of a pool that come from the cloud's description, each at its place in the schema.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub(crate) nodes: Option<Item>,
    pub(crate) zones: Vec<Item>,
    pub(crate) subnets: Vec<Item>,
    pub(crate) hosts: Vec<Item>,
    pub(crate) capacity: Option<Item>,
    pub(crate) network: Entries,
    pub(crate) disk: Option<Item>,
    pub(crate) local_disks: Option<Item>,
    pub(crate) max_pods: Option<Item>,
    pub(crate) labels: Vec<(String, Item)>,
    pub(crate) taints: Vec<Item>,
    pub(crate) dedicated_to: Option<Item>,
    pub(crate) tags: Vec<(String, Item)>,
    pub(crate) upgrade: Option<Item>,
    pub(crate) auto_repair: Option<Item>,
}

/// The keys of a pool.
pub(crate) fn keys(described: &mut Described<'_>) -> Keys {
    match described.pool.cloud {
        "aws" => eks::keys(described),
        "gcp" => gke::keys(described),
        _ => aks::keys(described),
    }
}

impl Described<'_> {
    /// The notation of a field.
    fn at(&self, pointer: &str, value: impl std::fmt::Display) -> String {
        source(self.pool.object(), field(pointer), value)
    }

    /// The number at a pointer, with its source.
    fn number(&self, pointer: &str) -> Option<Item> {
        let value = number(self.pool.value, pointer)?;
        Some(Item::number(value).sure(self.at(pointer, value)))
    }

    /// Leaves a field out.
    fn leave_out(&mut self, key: &str, pointer: &str, reason: &str) {
        let value = self.pool.value.pointer(pointer).unwrap_or(&Value::Null);
        if is_empty(value) {
            return;
        }
        let at = self.at(pointer, value);
        let key = format!(
            "nodePools[{}]{}{key}",
            self.name,
            if key.is_empty() { "" } else { "." }
        );
        self.report.leave_out(Some(&key), at, reason);
    }

    /// Adds a taint, unless gpuc sets it by itself.
    fn add_taint(keys: &mut Keys, taint: (&str, &str, &str), at: String) {
        let (key, value, effect) = taint;
        if key == gpuc_model::DEDICATED_TO && effect == "NoSchedule" {
            keys.dedicated_to = Some(Item::text(value).sure(at));
        } else if key != gpuc_schema::node_config::STARTUP_TAINT {
            keys.taints
                .push(crate::taints::taint_item(key, value, effect).sure(at));
        }
    }

    /// Adds a label, unless gpuc sets it by itself.
    fn add_label(&mut self, keys: &mut Keys, key: &str, value: &str, at: String) {
        let is_derived = key == NO_GKE_PLUGIN
            || key == gpuc_model::MPS_CAPABLE
            || gpuc_model::operator::is_operator_label(key);
        if is_derived {
            let name = format!("nodePools[{}].labels", self.name);
            let reason = "gpuc derives this label from `stack` and `sharing`";
            self.report.leave_out(Some(&name), at, reason);
        } else if !key.starts_with("gpuc.dev/") {
            let item = Item::text(value).sure(at);
            keys.labels.push((key.to_owned(), item));
        }
    }

    /// Adds a tag, unless it is one of gpuc's own, or all pools have it because the cluster has it.
    fn add_tag(&self, keys: &mut Keys, key: &str, value: &str, at: String) {
        let mut of_cluster = ["tags", "resourceLabels"]
            .iter()
            .filter_map(|name| self.cluster.get(name)?.get(key)?.as_str());
        if !key.starts_with("gpuc") && !of_cluster.any(|tag| tag == value) {
            keys.tags.push((key.to_owned(), Item::text(value).sure(at)));
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

/// A JSON pointer in the notation of fields: `a.b[0]`.
fn field(pointer: &str) -> String {
    let mut field = String::new();
    for part in pointer.trim_start_matches('/').split('/') {
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
            field.push_str(&format!("[{part}]"));
        } else {
            if !field.is_empty() {
                field.push('.');
            }
            field.push_str(part);
        }
    }
    field
}

/// The key `nodes`: a count, or a minimum and a maximum.
fn node_count(min: Item, max: Item) -> Item {
    if min.value == max.value {
        Item::single("count", max)
    } else {
        Item::map([("min", min), ("max", max)])
    }
}

/// The effect of a taint in the API of EKS or GKE: `NO_SCHEDULE`.
fn effect(api: &str) -> &str {
    match api {
        "NO_SCHEDULE" => "NoSchedule",
        "NO_EXECUTE" => "NoExecute",
        "PREFER_NO_SCHEDULE" => "PreferNoSchedule",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn pointers_become_fields() {
        assert_eq!(
            field("/config/accelerators/0/acceleratorType"),
            "config.accelerators[0].acceleratorType"
        );
    }
}
