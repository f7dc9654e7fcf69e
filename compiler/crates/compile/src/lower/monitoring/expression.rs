//! PromQL expressions with the metrics that they query.

use std::collections::BTreeSet;

use super::metrics::Metric;
use super::series::Series;

/// A PromQL expression and the series it queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// The expression.
    pub text: String,
    /// The names of the metrics and recorded series that it queries.
    pub queried_series: BTreeSet<&'static str>,
}

impl Expression {
    /// The series of a metric selected by matchers such as `pool="train",pod!=""`.
    pub(super) fn for_metric(metric: &'static Metric, matchers: &str) -> Self {
        Self::for_name(metric.name, matchers)
    }

    /// Like [`Expression::for_metric`], for a series that gpuc's rules record.
    pub(super) fn for_series(series: &'static Series, matchers: &str) -> Self {
        Self::for_name(series.name, matchers)
    }

    fn for_name(name: &'static str, matchers: &str) -> Self {
        let text = if matchers.is_empty() {
            name.to_owned()
        } else {
            format!("{name}{{{matchers}}}")
        };
        Self {
            text,
            queried_series: BTreeSet::from([name]),
        }
    }

    /// Inserts this expression into `text`, in place of `{}`.
    #[must_use]
    pub(super) fn wrapped_in(mut self, text: &str) -> Self {
        self.text = text.replacen("{}", &self.text, 1);
        self
    }

    /// Inserts this expression and another into `text`, in place of the first and the second `{}`.
    #[must_use]
    pub(super) fn combined_with(mut self, other: Self, text: &str) -> Self {
        let (before, after) = text.split_once("{}").unwrap_or((text, ""));
        let after = after.replacen("{}", &other.text, 1);
        self.text = format!("{before}{}{after}", self.text);
        self.queried_series.extend(other.queried_series);
        self
    }
}

/// A matcher for any of these values, which are inserted without escaping.
pub(super) fn any_of_matcher<'v>(label: &str, values: impl IntoIterator<Item = &'v str>) -> String {
    let values: Vec<_> = values.into_iter().collect();
    match values.as_slice() {
        [only] => format!("{label}=\"{only}\""),
        several => format!("{label}=~\"{}\"", several.join("|")),
    }
}

/// A resource name as kube-state-metrics writes it in the label `resource` of nodes and containers: `nvidia_com_gpu`
/// (kubernetes/kube-state-metrics `internal/store/node.go`, `SanitizeLabelName`).
pub(super) fn resource_label(resource: &str) -> String {
    let sanitize = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '_'
        }
    };
    resource.chars().map(sanitize).collect()
}

#[cfg(test)]
mod tests {
    use super::super::metrics::{MEMORY_FREE, MEMORY_USED};
    use super::*;

    #[test]
    fn expressions_collect_the_metrics_they_query() {
        let used = Expression::for_metric(&MEMORY_USED, "pool=\"a\"");
        let free = Expression::for_metric(&MEMORY_FREE, "");
        let sum = used
            .combined_with(free, "({} + {}) * 2")
            .wrapped_in("max by (node) ({})");
        assert_eq!(
            sum.text,
            "max by (node) ((DCGM_FI_DEV_FB_USED{pool=\"a\"} + DCGM_FI_DEV_FB_FREE) * 2)"
        );
        let reads: Vec<_> = sum.queried_series.into_iter().collect();
        assert_eq!(reads, ["DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_USED"]);
    }

    #[test]
    fn resource_labels_match_kube_state_metrics() {
        assert_eq!(resource_label("nvidia.com/gpu"), "nvidia_com_gpu");
        assert_eq!(
            resource_label("nvidia.com/mig-3g.20gb"),
            "nvidia_com_mig_3g_20gb"
        );
        assert_eq!(any_of_matcher("a", ["b"]), "a=\"b\"");
        assert_eq!(any_of_matcher("a", ["b", "c"]), "a=~\"b|c\"");
    }
}
