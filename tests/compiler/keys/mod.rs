//! No accepted key is ignored: every key changes the tree, or a finding points at it.
//!
//! Every key of the JSON Schema is tried on every base of every cloud, and every key of a pool on every pool of the
//! base. If the base has the key, the test changes its value. Otherwise the test adds the key with its required
//! parents, and compares the result with the same parents without the key.
//!
//! The default test tries every key on one base and one pool. The exhaustive test tries every combination.

mod bases;
mod leaves;
mod text;
mod values;
mod workloads;

use rayon::prelude::*;
use serde_json::Value;

use crate::sample;
use crate::support::{Outcome, compile_text};
use bases::{BASES, Base, values};
use leaves::{Leaf, LeafKind};
use text::{MarkedText, PathStep};

#[test]
fn bases_build() {
    for base in BASES {
        let outcome = compile_text(&MarkedText::from_value(&base.value(), &[]).text);
        let built = outcome.compilations.iter().all(|one| one.output.is_some());
        assert!(built, "{}:\n{}", base.name, outcome.text());
    }
}

#[test]
fn sampled_keys_are_not_ignored() {
    assert_no_key_is_ignored(|cases| {
        let name = |(base, leaf): &(usize, Leaf)| format!("{} {leaf}", BASES[*base].name);
        sample::one_of_each(cases, name, |(_, leaf)| leaf.dotted())
    });
}

#[test]
#[ignore = "exhaustive: minutes; .ci/run runs it"]
fn needs_minutes_keys_are_not_ignored() {
    assert_no_key_is_ignored(|cases| cases);
}

/// Tries the selected keys, each with the index of its base.
fn assert_no_key_is_ignored(select: impl Fn(Vec<(usize, Leaf)>) -> Vec<(usize, Leaf)>) {
    let schema = gpuc_syntax::schema::schema_value();
    let leaves = leaves::all_leaves(&schema);
    assert!(leaves.len() > 100, "the schema was not understood");
    let compiled = BASES.par_iter().map(|base| {
        let root = base.value();
        let complete = compile(&root, &[]);
        (root, complete)
    });
    let compiled: Vec<_> = compiled.collect();
    let cases = BASES.iter().zip(&compiled).enumerate();
    let cases = cases.flat_map(|(index, (base, (root, _)))| {
        let leaves = leaves.iter().flat_map(|leaf| leaf.in_every_pool(root));
        let leaves = leaves.filter(|leaf| base.is_applicable(leaf));
        leaves.map(move |leaf| (index, leaf)).collect::<Vec<_>>()
    });
    let selected = select(cases.collect());
    assert!(
        selected.len() > 100,
        "only {} keys are tried",
        selected.len()
    );
    let ignored = selected.par_iter().filter_map(|(index, leaf)| {
        let (root, complete) = &compiled[*index];
        find_ignored_key(&BASES[*index], (root, complete), leaf, &schema)
    });
    let ignored: Vec<_> = ignored.collect();
    assert!(
        ignored.is_empty(),
        "{} keys are accepted and ignored:\n{}",
        ignored.len(),
        ignored.join("\n")
    );
}

/// The reason why a key counts as ignored on a base, if it does.
fn find_ignored_key(
    base: &Base,
    (root, complete): (&Value, &CompiledBase),
    leaf: &Leaf,
    schema: &Value,
) -> Option<String> {
    let original_value = text::get(root, &leaf.path).cloned();
    let mut without = root.clone();
    let created = leaf.insert_parents(&mut without, schema, base.cloud);
    if original_value.is_none() && leaf.optional {
        text::remove(&mut without, &leaf.path);
    }
    ensure_workload_kind(&mut without);
    let recompiled = (without != *root).then(|| compile(&without, &created));
    let before = recompiled.as_ref().unwrap_or(complete);
    if !before.has_tree() {
        // The file is rejected without the key too. The finding must point at a parent of the key.
        let refused = before.has_finding_at(&created);
        return (!refused).then(|| before.describe_other_finding(base, leaf));
    }
    let now = text::get(&without, &leaf.path).cloned();
    let candidates = values(base.cloud, leaf);
    let candidates: Vec<_> = candidates
        .into_iter()
        .filter(|it| Some(it) != now.as_ref())
        .collect();
    let single = matches!(
        leaf.kind,
        LeafKind::Constant | LeafKind::Empty | LeafKind::Enum(_)
    );
    if candidates.is_empty() && !single {
        return Some(format!(
            "{}: {leaf}: no value to try; add one to the table",
            base.name
        ));
    }
    let described = base.is_descriptive(root, leaf);
    let mut same = Vec::new();
    for candidate in candidates {
        let mut with = without.clone();
        text::set(&mut with, &leaf.path, candidate.clone());
        let after = compile(&with, &leaf.path);
        let noticed =
            after.has_finding_at(&leaf.path) || after.has_new_finding(before, &with, leaf);
        if !noticed && !after.has_tree() {
            return Some(after.describe_other_finding(base, leaf));
        }
        if !noticed && after.files(described) == before.files(described) {
            same.push(candidate);
        }
    }
    // One keyword of an enumeration may be the unwritten default.
    let free = usize::from(now.is_none() && matches!(leaf.kind, LeafKind::Enum(_)));
    (same.len() > free).then(|| {
        let same: Vec<_> = same.iter().map(Value::to_string).collect();
        format!("{}: {leaf}: {}", base.name, same.join(", "))
    })
}

/// A workload must have a kind before one of its keys is tried.
fn ensure_workload_kind(root: &mut Value) {
    let mut kinds = gpuc_schema::config::TASKS.iter();
    if let Some(workload) = root.pointer_mut("/workloads/0")
        && !kinds.any(|kind| workload.get(kind).is_some())
    {
        workload["job"] = serde_json::json!({"image": "registry.example.com/model:1.0.0"});
    }
}

struct CompiledBase {
    text: MarkedText,
    outcome: Outcome,
}

fn compile(root: &Value, marked: &[PathStep]) -> CompiledBase {
    let text = MarkedText::from_value(root, marked);
    let outcome = compile_text(&text.text);
    CompiledBase { text, outcome }
}

impl CompiledBase {
    fn has_tree(&self) -> bool {
        self.outcome
            .compilations
            .iter()
            .all(|one| one.output.is_some())
            && !self.outcome.compilations.is_empty()
    }

    /// Whether there is a new finding in the section of the key. It may point at a setting that the key conflicts with.
    fn has_new_finding(&self, before: &Self, root: &Value, leaf: &Leaf) -> bool {
        if self.outcome.findings.is_empty() {
            return false;
        }
        let (start, end) = MarkedText::from_value(root, leaf.section())
            .marked
            .unwrap_or_default();
        let old: Vec<_> = before
            .outcome
            .findings
            .iter()
            .map(|it| &it.message)
            .collect();
        let found = self.outcome.findings.iter();
        let mut found = found.filter(|found| !old.contains(&&found.message));
        found.any(|found| {
            let labels = found.labels.iter().map(|label| label.span);
            let mut spans = std::iter::once(found.primary.span).chain(labels);
            spans.any(|span| span.is_written() && (start..=end).contains(&(span.start as usize)))
        })
    }

    /// A message about a finding that points at another key, which therefore does not explain the rejection.
    fn describe_other_finding(&self, base: &Base, leaf: &Leaf) -> String {
        let found = self.outcome.findings.iter();
        let found: Vec<_> = found
            .map(|found| format!("{}: {}", found.code.name, found.message))
            .collect();
        let (start, end) = self.text.marked.unwrap_or_default();
        let key = &self.text.text[start..end].replace('\n', " ");
        format!(
            "{}: {leaf}: {} rejects the file at {key}",
            base.name,
            found.join("; ")
        )
    }

    /// Every file except the lock, which contains a digest of the input, and the README unless `with_readme` is set.
    fn files(&self, with_readme: bool) -> Vec<(String, String)> {
        let files = self.outcome.files().into_iter();
        let counts = |path: &str| {
            !path.ends_with(gpuc_compile::lock::LOCK_FILE)
                && (with_readme || !path.ends_with("README.md"))
        };
        files.filter(|(path, _)| counts(path)).collect()
    }

    /// Whether a finding points at the marked key, its value, or part of the value.
    fn has_finding_at(&self, path: &[PathStep]) -> bool {
        let Some((start, end)) = self.text.marked else {
            panic!("{path:?} is not in the text");
        };
        let spans = self.outcome.findings.iter().flat_map(|found| {
            let labels = found.labels.iter().map(|label| label.span);
            std::iter::once(found.primary.span).chain(labels)
        });
        let mut spans = spans.filter(|span| span.is_written());
        spans.any(|span| (start..=end).contains(&(span.start as usize)) && span.end as usize <= end)
    }
}
