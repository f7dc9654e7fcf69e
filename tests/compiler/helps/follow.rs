//! Following an instruction as a user does: the text of the file with the instruction applied.

use gpuc_syntax::diag::{Diagnostic, Report};
use gpuc_syntax::node::{Entry, Node, Value};
use gpuc_syntax::source::{Sources, Span};
use gpuc_syntax::yaml::parse_allow_empty;
use gpuc_syntax::yaml::to_yaml;

use super::instruction::Instruction;

/// The indices of entries and items from the root to a node.
type Path = Vec<usize>;

/// The texts of a file in which a finding's instruction is followed: one for each place that it can mean, the closest
/// first. The finding's own place and those of its labels count, and the mappings around them.
pub(super) fn follow(
    sources: &Sources,
    found: &Diagnostic,
    instruction: &Instruction,
) -> Vec<(u32, String)> {
    let labels = found.labels.iter().map(|label| label.span);
    let spans = std::iter::once(found.primary.span).chain(labels);
    let mut texts = Vec::new();
    if let Some(fix) = &found.fix {
        let id = fix.edits[0].span.source;
        let mut text = sources.get(id).unwrap().text().to_string();
        let mut edits: Vec<_> = fix
            .edits
            .iter()
            .filter(|edit| edit.span.source == id)
            .collect();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.span));
        for edit in edits {
            text.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
        }
        texts.push((id, text));
    }
    let is_in_cluster = matches!(
        instruction,
        Instruction::Set {
            is_in_cluster: true,
            ..
        }
    );
    let cluster = is_in_cluster.then_some(Span {
        source: 0,
        start: 0,
        end: 0,
    });
    let spans = spans.chain(cluster);
    for span in spans.filter(|span| span.is_written()) {
        let Some(source) = sources.get(span.source) else {
            continue;
        };
        let literally = match instruction {
            Instruction::Replace(text) => Some(text.as_str()),
            Instruction::RemoveIt => Some(""),
            _ => None,
        };
        if let Some(text) = literally {
            let mut replaced = source.text().to_string();
            replaced.replace_range(span.start as usize..span.end as usize, text);
            texts.push((span.source, replaced));
        }
        let mut report = Report::default();
        let documents = parse_allow_empty(sources, span.source, &mut report);
        let roots: Vec<_> = documents
            .into_iter()
            .map(|document| document.root)
            .collect();
        let Some(index) = roots.iter().rposition(|root| extent(root).0 <= span.start) else {
            continue;
        };
        for changed in edit(&roots[index], span, instruction) {
            let mut roots = roots.clone();
            roots[index] = changed;
            let documents: Vec<_> = roots.iter().map(to_yaml).collect();
            texts.push((span.source, documents.join("---\n")));
        }
    }
    texts
}

/// The first and the last byte of a node, with its children.
fn extent(node: &Node) -> (u32, u32) {
    let span = node.span();
    let mut bounds = (span.start, span.end);
    let mut include = |(start, end): (u32, u32)| bounds = (bounds.0.min(start), bounds.1.max(end));
    for entry in node.entries() {
        include((entry.key_span.start, entry.key_span.end));
        include(extent(&entry.value));
    }
    for item in node.items() {
        include(extent(item));
    }
    bounds
}

/// The path to the deepest node or entry that contains a span.
fn path_to(node: &Node, span: Span) -> Path {
    let contains = |(start, end): (u32, u32)| start <= span.start && span.end <= end;
    let children: Vec<(usize, &Node, u32)> = match &node.value {
        Value::Mapping(entries) => {
            let entries = entries.iter().enumerate();
            entries
                .map(|(index, entry)| (index, &entry.value, entry.key_span.start))
                .collect()
        }
        Value::Sequence(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| (index, item, extent(item).0))
                .collect()
        }
        Value::Scalar(_) => Vec::new(),
    };
    for (index, child, start) in children {
        if contains((start, extent(child).1.max(start))) {
            let mut path = vec![index];
            path.extend(path_to(child, span));
            return path;
        }
    }
    Vec::new()
}

fn child(node: &Node, index: usize) -> &Node {
    match &node.value {
        Value::Mapping(entries) => &entries[index].value,
        Value::Sequence(items) => &items[index],
        Value::Scalar(_) => unreachable!("a scalar has no children"),
    }
}

fn child_mut(node: &mut Node, index: usize) -> &mut Node {
    match &mut node.value {
        Value::Mapping(entries) => &mut entries[index].value,
        Value::Sequence(items) => &mut items[index],
        Value::Scalar(_) => unreachable!("a scalar has no children"),
    }
}

fn node_at<'n>(root: &'n Node, path: &[usize]) -> &'n Node {
    path.iter().fold(root, |node, index| child(node, *index))
}

pub(super) fn node_at_mut<'n>(root: &'n mut Node, path: &[usize]) -> &'n mut Node {
    path.iter()
        .fold(root, |node, index| child_mut(node, *index))
}

/// Parses the YAML of a help.
fn fragment(text: &str) -> Option<Node> {
    let mut sources = Sources::default();
    let id = sources.add("help.yaml", &format!("{text}\n"));
    let mut report = Report::default();
    let documents = parse_allow_empty(&sources, id, &mut report);
    let root = documents.into_iter().next()?.root;
    (!report.has_errors()).then_some(root)
}

/// The changed documents.
fn edit(root: &Node, span: Span, instruction: &Instruction) -> Vec<Node> {
    let path = path_to(root, span);
    // The mapping or list around, and so on, up to the root.
    let around = (0..=path.len()).rev().map(|length| &path[..length]);
    let unique = |key: &str| {
        let mut paths = around
            .clone()
            .map(|path| paths_of_key(node_at(root, path), key, path));
        paths
            .find(|paths| !paths.is_empty())
            .filter(|paths| paths.len() == 1)
    };
    match instruction {
        Instruction::ApplyFix => Vec::new(),
        Instruction::Replace(text) => replace(root, &path, text),
        Instruction::RemoveIt => around.filter_map(|path| remove(root, path)).collect(),
        Instruction::Remove(keys) => {
            let remove_all = |path: &[usize]| {
                keys.iter()
                    .try_fold(root.clone(), |root, key| remove_key(&root, path, key))
            };
            let near: Vec<_> = around.clone().filter_map(remove_all).collect();
            let [key] = keys.as_slice() else { return near };
            let below = unique(key).and_then(|paths| remove(root, &paths[0]));
            near.into_iter().chain(below).collect()
        }
        Instruction::Set {
            entries,
            target,
            instead_of,
            ..
        } => {
            let entries: Option<Vec<Node>> = entries.iter().map(|text| fragment(text)).collect();
            let Some(entries) = entries else {
                return Vec::new();
            };
            let mut changed = Vec::new();
            // The only mapping of this name, such as the `resources` of a pod with one container.
            if let Some(target) = target
                && instead_of.is_none()
                && let Some(paths) = unique(target)
            {
                changed.extend(set(root, &paths[0], &entries, None));
            }
            for around in around.clone() {
                let start = match instead_of.as_deref() {
                    None => Some(root.clone()),
                    Some("it") => remove(root, &path),
                    Some(key) => remove_key(root, around, key),
                };
                let Some(start) = start else { continue };
                if instead_of.as_deref() == Some("it") && around.len() == path.len() {
                    continue;
                }
                changed.extend(set(&start, around, &entries, target.as_deref()));
            }
            changed
        }
    }
}

/// The paths of the entries with a key, below a node with a path.
fn paths_of_key(node: &Node, key: &str, path: &[usize]) -> Vec<Path> {
    let mut found = Vec::new();
    let children = node.entries().len().max(node.items().len());
    for index in 0..children {
        let mut below = path.to_vec();
        below.push(index);
        if node
            .entries()
            .get(index)
            .is_some_and(|entry| entry.key == key)
        {
            found.push(below.clone());
        }
        found.extend(paths_of_key(child(node, index), key, &below));
    }
    found
}

fn replace(root: &Node, path: &[usize], text: &str) -> Vec<Node> {
    let mut changed = Vec::new();
    let Some(value) = fragment(text) else {
        return changed;
    };
    let mut whole = root.clone();
    *node_at_mut(&mut whole, path) = value.clone();
    changed.push(whole);
    // The place may be the first item of a list that is wrong as a whole.
    if let Some((_, parent)) = path.split_last() {
        let mut whole = root.clone();
        *node_at_mut(&mut whole, parent) = value.clone();
        changed.push(whole);
    }
    // A list gets another item.
    for length in (0..=path.len()).rev() {
        let mut longer = root.clone();
        if let Value::Sequence(items) = &mut node_at_mut(&mut longer, &path[..length]).value {
            let new = match &value.value {
                Value::Sequence(new) => new.clone(),
                _ => vec![value.clone()],
            };
            items.extend(new);
            changed.push(longer);
        }
    }
    changed
}

fn remove(root: &Node, path: &[usize]) -> Option<Node> {
    let (last, parent) = path.split_last()?;
    let mut changed = root.clone();
    match &mut node_at_mut(&mut changed, parent).value {
        Value::Mapping(entries) => {
            entries.remove(*last);
        }
        Value::Sequence(items) => {
            items.remove(*last);
        }
        Value::Scalar(_) => return None,
    }
    Some(changed)
}

fn remove_key(root: &Node, path: &[usize], key: &str) -> Option<Node> {
    let mut path = path.to_vec();
    let parts: Vec<_> = if node_at(root, &path).entry(key).is_some() {
        vec![key]
    } else {
        key.split('.').collect()
    };
    for part in parts {
        let node = node_at(root, &path);
        let mut items = node.items().iter();
        let item = items.position(|item| item.text() == Some(part));
        let entry = || node.entries().iter().position(|entry| entry.key == part);
        path.push(item.or_else(entry)?);
    }
    remove(root, &path)
}

/// Merges entries into a mapping. Lists grow.
fn merge(into: &mut Node, from: &Node) {
    match (&mut into.value, &from.value) {
        (Value::Mapping(entries), Value::Mapping(new)) => {
            for entry in new {
                let existing = entries.iter_mut().find(|old| old.key == entry.key);
                match existing {
                    Some(old) => merge(&mut old.value, &entry.value),
                    None => entries.push(entry.clone()),
                }
            }
        }
        (Value::Sequence(items), Value::Sequence(new)) => items.extend(new.iter().cloned()),
        _ => *into = from.clone(),
    }
}

fn set(root: &Node, path: &[usize], entries: &[Node], target: Option<&str>) -> Vec<Node> {
    let mut path = path.to_vec();
    if !matches!(node_at(root, &path).value, Value::Mapping(_)) {
        return Vec::new();
    }
    let mut whole = root.clone();
    if let Some(target) = target {
        for part in target.split('.') {
            let node = node_at_mut(&mut whole, &path);
            let Value::Mapping(of_node) = &mut node.value else {
                return Vec::new();
            };
            let index = of_node.iter().position(|entry| entry.key == part);
            let index = index.unwrap_or_else(|| {
                of_node.push(Entry {
                    key: part.to_owned(),
                    key_span: Span::NONE,
                    value: fragment("{}").unwrap(),
                });
                of_node.len() - 1
            });
            path.push(index);
        }
    }
    // Once merged with what is there, once in its place.
    let mut merged = whole.clone();
    let mut overwritten = whole;
    for entry in entries {
        merge(node_at_mut(&mut merged, &path), entry);
        let node = node_at_mut(&mut overwritten, &path);
        if let Value::Mapping(old) = &mut node.value {
            old.retain(|one| entry.entry(&one.key).is_none());
            old.extend(entry.entries().iter().cloned());
        }
    }
    vec![overwritten, merged]
}
