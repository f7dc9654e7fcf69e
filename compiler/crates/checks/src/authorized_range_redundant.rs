//! A range of addresses that can reach the API server is part of another one.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::ipv4_range::Ipv4Range;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2230",
        name: "authorized-range-redundant",
        severity: Severity::Warning,
        summary: "a range of addresses that can reach the API server is part of another one",
        checks: "Whether a range that can reach the public endpoint of the API server is listed twice, or is part of
another one, such as 0.0.0.0/0.",
        reason: "The range has no effect. With 0.0.0.0/0 in the list, every address reaches the API server, although the
list looks like a restriction.",
        remedy: "Remove the range, or the wider one.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {publicAccessCidrs: [0.0.0.0/0, 203.0.113.0/24]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("0.0.0.0/0, ", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(authorized) = cluster.config.cloud.authorized_ranges() else {
        return;
    };
    let ranges: Vec<_> = authorized
        .ranges
        .iter()
        .enumerate()
        .filter_map(|(index, written)| Some((index, written, Ipv4Range::parse(written).ok()?)))
        .collect();
    for (index, written, range) in &ranges {
        // Of equal ranges, the first one is kept.
        let wider = ranges.iter().find(|(other, _, wider)| {
            other != index && wider.contains(*range) && (wider != range || other < index)
        });
        let Some((_, wider, range_of_wider)) = wider else {
            continue;
        };
        let message = if range_of_wider == range {
            format!("duplicate range `{written}` in `{}`", authorized.key)
        } else {
            format!("the range `{written}` is part of `{wider}`")
        };
        report
            .diagnostic(&RULE.code, written.span, message)
            .label(wider.span, "this range contains it")
            .help("remove one of the two ranges")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    fn check(ranges: &str, expected: &[&str]) {
        let yaml = super::RULE
            .code
            .bad
            .replace("[0.0.0.0/0, 203.0.113.0/24]", ranges);
        assert_eq!(messages_with_id(&yaml, "GPUC2230"), expected, "{ranges}");
    }

    #[test]
    fn contained_and_equal_ranges_are_found_once() {
        check("[198.51.100.0/24, 203.0.113.0/24, none]", &[]);
        check(
            "[203.0.113.0/24, 203.0.113.0/24]",
            &["duplicate range `203.0.113.0/24` in `publicAccessCidrs`"],
        );
        check(
            "[203.0.113.7/32, 203.0.113.0/24]",
            &["the range `203.0.113.7/32` is part of `203.0.113.0/24`"],
        );
    }
}
