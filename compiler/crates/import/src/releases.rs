//! Releases of Helm charts whose values are in objects of a GitOps controller.

use gpuc_live::objects::Object;
use gpuc_live::state::Kind;
use serde_json::Value;

use crate::configs::name_of;
use crate::context::Context;
use crate::json::text;
use crate::report::Report;

/// A release, and where its values are.
pub(crate) struct Release<'s> {
    /// The chart.
    pub(crate) chart: &'s str,
    /// The values.
    pub(crate) values: &'s Value,
    /// The notation of the object and the field.
    pub(crate) source: String,
    /// A field that refers to more values.
    more: Option<String>,
}

/// The releases of Flux and of Argo CD.
///
/// Source: fluxcd/helm-controller `docs/spec/v2/helmreleases.md`; argo-cd `docs/user-guide/helm.md`, 2026-11-28.
pub(crate) fn releases<'s>(cx: &Context<'s>) -> Vec<Release<'s>> {
    let of_flux = cx.state.objects(Kind::HelmRelease).iter().filter_map(|it| {
        let inline = text(&it.body, "/spec/chart/spec/chart");
        let chart = inline.or_else(|| chart_of_reference(cx, it))?;
        Some(Release {
            chart,
            values: it.get("/spec/values"),
            source: format!("{}#spec.values", name_of("HelmRelease", it)),
            more: it
                .body
                .pointer("/spec/valuesFrom")
                .map(|_| format!("{}#spec.valuesFrom", name_of("HelmRelease", it))),
        })
    });
    let of_argocd = cx.state.objects(Kind::Application).iter().filter_map(|it| {
        Some(Release {
            chart: text(&it.body, "/spec/source/chart")?,
            values: it.get("/spec/source/helm/valuesObject"),
            source: format!("{}#spec.source.helm", name_of("Application", it)),
            more: None,
        })
    });
    of_flux.chain(of_argocd).collect()
}

/// The chart of a HelmRelease that refers to an OCI repository: the last part of its URL.
fn chart_of_reference<'s>(cx: &Context<'s>, release: &'s Object) -> Option<&'s str> {
    let name = text(&release.body, "/spec/chartRef/name")?;
    let repository = cx
        .state
        .object(Kind::OciRepository, &release.metadata.namespace, name)?;
    text(&repository.body, "/spec/url")?.rsplit('/').next()
}

/// Reports the values of releases: the file has those that gpuc generates, and not those of users.
pub(crate) fn report_values(cx: &Context<'_>, report: &mut Report) {
    for release in releases(cx) {
        let key = format!("charts.{}.values", release.chart);
        if let Some(at) = release.more {
            let reason = "gpuc does not read values in other objects";
            report.leave_out(Some(&key), at, reason);
        }
        let reason = "gpuc does not tell your own values from those that it generates: add yours";
        report.leave_out(Some(&key), release.source, reason);
    }
}
