//! The reasons for a part of a file, as recorded in the plan: rules, facts, charts, cloud tables.

use gpuc_compile::charts::keys::{KeyLookup, Keys};
use gpuc_compile::emit::{FileContent, Operation, Segment};
use gpuc_model::plan::{Change, Contents, Field, Release, Resource};
use gpuc_syntax::node::{DerivationReason, Node, Origin};
use gpuc_syntax::source::Span;

use super::boilerplate;
use super::path::{Path, Step};

/// A reason for a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The kind of reason.
    pub kind: Kind,
    /// The reason.
    pub text: String,
    /// The source: repository, path and revision, or URL and date.
    pub source: Option<String>,
    /// The locations in the input that it is derived from.
    pub inputs: Vec<Span>,
    /// The scope of the reason, if larger than the queried part: `the object`.
    pub scope: Option<&'static str>,
}

/// The kind of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// Set in the input.
    Written,
    /// A default, because it is not set in the input.
    Default,
    /// A rule of gpuc.
    Rule,
    /// A fact about a cloud, a GPU model, a chart or Kubernetes.
    Fact,
    /// Part of every file of this kind.
    Fixed,
}

impl Kind {
    /// The keyword in the output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Default => "default",
            Self::Rule => "rule",
            Self::Fact => "fact",
            Self::Fixed => "fixed",
        }
    }
}

impl Reason {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            source: None,
            inputs: Vec::new(),
            scope: None,
        }
    }

    /// A reason for boilerplate.
    pub(super) fn boilerplate(text: impl Into<String>) -> Self {
        Self::new(Kind::Fixed, text)
    }

    fn with_source(self, source: impl Into<String>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    fn with_inputs(self, inputs: &[Span]) -> Self {
        let mut distinct: Vec<Span> = Vec::new();
        for span in inputs.iter().filter(|span| span.is_written()) {
            if !distinct.contains(span) {
                distinct.push(*span);
            }
        }
        Self {
            inputs: distinct,
            ..self
        }
    }

    fn with_scope(self, scope: &'static str) -> Self {
        Self {
            scope: Some(scope),
            ..self
        }
    }
}

/// The reason for an origin; `None` if it is inherited from the parent node.
fn reason_of_origin(origin: &Origin) -> Option<Reason> {
    let reason = match origin {
        Origin::Inherited => return None,
        Origin::Written { span, alias: used } => {
            let spans: Vec<_> = used.iter().chain([span]).copied().collect();
            Reason::new(Kind::Written, "set in the file").with_inputs(&spans)
        }
        Origin::Generated(made) => match &made.reason {
            // Without input locations, nothing was written.
            DerivationReason::Written if made.inputs.is_empty() => {
                Reason::new(Kind::Default, "not set in the file")
            }
            DerivationReason::Written => Reason::new(Kind::Written, "set in the file"),
            DerivationReason::Default => Reason::new(Kind::Default, "not set in the file"),
            DerivationReason::Rule(rule) => Reason::new(Kind::Rule, *rule),
            DerivationReason::Fact {
                statement: text,
                source,
            } => Reason::new(Kind::Fact, *text).with_source(*source),
        }
        .with_inputs(&made.inputs),
    };
    Some(reason)
}

/// The nearest reason on the path to a part of a tree, followed by that of the whole tree if it differs.
fn reasons_on_path(
    root: &Node,
    tree_origin: &Origin,
    path: &Path,
    scope: &'static str,
) -> Vec<Reason> {
    let mut origins = vec![tree_origin, &root.origin];
    let mut node = root;
    for step in &path.0 {
        let below = match step {
            Step::Key(key) => node.get(key),
            Step::Index(index) => node.items().get(*index),
        };
        let Some(below) = below else { break };
        origins.push(&below.origin);
        node = below;
    }
    let reasons: Vec<_> = origins.into_iter().filter_map(reason_of_origin).collect();
    match reasons.as_slice() {
        [] => Vec::new(),
        [only] => vec![only.clone()],
        [first, .., last] if first == last => vec![last.clone()],
        [first, .., last] => vec![last.clone(), first.clone().with_scope(scope)],
    }
}

/// The reasons for a part of a document.
pub(super) fn reasons_of_field(
    shown: &FileContent<'_>,
    releases: &[Release],
    path: &Path,
) -> Vec<Reason> {
    let none = Origin::Inherited;
    match shown {
        FileContent::Object(object) => {
            let mut reasons = reasons_on_path(&object.node, &none, path, "the object");
            // Objects of Flux and Argo CD contain the values of a release.
            let release = releases.iter().find(|one| {
                let name = object.identity.name.as_str();
                !one.name.is_empty() && name.ends_with(&one.name) && values_path(path).is_some()
            });
            if let (Some(release), Some(path)) = (release, values_path(path)) {
                reasons.extend(chart_reasons(release, &path));
            }
            reasons
        }
        FileContent::Values(release) => {
            let mut reasons = reasons_on_path(&release.values, &none, path, "the release");
            reasons.extend(chart_reasons(release, path));
            reasons
        }
        FileContent::File(file) => match &file.contents {
            Contents::Yaml(node) | Contents::Json(node) => {
                reasons_on_path(node, &file.origin, path, "the file")
            }
            _ => reason_of_origin(&file.origin).into_iter().collect(),
        },
        FileContent::Kustomization => {
            vec![
                Reason::boilerplate(boilerplate::KUSTOMIZATION).with_source(boilerplate::KUSTOMIZE),
            ]
        }
        _ => Vec::new(),
    }
}

/// The path below the values of a release in an object of Flux or Argo CD.
fn values_path(path: &Path) -> Option<Path> {
    let key =
        |step: &Step| matches!(step, Step::Key(key) if key == "values" || key == "valuesObject");
    let at = path.0.iter().position(key)?;
    Some(Path(path.0[at + 1..].to_vec()))
}

/// The use of a value by a chart.
fn chart_reasons(release: &Release, path: &Path) -> Vec<Reason> {
    let chart = release.chart;
    let title = format!("chart {} {}", chart.name, chart.version);
    let mut reasons = Vec::new();
    let keys: Vec<&str> = path
        .0
        .iter()
        .map_while(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
        .collect();
    if let Some(list) = Keys::for_chart(chart.name).filter(|_| !keys.is_empty()) {
        let source = format!(
            "github.com/{}@{} of {}",
            list.repository, list.revision, list.date
        );
        let text = match list.find(&keys) {
            KeyLookup::Known(_) => format!("{title} reads `{}`", keys.join(".")),
            KeyLookup::Free => format!("{title} passes `{}` through unchanged", keys.join(".")),
            KeyLookup::Unknown { .. } => format!("{title} does not read this key"),
        };
        reasons.push(Reason::new(Kind::Fact, text).with_source(source));
    }
    let pinned = Reason::new(Kind::Fact, format!("{title} is the pinned version"));
    reasons.push(pinned.with_source(chart.source).with_scope("the chart"));
    reasons
}

/// The reasons for a line of a script.
pub(super) fn reasons_of_segment(segment: &Segment<'_>) -> Vec<Reason> {
    match segment {
        Segment::Head => vec![Reason::boilerplate(boilerplate::SCRIPT_HEAD)],
        Segment::Boilerplate(text) => vec![Reason::boilerplate(*text)],
        Segment::Cluster => vec![Reason::boilerplate(
            "the script sets the name of its cluster",
        )],
        Segment::Tools => vec![Reason::boilerplate(
            "the script checks that the programs it needs are installed before it does anything",
        )],
        Segment::Identity(check) => vec![Reason::new(
            Kind::Rule,
            format!(
                "the script stops unless the {} matches the file",
                check.subject
            ),
        )],
        Segment::Credentials => vec![Reason::new(
            Kind::Rule,
            "the script connects to the cluster with credentials that it fetches, or with a configured context",
        )],
        Segment::Scripts => vec![Reason::new(
            Kind::Rule,
            "the scripts run in the order of their dependencies",
        )],
        Segment::Resource(resource, doing) => reasons_of_resource(resource, *doing),
        Segment::Field(resource, field) => reasons_of_resource_field(resource, field),
        Segment::Expectation(expectation) => vec![Reason::new(
            Kind::Rule,
            format!(
                "pool {} matches the file when its nodes exist and advertise the expected resources",
                expectation.pool
            ),
        )],
        Segment::Step(step) => {
            let needs = step.dependencies.iter();
            let needs = needs.map(|need| format!("after {}: {}", need.step, need.reason));
            let needs: Vec<_> = needs.collect();
            let after = if needs.is_empty() {
                "it has no dependencies".to_owned()
            } else {
                needs.join("; ")
            };
            let text = format!("{} is deployed to the cluster; {after}", step.name);
            vec![Reason::new(Kind::Rule, text)]
        }
        Segment::File(file) => reason_of_origin(&file.origin).into_iter().collect(),
    }
}

fn reasons_of_resource(resource: &Resource, doing: Operation) -> Vec<Reason> {
    let verb = match doing {
        Operation::Read => "reads",
        Operation::Create => "creates",
        Operation::Update => "changes",
        Operation::Delete => "deletes",
    };
    let text = format!("the script {verb} {} {}", resource.kind.name, resource.name);
    let mut reasons = vec![Reason::new(Kind::Rule, text).with_inputs(resource.origin.inputs())];
    if doing == Operation::Create {
        let spans = resource
            .fields
            .iter()
            .flat_map(|field| field.origin.inputs());
        let spans: Vec<_> = spans.copied().collect();
        let words = "the commands that create it contain all of its settings";
        reasons.push(Reason::new(Kind::Rule, words).with_inputs(&spans));
    }
    reasons
        .extend(reason_of_origin(&resource.origin).map(|reason| reason.with_scope("the resource")));
    reasons
}

fn reasons_of_resource_field(resource: &Resource, field: &Field) -> Vec<Reason> {
    let mut reasons: Vec<_> = reason_of_origin(&field.origin).into_iter().collect();
    let becomes = match field.kind.change {
        Change::InPlace => "a change does not affect nodes".to_owned(),
        Change::Access => {
            "a change affects who can reach the API server or log in, and no nodes".to_owned()
        }
        Change::AtCreation { reason } => format!("a change affects only a new resource: {reason}"),
        Change::MinorVersionSteps { reason, .. } => {
            format!("upgraded one minor version at a time: {reason}")
        }
        Change::Resize => "a change adds or removes nodes".to_owned(),
        Change::NodeRollout { reason } => format!("a change recreates nodes: {reason}"),
        Change::Replacement { reason } => format!("cannot be changed in place: {reason}"),
    };
    let text = format!("{} of {}: {becomes}", field.kind.name, resource.kind.name);
    reasons.push(Reason::new(Kind::Fact, text).with_source(field.kind.source));
    reasons
        .extend(reason_of_origin(&resource.origin).map(|reason| reason.with_scope("the resource")));
    reasons
}
