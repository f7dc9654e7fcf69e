//! Validates values. The compiler writes no invalid ones; a manual edit of the ConfigMap may.

use std::collections::BTreeSet;

use gpuc_schema::node_config::{DeviceInjection, LabelOutput, NodeConfig, NodeSharing};

/// Maximum number of replicas of a GPU: five times the maximum of the compiler. The kubelet reads lists of 4 MiB at
/// most (gRPC's default), and the list of a machine with 64 GPUs stays well below that.
const MAX_REPLICAS: u32 = 256;

/// Returns the first invalid value of a configuration: the key, and the valid values.
pub(super) fn validate(config: &NodeConfig) -> Option<String> {
    if let NodeSharing::TimeSlicing { replicas, .. } | NodeSharing::Mps { replicas, .. } =
        &config.sharing
        && !(1..=MAX_REPLICAS).contains(replicas)
    {
        return Some(format!(
            "`replicas` is {replicas}, must be 1 to {MAX_REPLICAS}"
        ));
    }
    if config.metrics.port == 0 {
        return Some("`metrics.port` is 0, must be 1 to 65535".to_owned());
    }
    if let Some(problem) = validate_mig(&config.sharing) {
        return Some(problem);
    }
    configured_paths(config)
        .into_iter()
        .find_map(|(key, path)| {
            if !path.starts_with('/') {
                return Some(format!("`{key}` is `{path}`, must begin with `/`"));
            }
            // No file system has such a path.
            let has_nul = path.contains('\0');
            has_nul.then(|| format!("`{key}` contains a NUL character"))
        })
}

/// Validates the MIG configuration.
fn validate_mig(sharing: &NodeSharing) -> Option<String> {
    let NodeSharing::Mig { gpus, .. } = sharing else {
        return None;
    };
    let mut seen = BTreeSet::new();
    let twice = gpus.iter().find(|gpu| !seen.insert(gpu.index))?;
    Some(format!(
        "`sharing.mig.gpus` lists GPU {} twice",
        twice.index
    ))
}

/// Returns all paths, with their keys.
fn configured_paths(config: &NodeConfig) -> Vec<(&'static str, &str)> {
    let mut paths = vec![
        ("driver.hostRoot", config.driver.host_root.as_str()),
        ("driver.containerRoot", &config.driver.container_root),
    ];
    match &config.devices {
        DeviceInjection::Cdi { spec_dir, .. } => paths.push(("devices.cdi.specDir", spec_dir)),
        DeviceInjection::DeviceNodes {
            driver_host_path,
            driver_container_path,
        } => {
            paths.push(("devices.deviceNodes.driverHostPath", driver_host_path));
            paths.push((
                "devices.deviceNodes.driverContainerPath",
                driver_container_path,
            ));
        }
        DeviceInjection::EnvironmentVariable | DeviceInjection::VolumeMounts => {}
    }
    if let NodeSharing::Mps { root, .. } = &config.sharing {
        paths.push(("sharing.mps.root", root));
    }
    if let LabelOutput::FeatureFile { path } = &config.labels {
        paths.push(("labels.featureFile.path", path));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::super::tests::CONFIG;

    const TIME_SLICING: &str = r#"{"timeSlicing": {"replicas": 4, "rename": false}}"#;

    #[test]
    fn invalid_values_are_rejected() {
        for (one, other, says) in [
            ("\"replicas\": 4", "\"replicas\": 0", "`replicas` is 0"),
            (
                "\"replicas\": 4",
                "\"replicas\": 4000000000",
                "`replicas` is 4000000000, must be 1 to 256",
            ),
            (
                "\"pool\"",
                "\"metrics\": {\"port\": 0, \"gpus\": true}, \"pool\"",
                "`metrics.port` is 0",
            ),
            ("/driver-root", "", "`driver.containerRoot` is ``"),
            (
                "\"environmentVariable\"",
                "{\"cdi\": {\"specDir\": \"cdi\", \"annotations\": false}}",
                "`devices.cdi.specDir` is `cdi`",
            ),
            (
                "\"pool\"",
                "\"labels\": {\"featureFile\": {\"path\": \"../gfd\"}}, \"pool\"",
                "`labels.featureFile.path` is `../gfd`",
            ),
            (
                "/driver-root",
                "/driver\\u0000root",
                "`driver.containerRoot` contains a NUL character",
            ),
            (
                TIME_SLICING,
                r#"{"mig": {"strategy": "mixd", "apply": false, "gpus": []}}"#,
                "unknown variant `mixd`, expected `single` or `mixed`",
            ),
            (
                TIME_SLICING,
                r#"{"mig": {"strategy": "single", "apply": false, "gpus": [
                    {"index": 3, "slices": []}, {"index": 3, "slices": []}]}}"#,
                "`sharing.mig.gpus` lists GPU 3 twice",
            ),
        ] {
            let text = CONFIG.replace(one, other);
            assert_ne!(text, CONFIG, "{one}");
            let error = parse(&text).expect_err(other).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
