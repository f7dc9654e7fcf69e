//! The key `monitoring`.

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;

use crate::alerts::alerts;
use crate::configs::name_of;
use crate::context::Context;
use crate::json::{items, source, text};
use crate::report::Report;
use crate::tree::{Entries, Item};

/// The namespace in which gpuc installs Prometheus.
const NAMESPACE: &str = "monitoring";

/// The key `monitoring`.
pub(crate) fn monitoring(cx: &Context<'_>, report: &mut Report) -> Option<Item> {
    let monitors: Vec<(&str, &Object)> = [
        ("PodMonitor", Kind::PodMonitor),
        ("ServiceMonitor", Kind::ServiceMonitor),
    ]
    .into_iter()
    .flat_map(|(name, kind)| cx.state.objects(kind).iter().map(move |it| (name, it)))
    .collect();
    let is_dcgm = |it: &&(&str, &Object)| it.1.metadata.name.contains("dcgm-exporter");
    let dcgm = monitors.iter().find(is_dcgm);
    let runtime = monitors
        .iter()
        .find(|(_, it)| it.metadata.name == "gpuc-runtime");
    let servers = cx.state.objects(Kind::Prometheus);
    if dcgm.is_none() && runtime.is_none() && servers.is_empty() {
        return None;
    }
    let mut entries = Entries::default();
    if let (None, Some((kind, monitor))) = (dcgm, runtime) {
        let reason = "gpuc-runtime is scraped, and no dcgm-exporter";
        entries.push(
            "exporter",
            Item::text("gpuc").guess(name_of(kind, monitor), reason),
        );
    } else if let (None, None) = (dcgm, runtime) {
        report.leave_out(
            Some("monitoring.exporter"),
            "PodMonitors, ServiceMonitors",
            "no exporter of GPU metrics is scraped; the file installs dcgm-exporter",
        );
    }
    entries.push_some("alerts", alerts(cx, report));
    entries.push_some("dashboards", dashboards(cx));
    entries.push("prometheus", prometheus(cx, dcgm.or(runtime)));
    Some(entries.into_item())
}

fn dashboards(cx: &Context<'_>) -> Option<Item> {
    let mut config_maps = cx.state.objects(Kind::ConfigMap).iter();
    let own = config_maps.find(|it| {
        it.metadata.label("grafana_dashboard").is_some()
            && it.metadata.label("app.kubernetes.io/managed-by") == Some("gpuc")
    })?;
    Some(Item::bool(true).sure(name_of("ConfigMap", own)))
}

/// The key `prometheus`: gpuc's own server, or by which label another one selects its monitors.
fn prometheus(cx: &Context<'_>, monitor: Option<&(&str, &Object)>) -> Item {
    let existing = |release: &str, at: String| {
        Item::single(
            "existing",
            Item::single("release", Item::text(release).sure(at)),
        )
    };
    let is_of_gpuc =
        |it: &Object| it.metadata.label("app.kubernetes.io/managed-by") == Some("gpuc");
    let namespace = cx.state.object(Kind::Namespace, "", NAMESPACE);
    if let Some(namespace) = namespace.filter(|it| is_of_gpuc(it)) {
        return Item::single("install", installed(cx, name_of("Namespace", namespace)));
    }
    for server in cx.state.objects(Kind::Prometheus) {
        let selector = server.text("/spec/podMonitorSelector/matchLabels/release");
        if !selector.is_empty() {
            let at = source(
                name_of("Prometheus", server),
                "spec.podMonitorSelector.matchLabels.release",
                selector,
            );
            return existing(selector, at);
        }
    }
    if let Some((kind, monitor)) = monitor
        && let Some(release) = monitor.metadata.label("release")
    {
        let at = source(name_of(kind, monitor), "metadata.labels[release]", release);
        return existing(release, at);
    }
    if cx.state.objects(Kind::Prometheus).is_empty()
        && monitor.is_some_and(|(_, it)| is_of_gpuc(it))
    {
        return Item::single("install", installed(cx, "PodMonitors".to_owned()));
    }
    let reason = "Prometheus selects its monitors by another label, or all of them";
    let release = Item::text("kube-prometheus-stack").guess("Prometheus", reason);
    Item::single("existing", Item::single("release", release))
}

/// The settings of gpuc's server. Without the object of the server, its retention and volume are gpuc's defaults.
fn installed(cx: &Context<'_>, at: String) -> Item {
    let mut entries = Entries::default();
    let mut servers = cx.state.objects(Kind::Prometheus).iter();
    let server = servers.find(|it| it.metadata.namespace == NAMESPACE);
    if let Some(server) = server {
        let written = server.text("/spec/retention");
        let days = written
            .strip_suffix('d')
            .and_then(|days| days.parse::<u32>().ok());
        // The default of gpuc.
        if let Some(days) = days.filter(|days| *days != 15) {
            let at = source(name_of("Prometheus", server), "spec.retention", written);
            entries.push("retentionDays", Item::number(days).sure(at));
        }
        entries.push_some("storage", storage(server));
    }
    entries.push_some("grafana", grafana(cx));
    let item = entries.into_item();
    match server {
        Some(_) => item.sure(at),
        None => item.guess(
            at,
            "gpuc installed Prometheus; its retention and its volume are not known",
        ),
    }
}

fn storage(server: &Object) -> Option<Item> {
    let claim = server.get("/spec/storage/volumeClaimTemplate/spec");
    let written = text(claim, "/resources/requests/storage")?;
    let size: u32 = written.strip_suffix("Gi")?.parse().ok()?;
    let at = source(
        name_of("Prometheus", server),
        "spec.storage.volumeClaimTemplate.spec.resources.requests.storage",
        written,
    );
    let mut entries = Entries::default();
    entries.push("sizeGiB", Item::number(size).sure(at.clone()));
    let class = text(claim, "/storageClassName");
    entries.push_some("class", class.map(|class| Item::text(class).sure(at)));
    entries.into_some()
}

/// Grafana, by the Secret from which its Deployment reads the password of the administrator.
///
/// Source: grafana/helm-charts `charts/grafana/templates/_pod.tpl`, `GF_SECURITY_ADMIN_PASSWORD`, 2026-11-28.
fn grafana(cx: &Context<'_>) -> Option<Item> {
    let mut deployments = cx.state.objects(Kind::Deployment).iter();
    let found = deployments.find_map(|it| {
        let containers = it.items("/spec/template/spec/containers").iter();
        let mut variables = containers.flat_map(|container| items(container, "/env"));
        let password =
            variables.find(|it| text(it, "/name") == Some("GF_SECURITY_ADMIN_PASSWORD"))?;
        Some((it, text(password, "/valueFrom/secretKeyRef/name")?))
    });
    if let Some((deployment, secret)) = found {
        let at = source(
            name_of("Deployment", deployment),
            "env[GF_SECURITY_ADMIN_PASSWORD]",
            secret,
        );
        return Some(Item::single("adminSecret", Item::text(secret).sure(at)));
    }
    // Dashboards need Grafana.
    dashboards(cx)?;
    let reason = "the Secret of Grafana is not known; replace it";
    let secret = Item::text("replace-me").guess("ConfigMaps", reason);
    Some(Item::single("adminSecret", secret))
}
