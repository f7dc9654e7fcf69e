//! The format of the lists: a head of `name: value` lines, an empty line, and a tree of keys by indentation, each with
//! a word for what it holds.

use super::{Key, Keys, Kind};

/// The list in this text.
///
/// # Panics
///
/// Where it is none. Every one is embedded, and read by a test.
pub(super) fn read(text: &'static str) -> Keys {
    let (head, body) = text.split_once("\n\n").expect("a head and a tree of keys");
    let field = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(key, _)| *key == name);
        found.expect("every field of the head").1
    };
    let mut lines = body.lines().peekable();
    let root = level(&mut lines, 0);
    assert!(
        lines.next().is_none(),
        "a line stands deeper than its parent"
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

fn level(lines: &mut Lines, depth: usize) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some(line) = lines.next_if(|line| indentation(line) == depth) {
        let (name, kind) = match line.trim_start().split_once(' ') {
            Some((name, word)) => (name, kind(word)),
            None => (line.trim_start(), Kind::Map),
        };
        let below = level(lines, depth + 1);
        keys.push(Key { name, kind, below });
    }
    keys
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn kind(word: &'static str) -> Kind {
    match word {
        "free" => Kind::Free,
        "texts" => Kind::Texts,
        "list" => Kind::List,
        "text" => Kind::Text,
        "number" => Kind::Number,
        "bool" => Kind::Bool,
        "any" => Kind::Any,
        "subchart" => Kind::Subchart,
        word => Kind::Chart(word.strip_prefix("chart ").expect("one of the words")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_makes_the_tree() {
        let text = "chart: a\nversion: 1\nrepository: b/c\nrevision: d\ndate: e\n\nx\n y text\n z\n  w list\nv chart a\n";
        let keys = read(text);
        let names: Vec<_> = keys.root.iter().map(|key| (key.name, key.kind)).collect();
        assert_eq!(names, [("x", Kind::Map), ("v", Kind::Chart("a"))]);
        let below: Vec<_> = keys.root[0].below.iter().map(|key| key.name).collect();
        assert_eq!(below, ["y", "z"]);
        assert_eq!(keys.root[0].below[1].below[0].kind, Kind::List);
        assert_eq!((keys.version, keys.date), ("1", "e"));
    }

    #[test]
    #[should_panic(expected = "deeper than its parent")]
    fn a_line_that_hangs_nowhere_is_refused() {
        read("chart: a\nversion: 1\nrepository: b\nrevision: d\ndate: e\n\nx\n   y text\n");
    }
}
