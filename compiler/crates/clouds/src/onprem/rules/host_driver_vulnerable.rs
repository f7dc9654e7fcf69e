//! The stated driver of hosts has known vulnerabilities.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::gpu::cuda::DriverVersion;
use gpuc_schema::gpu::driver_branches::fixed_version;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::host;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2811",
        name: "host-driver-vulnerable",
        severity: Severity::Warning,
        summary: "the stated driver has vulnerabilities that NVIDIA has fixed",
        checks: "Whether an exact `driverVersion` of a pool with `driver: host` is at least the version of its branch that
fixes the vulnerabilities in NVIDIA's security bulletins.",
        reason: "A user of a container with a GPU can exploit the driver, which runs in the kernel of the host. The script installs
exactly the stated version, and nothing newer.",
        remedy: "Write the fixed version or a later one. Or write the branch, such as 580: the script then installs its newest
version, and reports or updates hosts whose driver is older than the fixed version.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0", driver: host, driverVersion: "580.126.09"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("580.126.09", "580.178.04"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut reported = Vec::new();
    for pool in cluster.pools.iter().filter(|pool| host::has_script(pool)) {
        let Some(written) = &pool.driver_version else {
            continue;
        };
        let Some((fixed, bulletin)) = vulnerable(written) else {
            continue;
        };
        // Several pools can have the version of the cluster's `stack`.
        if reported.contains(&written.span) {
            continue;
        }
        reported.push(written.span);
        report
            .diagnostic(
                &RULE.code,
                written.span,
                format!("driver `{written}` has known vulnerabilities, which {fixed} fixes"),
            )
            .help(format!("write \"{fixed}\" or a later version ({bulletin})"))
            .emit();
    }
}

/// The fixed version and the bulletin, if an exact version is older.
fn vulnerable(written: &str) -> Option<(&'static str, &'static str)> {
    let version = DriverVersion::parse(written)?;
    let (fixed, bulletin) = fixed_version(version.branch)?;
    let first = DriverVersion::parse(fixed)?;
    let release = |version: DriverVersion| (version.minor, version.patch);
    (version.patch.is_some() && release(version) < release(first)).then_some((fixed, bulletin))
}

#[cfg(test)]
mod tests {
    use super::vulnerable;

    #[test]
    fn only_exact_versions_before_the_fix_are_vulnerable() {
        for (version, is_vulnerable) in [
            ("580", false),
            ("580.65.06", true),
            ("580.178.03", true),
            ("580.178.04", false),
            ("580.200.01", false),
            ("535.288.01", true),
            ("535.309.01", false),
            // No bulletin names a fixed version of this branch.
            ("570.211.01", false),
        ] {
            assert_eq!(vulnerable(version).is_some(), is_vulnerable, "{version}");
        }
    }
}
