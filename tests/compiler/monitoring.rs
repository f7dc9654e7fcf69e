//! Rules and dashboards: expressions are PromQL, their metrics are exported, and dashboards follow Grafana's grid.

use std::collections::{BTreeMap, BTreeSet};

use gpuc_compile::lower::monitoring::metrics::{Exporter, METRICS};
use gpuc_compile::lower::monitoring::series::SERIES;
use gpuc_model::plan::{Plan, Release};
use promql_parser::label::MatchOp;
use promql_parser::parser::{Expr, VectorSelector, parse};
use serde_json::Value;

use crate::corpus::cases;
use crate::support::compile_text;

/// Every selector in an expression.
fn selectors(expression: &Expr) -> Vec<VectorSelector> {
    match expression {
        Expr::VectorSelector(it) => vec![it.clone()],
        Expr::MatrixSelector(it) => vec![it.vs.clone()],
        Expr::Aggregate(it) => {
            let parameter = it.param.iter().flat_map(|it| selectors(it));
            parameter.chain(selectors(&it.expr)).collect()
        }
        Expr::Unary(it) => selectors(&it.expr),
        Expr::Binary(it) => [selectors(&it.lhs), selectors(&it.rhs)].concat(),
        Expr::Paren(it) => selectors(&it.expr),
        Expr::Subquery(it) => selectors(&it.expr),
        Expr::Call(it) => it.args.args.iter().flat_map(|it| selectors(it)).collect(),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => Vec::new(),
    }
}

fn parse_selectors(text: &str) -> Vec<VectorSelector> {
    let expression = parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    selectors(&expression)
}

/// The value that a selector requires for a label.
fn label_matcher_value(selector: &VectorSelector, label: &str) -> Option<String> {
    let matchers = selector.matchers.matchers.iter();
    let mut matchers = matchers.filter(|it| it.name == label && it.op == MatchOp::Equal);
    matchers.next().map(|it| it.value.clone())
}

/// The rules of a plan, each with the pool of its object.
pub(crate) fn rules(plan: &Plan) -> Vec<(Option<String>, Value)> {
    let objects = plan.objects.iter();
    let objects = objects.filter(|object| object.identity.kind == "PrometheusRule");
    let rules = objects.flat_map(|object| {
        let value = serde_json::to_value(&object.node).unwrap();
        let pool = value["metadata"]["labels"]["gpuc.dev/pool"].as_str();
        let pool = pool.map(str::to_owned);
        let groups = value["spec"]["groups"].as_array().unwrap().iter();
        let rules = groups.flat_map(|group| group["rules"].as_array().unwrap().clone());
        rules.map(|rule| (pool.clone(), rule)).collect::<Vec<_>>()
    });
    rules.collect()
}

/// The dashboards of a plan.
fn dashboards(plan: &Plan) -> Vec<Value> {
    let objects = plan.objects.iter();
    let maps = objects.filter(|object| object.identity.name.starts_with("dashboard-"));
    let texts = maps.map(|object| {
        let value = serde_json::to_value(&object.node).unwrap();
        assert_eq!(value["metadata"]["labels"]["grafana_dashboard"], "1");
        let annotations = &value["metadata"]["annotations"];
        assert_eq!(
            annotations["kustomize.toolkit.fluxcd.io/substitute"],
            "disabled"
        );
        let data = value["data"].as_object().unwrap();
        assert_eq!(data.len(), 1);
        serde_json::from_str(data.values().next().unwrap().as_str().unwrap()).unwrap()
    });
    texts.collect()
}

/// The queries of a dashboard, with values for its variables.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    let texts = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let offered = dashboard["templating"]["list"].as_array().unwrap().iter();
    let offered = offered.filter_map(|variable| {
        let query = variable["query"]["query"].as_str()?;
        let inside = query.strip_prefix("label_values(")?.strip_suffix(')')?;
        Some(inside.rsplit_once(", ").unwrap().0.to_owned())
    });
    let replaced = texts.chain(offered).map(|text| {
        let text = text
            .replace("$__rate_interval", "5m")
            .replace("$__range", "6h");
        let text = text
            .replace("$pool", ".+")
            .replace("$node", ".+")
            .replace("$namespace", ".+");
        assert!(!text.contains('$'), "{text} has an unknown variable");
        text
    });
    replaced.collect()
}

/// The exported metrics of a pool.
struct ExportedMetrics {
    names: BTreeSet<String>,
}

impl ExportedMetrics {
    /// For dcgm-exporter, the metrics in its list. For gpuc-runtime, its metrics, without GPU metrics if these are
    /// disabled.
    fn exported_by_pool(plan: &Plan, pool: &str) -> Self {
        let mut names = BTreeSet::new();
        let release = plan
            .releases
            .iter()
            .find(|it| it.name == format!("dcgm-exporter-{pool}"));
        let values = |release: &Release| serde_json::to_value(&release.values).unwrap();
        let mut operators = plan.releases.iter().filter(|release| {
            release.chart.name == "gpu-operator" && release.pools.iter().any(|it| it == pool)
        });
        let list = match release {
            Some(release) => Some(values(release)["customMetrics"].clone()),
            None => operators
                .next()
                .map(|release| values(release)["dcgmExporter"]["config"]["data"].clone())
                .filter(|list| !list.is_null()),
        };
        if let Some(list) = &list {
            let lines = list.as_str().unwrap().lines();
            names.extend(lines.map(|line| line.split(',').next().unwrap().to_owned()));
        }
        let configuration = plan.objects.iter().find(|it| {
            it.identity.kind == "ConfigMap" && it.identity.name == format!("gpuc-runtime-{pool}")
        });
        if let Some(configuration) = configuration {
            let value = serde_json::to_value(&configuration.node).unwrap();
            let config: Value =
                serde_json::from_str(value["data"]["node.json"].as_str().unwrap()).unwrap();
            let measures = config["metrics"]["gpus"].as_bool().unwrap();
            assert_eq!(
                measures,
                list.is_none(),
                "the GPUs of {pool} are measured twice"
            );
            let of_runtime = METRICS
                .iter()
                .filter(|it| it.exporters.contains(&Exporter::Runtime));
            let of_runtime = of_runtime.filter(|it| measures || it.name.starts_with("gpuc_"));
            names.extend(of_runtime.map(|it| it.name.to_owned()));
        }
        Self { names }
    }
}

/// The metrics of every exporter.
fn common_metrics() -> BTreeSet<String> {
    let metrics = METRICS.iter().filter(|metric| {
        let exporters = metric.exporters;
        exporters.contains(&Exporter::KubeStateMetrics) || exporters.contains(&Exporter::Prometheus)
    });
    metrics.map(|metric| metric.name.to_owned()).collect()
}

#[test]
fn queried_metrics_are_exported() {
    let (mut rules_seen, mut queries_seen) = (0, 0);
    for case in cases() {
        let plan = case.plan();
        let rules = rules(plan);
        let recorded: BTreeSet<_> = rules
            .iter()
            .filter_map(|(_, rule)| rule["record"].as_str())
            .collect();
        let pools: BTreeSet<_> = rules.iter().filter_map(|(pool, _)| pool.clone()).collect();
        let exported: BTreeMap<_, _> = pools
            .iter()
            .map(|pool| (pool, ExportedMetrics::exported_by_pool(plan, pool)))
            .collect();
        let mut read: BTreeMap<&String, BTreeSet<String>> = BTreeMap::new();
        for (pool, rule) in &rules {
            rules_seen += 1;
            for selector in parse_selectors(rule["expr"].as_str().unwrap()) {
                let name = selector.name.clone().unwrap();
                let whole = format!("{}: {}", case.name, rule["expr"]);
                if recorded.contains(name.as_str()) || common_metrics().contains(&name) {
                    continue;
                }
                let pool = pool
                    .as_ref()
                    .unwrap_or_else(|| panic!("{whole} reads {name}, but no pool exports it"));
                assert_eq!(
                    label_matcher_value(&selector, "pool").as_ref(),
                    Some(pool),
                    "{whole}"
                );
                assert!(
                    exported[pool].names.contains(&name),
                    "{whole}: an exporter does not export {name}"
                );
                read.entry(exported.get_key_value(pool).unwrap().0)
                    .or_default()
                    .insert(name);
            }
        }
        for dashboard in dashboards(plan) {
            for query in queries(&dashboard) {
                queries_seen += 1;
                for selector in parse_selectors(&query) {
                    let name = selector.name.unwrap();
                    if recorded.contains(name.as_str()) || common_metrics().contains(&name) {
                        continue;
                    }
                    for (pool, exported) in &exported {
                        assert!(
                            exported.names.contains(&name),
                            "{}: {pool}: {query}",
                            case.name
                        );
                        read.entry(pool).or_default().insert(name.clone());
                    }
                }
            }
        }
        // Every metric that dcgm-exporter is configured to export is used.
        for (pool, exported) in &exported {
            let dcgm = exported.names.iter().filter(|_| {
                plan.releases
                    .iter()
                    .any(|it| it.name == format!("dcgm-exporter-{pool}"))
            });
            let unread: Vec<_> = dcgm
                .filter(|name| name.starts_with("DCGM_"))
                .filter(|name| !read[pool].contains(*name))
                .collect();
            assert!(
                unread.is_empty(),
                "{}: {pool} exports {unread:?}, which no query uses",
                case.name
            );
        }
    }
    assert!(
        rules_seen > 100 && queries_seen > 20,
        "{rules_seen} rules, {queries_seen} queries"
    );
}

/// A recorded series has its documented labels in every pool.
#[test]
fn recorded_series_have_their_labels() {
    for case in cases() {
        for (_, rule) in rules(case.plan()) {
            let Some(name) = rule["record"].as_str() else {
                continue;
            };
            let series = SERIES.iter().find(|series| series.name == name).unwrap();
            let text = rule["expr"].as_str().unwrap();
            for label in series.labels {
                assert!(text.contains(label), "{name} lacks {label}: {text}");
            }
        }
    }
}

/// With two exporters on a node, every sum would be doubled. An exporter without tolerations would not run on tainted
/// nodes.
#[test]
fn exporters_run_on_their_pool() {
    let mut seen = 0;
    for case in cases() {
        let releases = case.plan().releases.iter();
        for release in releases.filter(|it| it.chart.name == "dcgm-exporter") {
            seen += 1;
            let values = serde_json::to_value(&release.values).unwrap();
            let terms = &values["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
            let terms = terms["nodeSelectorTerms"].as_array().unwrap();
            assert_eq!(terms.len(), 1, "{}: {}", case.name, release.name);
            assert_eq!(
                values["podLabels"]["gpuc.dev/pool"],
                release.pools[0].as_str()
            );
            let namespaces = case.plan().releases.iter();
            let namespaces = namespaces.filter(|it| it.namespace == release.namespace);
            assert_eq!(
                namespaces.count(),
                1,
                "{}: {} shares a namespace",
                case.name,
                release.name
            );
            // The exporter has SYS_ADMIN only for profiling metrics.
            let profiles = values["customMetrics"]
                .as_str()
                .unwrap()
                .contains("DCGM_FI_PROF_");
            let added = values["securityContext"]["capabilities"]["add"].as_array();
            if let Some(added) = added {
                assert_eq!(
                    profiles,
                    !added.is_empty(),
                    "{}: {}",
                    case.name,
                    release.name
                );
            }
        }
    }
    assert!(seen > 5, "only {seen} releases were checked");
}

#[test]
fn dashboards_match_the_grid_of_grafana() {
    let mut uids = BTreeMap::new();
    for case in cases() {
        for dashboard in dashboards(case.plan()) {
            let uid = dashboard["uid"].as_str().unwrap().to_owned();
            check_dashboard(&dashboard);
            let first = uids.entry(uid).or_insert_with(|| dashboard.clone());
            assert_eq!(*first, dashboard, "the dashboard differs between clusters");
        }
    }
    let uids: Vec<_> = uids.into_keys().collect();
    assert_eq!(
        uids,
        ["gpuc-fleet", "gpuc-namespace", "gpuc-node", "gpuc-pool"]
    );
}

fn check_dashboard(dashboard: &Value) {
    let uid = dashboard["uid"].as_str().unwrap();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let variables: Vec<_> = variables
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(variables[0], "datasource", "{uid}");
    let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(
            ids.insert(panel["id"].as_u64().unwrap()),
            "{uid}: duplicate id"
        );
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(
            place("w") > 0 && place("h") > 0 && place("x") + place("w") <= 24,
            "{uid}: {}",
            panel["title"]
        );
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(
                    taken.insert((x, y)),
                    "{uid}: {} overlaps another panel",
                    panel["title"]
                );
            }
        }
        let kind = panel["type"].as_str().unwrap();
        if kind == "row" {
            continue;
        }
        assert!(
            [
                "timeseries",
                "stat",
                "gauge",
                "bargauge",
                "table",
                "state-timeline"
            ]
            .contains(&kind)
        );
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{uid}");
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{uid}: {}", panel["title"]);
        let names: BTreeSet<_> = targets
            .iter()
            .map(|it| it["refId"].as_str().unwrap())
            .collect();
        assert_eq!(names.len(), targets.len(), "{uid}: {}", panel["title"]);
        for target in targets {
            let text = target["expr"].as_str().unwrap();
            for part in text.split('$').skip(1) {
                let name: String = part
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                let built_in = ["__rate_interval", "__range"].contains(&name.as_str());
                assert!(
                    built_in || variables.contains(&name.as_str()),
                    "{uid}: unknown variable ${name}"
                );
            }
            // A legend uses only labels that the query keeps.
            let legend = target["legendFormat"].as_str().unwrap();
            for label in legend
                .split("{{")
                .skip(1)
                .map(|it| it.split("}}").next().unwrap())
            {
                let by = text.contains(" by (");
                assert!(!by || text.contains(label), "{uid}: {legend} of {text}");
            }
        }
        let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap();
        let known = [
            "short",
            "percentunit",
            "celsius",
            "watt",
            "watth",
            "bytes",
            "hertz",
        ];
        assert!(known.contains(&unit), "{uid}: {unit}");
    }
}

#[test]
fn dra_pools_are_monitored_by_quota() {
    let text = "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {name: demo}\nkubernetes: {version: \"1.35\"}\n\
                cloud: {aws: {account: \"123456789012\", region: us-east-1, cluster: {create: {}}}}\n\
                stack: {allocation: dra}\nnodePools: [{name: gpu, machine: g6.xlarge, nodes: {count: 1}}]\n\
                monitoring: {prometheus: {existing: {release: a}}}\n";
    let outcome = compile_text(text);
    let plan = outcome.compilations[0].plan.as_ref();
    let rules = rules(plan.unwrap_or_else(|| panic!("{}", outcome.text())));
    let mut quotas = 0;
    for (_, rule) in &rules {
        let expression = rule["expr"].as_str().unwrap();
        // An empty matcher selects series without the label.
        assert!(!expression.contains("resource=~\"\""), "{expression}");
        assert_ne!(
            rule["alert"], "GpuUnhealthy",
            "DRA pools have no count of unhealthy GPUs"
        );
        if rule["alert"] == "GpuQuotaNearlyUsed" {
            quotas += 1;
            let class = r"gpu\\.gpuc\\.dev\\.deviceclass\\.resource\\.k8s\\.io/devices";
            assert!(expression.contains(class), "{expression}");
        }
    }
    assert_eq!(quotas, 1);
}

#[test]
fn disabled_alerts_are_absent() {
    let text = |alerts: &str| {
        format!(
            "apiVersion: gpuc.dev/v1alpha1\nkind: GpuCluster\nmetadata: {{name: demo}}\nkubernetes: {{version: \"1.36\"}}\n\
             cloud: {{aws: {{account: \"123456789012\", region: us-east-1, cluster: {{create: {{}}}}}}}}\n\
             stack: {{devicePlugin: nvidia}}\nnodePools: [{{name: gpu, machine: g6.xlarge, nodes: {{count: 1}}}}]\n\
             monitoring: {{alerts: {alerts}, prometheus: {{existing: {{release: a}}}}}}\n"
        )
    };
    let names = |alerts: &str| -> BTreeSet<String> {
        let outcome = compile_text(&text(alerts));
        let plan = outcome.compilations[0].plan.as_ref();
        let rules = rules(plan.unwrap_or_else(|| panic!("{}", outcome.text())));
        rules
            .iter()
            .filter_map(|(_, rule)| Some(rule["alert"].as_str()?.to_owned()))
            .collect()
    };
    let all = names("{}");
    let some = names("{disabled: [GpuIdle, GpuXid, GpuXidFatal]}");
    let removed: Vec<_> = all.difference(&some).map(String::as_str).collect();
    assert_eq!(removed, ["GpuIdle", "GpuXid", "GpuXidFatal"]);
    // GpuPowerHigh needs a threshold, and GpuHealthUnwatched needs gpuc-runtime instead of NVIDIA's plugin.
    assert!(!all.contains("GpuPowerHigh") && !all.contains("GpuHealthUnwatched"));
    let wrong = compile_text(&text("{disabled: [GpuIdel]}"));
    assert!(
        wrong.text().contains("did you mean `GpuIdle`"),
        "{}",
        wrong.text()
    );
}
