//! The settings that the compiler and the runtime share: the startup taint, the injected components and the labels.
//! The compiler uses every setting.

use std::collections::BTreeSet;
use std::path::Path;

use gpuc_runtime::args::Command;
use gpuc_runtime::config::NodeConfig;
use gpuc_schema::node_config::{
    DeviceInjection, Extra, LabelOutput, NodeSharing, STARTUP_TAINT, SharePlacement,
};

use serde_json::Value;

use crate::manifests::{
    KARPENTER_FOLDER, STARTUP_TAINTS_FIELD, clusters, compile_cluster, runtime_pools,
};

#[test]
fn startup_taint_is_set_and_removed() {
    let (mut with_taint, mut without_taint) = (0, 0);
    for pool in runtime_pools() {
        let key = pool.config.startup_taint.as_deref();
        let is_tolerated = pool.tolerations().contains(&STARTUP_TAINT);
        let declared = pool.has_startup_taint;
        assert_eq!(key, declared.then_some(STARTUP_TAINT), "{}", pool.name);
        assert_eq!(is_tolerated, declared, "{}", pool.name);
        let partitions_gpus = matches!(pool.config.sharing, NodeSharing::Mig { apply: true, .. });
        assert!(
            partitions_gpus || !declared,
            "{}: the taint is not needed",
            pool.name
        );
        if declared {
            with_taint += 1;
        } else {
            without_taint += u32::from(partitions_gpus);
        }
    }
    assert!(
        with_taint >= 3 && without_taint >= 1,
        "{with_taint} {without_taint}"
    );
}

#[test]
fn runtime_may_remove_only_its_taint() {
    let rule = format!("taint.key == '{STARTUP_TAINT}' ||");
    let mut policies = 0;
    for (path, text) in clusters() {
        for object in compile_cluster(&path, &text).objects {
            if object["kind"].as_str() != Some("ValidatingAdmissionPolicy") {
                continue;
            }
            policies += 1;
            let rules = object["spec"]["validations"].as_sequence().unwrap().iter();
            let rules: Vec<_> = rules
                .map(|rule| rule["expression"].as_str().unwrap())
                .collect();
            let matching = rules.iter().filter(|it| it.contains(&rule));
            assert_eq!(matching.count(), 1, "{path}");
        }
    }
    assert!(policies > 3);
}

#[test]
fn only_node_components_tolerate_the_startup_taint() {
    let mut tolerating = BTreeSet::new();
    for (path, text) in clusters() {
        let compiled = compile_cluster(&path, &text);
        for (file, contents) in &compiled.files {
            let mut folders = file.split('/');
            let in_cluster = ["manifests", "helm"].contains(&folders.next().unwrap());
            let folder = folders.next().unwrap_or_default();
            let mut has_taint = contents.contains(STARTUP_TAINT);
            if folder == KARPENTER_FOLDER && has_taint {
                // A NodePool declares the taint in this field only.
                let mut object: Value = serde_yaml::from_str(contents).unwrap();
                assert_eq!(object["kind"], "NodePool", "{file}");
                let spec = object["spec"]["template"]["spec"].as_object_mut().unwrap();
                spec.remove(STARTUP_TAINTS_FIELD).unwrap();
                has_taint = object.to_string().contains(STARTUP_TAINT);
            }
            if in_cluster && has_taint {
                tolerating.insert(folder.to_owned());
            }
            // A test pod on a node that is not ready would find no GPU.
            if file == "cloud/verify.sh" {
                let pods = contents.lines().filter(|line| line.contains("tolerations"));
                assert!(
                    pods.clone().all(|line| !line.contains(STARTUP_TAINT)),
                    "{file}"
                );
                assert!(
                    contents.contains(STARTUP_TAINT),
                    "{file}: does not count nodes with the taint"
                );
            }
        }
    }
    // The runtime needs the driver, so both run before the taint is removed.
    let expected = ["gpuc-runtime", "nvidia-driver-installer"];
    assert_eq!(tolerating, expected.map(str::to_owned).into());
}

#[test]
fn component_paths_match_the_runtime() {
    let (mut mounted, mut in_driver_root) = (0, 0);
    for pool in runtime_pools() {
        for container in pool.containers() {
            let Command::Serve(args) = &container.cli.command else {
                continue;
            };
            if let LabelOutput::FeatureFile { path } = &pool.config.labels {
                container.assert_same_path_on_host(Path::new(path).parent().unwrap());
            }
            if pool.config.extras.is_empty() {
                continue;
            }
            if pool.config.driver.host_root == "/" {
                in_driver_root += 1;
                continue;
            }
            mounted += 1;
            assert_eq!(
                container.host_path(&args.node.dev),
                Path::new("/dev"),
                "{container}"
            );
            let propagation = container.mount_of(&args.node.dev).1["mountPropagation"].as_str();
            assert_eq!(propagation, Some("HostToContainer"), "{container}");
        }
    }
    assert!(mounted > 0 && in_driver_root > 0);
}

#[test]
fn all_node_settings_are_covered() {
    let pools = runtime_pools();
    let any =
        |matches: &dyn Fn(&NodeConfig) -> bool| pools.iter().any(|pool| matches(&pool.config));
    for extra in [Extra::Gdrcopy, Extra::Gds, Extra::Mofed, Extra::Imex] {
        assert!(any(&|config| config.extras.contains(&extra)), "{extra:?}");
    }
    for placement in [SharePlacement::Distributed, SharePlacement::Packed] {
        assert!(any(&|config| config.placement == placement));
    }
    assert!(any(&|config| config.labels == LabelOutput::None));
    assert!(any(&|config| matches!(
        config.labels,
        LabelOutput::FeatureFile { .. }
    )));
    assert!(any(&|config| config.startup_taint.is_some()));
    for pool in &pools {
        // With an environment variable only, the container loses its GPUs when systemd or the kubelet's CPU manager
        // rewrites its device rules.
        let needs_nodes = pool.config.devices == DeviceInjection::EnvironmentVariable;
        assert_eq!(pool.config.pass_device_nodes, needs_nodes, "{}", pool.name);
    }
}
