//! Maintenance exclusion that GKE refuses.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::ExclusionScope;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use jiff::civil::Date;

use crate::gcp::create_section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2650",
        name: "gke-exclusion-malformed",
        severity: Severity::Error,
        summary: "GKE refuses the maintenance exclusion",
        checks: "Whether a maintenance exclusion has a valid period, and whether its scope can last until the end of support.",
        reason: "The scripts would create the cluster, and then stop because GKE refuses the exclusion.",
        remedy: "Set `start` and `end` to two days in the format YYYY-MM-DD, or remove both for an exclusion until the end of support.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {maintenanceExclusion: {scope: noUpgrades, start: "2026-12-20", end: "2026-12-01"}}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace("2026-12-01", "2026-12-28"),
    },
    run,
};

/// Source: `gcloud container clusters update --help`, Google Cloud SDK 528.0.0 (the end or until-end-of-support; only
/// the scopes of minor versions can last until the end of support), 2026-11-22.
fn run(cluster: &Cluster, report: &mut Report) {
    let create = create_section(&cluster.config);
    let Some(exclusion) = create.and_then(|create| create.maintenance_exclusion.as_ref()) else {
        return;
    };
    match (&exclusion.start, &exclusion.end) {
        (Some(start), Some(end)) => {
            let days = [start, end].map(|day| day_of(day, report));
            if let [Some(start), Some(last)] = days
                && last <= start
            {
                let message = format!("`end` ({last}) is not after `start` ({start})");
                report
                    .diagnostic(&RULE.code, end.span, message)
                    .help("set `end` to a later day than `start`")
                    .emit();
            }
        }
        (None, None) => {
            if exclusion.scope.value == ExclusionScope::NoUpgrades {
                let message = "an exclusion of all upgrades cannot last until the end of support";
                report
                    .diagnostic(&RULE.code, exclusion.scope.span, message)
                    .help("set `start` and `end`, or the scope `noMinorOrNodeUpgrades`")
                    .emit();
            }
        }
        (Some(only), None) | (None, Some(only)) => {
            let message = "a maintenance exclusion must have both `start` and `end`, or neither";
            report
                .diagnostic(&RULE.code, only.span, message)
                .help("add the other day, or remove this one")
                .emit();
        }
    }
}

/// The day, or a finding.
fn day_of(text: &Spanned<String>, report: &mut Report) -> Option<Date> {
    // The parser of jiff accepts other forms of ISO 8601 as well, and times.
    let day: Option<Date> = text.parse().ok();
    let day = day.filter(|day| day.to_string() == text.value);
    if day.is_none() {
        report
            .diagnostic(&RULE.code, text.span, format!("`{text}` is not a day"))
            .help("write the day in the format YYYY-MM-DD, such as 2026-12-01")
            .emit();
    }
    day
}

#[cfg(test)]
mod tests {
    use gpuc_model::check::check;
    use serde_json::Value;

    use crate::gcp::testing::cluster;
    use crate::testing::{json, resolved};

    fn is_refused(exclusion: &Value) -> bool {
        let mut config = cluster(&[]);
        config["cloud"]["gcp"]["cluster"]["create"]["maintenanceExclusion"] = exclusion.clone();
        let (cluster, mut report) = resolved(config);
        let _ = check(&cluster, &mut report);
        let mut found = report.diagnostics().iter();
        found.any(|finding| finding.code.id == super::RULE.code.id)
    }

    #[test]
    fn periods_are_checked() {
        for (exclusion, valid) in [
            ("{scope: noMinorOrNodeUpgrades}", true),
            ("{scope: noMinorUpgrades}", true),
            ("{scope: noUpgrades}", false),
            (
                "{scope: noUpgrades, start: '2026-12-01', end: '2026-12-02'}",
                true,
            ),
            (
                "{scope: noUpgrades, start: '2026-12-01', end: '2026-12-01'}",
                false,
            ),
            ("{scope: noMinorUpgrades, start: '2026-12-01'}", false),
            ("{scope: noMinorUpgrades, end: '2026-12-01'}", false),
            (
                "{scope: noUpgrades, start: '2026-02-30', end: '2026-12-01'}",
                false,
            ),
            (
                "{scope: noUpgrades, start: '20260201', end: '2026-12-01'}",
                false,
            ),
            (
                "{scope: noUpgrades, start: '2026-02-01T00:00', end: '2026-12-01'}",
                false,
            ),
        ] {
            assert_eq!(is_refused(&json(exclusion)), !valid, "{exclusion}");
        }
    }
}
