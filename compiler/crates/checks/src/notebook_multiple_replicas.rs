//! A notebook requests several replicas or MIG devices.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing};
use gpuc_schema::config::MigStrategy;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::notebooks_on_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2142",
        name: "notebook-multiple-replicas",
        severity: Severity::Error,
        summary: "a notebook requests several replicas or MIG devices",
        checks: "Whether a profile requests more than one replica of a GPU, or more than one MIG device.",
        reason: "Two replicas are no more than one: they may be of the same GPU, where containers take turns in
either case. NVIDIA's device plugin and gpuc-runtime reject such a pod. A CUDA program uses a single
MIG device, however many its container has.",
        remedy: "Set `gpus: 1`. For more GPU capacity, choose a larger MIG profile or a pool whose GPUs are not
shared.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 4}}
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: Shares, pool: gpu, gpus: 2}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
        correction: Correction::Replace("Shares, pool: gpu, gpus: 2", "A share, pool: gpu, gpus: 1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (profile, _, pool) in notebooks_on_pools(cluster) {
        let Some(gpus) = profile.gpus.as_ref().filter(|gpus| gpus.value > 1) else {
            continue;
        };
        let unit = match pool.sharing.get() {
            Some(Sharing::TimeSlicing { .. } | Sharing::Mps { .. }) => "replicas",
            Some(Sharing::Mig { strategy, .. })
                if strategy.value == MigStrategy::Single || profile.profile.is_some() =>
            {
                "MIG devices"
            }
            _ => continue,
        };
        let message = format!(
            "notebook profile `{}` requests {} {unit} of a GPU",
            profile.name, gpus.value
        );
        report
            .diagnostic(&RULE.code, gpus.span, message)
            .label(
                pool.sharing_span,
                format!("this pool shares its GPUs as {unit}"),
            )
            .help("write 1")
            .replace(gpus.span, "1")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(sharing: &str, profile: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - name: p
                gpu: {{model: A30, perNode: 2}}
                hosts: [a]
                nodes: {{count: 1}}
                sharing: {sharing}
            notebooks: {{jupyterHub: {{profiles: [{{name: a, pool: p, {profile}}}]}}}}
            "
        );
        assert_eq!(
            messages_with_id(&yaml, "GPUC2142"),
            expected,
            "{sharing}: {profile}"
        );
    }

    #[test]
    fn several_replicas_or_mig_devices_are_found() {
        let replicas = "notebook profile `a` requests 2 replicas of a GPU";
        let mig_devices = "notebook profile `a` requests 2 MIG devices of a GPU";
        check("none", "gpus: 2", &[]);
        check("{mps: {replicas: 4}}", "gpus: 1", &[]);
        check("{mps: {replicas: 4}}", "gpus: 2", &[replicas]);
        let geometry = "perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]";
        let single = format!("{{mig: {{strategy: single, {geometry}}}}}");
        check(&single, "gpus: 2", &[mig_devices]);
        let mixed = format!("{{mig: {{strategy: mixed, {geometry}}}}}");
        check(&mixed, "gpus: 2, profile: 1g.6gb", &[mig_devices]);
        check(&mixed, "profile: 1g.6gb", &[]);
    }
}
