//! The autoscaler cannot predict the resources of an empty pool's nodes.

use gpuc_model::check::Rule;
use gpuc_model::{AdvertisedResource, Cluster};
use gpuc_schema::config::{Autoscaler, DevicePlugin};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::GPU_RESOURCE;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2014",
        name: "scale-from-zero",
        severity: Severity::Warning,
        summary: "the autoscaler cannot predict the resources of an empty pool's nodes",
        checks: "Whether an autoscaler that adds the first node of an empty pool knows the resources that the node
will advertise. It derives them from the machine type: a number of full GPUs as `nvidia.com/gpu`.
MIG devices, replicas and virtual GPUs are not included, unless gpuc can add them to a template that
the autoscaler reads.",
        reason: "A pod that requests `nvidia.com/mig-1g.5gb` or `nvidia.com/gpu.shared` stays pending indefinitely
next to an empty pool. If replicas are advertised as `nvidia.com/gpu`, the autoscaler starts too
many nodes (Azure/AKS#3427). A pod that requests more of them than the machine has GPUs is never
scheduled (kubernetes/autoscaler#8129).",
        remedy: "Keep one node: `min: 1`. Then the autoscaler uses the resources that a real node advertises.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-demo.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {min: 0, max: 3}
    sharing: {timeSlicing: {replicas: 4}}
"#,
        correction: Correction::Replace("{min: 0", "{min: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // Karpenter always uses machine types, even if the pool is not empty.
    let templates = [Autoscaler::ClusterAutoscaler, Autoscaler::Managed];
    if cluster.cloud.facts().announces_node_resources
        || !templates.contains(&cluster.autoscaler.value)
    {
        return;
    }
    for (pool, gpus) in cluster.gpu_pools().filter(|(pool, _)| !pool.is_existing()) {
        // If the cloud both advertises and scales, its autoscaler knows the resources.
        let is_cloud_managed = pool.plugin.value == DevicePlugin::Cloud
            && cluster.autoscaler.value == Autoscaler::Managed;
        let (Some(nodes), Some(advertised)) = (pool.nodes.get(), pool.advertised.get()) else {
            continue;
        };
        if is_cloud_managed || nodes.min > 0 {
            continue;
        }
        let Some(misprediction) = misprediction(advertised, gpus.reported) else {
            continue;
        };
        let message = format!(
            "pool `{}` may not scale up correctly from zero nodes",
            pool.name
        );
        report
            .diagnostic(&RULE.code, nodes.min_span, message)
            .primary_label(misprediction)
            .label(pool.sharing_span, "this shares the GPUs")
            .label(gpus.span, "the machine type")
            .help("write `min: 1`")
            .replace(nodes.min_span, "1")
            .emit();
    }
}

/// The first resource of a new node that the autoscaler predicts incorrectly, described.
fn misprediction(advertised: &[AdvertisedResource], reported: u32) -> Option<String> {
    let is_mispredicted = |resource: &&AdvertisedResource| {
        resource.name != GPU_RESOURCE || resource.per_node != reported
    };
    let advertised_resource = advertised.iter().find(is_mispredicted)?;
    let AdvertisedResource {
        name: resource,
        per_node,
        ..
    } = advertised_resource;
    Some(if resource != GPU_RESOURCE || reported == 0 {
        format!(
            "the autoscaler predicts that a new node has no `{resource}`: it never adds the first"
        )
    } else {
        format!(
            "the autoscaler predicts that a new node has {reported} `{resource}`, not {per_node}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuc_syntax::node::Origin;

    fn check(advertised: &[(&str, u32)], reported: u32, expected: Option<&str>) {
        let to_resource = |(resource, per_node): &(&str, u32)| AdvertisedResource {
            name: (*resource).to_owned(),
            per_node: *per_node,
            origin: Origin::Inherited,
        };
        let advertised: Vec<_> = advertised.iter().map(to_resource).collect();
        let found = misprediction(&advertised, reported);
        match expected {
            Some(expected) => assert!(
                found.as_ref().is_some_and(|it| it.contains(expected)),
                "{found:?}"
            ),
            None => assert_eq!(found, None),
        }
    }

    #[test]
    fn only_full_gpus_are_predicted() {
        check(&[("nvidia.com/gpu", 8)], 8, None);
        check(
            &[("nvidia.com/gpu", 32)],
            8,
            Some("has 8 `nvidia.com/gpu`, not 32"),
        );
        check(&[("nvidia.com/gpu", 1)], 0, Some("has no `nvidia.com/gpu`"));
        check(
            &[("nvidia.com/gpu.shared", 4)],
            1,
            Some("has no `nvidia.com/gpu.shared`"),
        );
        let mixed = [("nvidia.com/gpu", 1), ("nvidia.com/mig-1g.5gb", 7)];
        check(&mixed, 1, Some("has no `nvidia.com/mig-1g.5gb`"));
    }
}
