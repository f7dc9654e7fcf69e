//! Configurations of NVIDIA's device plugin that the user writes as chart values: the plugin must advertise what the
//! pool says.
//!
//! Source: NVIDIA/k8s-device-plugin@1b826acc6 `api/config/v1` (the keys, and what a flag overrides) and
//! `cmd/config-manager/main.go` (which configuration a node gets), 2026-11-26.

mod config;

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::operator::PLUGIN_CONFIG_LABEL;
use gpuc_model::plan::{Plan, Release};
use gpuc_model::{Pool, Sharing};
use gpuc_schema::config::DevicePlugin;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};
use gpuc_syntax::node::{Entry, Node};
use gpuc_syntax::source::Span;
use serde_json::Value as Json;

use self::config::{advertised_by, advertised_of, find_problems, read_config};

use crate::charts::{GPU_OPERATOR, NVIDIA_DEVICE_PLUGIN};

/// A configuration of the device plugin that contradicts a pool.
pub(super) static PLUGIN_CONFIG_CONTRADICTS_POOL: Code = Code {
    id: "GPUC3006",
    name: "plugin-config-contradicts-pool",
    severity: Severity::Error,
    summary: "a configuration of NVIDIA's device plugin contradicts a pool",
    checks: "Whether NVIDIA's device plugin, with your values of its chart or of the GPU Operator, advertises what
`sharing` of each pool says: the method, the replicas, the renaming, and the MIG strategy. Whether the
configuration of each pool exists, and is YAML with only keys and values that the plugin accepts.",
    reason: "The plugin ignores a key that it does not know, does not start with a value that it refuses, and advertises
what its configuration says. Quotas, queues, alerts and `verify.sh` use the numbers that the pool implies.",
    remedy: "Remove the values, and write `sharing` for the pool: gpuc writes the configuration.",
    bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    sharing: {timeSlicing: {replicas: 2}}
charts:
  nvidia-device-plugin:
    values:
      config:
        map:
          gpu: |
            version: v1
            sharing:
              timeSlicing:
                resources: [{name: nvidia.com/gpu, replicas: 4}]
"#,
    correction: Correction::Replace("replicas: 4}]", "replicas: 2}]"),
};

/// The chart's location of the configurations.
struct Location {
    configs: &'static [&'static str],
    default: &'static [&'static str],
    /// An existing ConfigMap, which gpuc cannot read.
    name: &'static [&'static str],
    strategy: &'static [&'static str],
    /// Whether a node without a name gets the configuration `default`, or the only one.
    has_fallbacks: bool,
}

/// NVIDIA/k8s-device-plugin@1b826acc6 deployments/helm/nvidia-device-plugin/values.yaml, `fallbackStrategies`.
const PLUGIN: Location = Location {
    configs: &["config", "map"],
    default: &["config", "default"],
    name: &["config", "name"],
    strategy: &["migStrategy"],
    has_fallbacks: true,
};

/// NVIDIA/gpu-operator@a22dbf671 `controllers/object_controls.go`, `handleDevicePluginConfig`: a node without the
/// label gets the default, or none.
const OPERATOR: Location = Location {
    configs: &["devicePlugin", "config", "data"],
    default: &["devicePlugin", "config", "default"],
    name: &[],
    strategy: &["mig", "strategy"],
    has_fallbacks: false,
};

/// Compares the configuration of each pool with the pool.
///
/// # Panics
///
/// When gpuc's own configuration contradicts a pool, unless a label of the pool selects another one.
pub(super) fn check(plan: &Plan, cluster: &Checked<'_>, report: &mut Report) {
    // Several releases of a chart have the user's values in common.
    let mut reported = BTreeSet::new();
    for release in &plan.releases {
        let location = match release.chart.name {
            name if name == NVIDIA_DEVICE_PLUGIN.name => &PLUGIN,
            name if name == GPU_OPERATOR.name => &OPERATOR,
            _ => continue,
        };
        let pools = cluster.pools.iter();
        let pools = pools.filter(|pool| release.pools.contains(&pool.name.value));
        for pool in pools.filter(|pool| location.serves(pool)) {
            for finding in location.findings(release, pool) {
                let is_gpuc_only = cluster.config.charts.get(release.chart.name).is_none()
                    && selection_label(pool).is_none();
                assert!(!is_gpuc_only, "{}: {}", release.name, finding.message);
                let span = if finding.span.is_written() {
                    finding.span
                } else {
                    pool.name.span
                };
                if !reported.insert((span, finding.message.clone())) {
                    continue;
                }
                let builder =
                    report.diagnostic(&PLUGIN_CONFIG_CONTRADICTS_POOL, span, finding.message);
                let builder = match finding.sharing {
                    Some(text) => builder.label(sharing_span(pool), text),
                    None => builder,
                };
                builder.help(finding.help).emit();
            }
        }
    }
}

struct Finding {
    span: Span,
    message: String,
    /// What the pool says.
    sharing: Option<String>,
    help: String,
}

impl Location {
    /// Whether the chart's plugin advertises the GPUs of a pool.
    fn serves(&self, pool: &Pool) -> bool {
        let plugin = if self.has_fallbacks {
            DevicePlugin::Nvidia
        } else {
            DevicePlugin::Operator
        };
        pool.is_advertised_by(plugin)
    }

    fn findings(&self, release: &Release, pool: &Pool) -> Vec<Finding> {
        let values = &release.values;
        if find(values, self.name).and_then(Node::text).is_some() {
            return Vec::new();
        }
        let configs = find(values, self.configs).map_or(&[][..], Node::entries);
        let chosen = match self.chosen(values, pool, configs) {
            Ok(chosen) => chosen,
            Err(finding) => return vec![finding],
        };
        let strategy = find(values, self.strategy);
        let variable = strategy
            .and_then(Node::text)
            .filter(|text| !text.is_empty());
        let (span, text) = match chosen {
            Some(config) => (config.value.span(), config.value.text().unwrap_or_default()),
            None => (strategy.map_or(Span::NONE, Node::span), ""),
        };
        let refused = |message: String, help: &str| Finding {
            span,
            message,
            sharing: None,
            help: help.to_owned(),
        };
        let config = match read_config(text) {
            Ok(config) => config,
            Err(error) => {
                let message =
                    format!("the configuration of the device plugin is not YAML: {error}");
                return vec![refused(
                    message,
                    "correct it, or remove it: gpuc writes the configuration",
                )];
            }
        };
        let problems = find_problems(&config).into_iter();
        let mut findings: Vec<_> = problems
            .map(|problem| refused(problem.message, &problem.help))
            .collect();
        for method in ["timeSlicing", "mps"] {
            let section = &config["sharing"][method];
            let is_empty =
                |value: &Json| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            if section.is_object() && is_empty(&section["resources"]) {
                let message = format!(
                    "NVIDIA's device plugin refuses `sharing.{method}` without `resources`"
                );
                findings.push(refused(message, &format!("remove `{method}`")));
            }
        }
        let expected = advertised_of(pool);
        let mut actual = advertised_by(&config, variable);
        if !matches!(pool.sharing.expect_resolved(), Sharing::Mig { .. }) {
            // GPUs that are not partitioned are advertised alike under every strategy.
            actual.strategy.clone_from(&expected.strategy);
        }
        if findings.is_empty() && actual != expected {
            // The value that decides: the variable takes precedence over the file.
            let differs_by_variable = actual.replicas == expected.replicas && variable.is_some();
            let span = strategy
                .filter(|_| differs_by_variable)
                .map_or(span, Node::span);
            findings.push(Finding {
                span,
                message: format!(
                    "the device plugin advertises {} on pool `{}`",
                    actual.describe(),
                    pool.name
                ),
                sharing: Some(format!("the pool says: {}", expected.describe())),
                help: format!("remove this value and {}", actual.sharing_key()),
            });
        }
        findings
    }

    /// The configuration that the nodes of a pool get.
    fn chosen<'e>(
        &self,
        values: &Node,
        pool: &Pool,
        configs: &'e [Entry],
    ) -> Result<Option<&'e Entry>, Finding> {
        let Some(first) = configs.first() else {
            return Ok(None);
        };
        let by_name = |name: &str| configs.iter().find(|config| config.key == name);
        let default = find(values, self.default).and_then(Node::text);
        let default = default.filter(|name| !name.is_empty());
        let name = selection_label(pool).or(default);
        if let Some(name) = name {
            let written = written_span(configs);
            let help = if written.is_written() {
                format!("add `{name}`, or remove this value")
            } else {
                format!(
                    "remove `{PLUGIN_CONFIG_LABEL}: {name}`: gpuc writes the configuration of the pool"
                )
            };
            return by_name(name).map(Some).ok_or_else(|| Finding {
                span: written,
                message: format!(
                    "the nodes of pool `{}` select the configuration `{name}` of the device plugin, which does not exist",
                    pool.name
                ),
                sharing: None,
                help,
            });
        }
        if !self.has_fallbacks {
            return Ok(None);
        }
        match (by_name("default"), configs) {
            (Some(default), _) => Ok(Some(default)),
            (None, [_]) => Ok(Some(first)),
            (None, _) => {
                let names: Vec<_> = configs.iter().map(|config| config.key.as_str()).collect();
                Err(Finding {
                    span: written_span(configs),
                    message: format!(
                        "no configuration of the device plugin is selected for pool `{}`",
                        pool.name
                    ),
                    sharing: None,
                    help: format!(
                        "remove this value, or set `config.default` to {}",
                        phrases::quoted_conjunction(&names, "or")
                    ),
                })
            }
        }
    }
}

/// The configuration that a label of the pool selects.
fn selection_label(pool: &Pool) -> Option<&str> {
    let mut labels = pool.labels.iter().chain(&pool.selector);
    let label = labels.find(|label| label.key == PLUGIN_CONFIG_LABEL)?;
    Some(&label.value)
}

fn find<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    let (first, rest) = path.split_first()?;
    let start = node.get(first)?;
    rest.iter().try_fold(start, |node, key| node.get(key))
}

/// The first configuration that the user wrote.
fn written_span(configs: &[Entry]) -> Span {
    let mut spans = configs.iter().map(|config| config.value.span());
    spans.find(|span| span.is_written()).unwrap_or(Span::NONE)
}

fn sharing_span(pool: &Pool) -> Span {
    if pool.sharing_span.is_written() {
        pool.sharing_span
    } else {
        pool.name.span
    }
}
