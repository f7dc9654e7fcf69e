//! A range of addresses that can reach the API server is invalid.

use std::net::Ipv4Addr;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::ipv4_range::{Ipv4Range, RangeError};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2229",
        name: "authorized-range-malformed",
        severity: Severity::Error,
        summary: "a range of addresses that can reach the API server is invalid",
        checks: "Whether each range that can reach the public endpoint of the API server is an IPv4 network without host
bits, such as 203.0.113.0/24.",
        reason: "The cloud refuses other ranges, some of them only after minutes, when the cluster is created.",
        remedy: "Write the address of the network and the length of its prefix. Write a single address with /32.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {publicAccessCidrs: [203.0.113.7]}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("203.0.113.7", "203.0.113.7/32"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(authorized) = cluster.config.cloud.authorized_ranges() else {
        return;
    };
    for range in authorized.ranges {
        let Err(error) = Ipv4Range::parse(range) else {
            continue;
        };
        let message = format!("invalid range `{range}` in `{}`", authorized.key);
        let draft = report
            .diagnostic(&RULE.code, range.span, message)
            .primary_label("must be an IPv4 network without host bits");
        let address: Result<Ipv4Addr, _> = range.trim().parse();
        let correct = match (error, address) {
            (RangeError::HostBits(network), _) => Some(network.to_string()),
            (RangeError::Malformed, Ok(address)) => Some(format!("{address}/32")),
            (RangeError::Malformed, Err(_)) => None,
        };
        match correct {
            Some(correct) => draft
                .help(format!("write `{correct}`"))
                .replace(range.span, correct)
                .emit(),
            None => draft.help("write a range such as `203.0.113.0/24`").emit(),
        };
    }
}
