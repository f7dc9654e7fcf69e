//! Prometheus' own text format, for clients that do not accept OpenMetrics.

/// The media type of OpenMetrics.
pub(super) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The media type of Prometheus' own format.
pub(super) const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether an `Accept` header requests OpenMetrics.
pub(super) fn wants_open_metrics(accept: Option<&str>) -> bool {
    let ranges = accept.unwrap_or_default().split(',');
    ranges
        .map(|range| range.split(';').map(str::trim).collect::<Vec<_>>())
        .any(|range| {
            range.first() == Some(&"application/openmetrics-text")
                && !range.iter().any(|word| matches!(*word, "q=0" | "q=0.0"))
        })
}

/// Converts metrics into Prometheus' own format. There, the name of a counter ends in `_total` in its metadata as well,
/// and there are neither units nor an end marker.
///
/// <https://prometheus.io/docs/instrumenting/exposition_formats/>, 2026-11.
pub(super) fn to_prometheus(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else {
                continue;
            };
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "counter"),
                other => ("", other),
            };
            if let Some((_, help)) = help.take().filter(|(helped, _)| *helped == name) {
                text += &format!("# HELP {name}{suffix} {help}\n");
            }
            text += &format!("# TYPE {name}{suffix} {kind}\n");
        } else if !line.starts_with('#') {
            text += line;
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_metadata_has_the_total_suffix() {
        let open = "# HELP a Things.\n# TYPE a counter\n# UNIT a seconds\na_total{x=\"# TYPE\"} 1\n\
                    # HELP b More.\n# TYPE b unknown\nb 2\n# TYPE c info\nc_info{v=\"1\"} 1\n\
                    # HELP d Now.\n# TYPE d gauge\nd 3\n# EOF\n";
        let expected = "# HELP a_total Things.\n# TYPE a_total counter\na_total{x=\"# TYPE\"} 1\n\
                        # HELP b More.\n# TYPE b counter\nb 2\n# TYPE c_info gauge\nc_info{v=\"1\"} 1\n\
                        # HELP d Now.\n# TYPE d gauge\nd 3\n";
        assert_eq!(to_prometheus(open), expected);
    }

    #[test]
    fn open_metrics_requires_an_accept_header() {
        let prometheus3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                           text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        assert!(wants_open_metrics(Some(prometheus3)));
        assert!(!wants_open_metrics(Some("text/plain, */*")));
        assert!(!wants_open_metrics(Some(
            "application/openmetrics-text;q=0, */*"
        )));
        assert!(!wants_open_metrics(None));
    }
}
