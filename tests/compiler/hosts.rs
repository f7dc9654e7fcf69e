//! The script for hosts on premises stops on a host that is not the pool's, before it looks at anything else.
//!
//! Root, the host's name and its machine are stand-ins. No machine of this architecture is in any pool, so that a
//! script that continues stops at the next check and changes nothing, whoever runs the test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// What the script says on a host of this name. It must stop.
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
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/build/on-prem-dgx/on-prem-dgx");
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .arg(golden.join("cloud/host-dgx.sh"))
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
