//! An object is of an API version that no Kubernetes serves.

use super::custom_not_served;
use crate::diag::{Code, Report, Severity, words};
use crate::manifests::read::Object;
use crate::manifests::served::Misspelt;
use crate::manifests::{Rule, Scene, edit, installed, served};

/// An object is of an API version that no Kubernetes serves.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4045",
        name: "manifest-api-not-served",
        severity: Severity::Error,
        summary: "an object is of an API version that Kubernetes does not serve",
        explain: "### What it checks

The `apiVersion` of Kubernetes' own kinds: Deployments, Jobs, CronJobs, Services, autoscalers, budgets,
policies, roles, classes and others that people write; and their `kind`, which has its own large letters
and is no plural. The kinds of JobSet, LeaderWorkerSet, Kubeflow's Trainer and Kueue where the cluster has
their charts from gpuc, by their versions; and kinds of Ray, Kubeflow, Volcano, KServe and Spark that are
nearly what they are called.

### Why it matters

The API server refuses the object: `no matches for kind \"CronJob\" in version \"batch/v1beta1\"`.
Versions of before are removed with some release of Kubernetes, and none that gpuc supports has them.

### What to do

Write what the help says; `gpuc check --fix` does where nothing else of the object has to change. The
rest of the object is checked as one of the version that is served.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: batch/v1beta1
kind: CronJob
metadata: {name: nightly, namespace: research}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: train
              image: registry.example.com/train:1.0.0
              resources: {limits: {nvidia.com/gpu: 1}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-2], nodes: {count: 1}}
--- # manifest.yaml
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: research}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: train
              image: registry.example.com/train:1.0.0
              resources: {limits: {nvidia.com/gpu: 1}}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for object in scene.objects {
        if let Some(meant) = served::spelled(&object.api_version, &object.kind) {
            of_kind(scene, object, &meant, report);
            continue;
        }
        if installed::brings(scene.cluster, object.group())
            && let Some(other) = custom_not_served::Other::of(object)
        {
            other.draft(&RULE.code, report).emit();
            continue;
        }
        let Some(versions) = served::instead(&object.api_version, &object.kind) else {
            continue;
        };
        of_object(scene, object, versions, report);
    }
}

/// Says of a kind that there is none.
fn of_kind(scene: &Scene<'_>, object: &Object, meant: &Misspelt, report: &mut Report) {
    let Some(written) = object.root.get("kind") else {
        return;
    };
    let message = format!(
        "no Kubernetes serves a `{}` of `{}`",
        object.kind, object.api_version
    );
    let draft = report.draft(&RULE.code, written.span(), message);
    let meant = match meant {
        Misspelt::As(meant) => meant,
        Misspelt::OneOf(kinds) => {
            draft
                .help(format!("write {}", words::all(kinds, "or")))
                .emit();
            return;
        }
    };
    let draft = draft.help(format!("write `{meant}`"));
    match edit::text(scene.sources, written, meant) {
        Some(edit) => draft.fix(vec![edit]).emit(),
        None => draft.emit(),
    };
}

fn of_object(scene: &Scene<'_>, object: &Object, versions: &[&str], report: &mut Report) {
    let Some(written) = object.root.get("apiVersion") else {
        return;
    };
    let (api_version, kind) = (object.api_version.as_str(), object.kind.as_str());
    let message = format!(
        "{} is of `{api_version}`, by which no Kubernetes that gpuc supports serves {kind}",
        object.title()
    );
    let draft = report.draft(&RULE.code, written.span(), message);
    let stays = served::stays(api_version, kind);
    let Some(best) = versions.first() else {
        let help =
            "remove it: label namespaces with `pod-security.kubernetes.io/enforce` in its place";
        draft.help(help).emit();
        return;
    };
    let names = words::all(versions, "or");
    let draft = if stays {
        draft.help(format!("write {names}"))
    } else {
        draft.help(format!(
            "write {names}, and look at what has changed since: `kubectl explain --api-version={best} {}`",
            kind.to_ascii_lowercase()
        ))
    };
    match edit::text(scene.sources, written, best).filter(|_| stays) {
        Some(edit) => draft.fix(vec![edit]).emit(),
        None => draft.emit(),
    };
}
