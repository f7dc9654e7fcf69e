//! The script installs the stated driver, updates it in place, and never below running workloads.

use super::fake::{FakeHost, Run};

/// The versions in the package sources of a fake Ubuntu host.
const UBUNTU: &[&str] = &[
    "nvidia-driver-pinning-570 570-1",
    "nvidia-driver-pinning-580 580-1",
    "nvidia-driver-pinning-580.126.09 580.126.09-1",
    "nvidia-open 570.211.01-1",
    "nvidia-open 580.126.09-1",
    "nvidia-open 580.178.04-1",
    "nvidia-driver-libs 580.126.09-1",
    "nvidia-driver-libs 580.178.04-1",
    "linux-headers-6.8.0-1 6.8.0-1",
];

/// The versions in the package sources of a fake host with RHEL 9.
const RHEL: &[&str] = &[
    "nvidia-open 570.211.01",
    "nvidia-open 580.126.09",
    "nvidia-open 580.178.04",
    "kernel-devel-6.8.0-1 6.8.0",
];

/// The settings that make the script one for RHEL 9.
const ON_RHEL: &str = "packages=rpm distribution=rhel9";

/// An Ubuntu host whose loaded driver has this version.
fn ubuntu(version: &str, pinning: &str) -> FakeHost {
    let driver = format!("nvidia-open {version}-1");
    let libraries = format!("nvidia-driver-libs 1:{version}-1");
    let pinning = format!("nvidia-driver-pinning-{pinning} {pinning}-1");
    let host = FakeHost::with_packages(
        &[&driver, &libraries, &pinning, "cuda-keyring 1.1-1"],
        UBUNTU,
    );
    host.load(version);
    host
}

/// A host with RHEL 9 whose loaded driver has this version, from this stream.
fn rhel(version: &str, stream: &str) -> FakeHost {
    let host = FakeHost::with_packages(&[&format!("nvidia-open {version}")], RHEL);
    host.load(version);
    host.write(
        "modules.d/nvidia-driver.module",
        &format!("[nvidia-driver]\nstream={stream}\nstate=enabled\n"),
    );
    host
}

fn assert_changes(run: &Run, changes: &[&str]) {
    assert_eq!(run.changes, changes, "{run:?}");
}

#[test]
fn stated_driver_is_installed_once() {
    let host = FakeHost::with_packages(&[], UBUNTU);
    let run = host.run_script("", &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(host.version_of("nvidia-open").unwrap(), "580.178.04");
    assert!(
        run.stdout
            .contains("Changed: the driver on disk, from none to 580.178.04."),
        "{run:?}"
    );
    assert!(
        run.stdout
            .contains("Ready: number of GPUs: 8, driver 580.178.04"),
        "{run:?}"
    );
    let again = host.run_script("", &[]);
    assert_eq!(again.code, 0, "{again:?}");
    assert_changes(&again, &[]);
}

/// The procedure that the messages print, on a node that serves pods.
#[test]
fn loaded_driver_changes_with_permission_only() {
    for (host, settings) in [
        (ubuntu("570.211.01", "570"), ""),
        (rhel("570.211.01", "570-open"), ON_RHEL),
    ] {
        host.process(41, "python3", "/dev/nvidia0");
        let packages = host.read("packages");
        let stopped = host.run_script(settings, &[]);
        assert_eq!(stopped.code, 1, "{stopped:?}");
        assert_changes(&stopped, &[]);
        let steps = "  kubectl --context dgx-lab drain dgx-01 --ignore-daemonsets --delete-emptydir-data\n  \
                     sudo bash host-dgx.sh --allow-disruption  # on this host; it prints the next commands\n";
        assert!(stopped.stderr.contains(steps), "{stopped:?}");
        let error = "error: the driver must change from 570.211.01 to 580, but it is loaded: to allow this, add \
                     --allow-disruption\n";
        assert!(stopped.stderr.ends_with(error), "{stopped:?}");

        // A job still runs.
        let busy = host.run_script(settings, &["--allow-disruption"]);
        assert_eq!(busy.code, 1, "{busy:?}");
        assert!(
            busy.stderr.contains("41, python3\n") && busy.stderr.contains("drain the node"),
            "{busy:?}"
        );
        assert_changes(&busy, &[]);
        assert_eq!(host.read("packages"), packages);

        // The node is drained: pods of DaemonSets and daemons of the host remain.
        std::fs::remove_dir_all(host.path("proc/41")).unwrap();
        for (id, name) in [
            (7, "nvidia-persiste"),
            (8, "gpuc-runtime"),
            (9, "dcgm-exporter"),
        ] {
            host.process(id, name, "/dev/nvidiactl");
        }
        let changed = host.run_script(settings, &["--allow-disruption"]);
        assert_eq!(changed.code, 3, "{changed:?}");
        assert!(
            changed.stdout.contains("from 570.211.01 to 580.178.04"),
            "{changed:?}"
        );
        for line in [
            "Reboot required: driver 570.211.01 is loaded, 580.178.04 is installed.",
            "  sudo reboot                 # on this host",
            "  sudo bash host-dgx.sh  # on this host, when it is back",
            "  kubectl --context dgx-lab uncordon dgx-01",
        ] {
            assert!(
                changed.stdout.lines().any(|found| found == line),
                "{line}: {changed:?}"
            );
        }
        // Until the reboot, runs say the same and change nothing.
        let waiting = host.run_script(settings, &[]);
        assert_eq!(waiting.code, 3, "{waiting:?}");
        assert_changes(&waiting, &[]);

        host.reboot();
        let ready = host.run_script(settings, &[]);
        assert_eq!(ready.code, 0, "{ready:?}");
        assert_changes(&ready, &[]);
    }
}

#[test]
fn dry_run_shows_the_whole_change() {
    for (host, settings, install) in [
        (ubuntu("570.211.01", "570"), "", "nvidia-driver-pinning-580"),
        (
            rhel("570.211.01", "570-open"),
            ON_RHEL,
            "module switch-to nvidia-driver:580-open",
        ),
    ] {
        host.process(41, "python3", "/dev/nvidia-uvm");
        host.write(
            "holds",
            if settings.is_empty() {
                "nvidia-open\n"
            } else {
                ""
            },
        );
        let run = host.run_script(settings, &["--dry-run"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_changes(&run, &[]);
        assert!(
            run.stdout.contains(install) && run.stdout.contains("nvidia-open"),
            "{run:?}"
        );
        assert!(
            run.stdout.ends_with("Dry run: nothing was changed.\n"),
            "{run:?}"
        );
        assert!(
            run.stderr.contains(
                "warning: the driver must change from 570.211.01 to 580, but it is loaded"
            ),
            "{run:?}"
        );
        assert!(run.stderr.contains("41, python3"), "{run:?}");
        assert_eq!(
            run.stderr.contains("apt-mark unhold nvidia-open"),
            settings.is_empty(),
            "{run:?}"
        );
    }
}

/// The stated branch is installed, but has vulnerabilities. That stops no other work of the script.
#[test]
fn vulnerable_driver_is_reported_and_updated_with_permission() {
    for (host, settings) in [
        (ubuntu("580.126.09", "580"), ""),
        (rhel("580.126.09", "580-open"), ON_RHEL),
    ] {
        let run = host.run_script(settings, &[]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_changes(&run, &[]);
        let warning = "warning: driver 580.126.09 has vulnerabilities; 580.178.04 fixes them (NVIDIA security bulletin 5861)\n";
        assert!(
            run.stderr.starts_with(warning) && run.stderr.contains("drain dgx-01"),
            "{run:?}"
        );
        let updated = host.run_script(settings, &["--allow-disruption"]);
        assert_eq!(updated.code, 3, "{updated:?}");
        assert_eq!(host.version_of("nvidia-open").unwrap(), "580.178.04");
        host.reboot();
        let ready = host.run_script(settings, &["--allow-disruption"]);
        assert_eq!((ready.code, ready.stderr.as_str()), (0, ""), "{ready:?}");
        assert_changes(&ready, &[]);
    }
}

/// On Debian, packages of the driver depend on minimum versions only, so apt would leave the others as they are.
#[test]
fn all_packages_of_the_driver_are_updated() {
    let host = ubuntu("580.126.09", "580");
    let updated = host.run_script("", &["--allow-disruption"]);
    assert_changes(
        &updated,
        &[
            "apt-get update",
            "apt-get install nvidia-driver-pinning-580",
            "apt-get install linux-headers-6.8.0-1 nvidia-open nvidia-driver-libs",
        ],
    );
    assert_eq!(host.version_of("nvidia-driver-libs").unwrap(), "580.178.04");
}

#[test]
fn sources_without_the_fix_are_reported() {
    let old: Vec<&str> = UBUNTU
        .iter()
        .copied()
        .filter(|line| !line.contains("178"))
        .collect();
    let host = FakeHost::with_packages(&[], &old);
    let run = host.run_script("", &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr
            .contains("no driver 580.178.04, which fixes vulnerabilities of 580.126.09"),
        "{run:?}"
    );
}

/// An exact version is installed as it is, also below another one.
#[test]
fn exact_versions_are_downgrades_too() {
    let exact = "driver_version=580.126.09 min_driver=";
    let host = ubuntu("580.178.04", "580");
    let run = host.run_script(exact, &["--allow-disruption"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert_eq!(host.version_of("nvidia-open").unwrap(), "580.126.09");
    assert!(
        host.read("packages")
            .contains("nvidia-driver-pinning-580.126.09 "),
        "{run:?}"
    );
    assert_eq!(host.version_of("nvidia-driver-pinning-580"), None);

    let host = rhel("580.178.04", "580-open");
    let run = host.run_script(&format!("{exact} {ON_RHEL}"), &["--allow-disruption"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert_eq!(host.version_of("nvidia-open").unwrap(), "580.126.09");
    assert_eq!(host.read("locks"), "nvidia-open-3:580.126.09-1.el9.*\n");
}

/// Only the locks of the driver are in the way, not those of the toolkit, which others set.
#[test]
fn version_locks_of_the_toolkit_are_kept() {
    let host = rhel("580.126.09", "580-open");
    let toolkit = "nvidia-container-toolkit-0:1.20.0-1.*\nlibnvidia-container1-0:1.20.0-1.*\n";
    let locks = format!("# Added lock on Tue\nnvidia-open-3:580.126.09-1.el9.*\n{toolkit}");
    host.write("locks", &locks);
    let run = host.run_script(ON_RHEL, &["--allow-disruption"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert_eq!(
        host.read("locks"),
        format!("# Added lock on Tue\n{toolkit}")
    );
}

/// A driver of the stated branch that others installed only gets the pinning package or the stream.
#[test]
fn right_driver_is_pinned_without_disruption() {
    let host = FakeHost::with_packages(&["nvidia-open 580.178.04-1"], UBUNTU);
    host.load("580.178.04");
    let run = host.run_script("", &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.changes
            .contains(&"apt-get install nvidia-driver-pinning-580".to_owned()),
        "{run:?}"
    );
    assert!(
        !run.changes
            .iter()
            .any(|change| change.contains("nvidia-open")),
        "{run:?}"
    );

    let host = FakeHost::with_packages(&["nvidia-open 580.178.04"], RHEL);
    host.load("580.178.04");
    let run = host.run_script(ON_RHEL, &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.changes
            .contains(&"dnf module enable nvidia-driver:580-open".to_owned()),
        "{run:?}"
    );
}

#[test]
fn held_packages_stop_before_any_change() {
    let host = ubuntu("570.211.01", "570");
    host.write(
        "holds",
        "linux-image-generic\nnvidia-open\nnvidia-driver-libs\n",
    );
    let run = host.run_script("", &["--allow-disruption"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_changes(&run, &[]);
    assert!(
        run.stderr.ends_with("error: the driver must change, but packages are held; run apt-mark unhold nvidia-open nvidia-driver-libs\n"),
        "{run:?}"
    );
    // Holds of other packages, and of a driver that stays, do not matter.
    for (host, held) in [
        (ubuntu("580.178.04", "580"), "nvidia-open\n"),
        (
            FakeHost::with_packages(&[], UBUNTU),
            "nvidia-container-toolkit\n",
        ),
    ] {
        host.write("holds", held);
        let run = host.run_script("", &[]);
        assert_eq!(run.code, 0, "{run:?}");
    }
    let host = ubuntu("580.178.04", "580");
    host.write("holds", "libnvidia-container1\n");
    let packages = host
        .read("packages")
        .replace("toolkit 1.20.0", "toolkit 1.17.8");
    host.write("packages", &packages);
    let run = host.run_script("", &[]);
    assert!(
        run.stderr
            .contains("the NVIDIA Container Toolkit must change, but packages are held"),
        "{run:?}"
    );
}

/// The script was killed while apt unpacked the driver.
#[test]
fn interrupted_installation_is_completed() {
    let host = FakeHost::with_packages(&[], UBUNTU);
    host.write("interrupt", "");
    let interrupted = host.run_script("", &[]);
    assert_eq!(interrupted.code, 100, "{interrupted:?}");
    std::fs::remove_file(host.path("interrupt")).unwrap();
    host.write("journal/0001", "");
    let run = host.run_script("", &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.changes[0], "dpkg --configure", "{run:?}");
    assert_eq!(host.version_of("nvidia-open").unwrap(), "580.178.04");

    let host = FakeHost::with_packages(&[], UBUNTU);
    host.write("journal/0001", "");
    host.write("dpkg-fails", "");
    let run = host.run_script("", &[]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("dpkg cannot complete it"), "{run:?}");
}

/// A new kernel was installed without its headers, or the build fails: a reboot does not help.
#[test]
fn missing_module_is_built_or_reported() {
    let host = ubuntu("580.178.04", "580");
    std::fs::remove_file(host.path("module")).unwrap();
    std::fs::remove_dir_all(host.path("sys/nvidia")).unwrap();
    let run = host.run_script("", &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_changes(&run, &["dkms autoinstall -k 6.8.0-1"]);

    let host = ubuntu("570.211.01", "570");
    host.write("build-fails", "");
    let run = host.run_script("", &["--allow-disruption"]);
    assert_eq!(run.code, 1, "{run:?}");
    let error = "error: kernel 6.8.0-1 has 570.211.01 kernel module `nvidia`, not 580.178.04: run dkms status";
    assert!(run.stderr.contains(error), "{run:?}");
}

#[test]
fn kernel_without_headers_is_an_error() {
    for settings in ["", ON_RHEL] {
        let host = FakeHost::with_packages(
            &[],
            &[
                "nvidia-driver-pinning-580 580-1",
                "nvidia-open 580.178.04-1",
            ],
        );
        let packages = host.read("packages");
        let others = packages.lines().filter(|line| !line.contains("6.8.0-1 "));
        host.write("packages", &(others.collect::<Vec<_>>().join("\n") + "\n"));
        let run = host.run_script(settings, &[]);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(
            run.stderr
                .contains("-6.8.0-1: install the newest kernel, reboot this host"),
            "{run:?}"
        );
    }
}
