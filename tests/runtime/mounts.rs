//! What the containers of gpuc-runtime mount: everything that the program opens, and no more.

use std::path::Path;

use gpuc_runtime::args::Command;
use gpuc_runtime::driver_files::DriverFiles;
use gpuc_schema::node_config::{DeviceInjection, NodeSharing};

use crate::manifests::{Container, runtime_pools};

#[test]
fn containers_mount_their_configuration() {
    for pool in runtime_pools() {
        for container in pool.containers() {
            let path = &container.node().config;
            let (volume, mount) = container.mount_of(path);
            assert!(
                mount["subPath"].is_null(),
                "{container}: the kubelet does not update files of a subPath"
            );
            assert_eq!(
                volume["configMap"]["name"].as_str(),
                Some(pool.config_map.as_str()),
                "{container}"
            );
            assert_eq!(
                path.file_name().unwrap(),
                "node.json",
                "{container}: must be the key of the ConfigMap"
            );
        }
    }
}

#[test]
fn containers_mount_all_opened_paths() {
    for pool in runtime_pools() {
        for container in pool.containers() {
            container.assert_driver_is_mounted();
            let security = &container.value["securityContext"];
            assert_eq!(security["readOnlyRootFilesystem"].as_bool(), Some(true));
            container.assert_environment();
            match &container.cli.command {
                Command::Serve(args) => {
                    container.assert_writable_at(
                        &args.device_plugins,
                        &Path::new(pool.kubelet_dir).join("device-plugins"),
                    );
                    let socket_folder = args.pod_resources.parent().unwrap();
                    let on_host = Path::new(pool.kubelet_dir).join("pod-resources");
                    assert_eq!(container.host_path(socket_folder), on_host, "{container}");
                    container.assert_state_is_kept();
                    if let DeviceInjection::Cdi { spec_dir, .. } = &pool.config.devices {
                        container.assert_same_path_on_host(Path::new(spec_dir));
                    }
                    container.assert_probes(pool.config.metrics.port);
                }
                Command::Mps(_) => container.assert_shared_memory(),
                _ => {}
            }
            if let NodeSharing::Mps {
                root,
                refuse_more_than_one,
                ..
            } = &pool.config.sharing
            {
                container.assert_same_path_on_host(Path::new(root));
                // The control daemon limits every client to one replica. A container cannot exceed the limit by a
                // request for two replicas or by a change of its environment.
                assert!(refuse_more_than_one, "{container}");
            }
        }
    }
}

/// The folders of the host that no container of gpuc-runtime may see: a defect of the daemon must not expose keys,
/// passwords, secrets of pods, or the socket of the container runtime.
#[test]
fn containers_mount_no_secrets_of_the_host() {
    let secrets = [
        "/etc/shadow",
        "/etc/ssh/ssh_host_ed25519_key",
        "/etc/kubernetes/kubelet.conf",
        "/etc/kubernetes/pki/ca.key",
        "/var/lib/kubelet/pki/kubelet-client-current.pem",
        "/var/lib/kubelet/pods",
        "/var/lib/kubelet/config.json",
        "/var/lib/containerd",
        "/run/containerd/containerd.sock",
        "/run/crio/crio.sock",
        "/run/secrets",
        "/run/systemd/private",
        "/home/kubernetes/containerized_mounter",
    ];
    for pool in runtime_pools() {
        for volume in pool.pod["volumes"].as_sequence().unwrap() {
            let Some(mounted) = volume["hostPath"]["path"].as_str() else {
                continue;
            };
            // `/var/run` is a link to `/run`.
            let mounted = mounted.replacen("/var/run", "/run", 1);
            for secret in secrets {
                let name = &pool.name;
                assert!(
                    !Path::new(secret).starts_with(&mounted),
                    "{name}: {mounted} has {secret}"
                );
            }
        }
    }
}

impl Container<'_> {
    /// Checks a writable folder that the kubelet, the container runtime or another container opens by the same path.
    pub(crate) fn assert_same_path_on_host(&self, path: &Path) {
        self.assert_writable_at(path, path);
    }

    /// Checks a writable folder of the host.
    fn assert_writable_at(&self, path: &Path, on_host: &Path) {
        assert_eq!(self.host_path(path), on_host, "{self}");
        let (_, mount) = self.mount_of(path);
        assert!(
            !mount["readOnly"].as_bool().unwrap_or(false),
            "{self}: {} is written to",
            path.display()
        );
    }

    /// Checks that the folders that the daemon searches for files of the driver are mounted, read-only.
    fn assert_driver_is_mounted(&self) {
        let driver = &self.pool.config.driver;
        let host_root = Path::new(&driver.host_root);
        let is_injected = matches!(self.pool.config.devices, DeviceInjection::Cdi { .. });
        let injected = DriverFiles::injected_paths();
        let injected = injected.filter(|path| {
            // On hosts, `/lib` is a link to `/usr/lib`. The configuration of GPUDirect Storage is in `/etc`, which is
            // not mounted; udev's database is mounted for pools that use it.
            let is_absent = ["/lib", "/bin", "/sbin"]
                .iter()
                .any(|link| path.starts_with(link))
                || ["/etc/cufile.json", "/run/udev"].contains(path);
            is_injected && !(is_absent && driver.host_root == "/")
        });
        let needed = ["/usr/lib64/libnvidia-ml.so.1", "/dev/nvidiactl"];
        for path in needed.into_iter().chain(injected) {
            let path = path.trim_start_matches('/');
            let at = Path::new(&driver.container_root).join(path);
            assert_eq!(self.host_path(&at), host_root.join(path), "{self}");
            let (_, mount) = self.mount_of(&at);
            assert_eq!(mount["readOnly"].as_bool(), Some(true), "{self}: {path}");
            assert_eq!(
                mount["mountPropagation"].as_str(),
                Some("HostToContainer"),
                "{self}: the driver can be mounted after the container starts"
            );
        }
    }

    /// Checks that the control daemon and its clients have the same `/dev/shm`.
    fn assert_shared_memory(&self) {
        let NodeSharing::Mps { root, .. } = &self.pool.config.sharing else {
            panic!("{self}: the pool does not use MPS");
        };
        let shared = gpuc_runtime::mps::shared_memory(Path::new(root));
        assert_eq!(self.host_path(Path::new("/dev/shm")), shared, "{self}");
        let capabilities = self.variable("NVIDIA_DRIVER_CAPABILITIES");
        assert_eq!(capabilities["value"].as_str(), Some("compute,utility"));
    }

    /// Checks that the health records outlive the container and not the pod, in memory of limited size.
    fn assert_state_is_kept(&self) {
        let Command::Serve(args) = &self.cli.command else {
            panic!("{self}: not the device plugin");
        };
        let state = args.state.as_ref().expect("--state");
        let (volume, mount) = self.mount_of(state);
        assert_eq!(mount["mountPath"].as_str(), state.to_str(), "{self}");
        assert!(mount["readOnly"].is_null(), "{self}");
        let volume = &volume["emptyDir"];
        assert_eq!(volume["medium"].as_str(), Some("Memory"), "{self}");
        assert!(volume["sizeLimit"].is_string(), "{self}");
    }
}
