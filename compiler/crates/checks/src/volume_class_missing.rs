//! A workload or notebook claims a volume that cannot be provisioned.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Fragment, JupyterHub, Task, VolumeFrom};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::chart_values;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2216",
        name: "volume-class-missing",
        severity: Severity::Warning,
        summary: "a workload or notebook claims a volume that cannot be provisioned",
        checks: "Whether the volumes that workloads and notebooks claim can be provisioned in a cluster that gpuc
creates. A claim without a class needs a default StorageClass, and a StorageClass of the cloud needs
its CSI driver. EKS has no default class, and does not install the driver of its own class.",
        reason: "The claim stays `Pending`, and so do all pods that mount it: JupyterHub never starts.",
        remedy: "Add `storage` with a class, and name the class or make it the default: gpuc installs its driver. If
other software installs StorageClasses, allow the warning.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
workloads:
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1, volumes: [{name: data, mountPath: /data, from: {claim: {sizeGiB: 100}}}]}}
"#,
        correction: Correction::Replace("nodePools:", "storage: {classes: [{name: gp3, volumes: {disk: {}}}], default: gp3}
nodePools:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut report_unbound = |class: Option<&Spanned<String>>, span: Span, volumes: &str| {
        let Some(unbound) = cluster.unbound_reason(class.map(|it| it.as_str())) else {
            return;
        };
        let primary = class.map_or(span, |it| it.span);
        let message = format!("{volumes} cannot be provisioned: {unbound}");
        report
            .diagnostic(&RULE.code, primary, message)
            .help(cluster.unbound_help(&unbound))
            .emit();
    };
    if let Some(hub) = cluster.jupyter_hub()
        && let Some(volumes) = claimed_volumes(cluster, hub)
        && let Some(notebooks) = &cluster.config.notebooks
    {
        let storage = hub.storage.as_ref();
        report_unbound(
            storage.and_then(|it| it.class.as_ref()),
            notebooks.span,
            volumes,
        );
    }
    for workload in &cluster.config.workloads {
        let pods = workload.task().and_then(Task::pods);
        for volume in pods.map_or(&[][..], |pods| pods.volumes) {
            if let VolumeFrom::Claim(claim) = &volume.from.value {
                let volumes = format!("volume `{}`", volume.name);
                report_unbound(claim.class.as_ref(), volume.from.span, &volumes);
            }
        }
    }
}

/// The volumes that the chart claims with the current values; `None` if the values override all of them.
///
/// Source: jupyterhub/zero-to-jupyterhub-k8s@4.4.0 jupyterhub/values.yaml, `hub.db` (`type: sqlite-pvc`) and
/// `singleuser.storage` (`type: dynamic`).
fn claimed_volumes(cluster: &Cluster, hub: &JupyterHub) -> Option<&'static str> {
    let values = chart_values(cluster, "jupyterhub");
    let value_at = |path: &[&str]| values.and_then(|values| values.get_path(path));
    let is_default = |path: &[&str], kind: &str| match value_at(path).map(|it| &it.value) {
        None => true,
        Some(Fragment::Text(text)) => text == kind,
        Some(_) => false,
    };
    let hub_claims = is_default(&["hub", "db", "type"], "sqlite-pvc")
        && value_at(&["hub", "db", "pvc", "storageClassName"]).is_none();
    let users_claim = is_default(&["singleuser", "storage", "type"], "dynamic")
        && value_at(&["singleuser", "storage", "dynamic", "storageClass"]).is_none()
        && !hub.profiles.is_empty();
    match (hub_claims, users_claim) {
        (true, true) => Some("the volumes of the hub and of its users"),
        (true, false) => Some("the volume of the hub"),
        (false, true) => Some("the volumes of the hub's users"),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use gpuc_model::Unbound;

    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(cluster: &str, more: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{{cluster}}}}}}}
            nodePools:
              - {{name: gpu, machine: g6.xlarge, nodes: {{count: 1}}}}
            {more}
            "
        );
        assert_eq!(messages_with_id(&yaml, "GPUC2216"), expected, "{more}");
    }

    fn job_with_claim(claim: &str) -> String {
        format!(
            "workloads: [{{name: a, job: {{image: 'a:1', volumes: [{{name: v, mountPath: /v, \
             from: {{claim: {{sizeGiB: 1{claim}}}}}}}]}}}}]"
        )
    }

    const NO_DEFAULT: Unbound = Unbound::NoDefault;
    const CLASS: &str = "storage: {classes: [{name: fast, volumes: {disk: {}}}]";

    #[test]
    fn claim_without_a_class_needs_a_default() {
        let none = format!("volume `v` cannot be provisioned: {NO_DEFAULT}");
        check("create: {}", &job_with_claim(""), &[&none]);
        check("create: {}", &job_with_claim(", class: mine"), &[]);
        check("existing: {name: demo}", &job_with_claim(""), &[]);
        let with = |end: &str| format!("{CLASS}{end}\n            {}", job_with_claim(""));
        check("create: {}", &with("}"), &[&none]);
        check("create: {}", &with(", default: fast}"), &[]);
    }

    #[test]
    fn class_of_the_cloud_needs_its_driver() {
        let no_driver = Unbound::NoDriver {
            class: "gp2".to_owned(),
            addon: "aws-ebs-csi-driver",
        };
        let none = format!("volume `v` cannot be provisioned: {no_driver}");
        check("create: {}", &job_with_claim(", class: gp2"), &[&none]);
        let with = format!("{CLASS}}}\n            {}", job_with_claim(", class: gp2"));
        check("create: {}", &with, &[]);
    }

    #[test]
    fn values_override_the_volumes_of_the_hub_and_users() {
        let hub = |values: &str| {
            format!(
                "notebooks: {{jupyterHub: {{image: 'a:1', profiles: [{{name: a, cpu: 1}}]}}}}\n            \
                 charts: {{jupyterhub: {{values: {{{values}}}}}}}"
            )
        };
        let message = |volumes: &str| format!("{volumes} cannot be provisioned: {NO_DEFAULT}");
        let both = message("the volumes of the hub and of its users");
        check("create: {}", &hub(""), &[&both]);
        let memory = "hub: {db: {type: sqlite-memory}}";
        check(
            "create: {}",
            &hub(memory),
            &[&message("the volumes of the hub's users")],
        );
        let none = format!("{memory}, singleuser: {{storage: {{type: none}}}}");
        check("create: {}", &hub(&none), &[]);
    }
}
