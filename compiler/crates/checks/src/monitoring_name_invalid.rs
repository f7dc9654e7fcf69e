//! A name in `monitoring` is invalid.

use gpuc_schema::Spanned;
use gpuc_schema::config::Prometheus;

use gpuc_kubernetes::names::{is_dns_subdomain, label_value_problem};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2073",
        name: "monitoring-name-invalid",
        severity: Severity::Error,
        summary: "a name in `monitoring` is invalid",
        checks: "Whether `prometheus.existing.release` is a valid label value, and whether `grafana.adminSecret` and
`storage.class` are valid object names.",
        reason: "The API server rejects the objects, or the pods wait for a Secret or a volume that cannot exist.",
        remedy: "Write the name as `helm list` or `kubectl get` prints it. Object names consist of lower-case
letters, digits, `-` and `.`. Label values consist of at most 63 letters, digits, `-`, `_` and `.`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  prometheus: {existing: {release: "kube prometheus"}}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#""kube prometheus""#, "kube-prometheus"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.config.monitoring else {
        return;
    };
    match &monitoring.prometheus.value {
        Prometheus::Existing(existing) => {
            let release = &existing.release;
            let problem = match release.value.as_str() {
                "" => Some("it is empty".to_owned()),
                value => label_value_problem(value),
            };
            if let Some(problem) = problem {
                let message = format!("invalid label value `{release}`: {problem}");
                let help = "write the release as `helm list --all-namespaces` prints it";
                report
                    .diagnostic(&RULE.code, release.span, message)
                    .help(help)
                    .emit();
            }
        }
        Prometheus::Install(install) => {
            let storage = install.storage.as_ref();
            let class = storage.and_then(|storage| storage.class.as_ref());
            check_object_name("StorageClass", class, report);
            let grafana = install.grafana.as_ref();
            check_object_name("Secret", grafana.map(|it| &it.admin_secret), report);
        }
    }
}

fn check_object_name(kind: &str, name: Option<&Spanned<String>>, report: &mut Report) {
    let Some(name) = name.filter(|name| !is_dns_subdomain(name)) else {
        return;
    };
    let message = format!("invalid {kind} name `{name}`");
    let help =
        "use lower-case letters, digits, `-` and `.`, starting and ending with a letter or a digit";
    report
        .diagnostic(&RULE.code, name.span, message)
        .help(help)
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(prometheus: &str, expected: &[&str]) {
        let file = "
            cloud: {aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}}
            stack: {devicePlugin: nvidia}
            nodePools: [{name: gpu, machine: g6.xlarge, nodes: {count: 1}}]
            monitoring: {prometheus: <rest>}
            ";
        check_in(file, "GPUC2073", prometheus, expected);
    }

    #[test]
    fn object_names_and_label_values_are_checked() {
        check("{install: {grafana: {adminSecret: grafana-admin}}}", &[]);
        check(
            "{install: {grafana: {adminSecret: Grafana}, storage: {sizeGiB: 1, class: gp_3}}}",
            &[
                "invalid StorageClass name `gp_3`",
                "invalid Secret name `Grafana`",
            ],
        );
        check(
            "{existing: {release: ''}}",
            &["invalid label value ``: it is empty"],
        );
    }
}
