//! The format of the lists: a header of `name: value` lines, an empty line, and an indented tree of keys, each with its
//! type.

use super::{Key, Keys, Kind};

/// Parses a list.
///
/// # Panics
///
/// If the text is invalid. All lists are embedded, and a test parses them.
pub(super) fn read(text: &'static str) -> Keys {
    let (head, body) = text.split_once("\n\n").expect("a head and a tree of keys");
    let field = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(key, _)| *key == name);
        found.expect("every field of the head").1
    };
    let mut lines = body.lines().peekable();
    let root = read_level(&mut lines, 0);
    assert!(
        lines.next().is_none(),
        "a line is indented deeper than its parent"
    );
    Keys {
        chart: field("chart"),
        version: field("version"),
        repository: field("repository"),
        revision: field("revision"),
        date: field("date"),
        root,
    }
}

type Lines = std::iter::Peekable<std::str::Lines<'static>>;

fn read_level(lines: &mut Lines, depth: usize) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some(line) = lines.next_if(|line| indentation(line) == depth) {
        let (name, kind) = match line.trim_start().split_once(' ') {
            Some((name, keyword)) => (name, kind_from_keyword(keyword)),
            None => (line.trim_start(), Kind::Map),
        };
        let below = read_level(lines, depth + 1);
        keys.push(Key {
            name,
            kind,
            children: below,
        });
    }
    keys
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn kind_from_keyword(keyword: &'static str) -> Kind {
    match keyword {
        "free" => Kind::Free,
        "texts" => Kind::Texts,
        "list" => Kind::List,
        "text" => Kind::Text,
        "number" => Kind::Number,
        "bool" => Kind::Bool,
        "any" => Kind::Any,
        "subchart" => Kind::Subchart,
        keyword => Kind::Chart(keyword.strip_prefix("chart ").expect("a known keyword")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_determines_the_tree() {
        let text = "chart: a\nversion: 1\nrepository: b/c\nrevision: d\ndate: e\n\nx\n y text\n z\n  w list\nv chart a\n";
        let keys = read(text);
        let names: Vec<_> = keys.root.iter().map(|key| (key.name, key.kind)).collect();
        assert_eq!(names, [("x", Kind::Map), ("v", Kind::Chart("a"))]);
        let below: Vec<_> = keys.root[0].children.iter().map(|key| key.name).collect();
        assert_eq!(below, ["y", "z"]);
        assert_eq!(keys.root[0].children[1].children[0].kind, Kind::List);
        assert_eq!((keys.version, keys.date), ("1", "e"));
    }

    #[test]
    #[should_panic(expected = "deeper than its parent")]
    fn line_without_a_parent_is_rejected() {
        read("chart: a\nversion: 1\nrepository: b\nrevision: d\ndate: e\n\nx\n   y text\n");
    }
}
