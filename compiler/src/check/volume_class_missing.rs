//! A claim of a volume that nothing makes.

use gpuc_schema::config::{Fragment, JupyterHub, Task, VolumeFrom};
use gpuc_schema::{Span, Spanned};

use super::Rule;
use super::places::chart_values;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A claim of a volume that nothing makes.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2216",
        name: "volume-class-missing",
        severity: Severity::Warning,
        summary: "a workload or notebook claims a volume that nothing makes",
        explain: "### What it checks

Whether anything makes the volumes that workloads and notebooks claim, in a cluster that gpuc
creates: whether a claim without a class finds a default, and whether the driver of a class that
the cloud brings is installed. EKS has no default class, and installs no driver for its own.

### Why it matters

The claim stays `Pending`, and with it every pod that mounts it: JupyterHub never starts.

### What to do

Write `storage` with a class, and name the class or make it the default: gpuc installs its driver.
Where something else brings classes, allow the finding.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
workloads:
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1, volumes: [{name: data, mountPath: /data, from: {claim: {sizeGiB: 100}}}]}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
storage: {classes: [{name: gp3, volumes: {disk: {}}}], default: gp3}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
workloads:
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1, volumes: [{name: data, mountPath: /data, from: {claim: {sizeGiB: 100}}}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut said = |class: Option<&Spanned<String>>, span: Span, whose: &str| {
        let Some(unbound) = cluster.unbound(class.map(|it| it.as_str())) else {
            return;
        };
        let place = class.map_or(span, |it| it.span);
        let message = format!("nothing makes {whose}: {unbound}");
        let draft = report.draft(&RULE.code, place, message);
        draft.help(cluster.binding(&unbound)).emit();
    };
    if let Some(hub) = cluster.jupyter_hub()
        && let Some(whose) = claimed(cluster, hub)
        && let Some(notebooks) = &cluster.written.notebooks
    {
        let storage = hub.storage.as_ref();
        said(
            storage.and_then(|it| it.class.as_ref()),
            notebooks.span,
            whose,
        );
    }
    for workload in &cluster.written.workloads {
        let pods = workload.task().and_then(Task::pods);
        for volume in pods.map_or(&[][..], |pods| pods.volumes) {
            if let VolumeFrom::Claim(claim) = &volume.from.value {
                let whose = format!("the volume `{}`", volume.name);
                said(claim.class.as_ref(), volume.from.span, &whose);
            }
        }
    }
}

/// The volumes that the chart claims, by the values that its user did not write: nothing where each of them is set
/// otherwise.
///
/// Source: jupyterhub/zero-to-jupyterhub-k8s@4.4.0 jupyterhub/values.yaml, `hub.db` (`type: sqlite-pvc`) and
/// `singleuser.storage` (`type: dynamic`).
fn claimed(cluster: &Cluster, hub: &JupyterHub) -> Option<&'static str> {
    let values = chart_values(cluster, "jupyterhub");
    let at = |path: &[&str]| values.and_then(|values| values.at(path));
    let keeps = |path: &[&str], kind: &str| match at(path).map(|it| &it.value) {
        None => true,
        Some(Fragment::Text(text)) => text == kind,
        Some(_) => false,
    };
    let of_hub = keeps(&["hub", "db", "type"], "sqlite-pvc")
        && at(&["hub", "db", "pvc", "storageClassName"]).is_none();
    let of_people = keeps(&["singleuser", "storage", "type"], "dynamic")
        && at(&["singleuser", "storage", "dynamic", "storageClass"]).is_none()
        && !hub.profiles.is_empty();
    match (of_hub, of_people) {
        (true, true) => Some("the volumes of the hub and of each person"),
        (true, false) => Some("the hub's volume"),
        (false, true) => Some("the volumes of people"),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

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
        assert_eq!(messages(&yaml, "GPUC2216"), expected, "{more}");
    }

    fn job(claim: &str) -> String {
        format!(
            "workloads: [{{name: a, job: {{image: 'a:1', volumes: [{{name: v, mountPath: /v, \
             from: {{claim: {{sizeGiB: 1{claim}}}}}}}]}}}}]"
        )
    }

    const NO_DEFAULT: &str = "the claim names no StorageClass, and the cluster has no default";
    const CLASS: &str = "storage: {classes: [{name: fast, volumes: {disk: {}}}]";

    #[test]
    fn claims_without_a_class_need_a_default() {
        let none = format!("nothing makes the volume `v`: {NO_DEFAULT}");
        check("create: {}", &job(""), &[&none]);
        check("create: {}", &job(", class: mine"), &[]);
        check("existing: {name: demo}", &job(""), &[]);
        let with = |end: &str| format!("{CLASS}{end}\n            {}", job(""));
        check("create: {}", &with("}"), &[&none]);
        check("create: {}", &with(", default: fast}"), &[]);
    }

    #[test]
    fn the_clouds_own_class_needs_its_driver() {
        let none = "nothing makes the volume `v`: the StorageClass `gp2` needs `aws-ebs-csi-driver`, which nothing \
                    installs";
        check("create: {}", &job(", class: gp2"), &[none]);
        let with = format!("{CLASS}}}\n            {}", job(", class: gp2"));
        check("create: {}", &with, &[]);
    }

    #[test]
    fn the_hub_and_people_have_volumes_unless_the_values_say_otherwise() {
        let hub = |values: &str| {
            format!(
                "notebooks: {{jupyterHub: {{image: 'a:1', profiles: [{{name: a, cpu: 1}}]}}}}\n            \
                 charts: {{jupyterhub: {{values: {{{values}}}}}}}"
            )
        };
        let of = |whose: &str| format!("nothing makes {whose}: {NO_DEFAULT}");
        let both = of("the volumes of the hub and of each person");
        check("create: {}", &hub(""), &[&both]);
        let memory = "hub: {db: {type: sqlite-memory}}";
        check("create: {}", &hub(memory), &[&of("the volumes of people")]);
        let none = format!("{memory}, singleuser: {{storage: {{type: none}}}}");
        check("create: {}", &hub(&none), &[]);
    }
}
