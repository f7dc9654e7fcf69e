//! The cloud's support of the Kubernetes version ended, or ends soon.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use jiff::civil::Date;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2217",
        name: "kubernetes-support-ending",
        severity: Severity::Warning,
        summary: "the cloud's support for the Kubernetes version ended or ends soon",
        checks: "Whether support of EKS, GKE or AKS for `kubernetes.version` ends within 60 days. For a cluster that has
extended support (`tier: premium` on AKS, `releaseChannel: extended` on GKE) only the end of extended
support counts, which gpuc does not know for GKE. The result depends on today's date; the generated
files do not.",
        reason: "A cloud supports each minor version for about 14 months. Then EKS charges extra, GKE upgrades the
cluster, and AKS creates no more clusters and node pools of this version. When extended support ends,
EKS upgrades the control plane without notice.",
        remedy: "Upgrade one minor version at a time: change the version, build, and follow the steps that
`gpuc diff --plan` prints. Upgrade an existing cluster with the tool that created it first. If you use
extended support on purpose, add this code to `allow`; this also hides the end of extended support. To
check for another date, set the environment
variable `SOURCE_DATE_EPOCH` to a number of seconds since 1970.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.33"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"version: "1.33""#, r#"version: "1.36""#),
    },
    run,
};

/// The number of days before the end of support from which it is reported.
const NOTICE_DAYS: i32 = 60;

fn run(cluster: &Cluster, report: &mut Report) {
    let (Some(today), Some(version)) = (cluster.today, cluster.kubernetes.get()) else {
        return;
    };
    let facts = cluster.cloud.facts();
    let support = facts.support;
    let Some(window) = support.window(version.value) else {
        return;
    };
    let is_near = |end: &Date| (*end - today).get_days() <= NOTICE_DAYS;
    let standard_end = Some(window.end).filter(|_| !(support.is_extended)(cluster));
    let (kind, end, effect) = if let Some(end) = window.extended_end.filter(is_near) {
        ("extended", end, support.extended_effect)
    } else if let Some(end) = standard_end.filter(is_near) {
        ("standard", end, support.effect)
    } else {
        return;
    };
    let verb = if end < today { "ended" } else { "ends" };
    let message = format!(
        "{} {verb} {kind} support for Kubernetes {} on {end}",
        facts.name, version.value
    );
    // A version whose support ends soon as well is no target.
    let mut windows = support.windows.iter();
    let target = windows.find(|it| it.version > version.value && !is_near(&it.end));
    let upgrade = match target {
        Some(next) => format!(
            "to {} (supported until {}) or newer, one minor version at a time",
            next.version, next.end
        ),
        None => "to a newer version, one minor version at a time".to_owned(),
    };
    let help = if cluster.config.cloud.creates_cluster() {
        format!("upgrade {upgrade}: `gpuc diff --plan` prints the steps")
    } else {
        format!(
            "upgrade the cluster {upgrade}, with the tool that created it, and write its version here; if it has \
             extended support, allow `{}`",
            RULE.code.name
        )
    };
    report
        .diagnostic(&RULE.code, version.span, message)
        .primary_label(effect)
        .help(help)
        .emit();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gpuc_model::KubernetesVersion;
    use gpuc_model::resolve::{Choices, resolve};
    use jiff::civil::date;

    use super::*;
    use crate::testing::{REGISTRY, parse_config};

    const EKS: &str =
        "{aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}}";
    const AKS: &str = "{azure: {subscription: s, resourceGroup: g, location: eastus, cluster: {create: {tier: TIER}}}}";
    const GKE: &str = "{gcp: {project: acme-ml, location: us-east1, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {create: {releaseChannel: TIER}}}}";

    /// The findings on a day, as messages.
    fn findings(cloud: &str, version: &str, today: Option<Date>) -> Vec<String> {
        let report = report(cloud, version, today);
        let found = report.diagnostics().iter();
        let found = found.filter(|it| it.code.id == RULE.code.id);
        found.map(|it| it.message.clone()).collect()
    }

    /// The help of the finding on a day.
    fn help(cloud: &str, version: &str, today: Date) -> String {
        let report = report(cloud, version, Some(today));
        let mut found = report.diagnostics().iter();
        let found = found.find(|it| it.code.id == RULE.code.id);
        found
            .and_then(|it| it.help.clone())
            .expect("a finding with help")
    }

    fn report(cloud: &str, version: &str, today: Option<Date>) -> Report {
        let yaml = format!("cloud: {cloud}\nnodePools: []");
        let mut config = parse_config(&yaml);
        Arc::make_mut(&mut config).kubernetes.version.value = version.to_owned();
        let mut report = Report::default();
        let mut cluster = resolve(config, &REGISTRY, &Choices::default(), &mut report);
        cluster.today = today;
        run(&cluster, &mut report);
        report
    }

    #[test]
    fn support_is_reported_from_two_months_before_its_end() {
        // Standard support ends on 2026-12-02.
        let found = |day| findings(EKS, "1.34", Some(day));
        let none: [&str; 0] = [];
        assert_eq!(found(date(2026, 10, 2)), none);
        let ending = "Amazon EKS ends standard support for Kubernetes 1.34 on 2026-12-02";
        assert_eq!(found(date(2026, 10, 3)), [ending]);
        assert_eq!(found(date(2026, 12, 2)), [ending]);
        let ended = "Amazon EKS ended standard support for Kubernetes 1.34 on 2026-12-02";
        assert_eq!(found(date(2026, 12, 3)), [ended]);
        // Extended support ends on 2027-12-02.
        assert_eq!(found(date(2027, 10, 2)), [ended]);
        let ending = "Amazon EKS ends extended support for Kubernetes 1.34 on 2027-12-02";
        assert_eq!(found(date(2027, 10, 3)), [ending]);
        let ended = "Amazon EKS ended extended support for Kubernetes 1.34 on 2027-12-02";
        assert_eq!(found(date(2027, 12, 3)), [ended]);
        assert_eq!(findings(EKS, "1.34", None), none);
        // 1.34 is the next version, and its support ends soon as well.
        let target = help(EKS, "1.33", date(2026, 11, 23));
        assert!(
            target.starts_with("upgrade to 1.35 (supported until 2027-03-27)"),
            "{target}"
        );
        // The end of 1.37 was not announced.
        assert_eq!(findings(EKS, "1.37", Some(date(2030, 1, 1))), none);
    }

    #[test]
    fn clusters_with_extended_support_are_reported_at_its_end() {
        let day = Some(date(2026, 12, 24));
        let found = |cloud: &str, tier, day| findings(&cloud.replace("TIER", tier), "1.34", day);
        assert_eq!(found(AKS, "standard", day).len(), 1);
        assert_eq!(found(AKS, "premium", day).len(), 0);
        let later = Some(date(2027, 11, 1));
        assert_eq!(
            found(AKS, "premium", later),
            ["Azure Kubernetes Service ends extended support for Kubernetes 1.34 on 2027-11-30"]
        );
        assert_eq!(found(GKE, "stable", day).len(), 1);
        assert_eq!(found(GKE, "extended", later).len(), 0);
    }

    #[test]
    fn windows_are_sorted_and_have_sources() {
        for cloud in REGISTRY.clouds {
            let support = cloud.facts().support;
            let windows = support.windows;
            assert!(windows.is_sorted_by(|a, b| a.version < b.version && a.end < b.end));
            assert!(windows.iter().all(|it| it.version >= KubernetesVersion(33)));
            assert!(
                windows
                    .iter()
                    .all(|it| it.extended_end.is_none_or(|end| end > it.end))
            );
            assert_eq!(windows.is_empty(), support.source.is_empty());
        }
    }
}
