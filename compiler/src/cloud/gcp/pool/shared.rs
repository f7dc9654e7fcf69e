//! What others add to: labels of nodes, labels of resources, taints.

use std::collections::BTreeMap;

use gpuc_schema::Span;
use gpuc_schema::config::TaintEffect;
use serde_json::{Map, Value, json};

use super::super::setting::Setting;
use super::super::{memory, section, taints};
use super::{Lowering, kinds};
use crate::model::PoolTaint;
use crate::plan::Word;

impl Lowering<'_> {
    /// The cluster's labels and the pool's; the pool's word counts.
    pub(super) fn resource_labels(&self) -> Setting {
        let cluster = &section(&self.cluster.written).resource_labels;
        let written = cluster.iter().chain(&self.pool.written.tags);
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
            .chain(memory::of_resource_labels(written.keys().copied()))
            .collect();
        let flag = (!labels.is_empty()).then(|| format!("--labels={}", pairs(&labels)));
        let all = Word::Observed("all_resource_labels".to_owned());
        Setting::new(&kinds::RESOURCE_LABELS, map(labels), span)
            .flags(flag)
            .update(self.update([]).with_word(all))
            .others("their_resource_labels")
    }

    /// The labels of nodes, and among them what remembers these and the taints.
    pub(super) fn labels(&self) -> Setting {
        let own = self.own_taints().into_iter();
        let taints = own.map(|taint| format!("{}:{}", taint.key, api_effect(taint.effect)));
        let labels = self.pool.labels.iter();
        let memory = memory::of_nodes(labels.clone().map(|label| &*label.key), taints);
        let labels = labels.map(|label| (label.key.clone(), label.value.clone()));
        let labels: Vec<_> = labels.chain(memory).collect();
        let flag = format!("--node-labels={}", pairs(&labels));
        let all = Word::Observed("all_labels".to_owned());
        Setting::new(&kinds::LABELS, map(labels), self.pool.name.span)
            .flag(flag)
            .update(self.update([]).with_word(all))
            .others("their_labels")
    }

    /// An update replaces the whole set, so it names the taints too that GKE sets by itself.
    pub(super) fn taints(&self) -> Setting {
        let own = self.own_taints();
        let shown = |taint: &PoolTaint| json!({"key": taint.key, "value": taint.value, "effect": api_effect(taint.effect)});
        let want: Vec<_> = own.iter().map(|taint| shown(taint)).collect();
        let span = own.first().map_or(Span::NONE, |taint| taint.span);
        let words: Vec<_> = own.iter().map(|taint| written(taint)).collect();
        let create = (!own.is_empty()).then(|| format!("--node-taints={}", words.join(",")));
        let automatic: Vec<_> = taints::automatic(self.pool).iter().map(shown).collect();
        let all = format!("all_taints({})", json!(automatic));
        Setting::new(&kinds::TAINTS, json!(want), span)
            .flags(create)
            .update(self.update([]).with_word(Word::Observed(all)))
            .others("their_taints")
    }

    /// The taints that gpuc sets and GKE does not by itself, by key and effect.
    fn own_taints(&self) -> Vec<&PoolTaint> {
        let automatic = taints::automatic(self.pool);
        let same = |a: &PoolTaint, b: &PoolTaint| (&a.key, &a.value) == (&b.key, &b.value);
        let mut own: Vec<_> = (self.pool.registered_taints())
            .filter(|taint| !automatic.iter().any(|theirs| same(theirs, taint)))
            .collect();
        own.sort_by_key(|taint| (&taint.key, api_effect(taint.effect)));
        own
    }
}

fn map(labels: Vec<(String, String)>) -> Value {
    let labels = labels
        .into_iter()
        .map(|(key, value)| (key, Value::from(value)));
    Value::Object(labels.collect::<Map<_, _>>())
}

fn pairs(labels: &[(String, String)]) -> String {
    let mut pairs: Vec<_> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    pairs.sort();
    pairs.join(",")
}

/// A taint as gcloud takes it.
fn written(taint: &PoolTaint) -> String {
    let effect = match taint.effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    };
    format!("{}={}:{effect}", taint.key, taint.value)
}

/// An effect as the API shows it.
fn api_effect(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NO_SCHEDULE",
        TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
        TaintEffect::NoExecute => "NO_EXECUTE",
    }
}
