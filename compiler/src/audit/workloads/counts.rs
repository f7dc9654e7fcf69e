//! How many pods of a patched object work as one, each on a node of its own.

use gpuc_schema::Span;

use crate::node::{Node, Scalar, Value};
use crate::plan::Object;

/// How many there are, and where somebody wrote it; `None` where each pod works for itself.
pub(super) fn at_once(object: &Object) -> Option<(u32, Option<Span>)> {
    let spec = object.node.get("spec")?;
    let counts: Vec<Vec<&Node>> = match object.identity.kind.as_str() {
        "TrainJob" => vec![vec![spec.get("trainer")?.get("numNodes")?]],
        "LeaderWorkerSet" => vec![vec![spec.get("leaderWorkerTemplate")?.get("size")?]],
        "PyTorchJob" => {
            let replicas = spec.get("pytorchReplicaSpecs")?.entries().iter();
            let replicas = replicas.filter_map(|entry| entry.value.get("replicas"));
            replicas.map(|count| vec![count]).collect()
        }
        "JobSet" => {
            let groups = spec.get("replicatedJobs")?.items().iter();
            let counts = groups.map(|group| {
                let job = group.get("template").and_then(|it| it.get("spec"));
                let pods = job.and_then(|job| job.get("parallelism"));
                group.get("replicas").into_iter().chain(pods).collect()
            });
            counts.collect()
        }
        _ => return None,
    };
    let place = counts.iter().flatten().map(|node| node.span());
    let place = place.into_iter().find(|span| span.is_written());
    let products = counts.iter().map(|factors| {
        let factors = factors.iter().map(|node| number(node));
        factors.fold(1, u32::saturating_mul)
    });
    Some((products.fold(0, u32::saturating_add), place))
}

/// One where it is no number: what a count may be is said elsewhere.
fn number(node: &Node) -> u32 {
    match node.value {
        Value::Scalar(Scalar::Integer(count)) => u32::try_from(count.max(0)).unwrap_or(u32::MAX),
        _ => 1,
    }
}
