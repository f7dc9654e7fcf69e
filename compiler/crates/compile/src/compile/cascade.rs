//! Suppresses cascading diagnostics: those reported only because decoding substituted a placeholder value.

use std::collections::BTreeSet;
use std::sync::Arc;

use gpuc_model::Registry;
use gpuc_model::check::check;
use gpuc_model::resolve::{Choices, resolve};
use gpuc_syntax::decode::codes::UNKNOWN_KEY;
use gpuc_syntax::decode::{self, PlaceholderKind};
use gpuc_syntax::diag::{Diagnostic, Report};
use gpuc_syntax::load::Loaded;
use gpuc_syntax::node::Node;
use jiff::civil::Date;

/// The maximum number of names and options to try as placeholders.
const MAX_TRIES: usize = 12;

/// The input of a compilation whose decoding substituted placeholders.
pub(super) struct Cascade<'c> {
    /// The document.
    pub(super) loaded: &'c Loaded,
    /// The clouds and rules.
    pub(super) registry: &'static Registry,
    /// The earlier choices.
    pub(super) choices: &'c Choices,
    /// Today's date.
    pub(super) today: Option<Date>,
}

impl Cascade<'_> {
    /// Removes diagnostics after the first `from` that are caused by placeholders: those about a part of the file that
    /// contains a placeholder, and those that are missing or different with another placeholder. It tries large and
    /// small values, names that diagnostics or the file mention, and all options. It also removes diagnostics that
    /// disappear when an unknown key is corrected.
    pub(super) fn suppress(&self, from: usize, report: &mut Report) {
        let mut candidates = report.diagnostics_mut().split_off(from);
        let corrected = report
            .diagnostics()
            .iter()
            .filter(|found| found.code.id == UNKNOWN_KEY.id)
            .filter_map(|unknown| self.correct_key(unknown));
        for root in corrected {
            self.keep_confirmed(&mut candidates, &root, PlaceholderKind::Smallest);
        }
        let placeholders = report.poisoned();
        candidates.retain(|found| {
            !placeholders
                .iter()
                .any(|span| found.primary.span.contains(*span))
        });
        let mentioned: BTreeSet<String> = candidates
            .iter()
            .flat_map(|found| found.message.split('`').skip(1).step_by(2))
            .map(str::to_owned)
            .collect();
        let mut file_names = BTreeSet::new();
        // Nothing refers to a workload or its parts by name.
        for entry in self.loaded.root.entries() {
            if entry.key != "workloads" {
                names_in_file(&entry.value, &mut file_names);
            }
        }
        let names = mentioned
            .iter()
            .take(MAX_TRIES)
            .chain(file_names.iter().take(MAX_TRIES));
        let guesses = [PlaceholderKind::Largest, PlaceholderKind::Several]
            .into_iter()
            .chain(names.map(|name| PlaceholderKind::Text(name)))
            .chain((1..MAX_TRIES).map(PlaceholderKind::Choice));
        for guess in guesses {
            if candidates.is_empty() || placeholders.is_empty() {
                break;
            }
            self.keep_confirmed(&mut candidates, &self.loaded.root, guess);
        }
        report.diagnostics_mut().append(&mut candidates);
    }

    /// The document with an unknown key corrected as probably intended.
    fn correct_key(&self, unknown: &Diagnostic) -> Option<Node> {
        let edit = unknown.fix.as_ref().and_then(|fix| fix.edits.first());
        let suggestion = edit.map(|edit| edit.text.as_str());
        decode::correct_key(&self.loaded.root, unknown.primary.span, suggestion)
    }

    /// Keeps the candidates that are also reported for another document or with another placeholder.
    fn keep_confirmed(
        &self,
        candidates: &mut Vec<Diagnostic>,
        root: &Node,
        guess: PlaceholderKind<'_>,
    ) {
        let mut variant = Report::default();
        for span in &self.loaded.poisoned {
            variant.poison(*span);
        }
        let Some(config) = decode::decode_cluster_with(root, guess, &mut variant) else {
            return;
        };
        let mut cluster = resolve(Arc::new(config), self.registry, self.choices, &mut variant);
        cluster.today = self.today;
        check(&cluster, &mut variant);
        let confirmed = variant.diagnostics();
        candidates.retain(|found| confirmed.iter().any(|other| found.has_same_content(other)));
    }
}

/// The names in a file.
fn names_in_file(node: &Node, names: &mut BTreeSet<String>) {
    for entry in node.entries() {
        match entry.value.text() {
            Some(name) if entry.key == "name" => _ = names.insert(name.to_owned()),
            _ => names_in_file(&entry.value, names),
        }
    }
    for item in node.items() {
        names_in_file(item, names);
    }
}
