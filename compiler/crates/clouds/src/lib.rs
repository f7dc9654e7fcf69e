//! Clouds: one folder each, with catalog, facts, rules and provisioning.

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests read files and run programs"
    )
)]

pub mod aws;
pub mod azure;
mod context_unusable;
pub mod existing;
mod families;
pub mod gcp;
mod machine_keys;
mod names;
pub mod onprem;
#[cfg(test)]
mod testing;

use gpuc_model::cloud::Cloud;

/// Every cloud, by the key it has in the file.
pub static CLOUDS: &[&dyn Cloud] = &[
    &aws::AWS,
    &azure::Azure,
    &existing::EXISTING,
    &gcp::Gke,
    &onprem::OnPrem,
];

#[cfg(test)]
mod tests {
    use gpuc_model::check::check;

    use super::CLOUDS;
    use super::testing::{json, resolved};

    /// The ids of all findings for a file.
    fn ids(yaml: &str) -> Vec<&'static str> {
        let (mut cluster, mut report) = resolved(json(yaml));
        cluster.today = Some(jiff::civil::date(2026, 11, 24));
        check(&cluster, &mut report);
        report.diagnostics().iter().map(|it| it.code.id).collect()
    }

    #[test]
    fn examples_raise_only_their_code() {
        for rule in CLOUDS.iter().flat_map(|cloud| cloud.rules()) {
            let code = &rule.code;
            // They recognize keys that are set by their spans, which these clusters do not have.
            if ["cloud-only-key", "gpu-owner-unstated"].contains(&code.name) {
                continue;
            }
            assert_eq!(ids(code.bad), [code.id], "{}", code.name);
            assert_eq!(ids(&code.good()), [""; 0], "{}", code.name);
        }
    }
}
