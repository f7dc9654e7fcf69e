//! Loads the node configuration that the compiler wrote.

mod validate;
mod variants;
mod watch;

use std::path::Path;
use std::{fmt, fs, io};

pub use gpuc_schema::node_config::NodeConfig;
use gpuc_schema::node_config::{
    API_VERSION, DeviceInjection, Driver, ExpectedGpus, HealthPolicy, KIND, LabelOutput,
    MetricsConfig, NodeSharing, SharePlacement,
};
use serde::Deserialize;
use serde_ignored::Path as KeyPath;
use sha2::{Digest, Sha256};
pub use watch::watch;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The maximum size of a configuration file in bytes. A ConfigMap has at most 1 MiB.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Why a configuration was rejected.
#[derive(Debug)]
pub enum ConfigError {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// The file is not valid JSON of the expected form.
    Malformed(serde_json::Error),
    /// The file has another kind or version.
    UnknownVersion(String),
    /// A value is invalid.
    Invalid(String),
    /// It has keys that this version does not know.
    UnknownKeys(Vec<String>),
}

/// A valid configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedConfig {
    /// The values of the known keys.
    pub config: NodeConfig,
    /// The paths of the keys that this version does not know, such as `metrics.newKey`.
    pub unknown_keys: Vec<String>,
}

impl ConfigError {
    /// The kind of the error of reading the file.
    fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Unreadable(error) => error.kind(),
            _ => io::ErrorKind::InvalidData,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::Malformed(error) => write!(f, "is not a valid {KIND}: {error}"),
            Self::Invalid(problem) => write!(f, "is invalid: {problem}"),
            Self::UnknownKeys(keys) => write!(f, "has {}", describe_unknown_keys(keys)),
            Self::UnknownVersion(found) => write!(f, "is {found}, expected {API_VERSION} {KIND}"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Names unknown keys, at most ten.
pub fn describe_unknown_keys(keys: &[String]) -> String {
    const MOST: usize = 10;
    let named: Vec<_> = keys
        .iter()
        .take(MOST)
        .map(|key| format!("`{key}`"))
        .collect();
    let more = match keys.len().saturating_sub(MOST) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!(
        "keys that gpuc-runtime {VERSION} does not know: {}{more}",
        named.join(", ")
    )
}

/// Loads the configuration from a file. Unknown keys are errors.
pub fn load(path: &Path) -> Result<NodeConfig, ConfigError> {
    parse(&read(path)?)
}

/// Reads the text of a configuration file.
fn read(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(ConfigError::Unreadable)
}

/// Reads the text of a regular configuration file. A pipe would block the daemon.
pub fn read_regular(path: &Path) -> Result<String, ConfigError> {
    let metadata = fs::metadata(path).map_err(ConfigError::Unreadable)?;
    let problem = if !metadata.is_file() {
        "it is not a regular file"
    } else if metadata.len() > MAX_BYTES {
        "it has more than 4 MiB"
    } else {
        return read(path);
    };
    let error = io::Error::new(io::ErrorKind::InvalidInput, problem);
    Err(ConfigError::Unreadable(error))
}

/// Returns the beginning of the SHA-256 of a configuration, regardless of its formatting.
pub fn digest(config: &NodeConfig) -> String {
    let text = serde_json::to_string(config).unwrap_or_default();
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).fold(String::new(), |mut text, byte| {
        text += &format!("{byte:02x}");
        text
    })
}

/// The keys that every version of the format has in common.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    api_version: String,
    kind: String,
}

/// Parses a configuration. Unknown keys are errors: a command that changes GPUs must know the whole configuration.
pub fn parse(text: &str) -> Result<NodeConfig, ConfigError> {
    let LoadedConfig {
        config,
        unknown_keys,
    } = parse_known(text)?;
    if unknown_keys.is_empty() {
        Ok(config)
    } else {
        Err(ConfigError::UnknownKeys(unknown_keys))
    }
}

/// Parses the known keys of a configuration, and collects the unknown ones. Wrong types and unknown variants are
/// errors: without them, the meaning is unknown. The version is checked first, so that a newer one is reported as
/// such.
pub fn parse_known(text: &str) -> Result<LoadedConfig, ConfigError> {
    if let Ok(Header { api_version, kind }) = serde_json::from_str(text)
        && (api_version != API_VERSION || kind != KIND)
    {
        return Err(ConfigError::UnknownVersion(format!("{api_version} {kind}")));
    }
    let mut unknown_keys = Vec::new();
    let config = deserialize(text, &mut unknown_keys).map_err(ConfigError::Malformed)?;
    unknown_keys.sort_unstable();
    match validate::validate(&config) {
        Some(problem) => Err(ConfigError::Invalid(problem)),
        None => Ok(LoadedConfig {
            config,
            unknown_keys,
        }),
    }
}

/// Deserializes a configuration, and adds the paths of its unknown keys.
fn deserialize(text: &str, unknown_keys: &mut Vec<String>) -> serde_json::Result<NodeConfig> {
    let variants = variants::Variants::read(text);
    let mut add = |path: KeyPath<'_>| unknown_keys.push(variants.with_variant(&key_path(&path)));
    let config = if let Some(known) = variants.without_other_keys() {
        serde_ignored::deserialize(known, &mut add)?
    } else {
        // From the text, so that errors have a line and a column.
        let mut reader = serde_json::Deserializer::from_str(text);
        let config = serde_ignored::deserialize(&mut reader, &mut add)?;
        reader.end()?;
        config
    };
    unknown_keys.extend(variants.other_keys());
    Ok(config)
}

/// Returns the path of a key: `sharing.gpus[0].newKey`. Names of variants are not part of it.
fn key_path(path: &KeyPath<'_>) -> String {
    match path {
        KeyPath::Root => String::new(),
        KeyPath::Seq { parent, index } => format!("{}[{index}]", key_path(parent)),
        KeyPath::Map { parent, key } => match key_path(parent) {
            parent if parent.is_empty() => key.clone(),
            parent => format!("{parent}.{key}"),
        },
        KeyPath::Some { parent }
        | KeyPath::NewtypeStruct { parent }
        | KeyPath::NewtypeVariant { parent } => key_path(parent),
    }
}

/// The configuration of a daemon that waits for a valid one: nothing, except the port of the probes if the text has a
/// valid one.
pub fn placeholder(text: &str) -> NodeConfig {
    #[derive(Deserialize)]
    struct WithPort {
        metrics: Port,
    }
    #[derive(Deserialize)]
    struct Port {
        port: std::num::NonZeroU16,
    }
    let port = serde_json::from_str(text).map(|WithPort { metrics }| metrics.port.get());
    NodeConfig {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        cluster: String::new(),
        pool: String::new(),
        expected: ExpectedGpus {
            model: String::new(),
            count: 0,
        },
        driver: Driver {
            host_root: "/".to_owned(),
            container_root: "/".to_owned(),
        },
        devices: DeviceInjection::EnvironmentVariable,
        pass_device_nodes: false,
        sharing: NodeSharing::Exclusive,
        resources: [].into(),
        extras: Vec::new(),
        placement: SharePlacement::default(),
        health: HealthPolicy::default(),
        labels: LabelOutput::None,
        metrics: MetricsConfig {
            port: port.unwrap_or(MetricsConfig::default().port),
            gpus: false,
        },
        startup_taint: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const CONFIG: &str = r#"{
        "apiVersion": "node.gpuc.dev/v1alpha1",
        "kind": "NodeConfig",
        "cluster": "demo",
        "pool": "infer",
        "expected": {"model": "l4-24gb", "count": 1},
        "driver": {"hostRoot": "/", "containerRoot": "/driver-root"},
        "devices": "environmentVariable",
        "sharing": {"timeSlicing": {"replicas": 4, "rename": false}},
        "resources": {"nvidia.com/gpu": 4}
    }"#;

    #[test]
    fn valid_configuration_is_parsed() {
        let config = parse(CONFIG).expect("the configuration is valid");
        assert_eq!(config.resources["nvidia.com/gpu"], 4);
    }

    #[test]
    fn unknown_keys_are_collected() {
        let text = CONFIG
            .replace("\"pool\"", "\"colour\": {\"a\": [1]}, \"pool\"")
            .replace("\"replicas\"", "\"fair\": true, \"replicas\"")
            .replace("\"count\"", "\"vendor\": null, \"count\"");
        let loaded = parse_known(&text).expect("the known keys are valid");
        assert_eq!(
            loaded.config,
            parse(CONFIG).expect("the configuration is valid")
        );
        let keys = ["colour", "expected.vendor", "sharing.timeSlicing.fair"];
        assert_eq!(loaded.unknown_keys, keys);
        let error = parse(&text).expect_err("strict").to_string();
        assert!(
            error
                .contains("does not know: `colour`, `expected.vendor`, `sharing.timeSlicing.fair`"),
            "{error}"
        );
        let many: Vec<_> = (0..1_000).map(|number| number.to_string()).collect();
        assert!(describe_unknown_keys(&many).ends_with("`9` and 990 more"));

        let mig = r#"{"mig": {"strategy": "mixed", "apply": false, "gpus": [{"index": 0, "slices": [], "x": 1}]}}"#;
        let text = CONFIG.replace(r#"{"timeSlicing": {"replicas": 4, "rename": false}}"#, mig);
        let loaded = parse_known(&text).expect("the known keys are valid");
        assert_eq!(loaded.unknown_keys, ["sharing.mig.gpus[0].x"]);

        let beside = r#"{"fair": [1], "timeSlicing": {"replicas": 4, "rename": false, "x": 1}}"#;
        let text = CONFIG.replace(
            r#"{"timeSlicing": {"replicas": 4, "rename": false}}"#,
            beside,
        );
        let loaded = parse_known(&text).expect("the known keys are valid");
        assert_eq!(
            loaded.config,
            parse(CONFIG).expect("the configuration is valid")
        );
        let keys = ["sharing.fair", "sharing.timeSlicing.x"];
        assert_eq!(loaded.unknown_keys, keys);
    }

    #[test]
    fn quiet_time_has_a_default() {
        let quiet = |health: &str| {
            let text = CONFIG.replace("\"pool\"", &format!("\"health\": {health}, \"pool\""));
            let config = parse(&text).expect("the configuration is valid");
            (config.health.watch, config.health.quiet_seconds)
        };
        assert_eq!(quiet("{}"), (true, Some(60)));
        assert_eq!(quiet(r#"{"watch": false}"#), (false, Some(60)));
        assert_eq!(quiet(r#"{"quietSeconds": null}"#), (true, None));
        let written = serde_json::to_string(&HealthPolicy {
            quiet_seconds: None,
            ..HealthPolicy::default()
        });
        assert_eq!(quiet(&written.expect("JSON")), (true, None));
        let text = CONFIG.replace("\"pool\"", "\"metrics\": {\"gpus\": false}, \"pool\"");
        let metrics = parse(&text).expect("the configuration is valid").metrics;
        assert_eq!((metrics.port, metrics.gpus), (9400, false));
    }

    #[test]
    fn unclear_meaning_is_rejected() {
        for (one, other) in [
            ("\"pool\"", "\"poool\""),
            ("\"timeSlicing\"", "\"fairSharing\""),
            ("\"environmentVariable\"", "\"telepathy\""),
            ("\"count\": 1", "\"count\": \"1\""),
            ("\"pool\"", "\"extras\": [\"warp\"], \"pool\""),
            ("\"replicas\": 4,", ""),
            ("{\"timeSlicing\"", "{\"mps\": {}, \"timeSlicing\""),
        ] {
            let text = CONFIG.replace(one, other);
            assert!(
                matches!(parse_known(&text), Err(ConfigError::Malformed(_))),
                "{other}"
            );
        }
        let trailing = format!("{CONFIG} {{}}");
        assert!(matches!(
            parse_known(&trailing),
            Err(ConfigError::Malformed(_))
        ));
    }

    #[test]
    fn placeholder_has_the_port_of_an_invalid_configuration() {
        let text = |port: &str| format!("{{\"metrics\": {{\"port\": {port}}}, \"sharing\": 7}}");
        for (text, port) in [
            (text("9401"), 9401),
            (text("0"), 9400),
            (text("99999"), 9400),
            ("{".to_owned(), 9400),
        ] {
            assert_eq!(placeholder(&text).metrics.port, port, "{text}");
        }
    }

    #[test]
    fn unknown_versions_are_rejected() {
        let unknown_version = CONFIG.replace("v1alpha1", "v2");
        assert!(matches!(
            parse(&unknown_version),
            Err(ConfigError::UnknownVersion(_))
        ));
        let newer = unknown_version.replace("\"pool\"", "\"newKey\": 1, \"pool\"");
        let error = parse(&newer).expect_err("the version is unknown");
        assert_eq!(
            error.to_string(),
            "is node.gpuc.dev/v2 NodeConfig, expected node.gpuc.dev/v1alpha1 NodeConfig"
        );
    }
}
