//! Diagnostic codes and their explanations.

use super::former_names::FORMER_NAMES;
use super::phrases;
use super::table_gaps::TABLE_GAPS;

/// A diagnostic code: an ID, a name, and an explanation. The examples are tests: `bad` causes exactly this code, and
/// `good`, which is `bad` with the help applied, causes none.
#[derive(Debug)]
pub struct Code {
    /// `GPUC` and four digits: 0 reading, 1 names, 2 rules, 3 audit, 4 manifests, 5 nodes of other tools, 7 running
    /// clusters. Never reused, never renumbered.
    pub id: &'static str,
    /// The name, as words with hyphens, for `allow:` and `--deny`.
    pub name: &'static str,
    /// The default severity.
    pub severity: Severity,
    /// A one-line summary.
    pub summary: &'static str,
    /// What the check tests, in Markdown.
    pub checks: &'static str,
    /// What happens without the check, in Markdown.
    pub reason: &'static str,
    /// How to correct the configuration, in Markdown.
    pub remedy: &'static str,
    /// A complete configuration that causes only this code; for a rule about manifests, followed by
    /// [`MANIFEST_SEPARATOR`] and the manifest; for the nodes of other tools, followed by [`TERRAFORM_SEPARATOR`] and
    /// the output of Terraform; for a check of running clusters, followed by [`OBJECTS_SEPARATOR`] and
    /// the objects.
    pub bad: &'static str,
    /// The change that corrects the example.
    pub correction: Correction,
}

/// The change that corrects the example of a code.
#[derive(Clone, Copy, Debug)]
pub enum Correction {
    /// Replaces a text, which occurs once in the example, by another.
    Replace(&'static str, &'static str),
    /// The whole corrected example.
    Whole(&'static str),
}

impl Code {
    /// The explanation in Markdown: three sections with headings of level 3.
    pub fn explanation(&self) -> String {
        format!(
            "### What it checks\n\n{}\n\n### Why it matters\n\n{}\n\n### How to fix it\n\n{}\n",
            wrap(self.checks),
            wrap(self.reason),
            wrap(self.remedy)
        )
    }

    /// The corrected example, which causes no diagnostic.
    pub fn good(&self) -> String {
        match self.correction {
            Correction::Replace(from, to) => self.bad.replacen(from, to, 1),
            Correction::Whole(text) => text.to_owned(),
        }
    }
}

impl Code {
    /// The names that this code had before, from [`FORMER_NAMES`].
    pub fn former_names(&self) -> impl Iterator<Item = &'static str> {
        FORMER_NAMES
            .iter()
            .filter(|(id, _)| *id == self.id)
            .map(|(_, name)| *name)
    }

    /// The former names as a sentence, if there are any.
    pub fn former_names_sentence(&self) -> Option<String> {
        let names: Vec<_> = self.former_names().map(|it| format!("`{it}`")).collect();
        let title = match names.len() {
            0 => return None,
            1 => "Former name",
            _ => "Former names",
        };
        Some(format!("{title}: {}.", names.join(", ")))
    }

    /// Whether the finding is about a name that may be newer than gpuc's tables, from [`TABLE_GAPS`].
    pub fn is_table_gap(&self) -> bool {
        TABLE_GAPS.iter().any(|(id, _)| *id == self.id)
    }

    /// Whether `allow` accepts this code: warnings, and errors about names that may be newer than gpuc's tables.
    pub fn can_be_allowed(&self) -> bool {
        self.severity == Severity::Warning || self.is_table_gap()
    }

    /// Whether the code is about a running cluster, and not about files.
    pub fn is_about_running_clusters(&self) -> bool {
        self.id.starts_with("GPUC7")
    }

    /// Whether a word is the id, the name or a former name of this code.
    pub fn is_called(&self, word: &str) -> bool {
        word == self.id || word == self.name || self.former_names().any(|name| name == word)
    }
}

/// The width of wrapped explanations in columns.
const COLUMNS: usize = 112;

/// The length of lines that are not wrapped.
const MAX_COLUMNS: usize = 125;

/// Wraps the lines of a text that are longer than [`MAX_COLUMNS`].
fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    for line in text.split_inclusive('\n') {
        if line.chars().count() <= MAX_COLUMNS {
            wrapped.push_str(line);
            continue;
        }
        let mut column = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > COLUMNS {
                wrapped.push('\n');
                column = 0;
            } else if column > 0 {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += length;
        }
    }
    wrapped
}

/// The current name of the code whose name or former name is closest to a word, if any is close enough.
pub fn closest_name(
    word: &str,
    codes: impl IntoIterator<Item = &'static Code>,
) -> Option<&'static str> {
    let names: Vec<_> = codes
        .into_iter()
        .flat_map(|code| {
            std::iter::once(code.name)
                .chain(code.former_names())
                .map(|name| (name, code.name))
        })
        .collect();
    let closest = phrases::closest_match(word, names.iter().map(|(name, _)| *name))?;
    names
        .iter()
        .find(|(name, _)| *name == closest)
        .map(|(_, current)| *current)
}

/// The separator before the objects of a running cluster in an example of `gpuc doctor`.
pub const OBJECTS_SEPARATOR: &str = "--- # objects.yaml\n";

/// The parts of an example of `gpuc doctor`: the configuration, which may be empty, and the objects with the logs.
pub fn split_objects(text: &str) -> Option<(&str, &str)> {
    text.split_once(OBJECTS_SEPARATOR)
}

/// The separator before the path of another file, such as a container log, after the objects of an example of `gpuc
/// doctor`.
const FILE_SEPARATOR: &str = "--- # ";

/// The files of an example of `gpuc doctor`, as paths and texts: the objects, container logs, and what a cloud
/// describes.
pub fn split_files(objects: &str) -> Vec<(&str, &str)> {
    let (first, logs) = match objects.find(FILE_SEPARATOR) {
        Some(index) => objects.split_at(index),
        None => (objects, ""),
    };
    let logs = logs.split(FILE_SEPARATOR);
    std::iter::once(("objects.yaml", first))
        .chain(logs.filter_map(|log| log.split_once('\n')))
        .collect()
}

/// The separator before the manifest of an example.
pub const MANIFEST_SEPARATOR: &str = "--- # manifest.yaml\n";

/// The parts of an example: the configuration, and the manifest if any.
pub fn split_example(text: &str) -> (&str, Option<&str>) {
    match text.split_once(MANIFEST_SEPARATOR) {
        Some((cluster, manifest)) => (cluster, Some(manifest)),
        None => (text, None),
    }
}

/// The separator before the output of `terraform show -json` in an example.
pub const TERRAFORM_SEPARATOR: &str = "--- # terraform.json\n";

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A warning: files are generated.
    Warning,
    /// An error: no files are generated.
    Error,
}

impl Severity {
    /// The name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A code with this id and name.
    const fn code(id: &'static str, name: &'static str) -> Code {
        Code {
            id,
            name,
            severity: Severity::Warning,
            summary: "",
            checks: "",
            reason: "",
            remedy: "",
            bad: "",
            correction: Correction::Whole(""),
        }
    }

    static RENAMED: Code = code("GPUC2132", "guarantee-violated");
    static OTHER: Code = code("GPUC2014", "scale-from-zero");

    #[test]
    fn former_name_matches_only_its_code() {
        for word in ["GPUC2132", "guarantee-violated", "promise-taken"] {
            assert!(RENAMED.is_called(word), "{word}");
            assert!(!OTHER.is_called(word), "{word}");
        }
        assert!(!RENAMED.is_called("promise-take"));
    }

    #[test]
    fn former_names_are_listed() {
        assert_eq!(OTHER.former_names_sentence(), None);
        assert_eq!(
            RENAMED.former_names_sentence().as_deref(),
            Some("Former name: `promise-taken`.")
        );
    }

    #[test]
    fn suggestion_is_the_current_name() {
        let closest = |word| closest_name(word, [&OTHER, &RENAMED]);
        assert_eq!(closest("scale-from-zer"), Some("scale-from-zero"));
        assert_eq!(closest("promise-takn"), Some("guarantee-violated"));
        assert_eq!(closest("guarantee-violatd"), Some("guarantee-violated"));
        assert_eq!(closest("something-else"), None);
    }
}
