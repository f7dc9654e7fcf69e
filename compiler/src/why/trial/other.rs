//! What could stand in a place of the input instead.

use std::collections::BTreeSet;

use gpuc_schema::gpu::MODELS;

use crate::load::UNIONS;
use crate::model::Cluster;
use crate::node::{Entry, Node, Scalar, Value};
use crate::schema;
use crate::yaml::core_schema::Core;

use super::super::path::{Path, Step, at, walk};
use super::leaf::{Leaf, replaced};

/// The document with one thing changed.
pub(super) struct Other {
    /// The changed document.
    pub(super) root: Node,
    /// What was done, in words: `with 3 in its place`.
    pub(super) tried: String,
    /// The old and the new name, where a name was changed wherever it stands.
    pub(super) renamed: Option<(String, String)>,
}

/// The changes that are tried of a part, the likeliest to be understood first.
pub(super) fn others(root: &Node, leaf: &Leaf, cluster: Option<&Cluster>) -> Vec<Other> {
    let mut others = Vec::new();
    let Some(node) = leaf.path.find(root) else {
        return others;
    };
    if let Value::Scalar(scalar) = &node.value {
        // A name is used elsewhere too.
        others.extend(renamed(root, leaf, scalar));
        for value in values(root, leaf, scalar, cluster) {
            let tried = format!("with `{}` in its place", plain(&value));
            let names = node.text().filter(|_| is_name(leaf));
            let renamed = names.map(|old| (old.to_owned(), plain(&value)));
            let changed = replaced(root, &leaf.path, Some(Value::Scalar(value)));
            others.extend(changed.map(|root| Other {
                root,
                tried,
                renamed,
            }));
        }
        others.extend(everywhere(root, leaf, scalar, cluster));
    }
    others.extend(chosen(root, leaf, node));
    others
}

/// The document without a part.
pub(super) fn without(root: &Node, leaf: &Leaf) -> Option<Other> {
    Some(Other {
        root: replaced(root, &leaf.path, None)?,
        tried: "without it".to_owned(),
        renamed: None,
    })
}

/// Other values of a leaf.
fn values(root: &Node, leaf: &Leaf, scalar: &Scalar, cluster: Option<&Cluster>) -> Vec<Scalar> {
    match scalar.core() {
        Core::Bool(value) => vec![Scalar::Bool(!value)],
        Core::Integer(value) => {
            let near = [value + 1, value - 1, value * 2].into_iter();
            let near = near.filter(|other| *other >= 0 && *other != value);
            near.filter_map(|other| i64::try_from(other).ok())
                .map(Scalar::Integer)
                .collect()
        }
        Core::Float(value) => vec![
            Scalar::Float(value * 0.5),
            Scalar::Float(value.mul_add(2.0, 1.0)),
        ],
        Core::Null => Vec::new(),
        Core::Text(text) => {
            let mut texts = known(leaf, text, cluster);
            texts.extend(near(text));
            texts.extend(beside(root, leaf, text));
            let mut seen = BTreeSet::from([text.to_owned()]);
            texts.retain(|other| seen.insert(other.clone()));
            texts.into_iter().map(Scalar::Text).collect()
        }
    }
}

/// Words that are known to be possible there: the schema's, machines, cards, regions.
fn known(leaf: &Leaf, text: &str, cluster: Option<&Cluster>) -> Vec<String> {
    let keys = leaf.path.keys();
    let mut words: Vec<String> = Vec::new();
    if let Ok(key) = schema::key(&keys) {
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
            // Machines without GPUs are in no list. Their sizes double.
            words.extend(doubled(text));
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
fn doubled(text: &str) -> Vec<String> {
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

/// Texts of the same shape: the last number or letter one further.
fn near(text: &str) -> Vec<String> {
    let mut near = Vec::new();
    let digits = |at: usize| {
        text[..at]
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .len()
    };
    if let Some(end) = text.rfind(|c: char| c.is_ascii_digit()).map(|at| at + 1) {
        let start = digits(end).max(end.saturating_sub(15));
        // A number that is filled up with zeros stays as wide.
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

/// What stands in the same or a like place elsewhere in the document: another pool's name.
fn beside(root: &Node, leaf: &Leaf, text: &str) -> Vec<String> {
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

/// The most texts that are tried wherever a text stands.
const EVERYWHERE: usize = 6;

/// Another text wherever this one begins a text: with a region the zones in it have to change.
fn everywhere(root: &Node, leaf: &Leaf, scalar: &Scalar, cluster: Option<&Cluster>) -> Vec<Other> {
    let Core::Text(old) = scalar.core() else {
        return Vec::new();
    };
    let mut count = 0;
    let mut is_of_name = false;
    walk(root, &mut |path, node| {
        count += usize::from(node.text().is_some_and(|text| text.starts_with(old)));
        is_of_name |= node.text() == Some(old) && is_name_at(path);
    });
    // Where something is called so, what stands here is the name's doing, and not this place's.
    if count < 2 || is_of_name {
        return Vec::new();
    }
    let texts = values(root, leaf, scalar, cluster)
        .into_iter()
        .take(EVERYWHERE);
    let texts = texts.filter_map(|new| match new {
        Scalar::Text(new) => Some(new),
        _ => None,
    });
    let other = |new: String| {
        let mut root = root.clone();
        begin_with(&mut root, old, &new);
        Other {
            root,
            tried: format!("with `{new}` wherever `{old}` stands"),
            renamed: None,
        }
    };
    texts.map(other).collect()
}

fn begin_with(node: &mut Node, old: &str, new: &str) {
    match &mut node.value {
        Value::Scalar(scalar) => {
            if let Core::Text(text) = scalar.core()
                && let Some(rest) = text.strip_prefix(old)
            {
                *scalar = Scalar::Text(format!("{new}{rest}"));
            }
        }
        Value::Sequence(items) => items.iter_mut().for_each(|item| begin_with(item, old, new)),
        Value::Mapping(entries) => {
            for entry in entries {
                begin_with(&mut entry.value, old, new);
            }
        }
    }
}

/// A name with another letter, wherever it stands.
fn renamed(root: &Node, leaf: &Leaf, scalar: &Scalar) -> Option<Other> {
    let Core::Text(old) = scalar.core() else {
        return None;
    };
    if !is_name(leaf) {
        return None;
    }
    let new = format!("{old}x");
    let mut root = root.clone();
    rename(&mut root, old, &new);
    Some(Other {
        root,
        tried: format!("with the name `{new}` wherever it stands"),
        renamed: Some((old.to_owned(), new)),
    })
}

/// Whether it is a name, by which files are called too.
fn is_name(leaf: &Leaf) -> bool {
    is_name_at(&leaf.path)
}

fn is_name_at(path: &Path) -> bool {
    matches!(path.0.last(), Some(Step::Key(key)) if key == "name")
}

fn rename(node: &mut Node, old: &str, new: &str) {
    match &mut node.value {
        Value::Scalar(scalar) => {
            if matches!(scalar.core(), Core::Text(text) if text == old) {
                *scalar = Scalar::Text(new.to_owned());
            }
        }
        Value::Sequence(items) => items.iter_mut().for_each(|item| rename(item, old, new)),
        Value::Mapping(entries) => {
            for Entry { key, value, .. } in entries {
                if key == old {
                    new.clone_into(key);
                }
                rename(value, old, new);
            }
        }
    }
}

/// Another choice in a place that holds one of several things: `mps` where there was `timeSlicing`.
fn chosen(root: &Node, leaf: &Leaf, node: &Node) -> Vec<Other> {
    let others = choices(leaf, node).into_iter();
    let other = |(entries, tried)| {
        Some(Other {
            root: replaced(root, &leaf.path, Some(Value::Mapping(entries)))?,
            tried,
            renamed: None,
        })
    };
    others.filter_map(other).collect()
}

/// Those choices, each with what was done, in words.
fn choices(leaf: &Leaf, node: &Node) -> Vec<(Vec<Entry>, String)> {
    let [Entry { key, value, .. }] = node.entries() else {
        return Vec::new();
    };
    let place = leaf.path.keys();
    if !UNIONS.contains(&place.as_str()) {
        return Vec::new();
    }
    let choices = schema::key(&place).map(|key| key.keys).unwrap_or_default();
    let others = choices.into_iter().filter(|(other, _)| other != key);
    let choice = |(other, _): (String, _)| {
        let mut entries = node.entries().to_vec();
        let entry = entries.first_mut()?;
        entry.key.clone_from(&other);
        entry.value = value.clone();
        Some((entries, format!("with `{other}` instead of `{key}`")))
    };
    others.filter_map(choice).collect()
}

/// What could stand in a place instead, without a document around it.
#[derive(Clone)]
pub(super) enum Instead {
    /// This value.
    Value(Value),
    /// Another name, wherever this one stands.
    Name(String, String),
}

/// What could stand in a place instead, the likeliest to be understood first.
pub(super) fn instead(root: &Node, leaf: &Leaf, cluster: Option<&Cluster>) -> Vec<Instead> {
    let Some(node) = leaf.path.find(root) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    if let Value::Scalar(scalar) = &node.value {
        if let Core::Text(old) = scalar.core()
            && is_name(leaf)
        {
            // Any other may be somebody else's already.
            return vec![Instead::Name(old.to_owned(), format!("{old}x"))];
        }
        let values = values(root, leaf, scalar, cluster).into_iter();
        all.extend(values.map(|value| Instead::Value(Value::Scalar(value))));
    }
    let choices = choices(leaf, node).into_iter();
    all.extend(choices.map(|(entries, _)| Instead::Value(Value::Mapping(entries))));
    all
}

/// Puts it there.
pub(super) fn put(root: &mut Node, path: &Path, instead: &Instead) {
    match instead {
        Instead::Name(old, new) => rename(root, old, new),
        Instead::Value(value) => {
            if let Some(node) = at(root, &path.0) {
                node.value = value.clone();
            }
        }
    }
}

/// A scalar as people write it.
fn plain(scalar: &Scalar) -> String {
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
            doubled("Standard_D4s_v5"),
            ["Standard_D8s_v5", "Standard_D4s_v10"]
        );
        assert!(doubled("none").is_empty());
    }

    #[test]
    fn near_texts_keep_their_shape() {
        let near = |text| near(text).join(" ");
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
