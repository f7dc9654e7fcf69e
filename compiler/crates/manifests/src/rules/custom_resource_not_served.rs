//! The CustomResourceDefinition of an object does not serve the object's API version.

use gpuc_kubernetes::api_server;
use gpuc_syntax::diag::{Code, Correction, DiagnosticBuilder, Report, Severity, phrases};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Object, Rule, installed_projects};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4091",
        name: "manifest-custom-resource-not-served",
        severity: Severity::Warning,
        summary: "the CustomResourceDefinition of an object does not serve its API version",
        checks: "Whether the definition of a custom resource, in the version that the message names, serves its
`apiVersion`. The check covers JobSets, LeaderWorkerSets, Kubeflow TrainJobs, runtimes and PyTorchJobs,
Kueue queues, flavors and classes, and Volcano jobs and queues. If gpuc installs the project in this
cluster, `manifest-api-not-served` reports it as an error.",
        reason: "The API server rejects the object: `no matches for kind \"PyTorchJob\" in version \"kubeflow.org/v1beta2\"`.
gpuc does not check the rest of the object against the definition.",
        remedy: "Follow the help. If the cluster has another version of the project that serves it, write `allow:
[manifest-custom-resource-not-served]`.",
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
apiVersion: trainer.kubeflow.org/v1beta1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: registry.example.com/train:1.0.0
    numNodes: 1
    resourcesPerNode: {limits: {nvidia.com/gpu: 2}}
"#,
        correction: Correction::Replace("trainer.kubeflow.org/v1beta1", "trainer.kubeflow.org/v1alpha1"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let objects = ctx.objects.iter();
    for object in objects.filter(|it| !installed_projects::installs_group(ctx.cluster, it.group()))
    {
        if let Some(unserved) = UnservedVersion::from_object(object) {
            unserved.diagnostic(&RULE.code, report).emit();
        }
    }
}

/// An object whose definition does not serve its API version.
pub(super) struct UnservedVersion<'s> {
    object: &'s Object,
    written: &'s Node,
    project: &'static str,
    versions: Vec<&'static str>,
}

impl<'s> UnservedVersion<'s> {
    /// Returns `None` if the version is served, or the kind is unknown.
    pub(super) fn from_object(object: &'s Object) -> Option<Self> {
        let (version, kind) = (object.api_version.as_str(), object.kind.as_str());
        let (project, versions) = api_server::other_versions(version, kind)?;
        let written = object.root.get("apiVersion");
        // A template placeholder may become any version.
        let written = written.filter(|_| !version.contains(['{', '$']))?;
        Some(Self {
            object,
            written,
            project,
            versions,
        })
    }

    /// Starts the diagnostic.
    pub(super) fn diagnostic<'r>(
        self,
        code: &'static Code,
        report: &'r mut Report,
    ) -> DiagnosticBuilder<'r> {
        let message = format!(
            "{}: {} does not serve {} in `{}`",
            self.object.title(),
            self.project,
            self.object.kind,
            self.object.api_version
        );
        let builder = report.diagnostic(code, self.written.span(), message);
        builder.help(format!(
            "write {}",
            phrases::quoted_conjunction(&self.versions, "or")
        ))
    }
}
