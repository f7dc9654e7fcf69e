//! Compares a part of a file before and after a change of the input.

use gpuc_syntax::node::{Node, Scalar, Value};
use gpuc_syntax::yaml::core_schema::CoreValue;

use super::super::document::IndexedDocument;
use super::super::embedded::parse_document;
use super::super::path::{Path, Step, is_leaf};

/// The effect on a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PartEffect {
    /// Unchanged.
    Unchanged,
    /// Removed.
    Removed,
    /// Changed, with the new value in short if possible.
    Changed(Option<String>),
    /// A text with a change inside, described.
    ChangedInside(String),
}

impl PartEffect {
    /// Describes the effect on the part with this name; `None` if it is unchanged.
    pub(super) fn describe(&self, name: &str) -> Option<String> {
        match self {
            Self::Unchanged => None,
            Self::Removed => Some(format!("{name} disappears")),
            Self::Changed(Some(value)) => Some(format!("{name} becomes `{value}`")),
            Self::Changed(None) => Some(format!("{name} changes")),
            Self::ChangedInside(effect) => Some(format!("in {name}, {effect}")),
        }
    }
}

/// Compares a field of the document or of an embedded document.
pub(super) fn compare_field(
    before: &IndexedDocument,
    after: &IndexedDocument,
    path: &Path,
) -> PartEffect {
    let is_here = before.root().is_some_and(|root| path.find(root).is_some());
    let roots = if is_here {
        before.root().zip(after.root())
    } else {
        before.with_embedded().zip(after.with_embedded())
    };
    roots.map_or(PartEffect::Removed, |(old, new)| {
        compare_part(old, new, path)
    })
}

/// Compares a line by the fields that begin on it. Their nested fields are on other lines.
pub(super) fn compare_line(
    before: &IndexedDocument,
    after: &IndexedDocument,
    fields: &[Path],
) -> PartEffect {
    let Some((old, new)) = before.with_embedded().zip(after.with_embedded()) else {
        return PartEffect::Removed;
    };
    let moved = fields.iter().map(|path| {
        let is_section = path.find(old).is_some_and(|node| !is_leaf(node));
        match compare_part(old, new, path) {
            PartEffect::Changed(_) if is_section => PartEffect::Unchanged,
            PartEffect::ChangedInside(_) => PartEffect::Unchanged,
            moved => moved,
        }
    });
    let mut moved = moved.filter(|moved| *moved != PartEffect::Unchanged);
    moved.next().unwrap_or(PartEffect::Unchanged)
}

/// Compares a part. Items of lists are matched by value or name, not by index.
fn compare_part(before: &Node, after: &Node, path: &Path) -> PartEffect {
    let (mut old, mut new) = (before, after);
    for step in &path.0 {
        let found = match step {
            Step::Key(key) => old.get(key).zip(new.get(key)),
            Step::Index(index) => {
                let Some(item) = old.items().get(*index) else {
                    return PartEffect::Removed;
                };
                if new.items().iter().any(|other| is_same_value(item, other)) {
                    return PartEffect::Unchanged;
                }
                counterpart(old.items(), new.items(), *index).map(|new| (item, new))
            }
        };
        let Some((old_below, new_below)) = found else {
            return PartEffect::Removed;
        };
        (old, new) = (old_below, new_below);
    }
    let texts = old.text().zip(new.text());
    match texts.filter(|(text, _)| text.trim().contains('\n')) {
        _ if is_same_value(old, new) => PartEffect::Unchanged,
        Some((old, new)) => PartEffect::ChangedInside(describe_text_change(old, new)),
        None => PartEffect::Changed(Some(short_value(new))),
    }
}

/// Describes the change in a multi-line text: the first changed field of an embedded document, or else the first line.
fn describe_text_change(old: &str, new: &str) -> String {
    let pages = parse_document(old).zip(parse_document(new));
    if let Some((old, new)) = &pages
        && let Some(description) = describe_field_change(old, new)
    {
        return description;
    }
    let describe_line = |text: &str, moved: Vec<PartEffect>| {
        let mut pairs = text.lines().zip(moved);
        pairs.find_map(|(line, moved)| moved.describe(&format!("the line `{}`", short_text(line))))
    };
    if let Some(description) = describe_line(old, line_effects(old, new)) {
        return description;
    }
    let mut more = new.lines().zip(line_effects(new, old));
    let more = more.find(|(_, moved)| *moved != PartEffect::Unchanged);
    more.map_or_else(
        || "a blank line changes".to_owned(),
        |(line, _)| format!("the line `{}` appears", short_text(line)),
    )
}

fn describe_field_change(old: &IndexedDocument, new: &IndexedDocument) -> Option<String> {
    let root = Path::default();
    let name = |path: &Path| format!("`{path}`");
    let gone = old.leaf_paths(&root).into_iter();
    let mut gone = gone.filter_map(|path| compare_field(old, new, &path).describe(&name(&path)));
    gone.next().or_else(|| {
        let mut more = new.leaf_paths(&root).into_iter();
        let more = more.find(|path| compare_field(new, old, path) == PartEffect::Removed)?;
        Some(format!("{} appears", name(&more)))
    })
}

/// The item that replaces another.
fn counterpart<'n>(old: &[Node], new: &'n [Node], index: usize) -> Option<&'n Node> {
    let name = |item: &Node| {
        let keys = ["name", "key"].into_iter();
        keys.filter_map(|key| item.get(key))
            .find_map(Node::text)
            .map(str::to_owned)
    };
    let own_name = old.get(index).and_then(name);
    let named = new
        .iter()
        .find(|item| own_name.is_some() && name(item) == own_name);
    named.or_else(|| new.get(index).filter(|_| old.len() == new.len()))
}

/// Whether two parts have equal values.
fn is_same_value(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Scalar(one), Value::Scalar(other)) => one.core_value() == other.core_value(),
        (Value::Sequence(one), Value::Sequence(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same_value(one, other))
        }
        (Value::Mapping(one), Value::Mapping(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| {
                    one.key == other.key && is_same_value(&one.value, &other.value)
                })
        }
        _ => false,
    }
}

/// The maximum length of a shown value.
const MAX_VALUE_LENGTH: usize = 60;

/// A value in one short line.
pub(in crate::why) fn short_value(node: &Node) -> String {
    let text = match &node.value {
        Value::Scalar(scalar) => scalar_text(scalar),
        _ => serde_json::to_string(node).unwrap_or_default(),
    };
    short_text(&text)
}

fn scalar_text(scalar: &Scalar) -> String {
    match scalar.core_value() {
        CoreValue::Text(text) => text.to_owned(),
        _ => serde_json::to_string(scalar).unwrap_or_default(),
    }
}

/// A text in one short line.
pub(in crate::why) fn short_text(text: &str) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let kept: String = first.chars().take(MAX_VALUE_LENGTH).collect();
    if kept.len() < text.len() {
        format!("{kept}…")
    } else {
        kept
    }
}

/// The maximum number of compared pairs of lines; beyond it, every line between the first and the last change counts as
/// changed.
const MOST_PAIRS: usize = 4_000_000;

/// The effect on each line of a text.
pub(super) fn line_effects(before: &str, after: &str) -> Vec<PartEffect> {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (rest_old, rest_new) = (&old[start..], &new[start..]);
    let pairs = rest_old.iter().rev().zip(rest_new.iter().rev());
    let end = pairs.take_while(|(a, b)| a == b).count();
    let a = &rest_old[..rest_old.len() - end];
    let b = &rest_new[..rest_new.len() - end];
    let mut effects = vec![PartEffect::Unchanged; start];
    effects.extend(effects_between(a, b));
    effects.extend(std::iter::repeat_n(PartEffect::Unchanged, end));
    effects
}

/// The effect on lines between two unchanged ones.
fn effects_between(a: &[&str], b: &[&str]) -> Vec<PartEffect> {
    let mut effects = Vec::new();
    let mut waiting = 0..0;
    let mut block = 0..0;
    let kept = if a.len().saturating_mul(b.len()) > MOST_PAIRS {
        Vec::new()
    } else {
        common_subsequence(a, b)
    };
    for (i, j) in kept.into_iter().chain([(a.len(), b.len())]) {
        waiting.end = i;
        block.end = j;
        for line_index in waiting.clone() {
            let effect = if waiting.len() == block.len() {
                let line = b[block.start + (line_index - waiting.start)];
                PartEffect::Changed(Some(short_text(line)))
            } else if block.is_empty() {
                PartEffect::Removed
            } else {
                PartEffect::Changed(None)
            };
            effects.push(effect);
        }
        if i < a.len() {
            effects.push(PartEffect::Unchanged);
        }
        waiting = i + 1..i + 1;
        block = j + 1..j + 1;
    }
    effects
}

/// The pairs of a longest common subsequence.
fn common_subsequence(a: &[&str], b: &[&str]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut best = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            best[i * width + j] = if a[i] == b[j] {
                best[(i + 1) * width + j + 1] + 1
            } else {
                best[(i + 1) * width + j].max(best[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[(i + 1) * width + j] >= best[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_lines_are_unaffected() {
        let moved = line_effects("a\nb\nc\nd\ne\n", "a\nx\nc\ny\nz\ne\n");
        let now = |text: &str| PartEffect::Changed(Some(text.to_owned()));
        assert_eq!(
            moved,
            [
                PartEffect::Unchanged,
                now("x"),
                PartEffect::Unchanged,
                PartEffect::Changed(None),
                PartEffect::Unchanged
            ]
        );
        assert_eq!(
            line_effects("a\nb\nc", "a\nc"),
            [
                PartEffect::Unchanged,
                PartEffect::Removed,
                PartEffect::Unchanged
            ]
        );
        assert_eq!(line_effects("a", "b\na"), [PartEffect::Unchanged]);
    }

    #[test]
    fn items_are_matched_by_value_or_name() {
        let moved = |before: &str, after: &str, path: &str| {
            let [before, after] = [before, after].map(|text| IndexedDocument::new("a.yaml", text));
            compare_field(&before, &after, &Path::parse(path).unwrap())
        };
        let two = "l: [{name: a, v: 1}, {name: b, v: 2}]";
        assert_eq!(
            moved(two, "l: [{name: b, v: 2}]", "l[1].v"),
            PartEffect::Unchanged
        );
        assert_eq!(
            moved(two, "l: [{name: b, v: 2}]", "l[0].v"),
            PartEffect::Removed
        );
        let now = PartEffect::Changed(Some("3".to_owned()));
        assert_eq!(moved(two, "l: [{name: b, v: 3}]", "l[1].v"), now);
        assert_eq!(
            moved("a: 1", "a: \"1\"", "a"),
            PartEffect::Changed(Some("1".to_owned()))
        );
        assert_eq!(moved("a: 1", "b: 1", "a"), PartEffect::Removed);
    }

    #[test]
    fn texts_are_compared_by_content() {
        let became = |before: &str, after: &str, path: &str| {
            let text = |text: &str| format!("a: |\n{}\n", text.replace('\n', "\n  "));
            let [before, after] =
                [before, after].map(|it| IndexedDocument::new("a.yaml", &text(it)));
            let path = Path::parse(path).unwrap();
            compare_field(&before, &after, &path)
                .describe("it")
                .unwrap_or_default()
        };
        let config = "\nb: [1, 2]\nc:\n  d: x";
        let less = "\nb: [1]\nc:\n  d: x";
        assert_eq!(became(config, less, "a"), "in it, `b[1]` disappears");
        assert_eq!(became(config, less, "a.b[0]"), "");
        assert_eq!(became(config, less, "a.b[1]"), "it disappears");
        assert_eq!(became(config, less, "a.c.d"), "");
        assert_eq!(became(less, config, "a"), "in it, `b[1]` appears");
        let other = "\nb: [1, 2]\nc:\n  d: y";
        assert_eq!(became(config, other, "a"), "in it, `c.d` becomes `y`");
        assert_eq!(became(config, other, "a.c.d"), "it becomes `y`");
        let script = "\nset -e\none\ntwo";
        let short = "\nset -e\ntwo";
        assert_eq!(
            became(script, short, "a"),
            "in it, the line `one` disappears"
        );
        assert_eq!(became(short, script, "a"), "in it, the line `one` appears");
        let json = "\n{\"x\": 1,\n\"y z\": 2}";
        let other = "\n{\"x\": 1,\n\"y z\": 3}";
        assert_eq!(became(json, other, "a"), "in it, `y z` becomes `3`");
    }
}
