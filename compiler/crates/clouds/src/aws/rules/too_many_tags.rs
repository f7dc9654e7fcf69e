//! More tags than AWS allows for a resource.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::node_group::NodeGroup;
use super::{cluster_tags, created_pools, tags};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2533",
        name: "too-many-tags",
        severity: Severity::Error,
        summary: "a pool has more tags than AWS allows",
        checks: "Whether a pool's tags, including those that gpuc, eksctl and EKS add, exceed the limit of 50 tags per
resource. With the Cluster Autoscaler, each label, taint and resource is a tag too.",
        reason: "AWS rejects the node group, or eksctl fails while it copies the tags to the Auto Scaling group.",
        remedy: "Remove tags. With the Cluster Autoscaler, removing labels and taints helps too.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, tags: {t0: x, t1: x, t2: x, t3: x, t4: x, t5: x, t6: x, t7: x, t8: x, t9: x, t10: x, t11: x, t12: x, t13: x, t14: x, t15: x, t16: x, t17: x, t18: x, t19: x, t20: x, t21: x, t22: x, t23: x, t24: x, t25: x, t26: x, t27: x, t28: x, t29: x, t30: x, t31: x, t32: x, t33: x, t34: x, t35: x, t36: x, t37: x, t38: x, t39: x}}
"#,
        correction: Correction::Replace(", tags: {t0: x, t1: x, t2: x, t3: x, t4: x, t5: x, t6: x, t7: x, t8: x, t9: x, t10: x, t11: x, t12: x, t13: x, t14: x, t15: x, t16: x, t17: x, t18: x, t19: x, t20: x, t21: x, t22: x, t23: x, t24: x, t25: x, t26: x, t27: x, t28: x, t29: x, t30: x, t31: x, t32: x, t33: x, t34: x, t35: x, t36: x, t37: x, t38: x, t39: x}", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let is_unresolved =
            pool.machine.is_unresolved() || pool.gpus.is_unresolved() || pool.nodes.is_unresolved();
        if is_unresolved || pool.advertised.is_unresolved() || cluster.kubernetes.is_unresolved() {
            continue;
        }
        // eksctl sets the tags of the cluster on its pools too.
        let inherited = cluster_tags(&cluster.config);
        let tags = tags::all_tags(&NodeGroup::new(cluster, pool)).len() + inherited.len();
        if tags > MAX_TAGS {
            let message = format!(
                "pool `{}` has {tags} tags; the limit is {MAX_TAGS}",
                pool.name
            );
            report
                .diagnostic(&RULE.code, pool.name.span, message)
                .help("remove tags; with the Cluster Autoscaler, labels and taints count as tags")
                .emit();
        }
    }
}

/// The maximum number of tags that gpuc sets on a pool. AWS allows 50; eksctl, EKS and the Auto Scaling group add 12:
/// alpha.eksctl.io/…, eksctl.cluster.k8s.io/…, eks:…, k8s.io/cluster-autoscaler/…, kubernetes.io/cluster/… and Name
/// (eksctl-io/eksctl @99984adb, 2026-08-21).
const MAX_TAGS: usize = 38;
