//! Findings of checks, and their evidence.

use std::fmt;
use std::sync::Arc;

use gpuc_syntax::diag::Code;
use gpuc_syntax::source::Span;

use crate::objects::{Event, ObjectRef, Pod};

/// The part of a cluster that a check is about. Parts work only if the parts before them work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The API server and its webhooks.
    Api,
    /// The cloud and its autoscalers, which create nodes.
    Cloud,
    /// The nodes.
    Node,
    /// The driver.
    Driver,
    /// The container runtime, NVIDIA's toolkit and CDI.
    Toolkit,
    /// The device plugin or DRA driver.
    Advertiser,
    /// The labels of nodes.
    Labels,
    /// The health of GPUs.
    Health,
    /// Time-slicing, MPS and MIG.
    Sharing,
    /// Quotas and queues.
    Quota,
    /// The scheduler.
    Scheduling,
    /// The start of containers.
    Start,
    /// Running containers.
    Run,
    /// Networks between GPUs.
    Fabric,
    /// Metrics and alerts.
    Monitoring,
}

impl Layer {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "API server",
            Self::Cloud => "cloud",
            Self::Node => "node",
            Self::Driver => "driver",
            Self::Toolkit => "container runtime",
            Self::Advertiser => "device plugin",
            Self::Labels => "labels",
            Self::Health => "health",
            Self::Sharing => "sharing",
            Self::Quota => "quota",
            Self::Scheduling => "scheduling",
            Self::Start => "start",
            Self::Run => "run",
            Self::Fabric => "fabric",
            Self::Monitoring => "monitoring",
        }
    }
}

/// A finding about objects of the cluster.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The code.
    pub code: &'static Code,
    /// The layer of the check.
    pub layer: Layer,
    /// Whether the finding is a symptom: another finding about the same objects explains it.
    pub is_symptom: bool,
    /// The problem, without the objects: lower case, no full stop, values in backticks.
    pub message: String,
    /// The objects that have the problem. A check reports one object per finding; equal findings are merged later.
    pub subjects: Vec<ObjectRef>,
    /// Objects whose problems explain this one, such as the nodes that would fit a pending pod.
    pub depends_on: Arc<[ObjectRef]>,
    /// The evidence, for the first subject.
    pub evidence: Vec<Evidence>,
    /// The place in gpu-cluster.yaml that the problem belongs to.
    pub input: Option<Span>,
    /// What to do, as an instruction.
    pub help: String,
    /// The next command, for the first subject.
    pub command: Option<String>,
}

impl Finding {
    /// A finding about one object.
    pub fn new(code: &'static Code, subject: ObjectRef, message: impl Into<String>) -> Self {
        Self {
            code,
            layer: Layer::Api,
            is_symptom: false,
            message: message.into(),
            subjects: vec![subject],
            depends_on: Arc::from([]),
            evidence: Vec::new(),
            input: None,
            help: String::new(),
            command: None,
        }
    }

    /// Adds evidence.
    #[must_use]
    pub fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// Adds the value of a field as evidence.
    #[must_use]
    pub fn field(self, object: ObjectRef, path: &str, value: impl Into<String>) -> Self {
        self.evidence(Evidence::Field {
            object,
            path: path.to_owned(),
            value: value.into(),
        })
    }

    /// Sets the objects whose problems explain this one.
    #[must_use]
    pub fn depends_on(mut self, objects: impl Into<Arc<[ObjectRef]>>) -> Self {
        self.depends_on = objects.into();
        self
    }

    /// Sets the place in gpu-cluster.yaml.
    #[must_use]
    pub fn input(mut self, span: Option<Span>) -> Self {
        self.input = span.filter(|it| it.is_written());
        self
    }

    /// Sets the instruction.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Sets the next command.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}

/// The reason why a finding is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The value of a field.
    Field {
        /// The object.
        object: ObjectRef,
        /// The path in the object, as in `kubectl get -o jsonpath`, without the leading dot.
        path: String,
        /// The value, or `absent`.
        value: String,
    },
    /// An event.
    Event {
        /// The object that the event is about.
        object: ObjectRef,
        /// The reason.
        reason: String,
        /// The message.
        message: String,
        /// The number of occurrences.
        count: u32,
    },
    /// A line of a log.
    Log {
        /// The pod.
        object: ObjectRef,
        /// The container.
        container: String,
        /// The line.
        line: String,
    },
}

impl Evidence {
    /// An event as evidence.
    pub fn event(event: &Event) -> Self {
        Self::Event {
            object: event.subject(),
            reason: event.reason.clone(),
            message: event.message.clone(),
            count: event.occurrences(),
        }
    }

    /// A condition of a pod as evidence.
    pub fn pod_condition(pod: &Pod, kind: &str) -> Option<Self> {
        let condition = pod.condition(kind)?;
        Some(Self::Field {
            object: ObjectRef::of_kind("Pod", &pod.metadata),
            path: format!("status.conditions[{kind}].message"),
            value: condition.message.clone(),
        })
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field {
                object,
                path,
                value,
            } => write!(f, "{object}#{path} = {value}"),
            Self::Event {
                object,
                reason,
                message,
                count,
            } => {
                write!(f, "event {reason} of {object}: {}", message.trim())?;
                match count {
                    0 | 1 => Ok(()),
                    count => write!(f, " ({count} times)"),
                }
            }
            Self::Log {
                object,
                container,
                line,
            } => write!(f, "log of {object} ({container}): {}", line.trim()),
        }
    }
}
