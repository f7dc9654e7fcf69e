//! Alternative values for an input.

use std::collections::BTreeSet;

use gpuc_schema::gpu::MODELS;

use gpuc_model::Cluster;
use gpuc_syntax::load::UNIONS;
use gpuc_syntax::node::{Entry, Node, Scalar, Value};
use gpuc_syntax::schema;
use gpuc_syntax::yaml::core_schema::CoreValue;

use super::super::path::{Path, Step, find_mut, walk};
use super::leaf::{InputLeaf, replace_part};

/// The document with one change.
pub(super) struct InputVariant {
    /// The changed document.
    pub(super) root: Node,
    /// A description of the change: `set to 3`.
    pub(super) change: String,
    /// The old and the new name, if a name was changed everywhere.
    pub(super) renamed: Option<(String, String)>,
}

/// The changes to try for an input, most likely valid first.
pub(super) fn variants(
    root: &Node,
    leaf: &InputLeaf,
    cluster: Option<&Cluster>,
) -> Vec<InputVariant> {
    let mut others = Vec::new();
    let Some(node) = leaf.path.find(root) else {
        return others;
    };
    if let Value::Scalar(scalar) = &node.value {
        // Other fields may refer to a name.
        others.extend(rename_everywhere(root, leaf, scalar));
        for value in other_values(root, leaf, scalar, cluster) {
            let tried = format!("set to `{}`", plain_text(&value));
            let names = node.text().filter(|_| is_name(leaf));
            let renamed = names.map(|old| (old.to_owned(), plain_text(&value)));
            let changed = replace_part(root, &leaf.path, Some(Value::Scalar(value)));
            others.extend(changed.map(|root| InputVariant {
                root,
                change: tried,
                renamed,
            }));
        }
        others.extend(replace_everywhere(root, leaf, scalar, cluster));
    }
    others.extend(union_variants(root, leaf, node));
    others
}

/// The document without a part.
pub(super) fn without_leaf(root: &Node, leaf: &InputLeaf) -> Option<InputVariant> {
    Some(InputVariant {
        root: replace_part(root, &leaf.path, None)?,
        change: "removed".to_owned(),
        renamed: None,
    })
}

/// Other values of a leaf.
fn other_values(
    root: &Node,
    leaf: &InputLeaf,
    scalar: &Scalar,
    cluster: Option<&Cluster>,
) -> Vec<Scalar> {
    match scalar.core_value() {
        CoreValue::Bool(value) => vec![Scalar::Bool(!value)],
        CoreValue::Integer(value) => {
            let near = [value + 1, value - 1, value * 2].into_iter();
            let near = near.filter(|other| *other >= 0 && *other != value);
            near.filter_map(|other| i64::try_from(other).ok())
                .map(Scalar::Integer)
                .collect()
        }
        CoreValue::Float(value) => vec![
            Scalar::Float(value * 0.5),
            Scalar::Float(value.mul_add(2.0, 1.0)),
        ],
        CoreValue::Null => Vec::new(),
        CoreValue::Text(text) => {
            let mut texts = known_values(leaf, text, cluster);
            texts.extend(similar_texts(text));
            texts.extend(values_of_similar_fields(root, leaf, text));
            let mut seen = BTreeSet::from([text.to_owned()]);
            texts.retain(|other| seen.insert(other.clone()));
            texts.into_iter().map(Scalar::Text).collect()
        }
    }
}

/// Known values: enum values of the schema, machine types, GPU models, regions.
fn known_values(leaf: &InputLeaf, text: &str, cluster: Option<&Cluster>) -> Vec<String> {
    let keys = leaf.path.keys();
    let mut words: Vec<String> = Vec::new();
    if let Ok(key) = schema::describe_key(&keys) {
        words.extend(key.values.into_iter().map(|(name, _)| name));
    }
    let last = keys.rsplit('.').next().unwrap_or_default();
    let cloud = cluster.map(|cluster| cluster.cloud);
    match last {
        "machine" => {
            if let Some(cloud) = cloud {
                let machines = cloud.machines().into_iter();
                words.extend(machines.map(|machine| machine.name.to_owned()));
            }
            // Machine types without GPUs are not listed, but their sizes double.
            words.extend(doubled_numbers(text));
            words.extend(
                text.strip_suffix(".xlarge")
                    .map(|family| format!("{family}.2xlarge")),
            );
        }
        "model" => words.extend(MODELS.iter().map(|model| model.key.to_owned())),
        "region" | "location" => {
            let regions = cloud.map(|cloud| cloud.facts().regions).unwrap_or_default();
            words.extend(regions.iter().map(|region| (*region).to_owned()));
        }
        _ => {}
    }
    words.sort_by_key(|word| strsim::damerau_levenshtein(word, text));
    words.truncate(8);
    words
}

/// A text with one of its numbers doubled, each in turn.
fn doubled_numbers(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut start = 0;
    while let Some(at) = text[start..].find(|c: char| c.is_ascii_digit()) {
        let begin = start + at;
        let rest = &text[begin..];
        let length = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        if let Ok(number) = rest[..length].parse::<u32>() {
            let twice = u64::from(number) * 2;
            all.push(format!("{}{twice}{}", &text[..begin], &rest[length..]));
        }
        start = begin + length;
    }
    all
}

/// Texts of the same shape, with another last number or letter.
fn similar_texts(text: &str) -> Vec<String> {
    let mut near = Vec::new();
    let digits = |at: usize| {
        text[..at]
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .len()
    };
    if let Some(end) = text.rfind(|c: char| c.is_ascii_digit()).map(|at| at + 1) {
        let start = digits(end).max(end.saturating_sub(15));
        // A zero-padded number keeps its width.
        let width = if text[start..].starts_with('0') {
            end - start
        } else {
            0
        };
        if let Ok(number) = text[start..end].parse::<u64>() {
            for other in [number + 1, number.saturating_sub(1), number * 2] {
                let other = format!("{other:0width$}");
                near.push(format!("{}{other}{}", &text[..start], &text[end..]));
            }
        }
    }
    near.push(format!("{text}x"));
    near.push(format!("{text}2"));
    near.push(format!("{text}-a"));
    if let Some(last) = text.chars().last().filter(char::is_ascii_lowercase) {
        let next = if last == 'z' {
            'y'
        } else {
            char::from(last as u8 + 1)
        };
        near.push(format!("{}{next}", &text[..text.len() - 1]));
    }
    near
}

/// Values of similar fields in the document, such as another pool's name.
fn values_of_similar_fields(root: &Node, leaf: &InputLeaf, text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    walk(root, &mut |path, node| {
        let is_like = path.keys() == leaf.path.keys();
        if let Some(other) = node.text().filter(|other| *other != text)
            && (is_name_at(path) || is_like)
        {
            texts.push(other.to_owned());
        }
    });
    texts.truncate(12);
    texts
}

/// The maximum number of texts to try everywhere.
const MAX_TEXTS_EVERYWHERE: usize = 6;

/// Replaces a text wherever it is a prefix: zones must change with their region.
fn replace_everywhere(
    root: &Node,
    leaf: &InputLeaf,
    scalar: &Scalar,
    cluster: Option<&Cluster>,
) -> Vec<InputVariant> {
    let CoreValue::Text(old) = scalar.core_value() else {
        return Vec::new();
    };
    let mut count = 0;
    let mut is_of_name = false;
    walk(root, &mut |path, node| {
        count += usize::from(node.text().is_some_and(|text| text.starts_with(old)));
        is_of_name |= node.text() == Some(old) && is_name_at(path);
    });
    // If a name has this value, the effect belongs to the name.
    if count < 2 || is_of_name {
        return Vec::new();
    }
    let texts = other_values(root, leaf, scalar, cluster)
        .into_iter()
        .take(MAX_TEXTS_EVERYWHERE);
    let texts = texts.filter_map(|new| match new {
        Scalar::Text(new) => Some(new),
        _ => None,
    });
    let other = |new: String| {
        let mut root = root.clone();
        replace_prefixes(&mut root, old, &new);
        InputVariant {
            root,
            change: format!("`{old}` replaced with `{new}` everywhere"),
            renamed: None,
        }
    };
    texts.map(other).collect()
}

fn replace_prefixes(node: &mut Node, old: &str, new: &str) {
    match &mut node.value {
        Value::Scalar(scalar) => {
            if let CoreValue::Text(text) = scalar.core_value()
                && let Some(rest) = text.strip_prefix(old)
            {
                *scalar = Scalar::Text(format!("{new}{rest}"));
            }
        }
        Value::Sequence(items) => items
            .iter_mut()
            .for_each(|item| replace_prefixes(item, old, new)),
        Value::Mapping(entries) => {
            for entry in entries {
                replace_prefixes(&mut entry.value, old, new);
            }
        }
    }
}

/// Changes a name everywhere.
fn rename_everywhere(root: &Node, leaf: &InputLeaf, scalar: &Scalar) -> Option<InputVariant> {
    let CoreValue::Text(old) = scalar.core_value() else {
        return None;
    };
    if !is_name(leaf) {
        return None;
    }
    let new = format!("{old}x");
    let mut root = root.clone();
    replace_name(&mut root, old, &new);
    Some(InputVariant {
        root,
        change: format!("renamed to `{new}` everywhere"),
        renamed: Some((old.to_owned(), new)),
    })
}

/// Whether an input is a name, which also occurs in file names.
fn is_name(leaf: &InputLeaf) -> bool {
    is_name_at(&leaf.path)
}

fn is_name_at(path: &Path) -> bool {
    matches!(path.0.last(), Some(Step::Key(key)) if key == "name")
}

fn replace_name(node: &mut Node, old: &str, new: &str) {
    match &mut node.value {
        Value::Scalar(scalar) => {
            if matches!(scalar.core_value(), CoreValue::Text(text) if text == old) {
                *scalar = Scalar::Text(new.to_owned());
            }
        }
        Value::Sequence(items) => items
            .iter_mut()
            .for_each(|item| replace_name(item, old, new)),
        Value::Mapping(entries) => {
            for Entry { key, value, .. } in entries {
                if key == old {
                    new.clone_into(key);
                }
                replace_name(value, old, new);
            }
        }
    }
}

/// Another variant of a union: `mps` instead of `timeSlicing`.
fn union_variants(root: &Node, leaf: &InputLeaf, node: &Node) -> Vec<InputVariant> {
    let others = other_union_members(leaf, node).into_iter();
    let other = |(entries, tried)| {
        Some(InputVariant {
            root: replace_part(root, &leaf.path, Some(Value::Mapping(entries)))?,
            change: tried,
            renamed: None,
        })
    };
    others.filter_map(other).collect()
}

/// The other variants, each with a description of the change.
fn other_union_members(leaf: &InputLeaf, node: &Node) -> Vec<(Vec<Entry>, String)> {
    let [Entry { key, value, .. }] = node.entries() else {
        return Vec::new();
    };
    let keys = leaf.path.keys();
    if !UNIONS.contains(&keys.as_str()) {
        return Vec::new();
    }
    let choices = schema::describe_key(&keys)
        .map(|key| key.keys)
        .unwrap_or_default();
    let others = choices.into_iter().filter(|(other, _)| other != key);
    let choice = |(other, _): (String, _)| {
        let mut entries = node.entries().to_vec();
        let entry = entries.first_mut()?;
        entry.key.clone_from(&other);
        entry.value = value.clone();
        Some((entries, format!("`{key}` replaced with `{other}`")))
    };
    others.filter_map(choice).collect()
}

/// A replacement for an input, without the document.
#[derive(Clone)]
pub(super) enum Replacement {
    /// Another value.
    Value(Value),
    /// Another name, everywhere.
    Name(String, String),
}

/// The replacements for an input, most likely valid first.
pub(super) fn replacements(
    root: &Node,
    leaf: &InputLeaf,
    cluster: Option<&Cluster>,
) -> Vec<Replacement> {
    let Some(node) = leaf.path.find(root) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    if let Value::Scalar(scalar) = &node.value {
        if let CoreValue::Text(old) = scalar.core_value()
            && is_name(leaf)
        {
            // Any other name may already be in use.
            return vec![Replacement::Name(old.to_owned(), format!("{old}x"))];
        }
        let values = other_values(root, leaf, scalar, cluster).into_iter();
        all.extend(values.map(|value| Replacement::Value(Value::Scalar(value))));
    }
    let choices = other_union_members(leaf, node).into_iter();
    all.extend(choices.map(|(entries, _)| Replacement::Value(Value::Mapping(entries))));
    all
}

/// Applies a replacement.
pub(super) fn apply_replacement(root: &mut Node, path: &Path, instead: &Replacement) {
    match instead {
        Replacement::Name(old, new) => replace_name(root, old, new),
        Replacement::Value(value) => {
            if let Some(node) = find_mut(root, &path.0) {
                node.value = value.clone();
            }
        }
    }
}

/// A scalar in plain notation.
fn plain_text(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Written { text, .. } | Scalar::Text(text) => text.clone(),
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Integer(value) => value.to_string(),
        Scalar::Float(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_double_one_at_a_time() {
        assert_eq!(
            doubled_numbers("Standard_D4s_v5"),
            ["Standard_D8s_v5", "Standard_D4s_v10"]
        );
        assert!(doubled_numbers("none").is_empty());
    }

    #[test]
    fn near_texts_keep_their_shape() {
        let near = |text| similar_texts(text).join(" ");
        assert_eq!(near("1.34"), "1.35 1.33 1.68 1.34x 1.342 1.34-a");
        assert_eq!(
            near("100Gi"),
            "101Gi 99Gi 200Gi 100Gix 100Gi2 100Gi-a 100Gj"
        );
        assert!(near("000000000012").starts_with("000000000013 "));
        assert!(near("us-east-1").starts_with("us-east-2 "));
        assert!(near("eu-west1-b").ends_with(" eu-west1-c"));
    }
}
