//! A pool has a name that it cannot have.

use super::Rule;
use super::syntax::{LONGEST_RELEASE, is_dns_label};
use crate::cloud::NameRule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A pool has a name that it cannot have.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2001",
        name: "pool-name-invalid",
        severity: Severity::Error,
        summary: "a pool has a name that it cannot have",
        explain: "### What it checks

Whether each pool's name is one that the cloud takes for a node pool, and one that Kubernetes
objects can bear: lower-case letters, digits and `-`, at most 32.

### Why it matters

The name becomes a node pool in the cloud, the node label `gpuc.dev/pool`, and a part of the
names of objects and of Helm's releases. Helm takes 53 characters, and `nvidia-device-plugin-`
stands before the pool's name. The clouds' own commands do not check it before they start.

### What to do

Rename the pool; the help proposes a name. Whatever speaks of the pool by its name must change
with it.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu.l4
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu-l4
    machine: g6.xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

/// The longest prefix of a Helm release that is called after a pool. The names of other objects have more room.
const PREFIX: &str = "nvidia-device-plugin-";

/// What the prefix leaves of the name of a release.
const MAX_IN_OBJECTS: usize = LONGEST_RELEASE - PREFIX.len();

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        let facts = cluster.cloud.facts();
        let rule = &facts.pool_name;
        let name = &pool.name;
        let (who, words, max) = if !pool.is_existing() && !fits(rule, name) {
            (facts.name, rule.words, rule.max)
        } else if !in_objects(name) {
            let words =
                "lower-case letters, digits and -, starting and ending with a letter or a digit";
            ("Kubernetes", words, MAX_IN_OBJECTS)
        } else {
            continue;
        };
        let message = format!("a node pool cannot be called `{name}`");
        let wanted = format!("on {who} it may have {words}; at most {max} characters");
        let help = match proposal(rule, name) {
            Some(better) => format!("call it `{better}`: {wanted}"),
            None => wanted,
        };
        report
            .draft(&RULE.code, name.span, message)
            .help(help)
            .emit();
    }
}

fn fits(rule: &NameRule, name: &str) -> bool {
    !name.is_empty() && name.len() <= rule.max && (rule.allows)(name)
}

fn in_objects(name: &str) -> bool {
    is_dns_label(name) && name.len() <= MAX_IN_OBJECTS
}

/// The nearest name that fits: in lower case, `-` for what is not allowed, or nothing where `-` is not either.
fn proposal(rule: &NameRule, name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let lower = name.to_lowercase();
    let words: Vec<_> = lower
        .split(|c| !plain(c))
        .filter(|word| !word.is_empty())
        .collect();
    let max = rule.max.min(MAX_IN_OBJECTS);
    let candidates = [words.join("-"), words.concat()]
        .into_iter()
        .flat_map(|name| {
            let with_letter = format!("pool{name}");
            [name, with_letter]
        });
    candidates
        .map(|name| name.chars().take(max).collect::<String>())
        .map(|name| name.trim_end_matches('-').to_owned())
        .find(|name| fits(rule, name) && in_objects(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(max: usize, allows: fn(&str) -> bool, name: &str, better: Option<&str>) {
        let rule = NameRule {
            words: "",
            max,
            allows,
            source: "",
        };
        assert_eq!(proposal(&rule, name).as_deref(), better);
    }

    #[test]
    fn proposals_fit() {
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
    fn the_longest_name_is_what_the_explanation_says() {
        assert_eq!(MAX_IN_OBJECTS, 32);
        assert!(RULE.code.explain.contains("at most 32."));
        assert!(in_objects(&"a".repeat(32)) && !in_objects(&"a".repeat(33)));
    }
}
