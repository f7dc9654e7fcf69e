//! A pool name is invalid.

use gpuc_kubernetes::names::{MAX_RELEASE_NAME, is_dns_label};
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::NameRule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2001",
        name: "pool-name-invalid",
        severity: Severity::Error,
        summary: "a pool name is invalid",
        checks: "Whether each pool's name is valid as the name of a node pool in the cloud, and as a part of the
names of Kubernetes objects: lower-case letters, digits and `-`; at most 32.",
        reason: "The name is used for the node pool in the cloud and for the node label `gpuc.dev/pool`. It is also a
part of the names of objects and Helm releases. Helm accepts 53 characters, and
`nvidia-device-plugin-` precedes the pool's name. The clouds' own commands do not check the name
before they start.",
        remedy: "Rename the pool. The help suggests a name. Update all references to the pool as well.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu.l4
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace("name: gpu.l4", "name: gpu-l4"),
    },
    run,
};

/// The longest prefix of a Helm release that is named after a pool. The names of other objects may be longer.
const LONGEST_RELEASE_PREFIX: &str = "nvidia-device-plugin-";

/// The maximum length of a pool name in the name of a Helm release.
const MAX_LENGTH_IN_RELEASES: usize = MAX_RELEASE_NAME - LONGEST_RELEASE_PREFIX.len();

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let facts = cluster.cloud.facts();
        let rule = &facts.pool_name;
        let name = &pool.name;
        let (platform, charset, max) = if !pool.is_existing() && !is_valid_in_cloud(rule, name) {
            (facts.name, rule.description, rule.max)
        } else if !is_valid_in_releases(name) {
            let charset =
                "lower-case letters, digits and -, starting and ending with a letter or a digit";
            ("Kubernetes", charset, MAX_LENGTH_IN_RELEASES)
        } else {
            continue;
        };
        let message = format!("invalid name `{name}` for a node pool");
        let rules = format!("{platform} allows {charset}; at most {max} characters");
        let help = match suggest_name(rule, name) {
            Some(valid) => format!("rename it to `{valid}`: {rules}"),
            None => rules,
        };
        report
            .diagnostic(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}

fn is_valid_in_cloud(rule: &NameRule, name: &str) -> bool {
    !name.is_empty() && name.len() <= rule.max && (rule.is_valid)(name)
}

fn is_valid_in_releases(name: &str) -> bool {
    is_dns_label(name) && name.len() <= MAX_LENGTH_IN_RELEASES
}

/// A similar valid name: in lower case, with `-` (or nothing, if `-` is not allowed) for each invalid character.
fn suggest_name(rule: &NameRule, name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let lower = name.to_lowercase();
    let words: Vec<_> = lower
        .split(|c| !plain(c))
        .filter(|word| !word.is_empty())
        .collect();
    let max = rule.max.min(MAX_LENGTH_IN_RELEASES);
    let candidates = [words.join("-"), words.concat()]
        .into_iter()
        .flat_map(|name| {
            let with_letter = format!("pool{name}");
            [name, with_letter]
        });
    candidates
        .map(|name| name.chars().take(max).collect::<String>())
        .map(|name| name.trim_end_matches('-').to_owned())
        .find(|name| is_valid_in_cloud(rule, name) && is_valid_in_releases(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(max: usize, allows: fn(&str) -> bool, name: &str, better: Option<&str>) {
        let rule = NameRule {
            description: "",
            max,
            is_valid: allows,
            source: "",
        };
        assert_eq!(suggest_name(&rule, name).as_deref(), better);
    }

    #[test]
    fn suggestions_are_valid() {
        let alphanumeric = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_alphanumeric())
        };
        check(40, |_| true, "Train_A100", Some("train-a100"));
        check(40, |_| true, "--", Some("pool"));
        check(12, alphanumeric, "aks-Mig-Node", Some("aksmignode"));
        check(12, alphanumeric, "4-l4", Some("pool4l4"));
        check(8, |_| true, "abcdefg-hi", Some("abcdefg"));
        check(12, |_| false, "x", None);
    }

    #[test]
    fn maximum_length_matches_the_explanation() {
        assert_eq!(MAX_LENGTH_IN_RELEASES, 32);
        assert!(RULE.code.explanation().contains("at most 32."));
        assert!(is_valid_in_releases(&"a".repeat(32)) && !is_valid_in_releases(&"a".repeat(33)));
    }
}
