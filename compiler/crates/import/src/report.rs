//! What was imported, what is a guess, and what is not in the file.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::tree::{Item, Value};

/// What was imported, what is a guess, and what is not in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Values that the cluster determines.
    pub imported: Vec<Entry>,
    /// Values that are inferred. Each has a comment in the file.
    pub guessed: Vec<Entry>,
    /// Settings of the cluster that the file does not contain.
    pub left_out: Vec<Entry>,
    /// Kinds of objects that could not be read. Nothing follows from objects of these kinds that are absent.
    pub not_read: Vec<Entry>,
}

/// One value, or one setting that is not in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The path in the new file, such as `nodePools[train].machine`; `None` if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The object, its field and the field's value: `Node a#spec.providerID = aws:///…`.
    pub source: String,
    /// The reason of a guess, or why the setting is not in the file; empty for imported values.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Report {
    /// One line: `imported 143, guessed 9, left out 21`.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "imported {}, guessed {}, left out {}",
            self.imported.len(),
            self.guessed.len(),
            self.left_out.len()
        );
        if !self.not_read.is_empty() {
            let _ = write!(text, ", {} kinds not read", self.not_read.len());
        }
        text
    }

    /// The report as text, without the imported values.
    pub fn text(&self) -> String {
        let mut text = self.summary() + "\n";
        let groups = [
            ("guessed: verify these values", &self.guessed),
            ("left out: not in the file", &self.left_out),
            (
                "not read: objects of these kinds are unknown",
                &self.not_read,
            ),
        ];
        for (title, entries) in groups {
            if entries.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n{title}");
            for same in same_reasons(entries) {
                let entry = same[0];
                let key = entry.key.as_ref().map(|key| format!("{key}: "));
                let key = key.unwrap_or_default();
                let reason = one_line(&entry.reason);
                let _ = writeln!(text, "  {}{reason}", one_line(&key));
                let sources: Vec<String> = same.iter().map(|it| one_line(&it.source)).collect();
                let _ = writeln!(text, "    {}", sources.join(", "));
            }
        }
        text
    }

    /// The report as JSON: `{"version":1,"imported":[…],"guessed":[…],"leftOut":[…],"notRead":[…]}`.
    pub fn json(&self) -> String {
        #[derive(Serialize)]
        struct Versioned<'r> {
            version: u32,
            #[serde(flatten)]
            report: &'r Report,
        }
        let versioned = Versioned {
            version: 1,
            report: self,
        };
        serde_json::to_string_pretty(&versioned).expect("the report has only texts and lists")
    }

    /// Adds the values of the file by their evidence.
    pub(crate) fn add_values(&mut self, path: &str, item: &Item) {
        if let Some(evidence) = &item.evidence {
            let entry = Entry {
                key: Some(path.to_owned()),
                source: evidence.source.clone(),
                reason: evidence.guess.clone().unwrap_or_default(),
            };
            match evidence.guess {
                Some(_) => self.guessed.push(entry),
                None => self.imported.push(entry),
            }
        }
        match &item.value {
            Value::Map(entries) => {
                for (key, item) in entries {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.add_values(&format!("{path}{dot}{key}"), item);
                }
            }
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let name = name(item).unwrap_or_else(|| index.to_string());
                    self.add_values(&format!("{path}[{name}]"), item);
                }
            }
            Value::Text(_) | Value::Plain(_) => {}
        }
    }

    /// Adds a setting that the file does not contain.
    pub(crate) fn leave_out(
        &mut self,
        key: Option<&str>,
        source: impl Into<String>,
        reason: impl Into<String>,
    ) {
        self.left_out.push(Entry {
            key: key.map(str::to_owned),
            source: source.into(),
            reason: reason.into(),
        });
    }
}

/// The entries with the same key and reason together, in the order of the first of them.
fn same_reasons(entries: &[Entry]) -> Vec<Vec<&Entry>> {
    let mut groups: Vec<Vec<&Entry>> = Vec::new();
    let mut known: BTreeMap<(&Option<String>, &str), usize> = BTreeMap::new();
    for entry in entries {
        let index = *known
            .entry((&entry.key, entry.reason.as_str()))
            .or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups
}

/// The value of the key that names an item of a list.
fn name(item: &Item) -> Option<String> {
    let Value::Map(entries) = &item.value else {
        return None;
    };
    let names = ["name", "pool", "namespace"];
    let found = names
        .iter()
        .find_map(|name| entries.iter().find(|(key, _)| key == name))?;
    match &found.1.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// A text on one line.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_with_one_reason_are_shown_together() {
        let mut report = Report::default();
        for (source, reason) in [("a", "one"), ("b", "two"), ("c", "one")] {
            report.leave_out(None, source, reason);
        }
        let text = report.text();
        assert!(
            text.ends_with("\n  one\n    a, c\n  two\n    b\n"),
            "{text}"
        );
    }

    #[test]
    fn values_are_grouped_by_their_evidence() {
        let pool = Item::map([
            ("name", Item::text("train").sure("Node a#x = train")),
            (
                "machine",
                Item::text("m").guess("Node a#y = m", "two types"),
            ),
        ]);
        let mut report = Report::default();
        report.add_values("", &Item::single("nodePools", Item::list([pool])));
        report.leave_out(None, "Job a/b\n#spec", "jobs are not imported");
        assert_eq!(report.summary(), "imported 1, guessed 1, left out 1");
        assert_eq!(
            report.text(),
            "imported 1, guessed 1, left out 1\n\nguessed: verify these values\n  nodePools[train].machine: two \
             types\n    Node a#y = m\n\nleft out: not in the file\n  jobs are not imported\n    Job a/b #spec\n"
        );
        assert!(report.json().contains(r#""key": "nodePools[train].name""#));
    }
}
