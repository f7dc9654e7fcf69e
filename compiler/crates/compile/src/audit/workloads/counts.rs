//! Counts the pods that a patched object creates.

use gpuc_schema::Span;

use gpuc_model::plan::Object;
use gpuc_syntax::node::{Node, Scalar, Value};

/// A number of pods, with the span where it is set.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodMultiplicity {
    pub(super) pods: u64,
    /// The number of pods that Kueue admits together.
    pub(super) set: u64,
    pub(super) span: Option<Span>,
}

/// The number of pods of an object that form a gang, each on its own node; `None` if the pods are independent.
pub(super) fn gang_pods(object: &Object) -> Option<PodMultiplicity> {
    let spec = object.node.get("spec")?;
    let counts = match object.identity.kind.as_str() {
        "TrainJob" | "PyTorchJob" | "JobSet" => pods_per_template(object),
        "LeaderWorkerSet" => {
            let size = spec.get("leaderWorkerTemplate")?.get("size")?;
            vec![PodMultiplicity::product_of(&[size])]
        }
        _ => return None,
    };
    if counts.is_empty() {
        return None;
    }
    let pods = counts.iter().map(|count| count.pods);
    let pods = pods.fold(0, u64::saturating_add);
    Some(PodMultiplicity {
        pods,
        set: pods,
        span: counts.iter().find_map(|count| count.span),
    })
}

/// The number of concurrent pods of each template of an object, in the order of the templates; empty if unknown.
pub(super) fn pods_per_template(object: &Object) -> Vec<PodMultiplicity> {
    let spec = object.node.get("spec");
    let found = spec.and_then(|spec| match object.identity.kind.as_str() {
        "Deployment" | "StatefulSet" => {
            Some(vec![PodMultiplicity::product_of(&[spec.get("replicas")?])])
        }
        "Job" => Some(vec![job_pods(spec)]),
        "CronJob" => Some(vec![job_pods(spec.get("jobTemplate")?.get("spec")?)]),
        "TrainJob" => Some(vec![PodMultiplicity::product_of(&[spec
            .get("trainer")?
            .get("numNodes")?])]),
        "PyTorchJob" => {
            let replicas = spec.get("pytorchReplicaSpecs")?.entries().iter();
            let replicas = replicas.map(|entry| entry.value.get("replicas"));
            Some(
                replicas
                    .map(|count| PodMultiplicity::product_of(count.as_slice()))
                    .collect(),
            )
        }
        "JobSet" => {
            let groups = spec.get("replicatedJobs")?.items().iter();
            let counts = groups.map(|group| {
                let job = group.get("template").and_then(|it| it.get("spec"));
                let pods_per_job = job.map_or(PodMultiplicity::ONE, job_pods);
                let jobs = group.get("replicas");
                PodMultiplicity::product_of(jobs.as_slice()).multiplied_by(pods_per_job)
            });
            Some(counts.collect())
        }
        "LeaderWorkerSet" => {
            let template = spec.get("leaderWorkerTemplate")?;
            let sets = PodMultiplicity::product_of(spec.get("replicas").as_slice());
            let size = PodMultiplicity::product_of(template.get("size").as_slice());
            let workers = size.pods.saturating_sub(1);
            let workers = PodMultiplicity {
                pods: workers,
                set: workers,
                ..size
            };
            let leaders = template.get("leaderTemplate").map(|_| sets);
            Some(match leaders {
                Some(leaders) => vec![leaders, sets.multiplied_by(workers)],
                None => vec![sets.multiplied_by(size)],
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
                let groups = spec
                    .and_then(|it| it.get("replicas"))
                    .map_or(1, integer_or_one);
                count.pods.checked_div(groups).unwrap_or(0)
            }
            _ => count.pods,
        };
    }
    found
}

/// A Job runs at most as many pods in parallel as remain to complete.
fn job_pods(spec: &Node) -> PodMultiplicity {
    let at_once = PodMultiplicity::product_of(spec.get("parallelism").as_slice());
    match spec.get("completions") {
        Some(all) if integer_or_one(all) < at_once.pods => PodMultiplicity::product_of(&[all]),
        _ => at_once,
    }
}

impl PodMultiplicity {
    const ONE: Self = Self {
        pods: 1,
        set: 1,
        span: None,
    };

    /// The product of the factors.
    fn product_of(factors: &[&Node]) -> Self {
        let product = factors.iter().map(|node| Self {
            pods: integer_or_one(node),
            set: integer_or_one(node),
            span: Some(node.span()).filter(|span| span.is_written()),
        });
        product.fold(Self::ONE, Self::multiplied_by)
    }

    fn multiplied_by(self, other: Self) -> Self {
        Self {
            pods: self.pods.saturating_mul(other.pods),
            set: self.set.saturating_mul(other.set),
            span: self.span.or(other.span),
        }
    }
}

/// 1 if the node is not an integer: other checks report that.
fn integer_or_one(node: &Node) -> u64 {
    match node.value {
        Value::Scalar(Scalar::Integer(count)) => u64::try_from(count.max(0)).unwrap_or(u64::MAX),
        _ => 1,
    }
}
