//! Why a part of a file is there, as the plan says it: rules, facts, charts, tables of clouds.

use crate::chart::keys::{Found, Keys};
use crate::emit::{Doing, Part, Shown};
use crate::node::{Because, Node, Origin};
use crate::plan::{Change, Contents, Field, Release, Resource};
use crate::source::Span;

use super::fixed;
use super::path::{Path, Step};

/// Why something is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What kind of reason it is.
    pub kind: Kind,
    /// The reason in words.
    pub what: String,
    /// Where it stands: repository, path and revision, or URL and date.
    pub source: Option<String>,
    /// The places in the input that it follows from.
    pub inputs: Vec<Span>,
    /// What it is a reason for, where that is more than what was asked about: `the object`.
    pub of: Option<&'static str>,
}

/// What kind of reason it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// The user wrote it.
    Written,
    /// Nobody wrote anything else.
    Default,
    /// A rule of gpuc's.
    Rule,
    /// A fact about a cloud, a card, a chart or Kubernetes.
    Fact,
    /// It is a part of every file of its kind.
    Fixed,
}

impl Kind {
    /// The word for it.
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

    /// A part of every file of its kind.
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

/// The reason that an origin is; none where only what holds the node knows.
fn origin(origin: &Origin) -> Option<Reason> {
    let reason = match origin {
        Origin::Inherited => return None,
        Origin::Written { span, used } => {
            let spans: Vec<_> = used.iter().chain([span]).copied().collect();
            Reason::new(Kind::Written, "the file says so").from(&spans)
        }
        Origin::Made(made) => match &made.because {
            // Where it says nothing, nothing was written.
            Because::Written if made.inputs.is_empty() => {
                Reason::new(Kind::Default, "nobody wrote anything else")
            }
            Because::Written => Reason::new(Kind::Written, "the file says so"),
            Because::Default => Reason::new(Kind::Default, "nobody wrote anything else"),
            Because::Rule(rule) => Reason::new(Kind::Rule, *rule),
            Because::Fact { what, source } => Reason::new(Kind::Fact, *what).sourced(*source),
        }
        .from(&made.inputs),
    };
    Some(reason)
}

/// The nearest reason on the way to a part of a tree, then that of the whole where it is another.
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

/// Why a part of a document is there.
pub(super) fn of_field(shown: &Shown<'_>, releases: &[Release], path: &Path) -> Vec<Reason> {
    let none = Origin::Inherited;
    match shown {
        Shown::Object(object) => {
            let mut reasons = on_the_way(&object.node, &none, path, "the object");
            // Flux and Argo CD are told a release's values in an object.
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
        Shown::Kustomization => vec![Reason::fixed(fixed::KUSTOMIZATION).sourced(fixed::KUSTOMIZE)],
        _ => Vec::new(),
    }
}

/// The path below the values of a release in an object of Flux's or Argo CD's.
fn in_values(path: &Path) -> Option<Path> {
    let key =
        |step: &Step| matches!(step, Step::Key(key) if key == "values" || key == "valuesObject");
    let at = path.0.iter().position(key)?;
    Some(Path(path.0[at + 1..].to_vec()))
}

/// What a chart makes of a value.
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
            Found::Free => format!("{title} hands `{}` on as it is", keys.join(".")),
            Found::Unknown { .. } => format!("{title} reads no such key"),
        };
        reasons.push(Reason::new(Kind::Fact, what).sourced(source));
    }
    let pinned = Reason::new(Kind::Fact, format!("{title} is the pinned one"));
    reasons.push(pinned.sourced(chart.source).of("the chart"));
    reasons
}

/// Why a line of a script is there.
pub(super) fn of_part(part: &Part<'_>) -> Vec<Reason> {
    match part {
        Part::Head => vec![Reason::fixed(fixed::HEAD)],
        Part::Fixed(what) => vec![Reason::fixed(*what)],
        Part::Cluster => vec![Reason::fixed("the script names the cluster that it is for")],
        Part::Tools => vec![Reason::fixed(
            "the script asks for the programs that it runs before it does anything",
        )],
        Part::Identity(check) => vec![Reason::new(
            Kind::Rule,
            format!(
                "nothing is done before the {} is the one of the file",
                check.what
            ),
        )],
        Part::Credentials => vec![Reason::new(
            Kind::Rule,
            "the script reaches the cluster with access of its own, or by a context that it is given",
        )],
        Part::Scripts => vec![Reason::new(
            Kind::Rule,
            "what others need is made first: the cluster, then its pools",
        )],
        Part::Resource(resource, doing) => of_resource(resource, *doing),
        Part::Field(resource, field) => of_resource_field(resource, field),
        Part::Expectation(expectation) => vec![Reason::new(
            Kind::Rule,
            format!(
                "pool {} is as the file says when its nodes are there and offer what follows from it",
                expectation.pool
            ),
        )],
        Part::Step(step) => {
            let needs = step.needs.iter();
            let needs = needs.map(|need| format!("after {}: {}", need.step, need.because));
            let needs: Vec<_> = needs.collect();
            let after = if needs.is_empty() {
                "it waits for nothing".to_owned()
            } else {
                needs.join("; ")
            };
            let what = format!("{} is brought to the cluster; {after}", step.name);
            vec![Reason::new(Kind::Rule, what)]
        }
        Part::File(file) => origin(&file.origin).into_iter().collect(),
    }
}

fn of_resource(resource: &Resource, doing: Doing) -> Vec<Reason> {
    let verb = match doing {
        Doing::Looks => "looks at",
        Doing::Makes => "makes",
        Doing::Changes => "changes",
        Doing::Removes => "removes",
    };
    let what = format!("the script {verb} {} {}", resource.kind.name, resource.name);
    let mut reasons = vec![Reason::new(Kind::Rule, what).from(resource.origin.inputs())];
    if doing == Doing::Makes {
        let spans = resource
            .fields
            .iter()
            .flat_map(|field| field.origin.inputs());
        let spans: Vec<_> = spans.copied().collect();
        let words = "the commands that make it say all that it shall be";
        reasons.push(Reason::new(Kind::Rule, words).from(&spans));
    }
    reasons.extend(origin(&resource.origin).map(|reason| reason.of("the resource")));
    reasons
}

fn of_resource_field(resource: &Resource, field: &Field) -> Vec<Reason> {
    let mut reasons: Vec<_> = origin(&field.origin).into_iter().collect();
    let becomes = match field.kind.change {
        Change::InPlace => "a change touches no node".to_owned(),
        Change::Climbs { reason, .. } => format!("it goes up step by step: {reason}"),
        Change::Resizes => "a change adds or removes nodes".to_owned(),
        Change::Rolls { reason } => format!("a change makes nodes again: {reason}"),
        Change::Replaces { reason } => format!("it cannot be changed: {reason}"),
    };
    let what = format!("{} of {}: {becomes}", field.kind.name, resource.kind.name);
    reasons.push(Reason::new(Kind::Fact, what).sourced(field.kind.source));
    reasons.extend(origin(&resource.origin).map(|reason| reason.of("the resource")));
    reasons
}
