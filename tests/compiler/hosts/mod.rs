//! The script for on-premises hosts stops on a host of another pool before any other check, gives containerd what it
//! lacks, and upgrades an old container toolkit. `drivers` has the tests of the driver, `sources` those of mirrors and
//! proxies.
//!
//! Root, the host name and the machine are fakes. No pool has machines of the fake architecture. A script that
//! continues therefore stops at the next check and changes nothing on the machine that runs the test. Single functions
//! of the script run with fakes of the commands that they call.

mod drivers;
mod fake;
mod sources;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use fake::FakeHost;

/// The script of an example.
fn script() -> PathBuf {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/build/on-prem-dgx");
    golden.join("on-prem-dgx/cloud/host-dgx.sh")
}

/// Runs the script on a host with this name, asserts that it stops, and returns its output.
fn run_on_host(hostname: &str, flags: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    let program = |name: &str, answer: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho {answer}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("id", "0");
    program("hostname", hostname);
    program("uname", "pdp11");
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .arg(script())
        .args(flags)
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn unknown_host_is_unchanged() {
    let stopped = run_on_host("laptop", &[]);
    assert!(
        stopped.starts_with("error: this host, laptop, is not in pool dgx"),
        "{stopped}"
    );
    assert!(
        stopped.contains("--any-host") && !stopped.contains("pdp11"),
        "{stopped}"
    );
}

#[test]
fn confirmed_hosts_continue() {
    let next = "this host is pdp11";
    for name in ["dgx-01", "dgx-02"] {
        let stopped = run_on_host(name, &[]);
        assert!(
            stopped.contains(next) && !stopped.contains("is not in pool"),
            "{name}: {stopped}"
        );
    }
    for flag in ["--any-host", "--dry-run"] {
        let stopped = run_on_host("laptop", &[flag]);
        let warned = stopped.starts_with("warning: this host, laptop, is not in pool dgx");
        assert!(warned && stopped.contains(next), "{flag}: {stopped}");
    }
}

/// What containerd prints for `config dump`, without most of its options. `<cdi>` and `<runtime>` are replaced.
///
/// Sources: containerd `docs/man/containerd-config.toml.5.md` and the default configurations of 1.7.27 and 2.1.4;
/// containerd/containerd#9621 (enabled since 2.0) and #11975 (deprecated).
const CONTAINERD_1: &str = r#"disabled_plugins = []
version = 2

[plugins]

  [plugins."io.containerd.grpc.v1.cri"]
    cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
    device_ownership_from_security_context = false
<cdi>
    enable_selinux = false

    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "runc"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
            BinaryName = "<runtime>"

  [plugins."io.containerd.internal.v1.opt"]
    path = "/opt/containerd"
"#;

const CONTAINERD_2: &str = r"version = 3
root = '/var/lib/containerd'

[plugins]
  [plugins.'io.containerd.cri.v1.images']
    snapshotter = 'overlayfs'

  [plugins.'io.containerd.cri.v1.runtime']
    enable_selinux = false
    enable_unprivileged_ports = true
<cdi>
    cdi_spec_dirs = ['/etc/cdi', '/var/run/cdi']
    drain_exec_sync_io_timeout = '0s'

    [plugins.'io.containerd.cri.v1.runtime'.containerd]
      default_runtime_name = 'runc'

      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes]
        [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]
          runtime_type = 'io.containerd.runc.v2'

          [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
            BinaryName = '<runtime>'

  [plugins.'io.containerd.grpc.v1.cri']
    disable_tcp_service = true
";

impl FakeHost {
    /// Adds containerd. `nvidia-ctk` adds the runtime, and enables CDI with its flag.
    fn containerd(&self, version: &str, configuration: &str) {
        fs::write(self.path("config"), configuration).unwrap();
        self.program(
            "containerd",
            &format!("[ \"$1\" = --version ] && echo containerd github.com/containerd/containerd/v2 {version} 75cb2b7 || cat $here/config"),
        );
        self.program(
            "nvidia-ctk",
            "echo nvidia-ctk \"$@\" >> $here/calls\n\
             sed -i s,/usr/bin/runc,/usr/bin/nvidia-container-runtime, $here/config\n\
             case \"$*\" in *--cdi.enabled*) sed -i 's/enable_cdi = false/enable_cdi = true/' $here/config ;; esac",
        );
    }
}

#[test]
fn containerd_gets_what_it_lacks() {
    let with_runtime = "nvidia-ctk runtime configure --runtime=containerd\n";
    let with_cdi = "nvidia-ctk runtime configure --runtime=containerd --cdi.enabled\n";
    let (on, off, unset) = ("    enable_cdi = true", "    enable_cdi = false", "");
    for (version, dump, cdi, has_runtime, expected) in [
        ("1.7.27", CONTAINERD_1, off, false, Some(with_cdi)),
        ("1.7.27", CONTAINERD_1, off, true, Some(with_cdi)),
        ("1.7.27", CONTAINERD_1, on, false, Some(with_runtime)),
        ("1.7.27", CONTAINERD_1, on, true, None),
        ("v2.0.5", CONTAINERD_2, on, true, None),
        ("v2.1.4", CONTAINERD_2, on, false, Some(with_runtime)),
        ("v2.1.4", CONTAINERD_2, off, true, Some(with_cdi)),
        ("v2.4.0", CONTAINERD_2, unset, false, Some(with_runtime)),
        ("v2.4.0", CONTAINERD_2, unset, true, None),
        ("v3.0.0", CONTAINERD_2, unset, true, None),
    ] {
        let runtime = if has_runtime {
            "/usr/bin/nvidia-container-runtime"
        } else {
            "/usr/bin/runc"
        };
        let host = FakeHost::new();
        host.containerd(
            version,
            &dump.replace("<cdi>", cdi).replace("<runtime>", runtime),
        );
        let case = format!("{version}, `{cdi}`, runtime {has_runtime}");
        let (succeeds, calls, errors) = host.run("configure_containerd");
        assert!(succeeds, "{case}: {errors}");
        let restart = "systemctl restart containerd\n";
        let expected = expected.map_or(String::new(), |change| format!("{change}{restart}"));
        assert_eq!(calls, expected, "{case}");
        assert!(!host.path("containerd-is-stale").exists(), "{case}");
    }
}

/// `enable_cdi` of another plugin is not that of the CRI plugin, and containerd 1.x without a setting has no CDI.
#[test]
fn only_the_cri_plugin_enables_cdi() {
    let other = CONTAINERD_1.replace("<runtime>", "/usr/bin/nvidia-container-runtime");
    let other = other.replace("<cdi>", "") + "    enable_cdi = true\n";
    let host = FakeHost::new();
    host.containerd("1.6.38", &other);
    let (succeeds, calls, errors) = host.run("configure_containerd");
    assert!(!succeeds && errors.contains("does not read"), "{errors}");
    assert!(calls.contains("--cdi.enabled"), "{calls}");
}

/// The packages of a fake Ubuntu host: `installed` and `offered` are versions of the toolkit.
fn run_with_toolkit(installed: &str, offered: &str) -> (bool, String, String) {
    let host = FakeHost::new();
    fs::write(host.path("toolkit"), installed).unwrap();
    host.program(
        "dpkg-query",
        "for last; do :; done\n\
         case $last in nvidia-container-toolkit) v=$(cat $here/toolkit) ;; *) v=1 ;; esac\n\
         [ -n \"$v\" ] && echo \"installed $v-1\" || exit 1",
    );
    host.program("curl", "for last; do :; done; exit 0");
    host.program("gpg", "exit 0");
    host.program(
        "apt-get",
        &format!("echo apt-get \"$@\" >> $here/calls\n[ \"$1\" = update ] || printf {offered} > $here/toolkit"),
    );
    host.run("packages=deb\nput() { :; }\ninstall_toolkit")
}

#[test]
fn old_toolkit_is_upgraded() {
    let upgrade = "apt-get update\napt-get install --yes --allow-downgrades --option DPkg::Lock::Timeout=600 nvidia-container-toolkit\n";
    for (installed, expected) in [
        ("", upgrade),
        ("1.17.8", upgrade),
        ("1.19.0", upgrade),
        ("1.19.1~rc.1", upgrade),
        ("1.19.1", ""),
        ("1.20.0", ""),
    ] {
        let (succeeds, calls, errors) = run_with_toolkit(installed, "1.20.0");
        assert!(succeeds, "{installed}: {errors}");
        assert_eq!(calls, expected, "{installed}");
    }
}

#[test]
fn toolkit_that_stays_old_is_an_error() {
    let (succeeds, _, errors) = run_with_toolkit("1.17.8", "1.18.2");
    assert!(!succeeds);
    assert!(
        errors.contains("nvidia-container-toolkit is at version 1.18.2")
            && errors.contains("CVE-2026-24260"),
        "{errors}"
    );
}

/// A copy outside of the package comes first in PATH.
#[test]
fn verification_reports_an_old_toolkit() {
    for (version, succeeds) in [("1.18.2", false), ("1.19.1", true), ("1.20.0", true)] {
        let host = FakeHost::new();
        host.program("nvidia-smi", "echo NVIDIA H100 80GB HBM3");
        host.program(
            "nvidia-ctk",
            &format!("echo NVIDIA Container Toolkit CLI version {version}; echo commit: abc"),
        );
        let functions = "gpus_per_node=1\ngpu_products=(NVIDIA-H100-80GB-HBM3)\ncat() { echo 580.95.05; }\nverify";
        let (found, _, errors) = host.run(functions);
        assert_eq!(found, succeeds, "{version}: {errors}");
        assert_eq!(errors.contains("CVE-2026-24260"), !succeeds, "{errors}");
    }
}
