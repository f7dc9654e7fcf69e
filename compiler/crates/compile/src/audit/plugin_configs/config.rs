//! A configuration of NVIDIA's device plugin: its keys, and what it makes the plugin advertise.

use gpuc_model::{Pool, Sharing};
use gpuc_syntax::diag::{Report, Severity, phrases};
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;
use serde_json::{Value as Json, json};

/// What the plugin accepts as the value of a key.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Mapping,
    List,
    Text,
    /// A string or a list of strings.
    TextOrList,
    Boolean,
    /// An integer of at least this number.
    Integer(u64),
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// Values of several types, which gpuc does not compare with a pool.
    Any,
}

use Kind::{Any, Boolean, Choice, Integer, List, Mapping, Text, TextOrList};

const DEVICE_LIST_STRATEGIES: &[&str] = &["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"];

/// The keys of a configuration and their values. `*` stands for the items of a list.
///
/// Source: NVIDIA/k8s-device-plugin@1b826acc6 `api/config/v1` (the types, `UnmarshalJSON` of each) and
/// `cmd/nvidia-device-plugin/main.go`, `validateFlags` (the choices), 2026-11-27.
const KEYS: &[(&str, Kind)] = &[
    ("version", Choice(&["v1"])),
    ("flags", Mapping),
    ("flags.migStrategy", Choice(&["none", "single", "mixed"])),
    ("flags.failOnInitError", Boolean),
    ("flags.mpsRoot", Text),
    ("flags.nvidiaDriverRoot", Text),
    ("flags.nvidiaDevRoot", Text),
    ("flags.gdrcopyEnabled", Boolean),
    ("flags.gdsEnabled", Boolean),
    ("flags.mofedEnabled", Boolean),
    ("flags.useNodeFeatureAPI", Boolean),
    (
        "flags.deviceDiscoveryStrategy",
        Choice(&["auto", "nvml", "tegra"]),
    ),
    ("flags.plugin", Mapping),
    ("flags.plugin.passDeviceSpecs", Boolean),
    ("flags.plugin.deviceListStrategy", TextOrList),
    (
        "flags.plugin.deviceListStrategy.*",
        Choice(DEVICE_LIST_STRATEGIES),
    ),
    ("flags.plugin.deviceIDStrategy", Choice(&["uuid", "index"])),
    ("flags.plugin.cdiAnnotationPrefix", Text),
    ("flags.plugin.nvidiaCTKPath", Text),
    ("flags.plugin.containerDriverRoot", Text),
    (
        "flags.plugin.sharedDevicesAllocationPolicy",
        Choice(&["distributed", "packed"]),
    ),
    ("flags.gfd", Mapping),
    ("flags.gfd.oneshot", Boolean),
    ("flags.gfd.noTimestamp", Boolean),
    ("flags.gfd.sleepInterval", Any),
    ("flags.gfd.outputFile", Text),
    ("flags.gfd.machineTypeFile", Text),
    ("resources", Mapping),
    ("resources.gpus", List),
    ("resources.gpus.*", Mapping),
    ("resources.gpus.*.pattern", Text),
    ("resources.gpus.*.name", Text),
    ("resources.mig", List),
    ("resources.mig.*", Mapping),
    ("resources.mig.*.pattern", Text),
    ("resources.mig.*.name", Text),
    ("sharing", Mapping),
    ("sharing.timeSlicing", Mapping),
    ("sharing.timeSlicing.renameByDefault", Boolean),
    ("sharing.timeSlicing.failRequestsGreaterThanOne", Boolean),
    ("sharing.timeSlicing.resources", List),
    ("sharing.timeSlicing.resources.*", Mapping),
    ("sharing.timeSlicing.resources.*.name", Text),
    ("sharing.timeSlicing.resources.*.replicas", Integer(2)),
    ("sharing.timeSlicing.resources.*.devices", Any),
    ("sharing.timeSlicing.resources.*.devices.*", Any),
    ("sharing.timeSlicing.resources.*.rename", Text),
    ("sharing.mps", Mapping),
    ("sharing.mps.renameByDefault", Boolean),
    ("sharing.mps.failRequestsGreaterThanOne", Boolean),
    ("sharing.mps.resources", List),
    ("sharing.mps.resources.*", Mapping),
    ("sharing.mps.resources.*.name", Text),
    ("sharing.mps.resources.*.replicas", Integer(2)),
    ("sharing.mps.resources.*.devices", Any),
    ("sharing.mps.resources.*.devices.*", Any),
    ("sharing.mps.resources.*.rename", Text),
    ("imex", Mapping),
    ("imex.channelIDs", List),
    ("imex.channelIDs.*", Integer(0)),
    ("imex.required", Boolean),
];

/// The required keys of list items, by the path of the items.
const REQUIRED_KEYS: &[(&str, &[&str])] = &[
    ("resources.gpus.*", &["pattern", "name"]),
    ("resources.mig.*", &["pattern", "name"]),
    ("sharing.timeSlicing.resources.*", &["name", "replicas"]),
    ("sharing.mps.resources.*", &["name", "replicas"]),
];

/// A problem of a configuration, and its correction.
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) help: String,
}

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

/// Returns the keys that the plugin ignores, and the values that it refuses.
pub(super) fn find_problems(config: &Json) -> Vec<Problem> {
    let mut problems = Vec::new();
    match config {
        Json::Null => {}
        Json::Object(_) => collect_problems(config, "", &mut problems),
        _ => problems.push(refused_value("the configuration", config, Mapping)),
    }
    problems
}

fn collect_problems(value: &Json, path: &str, problems: &mut Vec<Problem>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match value {
        Json::Object(entries) => {
            for (key, value) in entries {
                let path = below(key);
                match KEYS.iter().find(|(known, _)| *known == path) {
                    Some((_, kind)) => check_value(value, &path, *kind, problems),
                    None => problems.push(Problem {
                        message: format!("NVIDIA's device plugin does not read the key `{path}`"),
                        help: unknown_key_help(&path),
                    }),
                }
            }
            let required = REQUIRED_KEYS.iter().find(|(items, _)| *items == path);
            let required = required.map_or(&[][..], |(_, keys)| keys);
            for key in required.iter().filter(|key| !entries.contains_key(**key)) {
                let items = readable(path);
                problems.push(Problem {
                    message: format!("NVIDIA's device plugin refuses `{items}` without `{key}`"),
                    help: format!("add `{key}`"),
                });
            }
        }
        Json::Array(items) => {
            let path = below("*");
            let kind = KEYS.iter().find(|(known, _)| *known == path);
            for item in items {
                check_value(item, &path, kind.map_or(Any, |(_, kind)| *kind), problems);
            }
        }
        _ => {}
    }
}

/// Checks a value and what it contains. The plugin treats null like an absent key.
fn check_value(value: &Json, path: &str, kind: Kind, problems: &mut Vec<Problem>) {
    let is_valid = match kind {
        Mapping => value.is_object(),
        List => value.is_array(),
        Text => value.is_string(),
        TextOrList => value.is_array() || is_one_of(value, DEVICE_LIST_STRATEGIES),
        Boolean => value.is_boolean(),
        Integer(min) => whole_number(value).is_some_and(|number| number >= min),
        Choice(choices) => is_one_of(value, choices),
        Any => return,
    };
    let is_absent = value.is_null() && !matches!(kind, Integer(_));
    if is_valid {
        collect_problems(value, path, problems);
    } else if !is_absent {
        problems.push(refused_value(&format!("`{}`", readable(path)), value, kind));
    }
}

/// Returns a whole number. The plugin converts YAML to JSON first, which writes `2.0` as `2`
/// (kubernetes-sigs/yaml `convertToJSONableObject`).
fn whole_number(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value
            .as_f64()
            .filter(|it| it.fract() == 0.0 && *it >= 0.0)?;
        format!("{number}").parse().ok()
    })
}

fn is_one_of(value: &Json, choices: &[&str]) -> bool {
    value.as_str().is_some_and(|value| choices.contains(&value))
}

fn refused_value(place: &str, value: &Json, kind: Kind) -> Problem {
    let choices =
        |choices: &[&str]| format!("write {}", phrases::quoted_conjunction(choices, "or"));
    let help = match kind {
        Mapping => "write a mapping".to_owned(),
        List => "write a list".to_owned(),
        Text => "write a string".to_owned(),
        TextOrList => choices(DEVICE_LIST_STRATEGIES),
        Boolean => "write `true` or `false`, without quotes".to_owned(),
        Integer(2) => {
            "write an integer of at least 2; to advertise each GPU once, remove the section"
                .to_owned()
        }
        Integer(min) => format!("write an integer of at least {min}"),
        Choice(allowed) => choices(allowed),
        Any => "remove it".to_owned(),
    };
    let value = match value {
        Json::Object(_) => "a mapping".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        scalar => format!("`{scalar}`"),
    };
    Problem {
        message: format!("NVIDIA's device plugin refuses {value} as the value of {place}"),
        help,
    }
}

fn readable(path: &str) -> String {
    path.replace(".*", "[]")
}

fn unknown_key_help(path: &str) -> String {
    if path == "sharing.mig" {
        return "remove it, and write `sharing: {mig: ...}` for the pool".to_owned();
    }
    match phrases::closest_match(path, KEYS.iter().map(|(key, _)| *key)) {
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
            None if self.strategy == "none" => "remove `sharing` of the pool".to_owned(),
            None => format!(
                "write `strategy: {}` in `sharing.mig` of the pool",
                self.strategy
            ),
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
        Some((*method, whole_number(&resource["replicas"])?, rename))
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
