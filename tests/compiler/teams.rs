//! The computed quotas of teams equal the expected sums, for all pools and quotas.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::support::{Outcome, compile_text};

/// A pool of L4 GPUs: GPUs per node, minimum and maximum number of nodes, and replicas per GPU.
type Pool = (u32, u32, u32, Option<u32>);

/// The quota of a team for each pool: guaranteed GPUs, and additional GPUs up to the limit.
type Team = Vec<(u32, u32)>;

fn cluster_text(pools: &[Pool], teams: &[Team], overcommit: bool) -> String {
    let mut text = "\
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: \"1.36\"}
cloud: {gcp: {project: acme-ml, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml.iam.gserviceaccount.com, cluster: {create: {}}}}
stack: {runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}
nodePools:
  - {name: system, machine: n2-standard-4, nodes: {count: 2}}
"
    .to_owned();
    for (index, (per_node, least, more, shared)) in pools.iter().enumerate() {
        let most = (least + more).max(1);
        let sharing = shared.map(|it| format!(", sharing: {{timeSlicing: {{replicas: {it}}}}}"));
        let sharing = sharing.unwrap_or_default();
        writeln!(
            text,
            "  - {{name: p{index}, gpu: {{model: L4, perNode: {per_node}}}, \
             nodes: {{min: {least}, max: {most}}}, overcommit: {overcommit}{sharing}}}"
        )
        .unwrap();
    }
    text += "teams:\n";
    for (index, team) in teams.iter().enumerate() {
        writeln!(text, "  - name: t{index}\n    quota:\n      gpus:").unwrap();
        for (pool, (guaranteed, more)) in team.iter().enumerate() {
            let unit = if pools[pool].3.is_some() {
                "shares"
            } else {
                "guaranteed"
            };
            let limit = guaranteed + more;
            writeln!(
                text,
                "        - {{pool: p{pool}, {unit}: {guaranteed}, limit: {limit}}}"
            )
            .unwrap();
        }
    }
    text
}

fn count_findings(outcome: &Outcome, code: &str) -> usize {
    let findings = outcome.findings.iter();
    findings.filter(|found| found.code.name == code).count()
}

/// The hard limit of a resource in the ResourceQuota of each team's namespace.
fn quota_texts(outcome: &Outcome) -> BTreeMap<String, String> {
    let files = outcome.files().into_iter();
    files
        .filter_map(|(path, text)| {
            let path = path.strip_suffix("/resourcequota-team.yaml")?;
            let (_, team) = path.rsplit_once('/')?;
            let mut lines = text.lines();
            let count =
                lines.find_map(|line| line.trim().strip_prefix("requests.nvidia.com/gpu: "))?;
            Some((team.to_owned(), count.trim_matches('"').to_owned()))
        })
        .collect()
}

proptest! {
    #![proptest_config(Config { cases: 48, failure_persistence: None, ..Config::default() })]

    #[test]
    fn quota_sums_are_correct(
        pools in prop::collection::vec(
            (prop::sample::select(vec![1_u32, 2, 4, 8]), 0_u32..3, 0_u32..4, prop::option::of(2_u32..5)), 1..4),
        amounts in prop::collection::vec(prop::collection::vec((0_u32..24, 0_u32..8), 3), 1..4),
        overcommit: bool,
    ) {
        let teams: Vec<Team> = amounts.iter().map(|it| it[..pools.len()].to_vec()).collect();
        let text = cluster_text(&pools, &teams, overcommit);
        let outcome = compile_text(&text);
        let (mut over, mut beyond, mut idle) = (0, 0, 0);
        for (index, (per_node, least, more, shared)) in pools.iter().enumerate() {
            let holds = per_node * (least + more).max(1) * shared.unwrap_or(1);
            let guaranteed: u32 = teams.iter().map(|team| team[index].0).sum();
            let all: u32 = teams.iter().map(|team| team[index].0 + team[index].1).sum();
            let more_than_it_has = |team: &&Team| {
                team[index].1 > 0 && team[index].0 + team[index].1 > holds
            };
            over += usize::from(guaranteed > holds && !overcommit);
            beyond += if overcommit { 0 } else { teams.iter().filter(more_than_it_has).count() };
            idle += usize::from(overcommit && all <= holds);
        }
        prop_assert_eq!(count_findings(&outcome, "quota-overcommitted"), over, "{}", &text);
        prop_assert_eq!(count_findings(&outcome, "quota-limit-unreachable"), beyond, "{}", &text);
        prop_assert_eq!(count_findings(&outcome, "overcommit-unused"), idle, "{}", &text);
        if over == 0 {
            // The pods on all of these pools request the same resource.
            let expected = teams.iter().enumerate().map(|(index, team)| {
                let sum: u32 = team.iter().map(|(guaranteed, more)| guaranteed + more).sum();
                (format!("t{index}"), sum.to_string())
            });
            prop_assert_eq!(quota_texts(&outcome), expected.collect(), "{}", outcome.text());
        }
    }
}

#[test]
fn resources_outside_the_quota_are_forbidden() {
    let pools = [(1, 1, 0, None), (1, 1, 0, Some(4))];
    let text = cluster_text(&pools, &[vec![(1, 0)]], false)
        .replace("replicas: 4", "replicas: 4, rename: true");
    let files = compile_text(&text).files();
    let quota = files
        .iter()
        .find(|(path, _)| path.ends_with("t0/resourcequota-team.yaml"));
    let (_, quota) = quota.unwrap();
    assert!(quota.contains("requests.nvidia.com/gpu: \"1\""), "{quota}");
    assert!(
        quota.contains("requests.nvidia.com/gpu.shared: \"0\""),
        "{quota}"
    );
}

/// The items of every `LimitRange`.
fn ranges(rest: &str) -> Vec<serde_json::Value> {
    let text = format!(
        "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
         cloud: {{onPrem: {{context: demo}}}}\nstack: {{runtimeImage: \"registry.example.com/gpuc-runtime:0.1.0\"}}\n\
         nodePools:\n  - {{name: gpu, gpu: {{model: A30, perNode: 4}}, hosts: [a], nodes: {{count: 1}}}}\n  \
         - {{name: cut, gpu: {{model: A30, perNode: 1}}, hosts: [b], nodes: {{count: 1}}, sharing: {{mig: {{strategy: \
         mixed, perGpu: [{{layout: [{{profile: 1g.6gb, count: 4}}]}}]}}}}}}\n{rest}\n"
    );
    let outcome = compile_text(&text);
    let plan = outcome.compilations[0].plan.as_ref();
    let plan = plan.unwrap_or_else(|| panic!("{}", outcome.text()));
    let ranges = plan.objects.iter();
    let ranges = ranges.filter(|object| object.identity.kind == "LimitRange");
    ranges
        .map(|object| serde_json::to_value(&object.node).unwrap()["spec"]["limits"].clone())
        .collect()
}

#[test]
fn gpu_limits_are_not_defaults() {
    let of = |names: &[&str], count: &str| {
        let amounts = names.iter().map(|name| ((*name).to_owned(), count.into()));
        serde_json::Value::Object(amounts.collect())
    };
    let item = |names: &[&str]| {
        serde_json::json!([{
            "type": "Container",
            "default": of(names, "0"),
            "defaultRequest": of(names, "0"),
            "max": of(names, "2"),
        }])
    };
    let all = "teams: [{name: t, limits: {gpusPerContainer: 2}}]";
    let both = ["nvidia.com/gpu", "nvidia.com/mig-1g.6gb"];
    assert_eq!(ranges(all), [item(&both)]);
    // A resource outside the team's quota needs no limit.
    let slices = "teams: [{name: t, limits: {gpusPerContainer: 2}, quota: {gpus: [{pool: cut, profile: 1g.6gb, guaranteed: 4}]}}]";
    assert_eq!(ranges(slices), [item(&both[1..])]);
    // Kueue admits a request for 0 GPUs, and the admission policy enforces the limit.
    let queued = format!("queueing: kueue\nadmission: {{}}\n{slices}");
    assert_eq!(ranges(&queued), [serde_json::Value::Null; 0]);
}

/// `check --manifests` finds the quota and the queue of a namespace through its team.
#[test]
fn each_namespace_belongs_to_its_own_team() {
    let mut text = cluster_text(&[(1, 1, 1, None)], &[vec![(1, 0)], vec![(0, 1)]], false);
    text = text.replace("  - name: t0\n", "  - name: t0\n    namespaces: [a, b]\n");
    text = text.replace("  - name: t1\n", "  - name: t1\n    namespaces: [c, d]\n");
    let outcome = compile_text(&text);
    let cluster = outcome.compilations[0].cluster.as_ref();
    let cluster = cluster.unwrap_or_else(|| panic!("{}", outcome.text()));
    let team_of = |namespace: &str| {
        let (team, index) = cluster.team_of_namespace(namespace)?;
        let same = &team.namespaces[index].value;
        assert_eq!(
            same, namespace,
            "the quota and the queue are those of another namespace"
        );
        Some((team.name.value.as_str(), index))
    };
    assert_eq!(team_of("a"), Some(("t0", 0)));
    assert_eq!(team_of("b"), Some(("t0", 1)));
    assert_eq!(team_of("c"), Some(("t1", 0)));
    assert_eq!(team_of("d"), Some(("t1", 1)));
    for unassigned in ["default", "kube-system", "t0", ""] {
        assert_eq!(team_of(unassigned), None, "{unassigned}");
    }
}
