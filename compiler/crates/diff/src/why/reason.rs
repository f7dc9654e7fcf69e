//! The reasons for a part of a file, as recorded in the plan: rules, facts, charts, cloud tables.

use gpuc_compile::charts::keys::{Found, Keys};
use gpuc_compile::emit::{Doing, Part, Shown};
use gpuc_model::plan::{Change, Contents, Field, Release, Resource};
use gpuc_syntax::node::{Because, Node, Origin};
use gpuc_syntax::source::Span;

use super::boilerplate;
use super::path::{Path, Step};

/// A reason for a part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The kind of reason.
    pub kind: Kind,
    /// The reason.
    pub what: String,
    /// The source: repository, path and revision, or URL and date.
    pub source: Option<String>,
    /// The locations in the input that it is derived from.
    pub inputs: Vec<Span>,
    /// The scope of the reason, if larger than the queried part: `the object`.
    pub of: Option<&'static str>,
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
    pub fn word(self) -> &'static str {
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
    fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            source: None,
            inputs: Vec::new(),
            of: None,
        }
    }

    /// A reason for boilerplate.
    pub(super) fn fixed(what: impl Into<String>) -> Self {
        Self::new(Kind::Fixed, what)
    }

    fn sourced(self, source: impl Into<String>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    fn from(self, inputs: &[Span]) -> Self {
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

    fn of(self, what: &'static str) -> Self {
        Self {
            of: Some(what),
            ..self
        }
    }
}

/// The reason for an origin; `None` if it is inherited from the parent node.
fn origin(origin: &Origin) -> Option<Reason> {
    let reason = match origin {
        Origin::Inherited => return None,
        Origin::Written { span, used } => {
            let spans: Vec<_> = used.iter().chain([span]).copied().collect();
            Reason::new(Kind::Written, "set in the file").from(&spans)
        }
        Origin::Made(made) => match &made.because {
            // Without input locations, nothing was written.
            Because::Written if made.inputs.is_empty() => {
                Reason::new(Kind::Default, "not set in the file")
            }
            Because::Written => Reason::new(Kind::Written, "set in the file"),
            Because::Default => Reason::new(Kind::Default, "not set in the file"),
            Because::Rule(rule) => Reason::new(Kind::Rule, *rule),
            Because::Fact { what, source } => Reason::new(Kind::Fact, *what).sourced(*source),
        }
        .from(&made.inputs),
    };
    Some(reason)
}

/// The nearest reason on the path to a part of a tree, followed by that of the whole tree if it differs.
fn on_the_way(root: &Node, whole: &Origin, path: &Path, what: &'static str) -> Vec<Reason> {
    let mut origins = vec![whole, &root.origin];
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
    let reasons: Vec<_> = origins.into_iter().filter_map(origin).collect();
    match reasons.as_slice() {
        [] => Vec::new(),
        [only] => vec![only.clone()],
        [first, .., last] if first == last => vec![last.clone()],
        [first, .., last] => vec![last.clone(), first.clone().of(what)],
    }
}

/// The reasons for a part of a document.
pub(super) fn of_field(shown: &Shown<'_>, releases: &[Release], path: &Path) -> Vec<Reason> {
    let none = Origin::Inherited;
    match shown {
        Shown::Object(object) => {
            let mut reasons = on_the_way(&object.node, &none, path, "the object");
            // Objects of Flux and Argo CD contain the values of a release.
            let release = releases.iter().find(|one| {
                let name = object.identity.name.as_str();
                !one.name.is_empty() && name.ends_with(&one.name) && in_values(path).is_some()
            });
            if let (Some(release), Some(path)) = (release, in_values(path)) {
                reasons.extend(chart(release, &path));
            }
            reasons
        }
        Shown::Values(release) => {
            let mut reasons = on_the_way(&release.values, &none, path, "the release");
            reasons.extend(chart(release, path));
            reasons
        }
        Shown::File(file) => match &file.contents {
            Contents::Yaml(node) => on_the_way(node, &file.origin, path, "the file"),
            _ => origin(&file.origin).into_iter().collect(),
        },
        Shown::Kustomization => {
            vec![Reason::fixed(boilerplate::KUSTOMIZATION).sourced(boilerplate::KUSTOMIZE)]
        }
        _ => Vec::new(),
    }
}

/// The path below the values of a release in an object of Flux or Argo CD.
fn in_values(path: &Path) -> Option<Path> {
    let key =
        |step: &Step| matches!(step, Step::Key(key) if key == "values" || key == "valuesObject");
    let at = path.0.iter().position(key)?;
    Some(Path(path.0[at + 1..].to_vec()))
}

/// The use of a value by a chart.
fn chart(release: &Release, path: &Path) -> Vec<Reason> {
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
    if let Some(list) = Keys::of(chart.name).filter(|_| !keys.is_empty()) {
        let source = format!(
            "github.com/{}@{} of {}",
            list.repository, list.revision, list.date
        );
        let what = match list.find(&keys) {
            Found::Known(_) => format!("{title} reads `{}`", keys.join(".")),
            Found::Free => format!("{title} passes `{}` through unchanged", keys.join(".")),
            Found::Unknown { .. } => format!("{title} does not read this key"),
        };
        reasons.push(Reason::new(Kind::Fact, what).sourced(source));
    }
    let pinned = Reason::new(Kind::Fact, format!("{title} is the pinned version"));
    reasons.push(pinned.sourced(chart.source).of("the chart"));
    reasons
}

/// The reasons for a line of a script.
pub(super) fn of_part(part: &Part<'_>) -> Vec<Reason> {
    match part {
        Part::Head => vec![Reason::fixed(boilerplate::HEAD)],
        Part::Fixed(what) => vec![Reason::fixed(*what)],
        Part::Cluster => vec![Reason::fixed("the script sets the name of its cluster")],
        Part::Tools => vec![Reason::fixed(
            "the script checks that the programs it needs are installed before it does anything",
        )],
        Part::Identity(check) => vec![Reason::new(
            Kind::Rule,
            format!(
                "the script stops unless the {} matches the file",
                check.what
            ),
        )],
        Part::Credentials => vec![Reason::new(
            Kind::Rule,
            "the script connects to the cluster with credentials that it fetches, or with a configured context",
        )],
        Part::Scripts => vec![Reason::new(
            Kind::Rule,
            "dependencies are created first: the cluster, then its pools",
        )],
        Part::Resource(resource, doing) => of_resource(resource, *doing),
        Part::Field(resource, field) => of_resource_field(resource, field),
        Part::Expectation(expectation) => vec![Reason::new(
            Kind::Rule,
            format!(
                "pool {} matches the file when its nodes exist and advertise the expected resources",
                expectation.pool
            ),
        )],
        Part::Step(step) => {
            let needs = step.needs.iter();
            let needs = needs.map(|need| format!("after {}: {}", need.step, need.because));
            let needs: Vec<_> = needs.collect();
            let after = if needs.is_empty() {
                "it has no dependencies".to_owned()
            } else {
                needs.join("; ")
            };
            let what = format!("{} is deployed to the cluster; {after}", step.name);
            vec![Reason::new(Kind::Rule, what)]
        }
        Part::File(file) => origin(&file.origin).into_iter().collect(),
    }
}

fn of_resource(resource: &Resource, doing: Doing) -> Vec<Reason> {
    let verb = match doing {
        Doing::Looks => "reads",
        Doing::Makes => "creates",
        Doing::Changes => "changes",
        Doing::Removes => "deletes",
    };
    let what = format!("the script {verb} {} {}", resource.kind.name, resource.name);
    let mut reasons = vec![Reason::new(Kind::Rule, what).from(resource.origin.inputs())];
    if doing == Doing::Makes {
        let spans = resource
            .fields
            .iter()
            .flat_map(|field| field.origin.inputs());
        let spans: Vec<_> = spans.copied().collect();
        let words = "the commands that create it contain all of its settings";
        reasons.push(Reason::new(Kind::Rule, words).from(&spans));
    }
    reasons.extend(origin(&resource.origin).map(|reason| reason.of("the resource")));
    reasons
}

fn of_resource_field(resource: &Resource, field: &Field) -> Vec<Reason> {
    let mut reasons: Vec<_> = origin(&field.origin).into_iter().collect();
    let becomes = match field.kind.change {
        Change::InPlace => "a change does not affect nodes".to_owned(),
        Change::Climbs { reason, .. } => format!("upgraded one minor version at a time: {reason}"),
        Change::Resizes => "a change adds or removes nodes".to_owned(),
        Change::Rolls { reason } => format!("a change recreates nodes: {reason}"),
        Change::Replaces { reason } => format!("cannot be changed in place: {reason}"),
    };
    let what = format!("{} of {}: {becomes}", field.kind.name, resource.kind.name);
    reasons.push(Reason::new(Kind::Fact, what).sourced(field.kind.source));
    reasons.extend(origin(&resource.origin).map(|reason| reason.of("the resource")));
    reasons
}
