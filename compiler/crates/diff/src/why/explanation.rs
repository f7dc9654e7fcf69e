//! Explanations: which inputs affect a part of a tree, and why it is there.

use gpuc_syntax::source::Span;

use super::experiment::{
    Cause, Experiment, causes, named_causes, overlaps, short_text, short_value,
};
use super::{Index, Kind, Path, QueryTarget, Reason, ResolvedQuery};

/// An explanation of a part of a tree.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The cluster.
    pub cluster: String,
    /// The file, by its path in the cluster's directory.
    pub file: String,
    /// The part of the file.
    pub target: QueryTarget,
    /// The first and the last line of the part.
    pub lines: (usize, usize),
    /// The value, in one short line; `None` for a whole file.
    pub value: Option<String>,
    /// The inputs that affect it, found by experiments.
    pub causes: Vec<Cause>,
    /// The reasons, nearest first.
    pub reasons: Vec<Reason>,
    /// The parts of a whole file; empty otherwise.
    pub parts: Vec<ExplainedPart>,
}

/// A part of a file.
#[derive(Clone, Debug)]
pub struct ExplainedPart {
    /// The part.
    pub target: QueryTarget,
    /// The first and the last line.
    pub lines: (usize, usize),
    /// The value, in one short line.
    pub value: String,
    /// The inputs that affect it.
    pub causes: Vec<Cause>,
    /// The reasons.
    pub reasons: Vec<Reason>,
}

/// Answers a query.
pub fn explain(index: &Index<'_>, query: &ResolvedQuery, trials: &[Experiment]) -> Explanation {
    let ResolvedQuery {
        file,
        document: page,
        target: at,
        ..
    } = query;
    let mut answer = Explanation {
        cluster: index.cluster().to_owned(),
        file: file.clone(),
        target: at.clone(),
        lines: (1, page.line_count().max(1)),
        value: None,
        causes: Vec::new(),
        reasons: index.reasons(file, page, at),
        parts: Vec::new(),
    };
    match at {
        QueryTarget::File => {
            answer.parts = explain_parts(index, query, trials);
            answer.causes = extract_common_causes(&mut answer.parts);
            let reasons = answer.parts.iter().flat_map(|row| row.reasons.clone());
            answer.reasons = merge_reasons(reasons);
        }
        QueryTarget::Line(line) => {
            answer.lines = (*line, *line);
            answer.value = Some(short_text(page.line(*line)));
            let parts = [at.clone()];
            answer.causes = causes(trials, file, page, &parts).remove(0);
        }
        QueryTarget::Field(path) => {
            answer.lines = page.lines_of(path).unwrap_or(answer.lines);
            answer.value = page.find(path).map(short_value);
            let parts: Vec<_> = page
                .leaf_paths(path)
                .into_iter()
                .map(QueryTarget::Field)
                .collect();
            let reasons = parts.iter().flat_map(|at| index.reasons(file, page, at));
            answer.reasons = merge_reasons(reasons);
            // Of several parts, the affected one is named.
            let name = |at: &QueryTarget| match at {
                QueryTarget::Field(leaf) if leaf != path => {
                    format!("`{}`", Path(leaf.0[path.0.len()..].to_vec()))
                }
                _ => "it".to_owned(),
            };
            let found = named_causes(trials, file, page, &parts, &name);
            let found = found.into_iter().flatten();
            for cause in found {
                if answer.causes.iter().all(|known| known.leaf != cause.leaf) {
                    answer.causes.push(cause);
                }
            }
        }
    }
    answer
}

/// Removes duplicate reasons, and merges their input locations.
fn merge_reasons(reasons: impl Iterator<Item = Reason>) -> Vec<Reason> {
    let mut distinct: Vec<Reason> = Vec::new();
    for reason in reasons {
        let has_same_text = |known: &&mut Reason| {
            known.kind == reason.kind
                && known.text == reason.text
                && known.source == reason.source
                && known.scope == reason.scope
        };
        match distinct.iter_mut().find(has_same_text) {
            Some(known) => {
                for span in reason.inputs {
                    if !known.inputs.contains(&span) {
                        known.inputs.push(span);
                    }
                }
            }
            None => distinct.push(reason),
        }
    }
    // Reasons for more than the queried part come last.
    distinct.sort_by_key(|reason| reason.scope.is_some());
    distinct
}

/// Extracts the causes that all parts have in common.
fn extract_common_causes(rows: &mut [ExplainedPart]) -> Vec<Cause> {
    let Some((first, others)) = rows.split_first() else {
        return Vec::new();
    };
    let is_in = |row: &ExplainedPart, cause: &Cause| {
        let mut causes = row.causes.iter();
        causes.any(|other| other.leaf.path == cause.leaf.path)
    };
    let everywhere = first.causes.iter();
    let everywhere: Vec<_> = everywhere
        .filter(|cause| others.iter().all(|row| is_in(row, cause)))
        .cloned()
        .collect();
    for row in rows {
        row.causes.retain(|cause| {
            everywhere
                .iter()
                .all(|one| one.leaf.path != cause.leaf.path)
        });
    }
    everywhere
}

/// The parts of a whole file; adjacent lines with the same explanation are merged.
fn explain_parts(
    index: &Index<'_>,
    query: &ResolvedQuery,
    trials: &[Experiment],
) -> Vec<ExplainedPart> {
    let ResolvedQuery {
        file,
        document: page,
        ..
    } = query;
    let parts = index.parts(file, page);
    let places: Vec<_> = parts.iter().map(|(at, _)| at.clone()).collect();
    let causes = causes(trials, file, page, &places);
    let mut rows: Vec<ExplainedPart> = Vec::new();
    for ((at, reasons), causes) in parts.into_iter().zip(causes) {
        let (lines, value) = match &at {
            QueryTarget::Line(line) => ((*line, *line), short_text(page.line(*line))),
            QueryTarget::Field(path) => {
                let node = page.find(path);
                (
                    page.lines_of(path).unwrap_or((1, 1)),
                    node.map(short_value).unwrap_or_default(),
                )
            }
            QueryTarget::File => ((1, 1), String::new()),
        };
        let is_line = matches!(at, QueryTarget::Line(_));
        let leaves = |causes: &[Cause]| -> Vec<_> {
            causes.iter().map(|cause| cause.leaf.path.clone()).collect()
        };
        match rows.last_mut().filter(|row| {
            is_line && row.reasons == reasons && leaves(&row.causes) == leaves(&causes)
        }) {
            Some(row) => row.lines.1 = lines.1,
            None => rows.push(ExplainedPart {
                target: at,
                lines,
                value,
                causes,
                reasons,
            }),
        }
    }
    rows
}

impl Explanation {
    /// Whether it has an input or a known reason.
    pub fn is_known(&self) -> bool {
        !self.causes.is_empty() || is_known(&self.reasons)
    }

    /// Whether it has an input location that overlaps this one.
    pub fn mentions_span(&self, span: Span) -> bool {
        let causes = self.causes.iter().map(|cause| cause.leaf.span);
        let reasons = self
            .reasons
            .iter()
            .flat_map(|reason| reason.inputs.iter().copied());
        causes.chain(reasons).any(|input| overlaps(input, span))
    }
}

/// Whether any reason explains the origin.
fn is_known(reasons: &[Reason]) -> bool {
    let says = |reason: &Reason| !reason.inputs.is_empty() || reason.kind != Kind::Written;
    reasons
        .iter()
        .any(|reason| says(reason) && !reason.text.is_empty())
}
