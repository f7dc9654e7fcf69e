//! Checks that the projects of the installed charts support the cluster's Kubernetes version.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, KubernetesSupport, Plan};
use gpuc_model::{KubernetesVersion, SUPPORTED};
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::Node;

use super::codes::CHART_KUBERNETES_UNSUPPORTED;
use crate::charts::images::chart_images;

/// Compares the Kubernetes version with what the project of each installed chart states.
pub(super) fn check(plan: &Plan, cluster: &Checked<'_>, report: &mut Report) {
    let version = cluster.kubernetes.expect_resolved();
    let mut checked = BTreeSet::new();
    for chart in plan.releases.iter().map(|release| release.chart) {
        let Some(support) = chart.kubernetes else {
            continue;
        };
        if support.contains(version.value)
            || !checked.insert(chart.name)
            || sets_own_tag(cluster, chart)
        {
            continue;
        }
        let message = format!(
            "chart `{}` {} supports Kubernetes {support}, not {}",
            chart.name, chart.version, version.value
        );
        let help = help(
            &support,
            version.value,
            cluster.config.cloud.creates_cluster(),
        );
        report
            .diagnostic(&CHART_KUBERNETES_UNSUPPORTED, version.span, message)
            .help(help)
            .emit();
    }
}

/// Whether the file sets the tag of an image that always runs. The project's statement about the pinned chart then does
/// not apply.
fn sets_own_tag(cluster: &Checked<'_>, chart: &Chart) -> bool {
    let Some(settings) = cluster.config.charts.get(chart.name) else {
        return false;
    };
    let values = Node::from_fragment(&settings.values);
    chart_images(chart.name)
        .iter()
        .filter(|image| image.switch.is_none())
        .filter_map(|image| image.tag_path)
        .any(|path| {
            let mut keys = path.split('/');
            keys.try_fold(&values, |node, key| node.get(key)).is_some()
        })
}

fn help(support: &KubernetesSupport, version: KubernetesVersion, creates_cluster: bool) -> String {
    let test = format!(
        "test the chart on Kubernetes {version} and add `allow: [{}]`",
        CHART_KUBERNETES_UNSUPPORTED.name
    );
    let target = support.closest(version);
    if !SUPPORTED.contains(&target) {
        test
    } else if target > version {
        format!("upgrade the cluster to Kubernetes {target}, or {test}")
    } else if creates_cluster {
        // A control plane cannot be downgraded.
        format!("create the cluster with Kubernetes {target}, or {test}")
    } else {
        test
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supported(oldest: u8, newest: Option<u8>) -> KubernetesSupport {
        KubernetesSupport {
            oldest: KubernetesVersion(oldest),
            newest: newest.map(KubernetesVersion),
            source: "",
        }
    }

    #[test]
    fn range_is_inclusive() {
        let support = supported(33, Some(35));
        let contained = (32..=36).filter(|minor| support.contains(KubernetesVersion(*minor)));
        assert_eq!(contained.collect::<Vec<_>>(), [33, 34, 35]);
        assert_eq!(support.to_string(), "1.33 to 1.35");
        assert!(supported(33, None).contains(KubernetesVersion(99)));
        assert_eq!(supported(33, None).to_string(), "1.33 and later");
    }

    #[test]
    fn help_names_only_versions_that_the_cluster_can_have() {
        let test =
            "test the chart on Kubernetes 1.35 and add `allow: [chart-kubernetes-unsupported]`";
        let help = |support, creates| help(&support, KubernetesVersion(35), creates);
        assert_eq!(
            help(supported(30, Some(34)), true),
            format!("create the cluster with Kubernetes 1.34, or {test}")
        );
        assert_eq!(help(supported(30, Some(34)), false), test);
        assert_eq!(
            help(supported(36, None), false),
            format!("upgrade the cluster to Kubernetes 1.36, or {test}")
        );
        assert_eq!(help(supported(20, Some(30)), true), test);
    }
}
