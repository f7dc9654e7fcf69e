//! Decoding, from text to findings.

use std::fmt::Write;

use gpuc_schema::config::{Capacity, CloudSection, GpuCluster, Sharing};
use proptest::prelude::*;

use super::*;
use crate::diag::{Diagnostic, Report};
use crate::load::{self, MemoryFiles, load};
use crate::source::{Sources, Span};
use crate::yaml;

const HEAD: &str = "\
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: \"1.36\"}
cloud: {onPrem: {context: demo}}
";
const POOL: &str = "nodePools:\n  - {name: gpu, nodes: {count: 1}}\n";

fn run(text: &str) -> (Option<GpuCluster>, Vec<Diagnostic>, Sources) {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let world = MemoryFiles::with_file("gpu-cluster.yaml", text);
    let loaded = load(&world, "gpu-cluster.yaml", &mut sources, &mut report);
    let clusters: Vec<Option<GpuCluster>> = loaded
        .iter()
        .map(|document| decode_cluster(&document.root, &mut report))
        .collect();
    let found = report.diagnostics().to_vec();
    (clusters.into_iter().next().flatten(), found, sources)
}

/// Every finding as code, place, message and help.
fn check(text: &str, expected: &[&str]) -> Option<GpuCluster> {
    let (cluster, found, sources) = run(text);
    let lines: Vec<String> = found.iter().map(|found| line(found, &sources)).collect();
    assert_eq!(lines, expected);
    cluster
}

fn line(found: &Diagnostic, sources: &Sources) -> String {
    let (_, position) = sources.locate(found.primary.span).expect("a place");
    let mut line = format!(
        "{} {}:{}: {}",
        &found.code.id[4..],
        position.line,
        position.column,
        found.message
    );
    for label in &found.labels {
        let (_, position) = sources.locate(label.span).expect("a place");
        write!(
            line,
            "; {}:{} {}",
            position.line, position.column, label.text
        )
        .expect("text");
    }
    if let Some(help) = &found.help {
        write!(line, "; help: {help}").expect("text");
    }
    line
}

/// The text with every fix applied.
fn fixed(text: &str, found: &[Diagnostic]) -> String {
    let fixes = found.iter().filter_map(|found| found.fix.as_ref());
    let mut edits: Vec<(Span, &str)> = fixes
        .flat_map(|fix| fix.edits.iter().map(|edit| (edit.span, edit.text.as_str())))
        .collect();
    edits.sort_unstable();
    let mut text = text.to_owned();
    for (span, replacement) in edits.into_iter().rev() {
        text.replace_range(span.start as usize..span.end as usize, replacement);
    }
    text
}

#[test]
fn cluster_is_decoded_with_spans() {
    let text = format!(
        "{HEAD}nodePools:\n  - name: gpu\n    nodes: {{min: 0, max: 4}}\n    capacity: {{spot: {{maxPrice: -1}}}}\n    labels: {{a.b/c: \"1\"}}\n"
    );
    let (cluster, found, sources) = run(&text);
    assert!(found.is_empty(), "{found:?}");
    let cluster = cluster.expect("a cluster");
    assert!(
        matches!(&cluster.cloud.value, CloudSection::OnPrem(cloud) if *cloud.context == "demo")
    );
    let pool = &cluster.node_pools[0];
    assert_eq!(sources.text(pool.name.span), "gpu");
    assert_eq!(sources.text(pool.nodes.span), "{min: 0, max: 4}");
    assert_eq!(
        sources.text(pool.nodes.max.as_ref().expect("max").span),
        "4"
    );
    assert!(matches!(pool.capacity.value, Capacity::Spot(_)));
    assert!(matches!(pool.sharing.value, Sharing::None) && !pool.sharing.span.is_written());
    let (key, value) = pool.labels.iter().next().expect("a label");
    assert_eq!(
        (sources.text(key.span), sources.text(value.span)),
        ("a.b/c", "\"1\"")
    );
    assert!(
        sources.text(pool.span).starts_with("name: gpu")
            && sources.text(pool.span).ends_with("\"1\"}")
    );
}

#[test]
fn all_errors_are_found_in_one_run() {
    let text = "\
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: 7}
kubernets: {version: \"1.36\"}
cloud: {onPrem: {context: demo}, aws: {}}
queueing: keue
nodePools:
  - name: a
    nodes: {count: four}
    sharing: {mig: {strategy: mixd, perGpu: []}}
    capacity: spot
    gpu: {model: L4}
  - nodez: {count: 1}
    diskGiB: 4294967296
    gpu: {}
";
    check(
        text,
        &[
            "0103 4:1: unknown key `kubernets` in the document; help: did you mean `kubernetes`? the keys are `apiVersion`, `kind`, `metadata`, `base`, `allow`, `kubernetes`, `cloud`, `autoscaler`, `stack`, `storage`, `nodePools`, `teams`, `priorities`, `queueing`, `kueue`, `admission`, `monitoring`, `workloads`, `notebooks`, `charts`, `mirror`, `digests` and `gitops`",
            "0101 3:18: `metadata.name` must be a string, not `7`; help: quote it: `\"7\"`",
            "0105 5:8: `cloud` must have only one of `onPrem` and `aws`; 5:9 `onPrem` is set here; 5:34 and `aws` here; help: keep one of them",
            "0104 6:11: unknown value `keue` for `queueing`; help: did you mean `kueue`? the values are `none` and `kueue`",
            "0101 9:20: `nodePools[0].nodes.count` must be an integer, not the string `four`",
            "0104 10:31: unknown value `mixd` for `nodePools[0].sharing.mig.strategy`; help: did you mean `mixed`? the values are `single` and `mixed`",
            "0105 11:15: `spot` for `nodePools[0].capacity` must be a key with settings; help: write `{spot: {}}`, or `spot:` with nested settings",
            "0106 12:5: missing key `perNode` in `nodePools[0].gpu`; help: add `perNode:`",
            "0103 13:5: unknown key `nodez` in `nodePools[1]`; help: did you mean `nodes`? the keys are `name`, `machine`, `alternativeMachines`, `gpu`, `nodes`, `zones`, `subnets`, `hosts`, `capacity`, `network`, `os`, `nodeImage`, `diskGiB`, `localDisks`, `maxPods`, `allocatable`, `sharing`, `overcommit`, `labels`, `taints`, `dedicatedTo`, `tags`, `upgrade`, `autoRepair`, `existing` and `stack`",
            "0106 13:5: missing key `name` in `nodePools[1]`; help: add `name:`",
            "0102 14:14: `nodePools[1].diskGiB` must be an integer from 1 to 65536, not `4294967296`; help: write an integer from 1 to 65536",
            "0106 15:5: missing key `model` in `nodePools[1].gpu`; help: add `model:`",
            "0106 15:5: missing key `perNode` in `nodePools[1].gpu`; help: add `perNode:`",
        ],
    )
    .expect("a cluster with made-up parts");
}

#[test]
fn wrong_types_have_help() {
    let one = |line: &str, expected: &str| {
        check(&format!("{HEAD}{POOL}{line}\n"), &[expected]);
    };
    one(
        "monitoring: {dashboards: yes, prometheus: {install: {}}}",
        "0101 8:26: `monitoring.dashboards` must be `true` or `false`, not the string `yes`; help: write `true`",
    );
    one(
        "monitoring: {alerts: {temperatureCelsius: 0105}, prometheus: {install: {}}}",
        "0101 8:43: `monitoring.alerts.temperatureCelsius` must be an integer, not `0105`; help: it is 105 in YAML 1.2 and 69 in YAML 1.1: write `105`, or `0o105` for 69",
    );
    one(
        "monitoring: {alerts: {temperatureCelsius: 1e2}, prometheus: {install: {}}}",
        "0101 8:43: `monitoring.alerts.temperatureCelsius` must be an integer, not `1e2`; help: write `100`",
    );
    one(
        "monitoring: {alerts: {temperatureCelsius: 1_00}, prometheus: {install: {}}}",
        "0101 8:43: `monitoring.alerts.temperatureCelsius` must be an integer, not the string `1_00`; help: write `100`",
    );
    one(
        "monitoring: {alerts: {temperatureCelsius: \"90\"}, prometheus: {install: {}}}",
        "0101 8:43: `monitoring.alerts.temperatureCelsius` must be an integer, not the string `90`; help: write `90`",
    );
    one(
        "monitoring: {alerts: [90], prometheus: {install: {}}}",
        "0101 8:22: `monitoring.alerts` must be a mapping, not a list; help: write its keys without `-`",
    );
    one(
        "base:\nstack:",
        "0101 9:6: `stack` must be a mapping, not null; help: write its keys indented below, write `{}`, or remove the key",
    );
    one(
        "stack: {driverVersion: [580]}",
        "0101 8:24: `stack.driverVersion` must be a string, not a list; help: write `580` instead of a list",
    );
    one(
        "allow: machine-unknown",
        "0101 8:8: `allow` must be a list, not the string `machine-unknown`; help: write `[machine-unknown]`",
    );
    one(
        "teams: [{name: a, quota: {gpus: 4}}]",
        "0101 8:33: `teams[0].quota.gpus` must be a list, not `4`; help: write a list of mappings; the keys of each are `pool`, `profile`, `guaranteed`, `limit`, `lend` and `shares`",
    );
    one(
        "charts: {kueue: {version: 0.19.0}}",
        "0103 8:18: unknown key `version` in `charts.kueue`; help: gpuc pins the versions of charts, and `gpuc catalog charts` lists them; to use another one, install the chart yourself; the keys are `values`",
    );
    one(
        "queueing: {kueue: {}}",
        "0105 8:11: `kueue` for `queueing` cannot have settings; help: write `kueue` without settings",
    );
    one(
        "queueing: [kueue]",
        "0101 8:11: `queueing` must be one value, not a list; help: write one of `none` and `kueue` instead of a list",
    );
    one(
        "gitops: {}",
        "0105 8:9: `gitops` must have exactly one option; help: write one of `{flux: {repository: …, branch: …, path: …}}` and `{argocd: {repository: …, branch: …, path: …}}`",
    );
    one(
        "workloads: [{name: a, job: {image: b, cpu: true}}]",
        "0101 8:44: `workloads[0].job.cpu` must be a quantity such as 400, 500m or 4Ti, not `true`",
    );
    one(
        "workloads: [{name: a, job: {image: b, cpu: [1]}}]",
        "0101 8:44: `workloads[0].job.cpu` must be a quantity such as 400, 500m or 4Ti, not a list; help: write `1` instead of a list",
    );
}

#[test]
fn aliases_are_reported_once_with_both_spans() {
    check(
        &format!(
            "{HEAD}nodePools:\n  - {{name: a, nodes: &n {{count: x}}}}\n  - {{name: b, nodes: *n}}\n  - {{name: *n, nodes: *n}}\n"
        ),
        &[
            "0101 7:33: `nodePools[0].nodes.count` must be an integer, not the string `x`",
            "0101 9:12: `nodePools[2].name` must be a string, not a mapping; 7:25 the value is defined here",
        ],
    );
    check(
        &format!("{HEAD}nodePools:\n  - {{name: b, nodes: *n}}\n"),
        &[
            "0006 7:22: unknown anchor `n` in the alias `*n`; help: define the anchor with `&name` before the alias",
        ],
    );
}

#[test]
fn other_documents_are_described() {
    let help =
        "help: start the document with `apiVersion: gpuc.dev/v1alpha1` and `kind: GpuCluster`";
    check(
        "apiVersion: apps/v1\nkind: Deployment\n",
        &[&format!(
            "0107 2:7: this is a Kubernetes `Deployment` (`apps/v1`), not a GPU cluster; {help}"
        )],
    );
    check(
        "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n",
        &[&format!(
            "0107 2:7: this is eksctl's `ClusterConfig` (`eksctl.io/v1alpha5`), not a GPU cluster; {help}"
        )],
    );
    check(
        "[1]\n",
        &[&format!(
            "0107 1:1: this is a list, not a GPU cluster; {help}"
        )],
    );
    let old = HEAD.replace("v1alpha1", "v1");
    check(
        &format!("{old}{POOL}"),
        &[
            "0104 1:13: unknown value `gpuc.dev/v1` for `apiVersion`; help: write `gpuc.dev/v1alpha1`",
        ],
    );
}

#[test]
fn later_findings_on_placeholders_are_dropped() {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let world = MemoryFiles::with_file(
        "a",
        &format!("{HEAD}nodePools:\n  - {{name: 7, nodes: {{count: 1}}}}\n"),
    );
    let loaded = load(&world, "a", &mut sources, &mut report);
    let cluster = decode_cluster(&loaded[0].root, &mut report).expect("a cluster");
    let pool = &cluster.node_pools[0];
    report
        .diagnostic(&codes::WRONG_TYPE, pool.name.span, "about a placeholder")
        .emit();
    assert_eq!(report.diagnostics().len(), 1);
    report
        .diagnostic(&codes::WRONG_TYPE, pool.nodes.span, "about a decoded value")
        .emit();
    assert_eq!(report.diagnostics().len(), 2);
}

#[test]
fn problem_limit_and_large_files() {
    let mut text = format!("{HEAD}nodePools:\n");
    for number in 0..3_000 {
        writeln!(
            text,
            "  - {{nam: p{number}, nodes: {{count: x}}, gpu: {{model: 4}}}}"
        )
        .expect("text");
    }
    let (cluster, found, _) = run(&text);
    assert!(cluster.is_none());
    assert_eq!(found.len(), MAX_PROBLEMS);
    let last = found[99].help.as_deref().expect("help");
    assert!(
        last.ends_with("more problems in this document are not shown"),
        "{last}"
    );
}

#[test]
fn examples_cause_codes_and_fixes_work() {
    let all = yaml::codes::CODES
        .iter()
        .chain(codes::CODES)
        .chain(load::codes::CODES);
    // `check_ranges` reports empty lists, after the rules.
    let all = all.filter(|code| code.id != codes::LIST_EMPTY.id);
    for code in all {
        let (_, found, _) = run(code.bad);
        assert!(!found.is_empty(), "{} raises nothing", code.id);
        for found in &found {
            assert_eq!(found.code.id, code.id, "{}", found.message);
        }
        if found.iter().all(|found| found.fix.is_some()) {
            let (_, remaining, _) = run(&fixed(code.bad, &found));
            assert!(remaining.is_empty(), "{}: {remaining:?}", code.id);
        }
        let (cluster, found, _) = run(&code.good());
        assert!(
            found.is_empty() && cluster.is_some(),
            "{}: {found:?}",
            code.id
        );
    }
}

#[test]
fn fixes_apply() {
    let text = format!(
        "{HEAD}queueing:\n  kueue: {{}}\nmonitoring: {{dashboards: \"on\", exporter: DCGM, prometheus: {{install: {{}}}}}}\nallow: a-b\nnodePools:\n  - {{nam: 5, nodes: {{count: \"1\"}}, stack: {{driverVersion: 580}}}}\n"
    );
    let (_, found, _) = run(&text);
    assert_eq!(
        found.iter().filter(|found| found.fix.is_some()).count(),
        7,
        "{found:#?}"
    );
    let fixed_once = fixed(&text, &found);
    let (_, found, _) = run(&fixed_once);
    let (_, remaining, _) = run(&fixed(&fixed_once, &found));
    assert!(remaining.is_empty(), "{remaining:?}");
}

#[test]
fn errors_of_custom_types_are_reported() {
    use std::num::NonZeroU32;

    let parse = |text: &str| {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("a.yaml", text);
        let root = yaml::parse(&sources, id, &mut report).remove(0).root;
        (root, report, sources)
    };
    let (root, mut report, sources) = parse("[0, 2, 0]");
    let numbers = decode::<Vec<NonZeroU32>>(&root, &mut report).expect("numbers");
    assert_eq!(
        numbers
            .iter()
            .map(|number| number.get())
            .collect::<Vec<_>>(),
        [1, 2, 1]
    );
    let locations = report
        .diagnostics()
        .iter()
        .map(|found| sources.locate(found.primary.span));
    assert_eq!(
        locations
            .flatten()
            .map(|(_, at)| at.column)
            .collect::<Vec<_>>(),
        [2, 8]
    );

    let (root, mut report, _) = parse("a");
    assert!(decode::<i128>(&root, &mut report).is_none());
    assert!(report.has_errors());
    let (root, mut report, _) = parse("{a: [1, x, {b: 1.5}], c: ~}");
    let json = decode::<serde_json::Value>(&root, &mut report).expect("JSON");
    assert_eq!(
        json,
        serde_json::json!({"a": [1, "x", {"b": 1.5}], "c": null})
    );
}

proptest! {
    #[test]
    fn any_text_is_decoded_without_panic(text in "\\PC{0,200}") {
        run(&text);
    }

    #[test]
    fn any_change_of_a_valid_file_is_decoded_without_panic(
        code in 0..codes::CODES.len(),
        at in 0..400usize,
        length in 0..20usize,
        new in "[-a-z0-9:{}\\[\\],&*!<~\" \n]{0,12}",
    ) {
        let good = codes::CODES[code].good();
        let at = at.min(good.len());
        let end = (at + length).min(good.len());
        let text = format!("{}{new}{}", &good[..at], &good[end..]);
        let (cluster, found, _) = run(&text);
        prop_assert!(cluster.is_some() || !found.is_empty());
    }
}

/// Each help, applied as it says, is accepted.
#[test]
fn helps_for_keys_of_other_tools_are_accepted() {
    let pool =
        |more: &str| format!("{HEAD}nodePools:\n  - {{name: a, nodes: {{count: 1}}, {more}}}\n");
    let help = |text: &str| {
        let (_, found, _) = run(text);
        let mut helps = found.iter().filter_map(|found| found.help.clone());
        helps.next().unwrap_or_default()
    };
    for (wrong, expected, right) in [
        (
            "taints: [\"sku=gpu:NoSchedule\"]",
            "write `{key: sku, value: \"gpu\", effect: NoSchedule}`",
            "taints: [{key: sku, value: \"gpu\", effect: NoSchedule}]",
        ),
        (
            "taints: [\"nvidia.com/gpu:NoExecute\"]",
            "write `{key: nvidia.com/gpu, effect: NoExecute}`",
            "taints: [{key: nvidia.com/gpu, effect: NoExecute}]",
        ),
        (
            "sharing: timeSlicing",
            "write its settings: `{timeSlicing: {replicas: …}}`",
            "sharing: {timeSlicing: {replicas: 4}}",
        ),
        (
            "instanceType: g6.xlarge",
            "write the machine type as `machine`; ",
            "machine: g6.xlarge",
        ),
        (
            "accelerator: L4",
            "write the GPUs as `gpu: {model: …, perNode: …}`; ",
            "gpu: {model: L4, perNode: 1}",
        ),
        (
            "diskSize: 100",
            "write the size of the disk as `diskGiB`; ",
            "diskGiB: 100",
        ),
    ] {
        assert!(
            help(&pool(wrong)).starts_with(expected),
            "{}",
            help(&pool(wrong))
        );
        check(&pool(right), &[]);
    }
    let counted = format!("{HEAD}nodePools:\n  - {{name: a, nodeCount: 1}}\n");
    let (_, found, _) = run(&counted);
    let unknown = found
        .iter()
        .find(|found| found.message.contains("nodeCount"));
    let help = unknown.and_then(|found| found.help.as_deref());
    let expected = "write the number of nodes as `nodes: {count: …}`; ";
    assert!(
        help.is_some_and(|help| help.starts_with(expected)),
        "{help:?}"
    );
}
