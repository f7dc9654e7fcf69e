//! Fields with externally managed entries: node labels, resource labels, taints.

use std::collections::BTreeMap;

use gpuc_model::PoolTaint;
use gpuc_model::plan::Argument;
use gpuc_schema::Span;
use gpuc_schema::config::TaintEffect;
use serde_json::{Map, Value, json};

use super::super::setting::Setting;
use super::super::{ownership, section, taints};
use super::{PoolLowering, kinds};

impl PoolLowering<'_> {
    /// The labels of the cluster and of the pool. Labels of the pool take precedence.
    pub(super) fn resource_labels(&self) -> Setting {
        let cluster = &section(&self.cluster.config).resource_labels;
        let written = cluster.iter().chain(&self.pool.settings.tags);
        let written: BTreeMap<&str, (&str, Span)> = written
            .map(|(key, value)| (key.as_str(), (value.as_str(), key.span)))
            .collect();
        let span = written
            .values()
            .next()
            .map_or(Span::NONE, |(_, span)| *span);
        let labels = written
            .iter()
            .map(|(key, (value, _))| ((*key).to_owned(), (*value).to_owned()));
        let labels: Vec<_> = labels
            .chain(ownership::resource_label_records(written.keys().copied()))
            .collect();
        let flag = (!labels.is_empty()).then(|| format!("--labels={}", label_pairs(&labels)));
        let all = Argument::Observed("all_resource_labels".to_owned());
        Setting::new(&kinds::RESOURCE_LABELS, label_object(labels), span)
            .with_flags(flag)
            .with_update(self.update([]).with_argument(all))
            .with_external("their_resource_labels")
    }

    /// The node labels, including the ownership records of labels and taints.
    pub(super) fn labels(&self) -> Setting {
        let own = self.gpuc_taints().into_iter();
        let taints = own.map(|taint| format!("{}:{}", taint.key, api_effect_name(taint.effect)));
        let labels = self.pool.labels.iter();
        let records =
            ownership::node_label_records(labels.clone().map(|label| &*label.key), taints);
        let labels: Vec<_> = labels
            .map(|label| (label.key.clone(), label.value.clone()))
            .chain(records)
            .collect();
        let flag = format!("--node-labels={}", label_pairs(&labels));
        let all = Argument::Observed("all_labels".to_owned());
        Setting::new(&kinds::LABELS, label_object(labels), self.pool.name.span)
            .with_flag(flag)
            .with_update(self.update([]).with_argument(all))
            .with_external("their_labels")
    }

    /// An update replaces the whole set, so it also includes the taints that GKE sets.
    pub(super) fn taints(&self) -> Setting {
        let own = self.gpuc_taints();
        let api_taint = |taint: &PoolTaint| json!({"key": taint.key, "value": taint.value, "effect": api_effect_name(taint.effect)});
        let desired: Vec<_> = own.iter().map(|taint| api_taint(taint)).collect();
        let span = own.first().map_or(Span::NONE, |taint| taint.span);
        let words: Vec<_> = own.iter().map(|taint| gcloud_taint(taint)).collect();
        let create = (!own.is_empty()).then(|| format!("--node-taints={}", words.join(",")));
        let automatic: Vec<_> = taints::automatic_taints(self.pool)
            .iter()
            .map(api_taint)
            .collect();
        let all = format!("all_taints({})", json!(automatic));
        Setting::new(&kinds::TAINTS, json!(desired), span)
            .with_flags(create)
            .with_update(self.update([]).with_argument(Argument::Observed(all)))
            .with_external("their_taints")
    }

    /// The taints that gpuc sets, without those that GKE sets, by key and effect.
    fn gpuc_taints(&self) -> Vec<&PoolTaint> {
        let mut own: Vec<_> = self.pool.registered_taints().collect();
        own.sort_by_key(|taint| (&taint.key, api_effect_name(taint.effect)));
        own
    }
}

fn label_object(labels: Vec<(String, String)>) -> Value {
    let labels = labels
        .into_iter()
        .map(|(key, value)| (key, Value::from(value)));
    Value::Object(labels.collect::<Map<_, _>>())
}

fn label_pairs(labels: &[(String, String)]) -> String {
    let mut pairs: Vec<_> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    pairs.sort();
    pairs.join(",")
}

/// A taint in the format of gcloud.
fn gcloud_taint(taint: &PoolTaint) -> String {
    let effect = taint.effect.as_str();
    format!("{}={}:{effect}", taint.key, taint.value)
}

/// An effect in the format of the API.
fn api_effect_name(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NO_SCHEDULE",
        TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
        TaintEffect::NoExecute => "NO_EXECUTE",
    }
}
