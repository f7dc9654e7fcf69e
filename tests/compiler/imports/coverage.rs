//! Whether the report of an import names a field that differs.

use std::collections::BTreeSet;

use gpuc_import::{Entry, Report};

use super::fields::{Field, FieldId};

/// What an import names: entries of its report, and the settings that the documentation lists.
pub(super) struct Coverage<'r> {
    report: &'r Report,
    documented: Vec<String>,
}

impl<'r> Coverage<'r> {
    /// `documentation` is the text of docs/import.md.
    pub(super) fn new(report: &'r Report, documentation: &str) -> Self {
        let (_, section) = documentation
            .split_once("## What an import cannot see")
            .unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let keys = rows.flat_map(|line| {
            let cell = line.split('|').nth(1).unwrap();
            cell.split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        Self {
            report,
            documented: keys.collect(),
        }
    }

    /// Whether something names the object of a field that differs, or a setting from which the field follows. `values`
    /// are those before and after.
    pub(super) fn names(&self, id: &FieldId, field: &Field, values: [&str; 2]) -> bool {
        let entries = self.report.left_out.iter().chain(&self.report.guessed);
        let mut entries = entries.chain(&self.report.not_read);
        let of_setting = |setting: &String| {
            let mut documented = self.documented.iter();
            documented.any(|pattern| is_documented(pattern, setting))
        };
        field.settings.iter().any(of_setting)
            || entries.any(|entry| {
                names_field(entry, id)
                    || names_setting(entry, field)
                    || names_order(entry, field, values)
            })
    }
}

/// Whether the source of an entry is the object, or a field of it that contains the field.
fn names_field(entry: &Entry, id: &FieldId) -> bool {
    entry.source.split(", ").any(|source| {
        let Some(rest) = source.strip_prefix(&*id.0) else {
            return false;
        };
        match rest.strip_prefix('#') {
            Some(field) => {
                let field = field.split(" = ").next().unwrap();
                is_within(&id.1, field)
            }
            None => rest.is_empty(),
        }
    })
}

/// Whether an entry about the order of pools explains the difference: the field is about several pools, and its values
/// have the same words.
fn names_order(entry: &Entry, field: &Field, values: [&str; 2]) -> bool {
    let pools = field
        .settings
        .iter()
        .filter_map(|it| it.strip_prefix("nodePools[")?.split(']').next());
    let pools: BTreeSet<&str> = pools.collect();
    let [before, after] = values.map(|value| {
        let mut words: Vec<&str> = value.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        words.sort_unstable();
        words
    });
    entry.key.as_deref() == Some("nodePools") && pools.len() > 1 && before == after
}

/// Whether an entry names a setting of the field, a part of it, or a setting that contains it. A whole list of the
/// file and a whole pool or team are too much to be a name.
fn names_setting(entry: &Entry, field: &Field) -> bool {
    let Some(key) = &entry.key else {
        return false;
    };
    let is_specific = |path: &str| {
        let is_list = ["nodePools", "teams", "workloads"].contains(&path);
        let is_item = ["nodePools[", "teams["]
            .iter()
            .any(|list| path.starts_with(list));
        !is_list && (!is_item || path.contains("]."))
    };
    is_specific(key)
        && field.settings.iter().any(|setting| {
            is_within(setting, key) || (is_specific(setting) && is_within(key, setting))
        })
}

/// Whether a path is another one, or a part of it.
fn is_within(path: &str, other: &str) -> bool {
    let rest = path.strip_prefix(other);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a pattern such as `nodePools[].allocatable` contains a setting.
fn is_documented(pattern: &str, setting: &str) -> bool {
    let mut plain = String::new();
    let mut is_inside = false;
    for c in setting.chars() {
        match c {
            '[' => {
                is_inside = true;
                plain.push('[');
            }
            ']' => {
                is_inside = false;
                plain.push(']');
            }
            c if !is_inside => plain.push(c),
            _ => {}
        }
    }
    is_within(&plain, pattern)
}
