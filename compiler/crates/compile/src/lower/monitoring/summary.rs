//! The sentences about monitoring in the generated README.

use std::fmt::Write;

use gpuc_model::check::Checked;
use gpuc_model::{Pool, Sharing};
use gpuc_schema::config::{DevicePlugin, Prometheus};

use super::exporter::{GpuExporter, gpu_exporter};
use super::{alerts, has_dashboards, policies, rules};
use crate::charts::kube_prometheus_stack;

/// The sentences; without `monitoring`, only that about the policies.
pub(in crate::lower) fn readme_sentences(cluster: &Checked<'_>) -> Vec<String> {
    let Some(monitoring) = &cluster.config.monitoring else {
        let runtime = cluster.pools_advertised_by(DevicePlugin::Gpuc).next();
        let sentence = runtime.map(|_| policies::readme_sentence(None));
        return sentence.into_iter().collect();
    };
    let mut sentences = exporter_sentences(cluster);
    sentences.push(prometheus_sentence(&monitoring.prometheus.value));
    sentences.push(policies::readme_sentence(Some(
        &monitoring.prometheus.value,
    )));
    let alert_names = rules::alert_names(cluster);
    if !alert_names.is_empty() {
        let names: Vec<_> = alert_names.into_iter().map(alerts::alert_id).collect();
        sentences.push(format!(
            "The alerts are {}. Each describes the required action, as does gpuc explain NAME; monitoring.alerts sets \
             the thresholds.",
            names.join(", ")
        ));
    }
    if has_dashboards(cluster) {
        let dashboards = "Grafana has the dashboards GPUs / Fleet, GPUs / Pool, GPUs / Node and GPUs / Namespace: its \
                          sidecar loads ConfigMaps with the label grafana_dashboard=1 from any namespace.";
        sentences.push(dashboards.to_owned());
    }
    sentences
}

fn exporter_sentences(cluster: &Checked<'_>) -> Vec<String> {
    let measured_by = |wanted: GpuExporter| {
        let pools = cluster.pools.iter();
        let pools = pools.filter(move |pool| gpu_exporter(cluster, pool) == Some(wanted));
        pools.collect::<Vec<&Pool>>()
    };
    let names = |pools: &[&Pool]| {
        let names: Vec<_> = pools.iter().map(|pool| pool.name.value.as_str()).collect();
        names.join(", ")
    };
    let mut sentences = Vec::new();
    for (exporter, text) in [
        (GpuExporter::Dcgm, "dcgm-exporter"),
        (GpuExporter::Operator, "The GPU Operator's dcgm-exporter"),
        (GpuExporter::Runtime, "gpuc-runtime"),
    ] {
        let pools = measured_by(exporter);
        if !pools.is_empty() {
            sentences.push(format!("{text} measures the GPUs of {}.", names(&pools)));
        }
    }
    let is_mig = |pool: &&Pool| matches!(pool.sharing.expect_resolved(), Sharing::Mig { .. });
    let without_utilization: Vec<_> = measured_by(GpuExporter::Runtime)
        .into_iter()
        .filter(is_mig)
        .collect();
    if !without_utilization.is_empty() {
        sentences.push(format!(
            "The utilization of the MIG devices of {} is unknown: it requires DCGM. Therefore GpuIdle does not fire \
             there.",
            names(&without_utilization)
        ));
    }
    sentences
}

fn prometheus_sentence(prometheus: &Prometheus) -> String {
    let namespace = kube_prometheus_stack::NAMESPACE;
    match prometheus {
        Prometheus::Existing(existing) => format!(
            "The existing Prometheus selects monitors and rules with the label release={}. Its kube-state-metrics \
             exports the allocatable resources of nodes and the requests of pods.",
            existing.release
        ),
        Prometheus::Install(install) => {
            let days = install.retention_days;
            let unit = if days.value == 1 { "day" } else { "days" };
            let mut text = format!(
                "kube-prometheus-stack is installed in the namespace {namespace}; its Prometheus retains metrics for \
                 {days} {unit}"
            );
            text.push_str(if install.storage.is_some() {
                "."
            } else {
                ", and only until its pod is deleted: it has no volume."
            });
            if let Some(grafana) = &install.grafana {
                let secret = &grafana.admin_secret;
                write!(
                    text,
                    " Grafana starts only if the Secret {secret} exists there. Create both before the first \
                     deployment: kubectl create namespace {namespace}, then kubectl create secret generic {secret} \
                     --namespace={namespace} --from-literal=admin-user=admin \
                     --from-literal=admin-password=\"$(openssl rand -hex 16)\""
                )
                .expect("writing to a String cannot fail");
            }
            text
        }
    }
}
