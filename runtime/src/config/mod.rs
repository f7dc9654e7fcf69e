//! Loads the node configuration that the compiler wrote.

mod validate;
mod watch;

use std::path::Path;
use std::{fmt, fs, io};

pub use gpuc_schema::node_config::NodeConfig;
use gpuc_schema::node_config::{API_VERSION, KIND};
use serde::Deserialize;
use sha2::{Digest, Sha256};
pub use watch::watch;

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
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::Malformed(error) => write!(f, "is not a valid {KIND}: {error}"),
            Self::Invalid(problem) => write!(f, "is invalid: {problem}"),
            Self::UnknownVersion(found) => write!(f, "is {found}, expected {API_VERSION} {KIND}"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Loads the configuration from a file.
pub fn load(path: &Path) -> Result<NodeConfig, ConfigError> {
    parse(&read(path)?)
}

/// Reads the text of a configuration file.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    fs::read_to_string(path).map_err(ConfigError::Unreadable)
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

/// Parses a configuration. The version is checked first, so that keys of a newer version are not reported as errors.
pub fn parse(text: &str) -> Result<NodeConfig, ConfigError> {
    if let Ok(Header { api_version, kind }) = serde_json::from_str(text)
        && (api_version != API_VERSION || kind != KIND)
    {
        return Err(ConfigError::UnknownVersion(format!("{api_version} {kind}")));
    }
    let config: NodeConfig = serde_json::from_str(text).map_err(ConfigError::Malformed)?;
    match validate::validate(&config) {
        Some(problem) => Err(ConfigError::Invalid(problem)),
        None => Ok(config),
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
    fn unknown_keys_and_versions_are_rejected() {
        let unknown_key = CONFIG.replace("\"pool\"", "\"poool\"");
        assert!(matches!(
            parse(&unknown_key),
            Err(ConfigError::Malformed(_))
        ));
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
