//! Counts the pods that a patched object creates.

use gpuc_schema::Span;

use gpuc_model::plan::Object;
use gpuc_syntax::node::{Node, Scalar, Value};

/// A number of pods, with the span where it is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub(super) pods: u64,
    /// The number of pods that Kueue admits together.
    pub(super) set: u64,
    pub(super) span: Option<Span>,
}

/// The number of pods of an object that form a gang, each on its own node; `None` if the pods are independent.
pub(super) fn at_once(object: &Object) -> Option<Count> {
    let spec = object.node.get("spec")?;
    let counts = match object.identity.kind.as_str() {
        "TrainJob" | "PyTorchJob" | "JobSet" => groups(object),
        "LeaderWorkerSet" => {
            let size = spec.get("leaderWorkerTemplate")?.get("size")?;
            vec![Count::of(&[size])]
        }
        _ => return None,
    };
    if counts.is_empty() {
        return None;
    }
    let pods = counts.iter().map(|count| count.pods);
    let pods = pods.fold(0, u64::saturating_add);
    Some(Count {
        pods,
        set: pods,
        span: counts.iter().find_map(|count| count.span),
    })
}

/// The number of concurrent pods of each template of an object, in the order of the templates; empty if unknown.
pub(super) fn groups(object: &Object) -> Vec<Count> {
    let spec = object.node.get("spec");
    let found = spec.and_then(|spec| match object.identity.kind.as_str() {
        "Deployment" | "StatefulSet" => Some(vec![Count::of(&[spec.get("replicas")?])]),
        "Job" => Some(vec![of_job(spec)]),
        "CronJob" => Some(vec![of_job(spec.get("jobTemplate")?.get("spec")?)]),
        "TrainJob" => Some(vec![Count::of(&[spec.get("trainer")?.get("numNodes")?])]),
        "PyTorchJob" => {
            let replicas = spec.get("pytorchReplicaSpecs")?.entries().iter();
            let replicas = replicas.map(|entry| entry.value.get("replicas"));
            Some(replicas.map(|count| Count::of(count.as_slice())).collect())
        }
        "JobSet" => {
            let groups = spec.get("replicatedJobs")?.items().iter();
            let counts = groups.map(|group| {
                let job = group.get("template").and_then(|it| it.get("spec"));
                let each = job.map_or(Count::ONE, of_job);
                let jobs = group.get("replicas");
                Count::of(jobs.as_slice()).times(each)
            });
            Some(counts.collect())
        }
        "LeaderWorkerSet" => {
            let template = spec.get("leaderWorkerTemplate")?;
            let sets = Count::of(spec.get("replicas").as_slice());
            let size = Count::of(template.get("size").as_slice());
            let workers = size.pods.saturating_sub(1);
            let workers = Count {
                pods: workers,
                set: workers,
                ..size
            };
            let leaders = template.get("leaderTemplate").map(|_| sets);
            Some(match leaders {
                Some(leaders) => vec![leaders, sets.times(workers)],
                None => vec![sets.times(size)],
            })
        }
        _ => None,
    });
    let mut found = found.unwrap_or_default();
    for count in &mut found {
        // Kueue admits the pods of a Deployment, and the groups of a LeaderWorkerSet, one at a time.
        count.set = match object.identity.kind.as_str() {
            "Deployment" => count.pods.min(1),
            "LeaderWorkerSet" => {
                let groups = spec.and_then(|it| it.get("replicas")).map_or(1, number);
                count.pods.checked_div(groups).unwrap_or(0)
            }
            _ => count.pods,
        };
    }
    found
}

/// A Job runs at most as many pods in parallel as remain to complete.
fn of_job(spec: &Node) -> Count {
    let at_once = Count::of(spec.get("parallelism").as_slice());
    match spec.get("completions") {
        Some(all) if number(all) < at_once.pods => Count::of(&[all]),
        _ => at_once,
    }
}

impl Count {
    const ONE: Self = Self {
        pods: 1,
        set: 1,
        span: None,
    };

    /// The product of the factors.
    fn of(factors: &[&Node]) -> Self {
        let product = factors.iter().map(|node| Self {
            pods: number(node),
            set: number(node),
            span: Some(node.span()).filter(|span| span.is_written()),
        });
        product.fold(Self::ONE, Self::times)
    }

    fn times(self, other: Self) -> Self {
        Self {
            pods: self.pods.saturating_mul(other.pods),
            set: self.set.saturating_mul(other.set),
            span: self.span.or(other.span),
        }
    }
}

/// 1 if the node is not an integer: other checks report that.
fn number(node: &Node) -> u64 {
    match node.value {
        Value::Scalar(Scalar::Integer(count)) => u64::try_from(count.max(0)).unwrap_or(u64::MAX),
        _ => 1,
    }
}
