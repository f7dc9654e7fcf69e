//! Values that nobody can mean. The compiler writes none of them; somebody who edits the ConfigMap may.

use gpuc_schema::node_config::{DeviceInjection, LabelOutput, NodeConfig, NodeSharing};

/// The most shares of a GPU: five times what the compiler allows. The kubelet reads lists of 4 MiB at most (gRPC's
/// default), and a machine with 64 GPUs stays well below that.
const MOST_REPLICAS: u32 = 256;

/// What is impossible about a configuration, if anything is: the key, and what it may be.
pub(super) fn impossible(config: &NodeConfig) -> Option<String> {
    if let NodeSharing::TimeSlicing { replicas, .. } | NodeSharing::Mps { replicas, .. } =
        &config.sharing
        && !(1..=MOST_REPLICAS).contains(replicas)
    {
        return Some(format!(
            "`replicas` is {replicas}, and can be 1 to {MOST_REPLICAS}"
        ));
    }
    if config.metrics.port == 0 {
        return Some("`metrics.port` is 0, which nobody could find".to_owned());
    }
    let relative = paths(config)
        .into_iter()
        .find(|(_, path)| !path.starts_with('/'));
    relative.map(|(key, path)| format!("`{key}` is `{path}`, and has to begin with `/`"))
}

/// All paths, with their keys.
fn paths(config: &NodeConfig) -> Vec<(&'static str, &str)> {
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

    #[test]
    fn what_nobody_can_mean_is_refused() {
        for (one, other, says) in [
            ("\"replicas\": 4", "\"replicas\": 0", "`replicas` is 0"),
            (
                "\"replicas\": 4",
                "\"replicas\": 4000000000",
                "`replicas` is 4000000000, and can be 1 to 256",
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
        ] {
            let text = CONFIG.replace(one, other);
            assert_ne!(text, CONFIG, "{one}");
            let error = parse(&text).expect_err(other).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
