//! A name below `monitoring` that Kubernetes does not take.

use gpuc_schema::Spanned;
use gpuc_schema::config::Prometheus;

use super::Rule;
use super::syntax::{is_dns_subdomain, value_problem};
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A name below `monitoring` that Kubernetes does not take.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2073",
        name: "monitoring-name-invalid",
        severity: Severity::Error,
        summary: "a name below `monitoring` is one that Kubernetes does not take",
        explain: "### What it checks

Whether `prometheus.existing.release` may be the value of a label, and whether `grafana.adminSecret` and
`storage.class` may be names of objects.

### Why it matters

The API server refuses the objects, or the pods wait for a Secret or a volume that cannot be there.

### What to do

Write the name as `helm list` or `kubectl get` prints it: for objects, lower-case letters, digits, `-` and
`.`; for labels, letters, digits, `-`, `_` and `.`, at most 63 characters.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  prometheus: {existing: {release: "kube prometheus"}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  prometheus: {existing: {release: kube-prometheus}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.written.monitoring else {
        return;
    };
    match &monitoring.prometheus.value {
        Prometheus::Existing(existing) => {
            let release = &existing.release;
            let problem = match release.value.as_str() {
                "" => Some("it is empty".to_owned()),
                value => value_problem(value),
            };
            if let Some(problem) = problem {
                let message = format!("no label can have the value `{release}`: {problem}");
                let draft = report.draft(&RULE.code, release.span, message);
                let help = "write the release as `helm list --all-namespaces` prints it";
                draft.help(help).emit();
            }
        }
        Prometheus::Install(install) => {
            let storage = install.storage.as_ref();
            let class = storage.and_then(|storage| storage.class.as_ref());
            object_name("StorageClass", class, report);
            let grafana = install.grafana.as_ref();
            object_name("Secret", grafana.map(|it| &it.admin_secret), report);
        }
    }
}

fn object_name(kind: &str, name: Option<&Spanned<String>>, report: &mut Report) {
    let Some(name) = name.filter(|name| !is_dns_subdomain(name)) else {
        return;
    };
    let message = format!("no {kind} can be called `{name}`");
    let draft = report.draft(&RULE.code, name.span, message);
    let help = "write lower-case letters, digits, `-` and `.`, starting and ending with a letter or a digit";
    draft.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(prometheus: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
            stack: {{devicePlugin: nvidia}}
            nodePools: [{{name: gpu, machine: g6.xlarge, nodes: {{count: 1}}}}]
            monitoring: {{prometheus: {prometheus}}}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2073"), expected, "{prometheus}");
    }

    #[test]
    fn names_of_objects_are_looked_at() {
        check("{install: {grafana: {adminSecret: grafana-admin}}}", &[]);
        check(
            "{install: {grafana: {adminSecret: Grafana}, storage: {sizeGiB: 1, class: gp_3}}}",
            &[
                "no StorageClass can be called `gp_3`",
                "no Secret can be called `Grafana`",
            ],
        );
        check(
            "{existing: {release: ''}}",
            &["no label can have the value ``: it is empty"],
        );
    }
}
