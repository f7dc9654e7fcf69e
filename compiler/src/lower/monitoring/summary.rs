//! What the tree's README says of how GPUs are watched.

use std::fmt::Write;

use gpuc_schema::config::Prometheus;

use super::exporter::{Measures, measures};
use super::{alerts, has_dashboards, policies, rules};
use crate::chart::kube_prometheus_stack;
use crate::check::Checked;
use crate::model::{Pool, Sharing};

/// The sentences; none where GPUs are not watched.
pub(in crate::lower) fn sentences(cluster: &Checked<'_>) -> Vec<String> {
    let Some(monitoring) = &cluster.written.monitoring else {
        return Vec::new();
    };
    let mut sentences = measured(cluster);
    sentences.push(prometheus(&monitoring.prometheus.value));
    sentences.push(policies::sentence(&monitoring.prometheus.value));
    let told = rules::names(cluster);
    if !told.is_empty() {
        let told: Vec<_> = told.into_iter().map(alerts::word).collect();
        sentences.push(format!(
            "The alerts are {}. Each says what to do, as does gpuc explain NAME; monitoring.alerts has the thresholds.",
            told.join(", ")
        ));
    }
    if has_dashboards(cluster) {
        let shown = "Grafana shows GPUs / Fleet, GPUs / Pool, GPUs / Node and GPUs / Namespace: its sidecar picks up \
                     ConfigMaps with the label grafana_dashboard=1 in any namespace.";
        sentences.push(shown.to_owned());
    }
    sentences
}

fn measured(cluster: &Checked<'_>) -> Vec<String> {
    let measured_by = |wanted: Measures| {
        let pools = cluster.pools.iter();
        let pools = pools.filter(move |pool| measures(cluster, pool) == Some(wanted));
        pools.collect::<Vec<&Pool>>()
    };
    let names = |pools: &[&Pool]| {
        let names: Vec<_> = pools.iter().map(|pool| pool.name.value.as_str()).collect();
        names.join(", ")
    };
    let mut sentences = Vec::new();
    for (who, text) in [
        (Measures::Dcgm, "dcgm-exporter"),
        (Measures::Operator, "The GPU Operator's dcgm-exporter"),
        (Measures::Runtime, "gpuc-runtime"),
    ] {
        let pools = measured_by(who);
        if !pools.is_empty() {
            sentences.push(format!("{text} measures the GPUs of {}.", names(&pools)));
        }
    }
    let is_mig = |pool: &&Pool| matches!(pool.sharing.sure(), Sharing::Mig { .. });
    let blind: Vec<_> = measured_by(Measures::Runtime)
        .into_iter()
        .filter(is_mig)
        .collect();
    if !blind.is_empty() {
        sentences.push(format!(
            "How busy the slices of {} are is not known: that takes DCGM. So GpuIdle does not fire there.",
            names(&blind)
        ));
    }
    sentences
}

fn prometheus(prometheus: &Prometheus) -> String {
    let namespace = kube_prometheus_stack::NAMESPACE;
    match prometheus {
        Prometheus::Existing(existing) => format!(
            "The Prometheus that is there picks up what has the label release={}. Its kube-state-metrics tells what nodes \
             offer and pods ask for.",
            existing.release
        ),
        Prometheus::Install(install) => {
            let days = install.retention_days;
            let word = if days.value == 1 { "day" } else { "days" };
            let mut text = format!(
                "kube-prometheus-stack is installed into the namespace {namespace}; its Prometheus keeps metrics for {days} {word}"
            );
            text.push_str(if install.storage.is_some() {
                "."
            } else {
                ", and as long as its pod lives: it has no volume."
            });
            if let Some(grafana) = &install.grafana {
                let secret = &grafana.admin_secret;
                write!(
                    text,
                    " Grafana starts only once the Secret {secret} is there; make it first: kubectl create secret \
                     generic {secret} --namespace={namespace} --from-literal=admin-user=admin \
                     --from-literal=admin-password=\"$(openssl rand -hex 16)\""
                )
                .expect("a String takes everything");
            }
            text
        }
    }
}
