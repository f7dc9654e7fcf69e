//! The script sets up mirrors and the proxy of the input, checks signatures with their keys, and goes back.

use super::fake::FakeHost;

const KEY: &str =
    "-----BEGIN PGP PUBLIC KEY BLOCK-----\nacme\n-----END PGP PUBLIC KEY BLOCK-----\n";

const MIRRORS: &str = "cuda_repository=https://mirror.acme.dev/cuda cuda_key=https://mirror.acme.dev/cuda.pub \
                       toolkit_repository=https://mirror.acme.dev/toolkit toolkit_key=https://mirror.acme.dev/toolkit.pub";

const PROXY: &str = "proxy=http://proxy.acme.dev:3128";

const ON_RHEL: &str = "packages=rpm distribution=rhel9 \
                       cuda_repository=https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64 \
                       toolkit_repository='https://nvidia.github.io/libnvidia-container/stable/rpm/$basearch'";

const OFFERED: &[&str] = &[
    "nvidia-driver-pinning-580 580-1",
    "nvidia-open 580.178.04-1",
    "linux-headers-6.8.0-1 6.8.0-1",
    "nvidia-container-toolkit 1.20.0-1",
];

/// A new host without the container toolkit.
fn new_host() -> FakeHost {
    let host = FakeHost::with_packages(&[], OFFERED);
    let packages = host.read("packages");
    let others = packages
        .lines()
        .filter(|line| !line.starts_with("nvidia-container"));
    host.write("packages", &(others.collect::<Vec<_>>().join("\n") + "\n"));
    host.write("published-key", KEY);
    host
}

/// Runs the script twice: the second run changes nothing. Returns the changes of the first run.
fn run_twice(host: &FakeHost, settings: &str) -> String {
    let first = host.run_script(settings, &[]);
    assert_eq!(first.code, 0, "{first:?}");
    let second = host.run_script(settings, &[]);
    assert_eq!(second.code, 0, "{second:?}");
    assert!(second.changes.is_empty(), "{second:?}");
    first.changes.join("\n")
}

#[test]
fn apt_uses_mirrors_with_their_keys() {
    let host = new_host();
    let changes = run_twice(&host, MIRRORS);
    let source = |name: &str| {
        let keyring = host.path(&format!("keyrings/gpuc-{name}.asc"));
        let keyring = keyring.display();
        format!("# Written by gpuc.\ndeb [signed-by={keyring}] https://mirror.acme.dev/{name} /\n")
    };
    assert_eq!(
        host.read("apt/sources.list.d/gpuc-cuda.list"),
        source("cuda")
    );
    assert_eq!(
        host.read("apt/sources.list.d/nvidia-container-toolkit.list"),
        source("toolkit")
    );
    assert_eq!(host.read("keyrings/gpuc-cuda.asc"), KEY);
    assert_eq!(host.read("keyrings/gpuc-toolkit.asc"), KEY);
    assert!(
        !changes.contains("nvidia.com") && !changes.contains("github.io"),
        "{changes}"
    );
    assert!(!changes.contains("cuda-keyring"), "{changes}");
}

#[test]
fn apt_reads_binary_keys_and_keys_of_the_host() {
    let host = new_host();
    host.write("acme.gpg", "binary");
    let path = host.path("acme.gpg");
    let settings = format!("{MIRRORS} cuda_key={}", path.display());
    run_twice(&host, &settings);
    assert_eq!(host.read("keyrings/gpuc-cuda.gpg"), "binary");
    let source = host.read("apt/sources.list.d/gpuc-cuda.list");
    assert!(source.contains("gpuc-cuda.gpg]"), "{source}");

    let missing = new_host().run_script(&format!("{MIRRORS} cuda_key=/nowhere/key"), &[]);
    assert_eq!(missing.code, 1, "{missing:?}");
    assert!(
        missing
            .stderr
            .contains("/nowhere/key: the key of a package source"),
        "{missing:?}"
    );
}

#[test]
fn key_that_cannot_be_read_stops_the_script() {
    let host = new_host();
    std::fs::remove_file(host.path("published-key")).unwrap();
    let run = host.run_script(MIRRORS, &[]);
    assert!(run.code != 0, "{run:?}");
    assert_eq!(host.read("apt/sources.list.d/gpuc-cuda.list"), "");
}

#[test]
fn dnf_uses_mirrors_with_their_keys() {
    let host = new_host();
    let changes = run_twice(&host, &format!("{ON_RHEL} {MIRRORS}"));
    let keys = host.path("rpm-keys");
    let keys = keys.display();
    assert_eq!(
        host.read("repos/cuda-rhel9.repo"),
        format!(
            "# Written by gpuc.\n[cuda-rhel9]\nname=cuda-rhel9\nbaseurl=https://mirror.acme.dev/cuda\nenabled=1\n\
             gpgcheck=1\ngpgkey=file://{keys}/RPM-GPG-KEY-gpuc-cuda\n"
        )
    );
    let toolkit = host.read("repos/nvidia-container-toolkit.repo");
    assert!(
        toolkit.contains("repo_gpgcheck=1\ngpgcheck=0\ngpgkey=file://"),
        "{toolkit}"
    );
    assert_eq!(host.read("rpm-keys/RPM-GPG-KEY-gpuc-toolkit"), KEY);
    for server in ["nvidia.com", "github.io", "fedoraproject"] {
        assert!(!changes.contains(server), "{changes}");
    }
}

#[test]
fn proxy_is_used_for_nvidias_servers_only() {
    let host = new_host();
    let changes = run_twice(&host, PROXY);
    assert_eq!(
        host.read("apt/apt.conf.d/80gpuc-proxy"),
        "# Written by gpuc.\nAcquire::https::Proxy::developer.download.nvidia.com \"http://proxy.acme.dev:3128\";\n\
         Acquire::https::Proxy::nvidia.github.io \"http://proxy.acme.dev:3128\";\n"
    );
    let downloads = || changes.lines().filter(|line| line.starts_with("curl"));
    assert_eq!(downloads().count(), 2, "{changes}");
    assert!(
        downloads().all(|line| line.contains("--proxy http://proxy.acme.dev:3128")),
        "{changes}"
    );

    // A mirror is reached without the proxy.
    let mirror =
        "cuda_repository=https://mirror.acme.dev/cuda cuda_key=https://mirror.acme.dev/cuda.pub";
    let changes = run_twice(&host, &format!("{PROXY} {mirror}"));
    let proxies = host.read("apt/apt.conf.d/80gpuc-proxy");
    assert!(
        !proxies.contains("developer") && proxies.contains("nvidia.github.io"),
        "{proxies}"
    );
    assert!(!changes.contains("--proxy"), "{changes}");
}

#[test]
fn dnf_sources_have_the_proxy() {
    let host = new_host();
    run_twice(&host, &format!("{ON_RHEL} {PROXY}"));
    for (name, key) in [
        (
            "cuda-rhel9",
            "https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/D42D0685.pub",
        ),
        (
            "nvidia-container-toolkit",
            "https://nvidia.github.io/libnvidia-container/gpgkey",
        ),
    ] {
        let source = host.read(&format!("repos/{name}.repo"));
        assert!(
            source.contains("proxy=http://proxy.acme.dev:3128\n"),
            "{source}"
        );
        assert!(source.contains(&format!("gpgkey={key}\n")), "{source}");
        assert!(source.contains("gpgcheck=1\n"), "{source}");
    }
}

/// Keys that are added or removed later take effect, although nothing else changes.
#[test]
fn sources_follow_the_input() {
    let host = new_host();
    run_twice(&host, "");
    assert!(host.read("packages").contains("cuda-keyring"));
    let changes = run_twice(&host, MIRRORS);
    assert!(changes.contains("dpkg --purge"), "{changes}");
    assert!(!host.read("packages").contains("cuda-keyring"));
    let changes = run_twice(&host, "");
    assert!(changes.contains("cuda-keyring_1.1-1_all.deb"), "{changes}");
    assert!(!host.path("apt/sources.list.d/gpuc-cuda.list").exists());
    let toolkit = host.read("apt/sources.list.d/nvidia-container-toolkit.list");
    assert!(toolkit.contains("https://nvidia.github.io"), "{toolkit}");

    let host = new_host();
    run_twice(&host, &format!("{ON_RHEL} {MIRRORS}"));
    let changes = run_twice(&host, ON_RHEL);
    assert!(
        changes.contains("dnf config-manager https://developer"),
        "{changes}"
    );
    assert!(!host.path("repos/cuda-rhel9.repo").exists());
    assert_eq!(
        host.read("repos/nvidia-container-toolkit.repo"),
        "downloaded\n"
    );
}

/// Without keys in the input, a source that others set up is theirs.
#[test]
fn sources_of_others_are_kept() {
    let host = new_host();
    let theirs = "[cuda]\nbaseurl=https://satellite.acme.dev/cuda\ngpgcheck=1\n";
    host.write("repos/cuda-rhel9.repo", theirs);
    host.write("repos/nvidia-container-toolkit.repo", theirs);
    let changes = run_twice(&host, ON_RHEL);
    assert_eq!(host.read("repos/cuda-rhel9.repo"), theirs);
    assert_eq!(host.read("repos/nvidia-container-toolkit.repo"), theirs);
    assert!(!changes.contains("add-repo"), "{changes}");
}

/// A host without DKMS in its sources gets EPEL; one with Satellite does not.
#[test]
fn epel_is_added_only_without_dkms() {
    let host = new_host();
    let packages = host.read("packages");
    let others = packages.lines().filter(|line| !line.starts_with("dkms"));
    host.write("packages", &(others.collect::<Vec<_>>().join("\n") + "\n"));
    host.program(
        "subscription-manager",
        "echo subscription-manager \"$@\" >> $here/calls",
    );
    let run = host.run_script(&format!("{ON_RHEL} {PROXY}"), &[]);
    let changes = run.changes.join("\n");
    assert!(
        changes.contains(
            "dnf --setopt=proxy=http://proxy.acme.dev:3128 install https://dl.fedoraproject.org"
        ),
        "{run:?}"
    );

    host.write("offered", &(OFFERED.join("\n") + "\ndkms 3.0\n"));
    host.write(
        "packages",
        &(packages
            .lines()
            .filter(|line| !line.starts_with("dkms"))
            .collect::<Vec<_>>()
            .join("\n")
            + "\n"),
    );
    let run = host.run_script(ON_RHEL, &[]);
    assert!(!run.changes.join("\n").contains("fedoraproject"), "{run:?}");
}
