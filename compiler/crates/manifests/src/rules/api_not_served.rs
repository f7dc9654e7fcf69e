//! The API version or the kind of an object is not served by any supported Kubernetes version.

use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::custom_resource_not_served;
use crate::api_versions::{self, KindSuggestion};
use crate::corrections::correction_applicability;
use crate::object::Object;
use crate::{CheckContext, Rule, installed_projects, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4045",
        name: "manifest-api-not-served",
        severity: Severity::Error,
        summary: "the API version or the kind of an object is not served by Kubernetes",
        checks: "Whether Kubernetes serves the `apiVersion` of built-in kinds, among them Deployments, Jobs, CronJobs,
Services, autoscalers, disruption budgets, policies, roles and classes. Their `kind` must have the correct
capitals and must not be a plural.

Whether the installed version of a chart serves the kinds of JobSet, LeaderWorkerSet, Kubeflow Trainer and
Kueue, if gpuc installs that chart. Whether the name of a kind of Ray, Kubeflow, Volcano, KServe or Spark
is close to that of an existing kind.",
        reason: "The API server rejects the object: `no matches for kind \"CronJob\" in version \"batch/v1beta1\"`.
Kubernetes removes old API versions in later releases; no release that gpuc supports serves them.",
        remedy: "Follow the help. `gpuc check --fix --unsafe-fixes` changes the version where nothing else in the object has to
change. gpuc checks the rest of the object against the served version.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("batch/v1beta1", "batch/v1"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for object in ctx.objects {
        if let Some(meant) = api_versions::suggest_kind(&object.api_version, &object.kind) {
            report_kind(ctx, object, &meant, report);
            continue;
        }
        if installed_projects::installs_group(ctx.cluster, object.group())
            && let Some(unserved) = custom_resource_not_served::UnservedVersion::from_object(object)
        {
            unserved.diagnostic(&RULE.code, report).emit();
            continue;
        }
        let Some(versions) = api_versions::replacements(&object.api_version, &object.kind) else {
            continue;
        };
        report_version(ctx, object, versions, report);
    }
}

/// Reports a kind that does not exist.
fn report_kind(
    ctx: &CheckContext<'_>,
    object: &Object,
    meant: &KindSuggestion,
    report: &mut Report,
) {
    let Some(written) = object.root.get("kind") else {
        return;
    };
    let message = format!(
        "unknown kind `{}` in API version `{}`",
        object.kind, object.api_version
    );
    let builder = report.diagnostic(&RULE.code, written.span(), message);
    let meant = match meant {
        KindSuggestion::Certain(meant) => meant,
        KindSuggestion::OneOf(kinds) => {
            builder
                .help(format!(
                    "write {}",
                    phrases::quoted_conjunction(kinds, "or")
                ))
                .emit();
            return;
        }
    };
    let builder = builder.help(format!("write `{meant}`"));
    let applicability = correction_applicability(object.group(), [], &object.kind, meant);
    let edit = text_edit::replace_text(ctx.sources, written, meant);
    match applicability.zip(edit) {
        Some((applicability, edit)) => builder.fix_as(applicability, vec![edit]).emit(),
        None => builder.emit(),
    };
}

fn report_version(ctx: &CheckContext<'_>, object: &Object, versions: &[&str], report: &mut Report) {
    let Some(written) = object.root.get("apiVersion") else {
        return;
    };
    let (api_version, kind) = (object.api_version.as_str(), object.kind.as_str());
    let message = format!(
        "{}: no supported Kubernetes version serves {kind} in `{api_version}`",
        object.title()
    );
    let builder = report.diagnostic(&RULE.code, written.span(), message);
    let stays = api_versions::keeps_meaning(api_version, kind);
    let Some(best) = versions.first() else {
        let help = "remove it; label namespaces with `pod-security.kubernetes.io/enforce` instead";
        builder.help(help).emit();
        return;
    };
    let names = phrases::quoted_conjunction(versions, "or");
    let builder = if stays {
        builder.help(format!("write {names}"))
    } else {
        builder.help(format!(
            "write {names} and adapt the fields that changed: `kubectl explain --api-version={best} {}`",
            kind.to_ascii_lowercase()
        ))
    };
    match text_edit::replace_text(ctx.sources, written, best).filter(|_| stays) {
        Some(edit) => builder.suggest(vec![edit]).emit(),
        None => builder.emit(),
    };
}
