//! A configuration of NVIDIA's device plugin: its keys, and what it makes the plugin advertise.

use gpuc_model::{Pool, Sharing};
use gpuc_syntax::diag::{Report, Severity, phrases};
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;
use serde_json::{Value as Json, json};

/// The keys of a configuration. `*` stands for the items of a list.
const KEYS: &[&str] = &[
    "version",
    "flags",
    "flags.migStrategy",
    "flags.failOnInitError",
    "flags.mpsRoot",
    "flags.nvidiaDriverRoot",
    "flags.nvidiaDevRoot",
    "flags.gdrcopyEnabled",
    "flags.gdsEnabled",
    "flags.mofedEnabled",
    "flags.useNodeFeatureAPI",
    "flags.deviceDiscoveryStrategy",
    "flags.plugin",
    "flags.plugin.passDeviceSpecs",
    "flags.plugin.deviceListStrategy",
    "flags.plugin.deviceListStrategy.*",
    "flags.plugin.deviceIDStrategy",
    "flags.plugin.cdiAnnotationPrefix",
    "flags.plugin.nvidiaCTKPath",
    "flags.plugin.containerDriverRoot",
    "flags.plugin.sharedDevicesAllocationPolicy",
    "flags.gfd",
    "flags.gfd.oneshot",
    "flags.gfd.noTimestamp",
    "flags.gfd.sleepInterval",
    "flags.gfd.outputFile",
    "flags.gfd.machineTypeFile",
    "resources",
    "resources.gpus",
    "resources.gpus.*",
    "resources.gpus.*.pattern",
    "resources.gpus.*.name",
    "resources.mig",
    "resources.mig.*",
    "resources.mig.*.pattern",
    "resources.mig.*.name",
    "sharing",
    "sharing.timeSlicing",
    "sharing.timeSlicing.renameByDefault",
    "sharing.timeSlicing.failRequestsGreaterThanOne",
    "sharing.timeSlicing.resources",
    "sharing.timeSlicing.resources.*",
    "sharing.timeSlicing.resources.*.name",
    "sharing.timeSlicing.resources.*.replicas",
    "sharing.timeSlicing.resources.*.devices",
    "sharing.timeSlicing.resources.*.devices.*",
    "sharing.timeSlicing.resources.*.rename",
    "sharing.mps",
    "sharing.mps.renameByDefault",
    "sharing.mps.failRequestsGreaterThanOne",
    "sharing.mps.resources",
    "sharing.mps.resources.*",
    "sharing.mps.resources.*.name",
    "sharing.mps.resources.*.replicas",
    "sharing.mps.resources.*.devices",
    "sharing.mps.resources.*.devices.*",
    "sharing.mps.resources.*.rename",
    "imex",
    "imex.channelIDs",
    "imex.channelIDs.*",
    "imex.required",
];

/// Reads a configuration. An empty one is null.
///
/// # Errors
///
/// The first problem, if the text is not one YAML document.
pub(super) fn read_config(text: &str) -> Result<Json, String> {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let file = sources.add("", text);
    let documents = yaml::parse_allow_empty(&sources, file, &mut report);
    let mut problems = report.diagnostics().iter();
    if let Some(problem) = problems.find(|it| it.code.severity == Severity::Error) {
        return Err(problem.message.clone());
    }
    match &documents[..] {
        [] => Ok(Json::Null),
        [document] => Ok(json!(document.root)),
        _ => Err("it has several documents".to_owned()),
    }
}

pub(super) fn collect_unknown_keys(value: &Json, path: &str, unknown: &mut Vec<String>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match value {
        Json::Object(entries) => {
            for (key, value) in entries {
                let path = below(key);
                if KEYS.contains(&path.as_str()) {
                    collect_unknown_keys(value, &path, unknown);
                } else {
                    unknown.push(path);
                }
            }
        }
        Json::Array(items) => {
            for item in items {
                collect_unknown_keys(item, &below("*"), unknown);
            }
        }
        _ => {}
    }
}

pub(super) fn unknown_key_help(path: &str) -> String {
    if path == "sharing.mig" {
        return "remove it, and write `sharing: {mig: ...}` for the pool".to_owned();
    }
    let readable = |path: &str| path.replace(".*", "[]");
    match phrases::closest_match(path, KEYS.iter().copied()) {
        Some(key) => format!("write `{}`", readable(key)),
        None => "remove it".to_owned(),
    }
}

/// What a node advertises of its GPUs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Advertised {
    /// The method, the replicas of each GPU, and whether they have another name.
    pub(super) replicas: Option<(&'static str, u64, bool)>,
    pub(super) strategy: String,
}

impl Advertised {
    pub(super) fn describe(&self) -> String {
        match &self.replicas {
            Some((method, replicas, rename)) => {
                let renamed = if *rename {
                    " as `nvidia.com/gpu.shared`"
                } else {
                    ""
                };
                format!("{replicas} replicas of each GPU by {method}{renamed}")
            }
            None if self.strategy == "none" => "each GPU once".to_owned(),
            None => format!("MIG devices with the strategy `{}`", self.strategy),
        }
    }

    /// The key of the pool that says the same.
    pub(super) fn sharing_key(&self) -> String {
        match &self.replicas {
            Some((method, replicas, rename)) => {
                let method = if *method == "MPS" {
                    "mps"
                } else {
                    "timeSlicing"
                };
                let rename = if *rename { ", rename: true" } else { "" };
                format!(
                    "write `sharing: {{{method}: {{replicas: {replicas}{rename}}}}}` for the pool"
                )
            }
            None => "change `sharing` of the pool".to_owned(),
        }
    }
}

/// What the plugin advertises with a configuration, and with the variable `MIG_STRATEGY` that the chart sets.
pub(super) fn advertised_by(config: &Json, variable: Option<&str>) -> Advertised {
    let sharing = &config["sharing"];
    // If both are given, MPS takes precedence.
    let methods = [
        ("MPS", &sharing["mps"]),
        ("time-slicing", &sharing["timeSlicing"]),
    ];
    let mut used = methods.iter().filter(|(_, section)| section.is_object());
    let replicas = used.next().and_then(|(method, section)| {
        let mut resources = section["resources"].as_array()?.iter();
        let resource = resources.find(|it| {
            let name = it["name"].as_str().unwrap_or_default();
            name.trim_start_matches("nvidia.com/") == "gpu"
        })?;
        let rename = section["renameByDefault"].as_bool().unwrap_or_default();
        Some((*method, resource["replicas"].as_u64()?, rename))
    });
    let flag = config["flags"]["migStrategy"].as_str();
    Advertised {
        replicas,
        strategy: variable.or(flag).unwrap_or("none").to_owned(),
    }
}

/// What a pool advertises.
pub(super) fn advertised_of(pool: &Pool) -> Advertised {
    let (replicas, strategy) = match pool.sharing.expect_resolved() {
        Sharing::Exclusive => (None, "none"),
        Sharing::TimeSlicing { replicas, rename } => (
            Some(("time-slicing", replicas.value.into(), *rename)),
            "none",
        ),
        Sharing::Mps { replicas, rename } => {
            (Some(("MPS", replicas.value.into(), *rename)), "none")
        }
        Sharing::Mig { strategy, .. } => (None, strategy.as_str()),
    };
    Advertised {
        replicas,
        strategy: strategy.to_owned(),
    }
}
