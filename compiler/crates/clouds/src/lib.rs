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
pub mod gcp;
pub mod onprem;
#[cfg(test)]
mod testing;

use gpuc_model::cloud::Cloud;

/// Every cloud, by the key it has in the file.
pub static CLOUDS: &[&dyn Cloud] = &[&aws::AWS, &azure::Azure, &gcp::Gke, &onprem::OnPrem];
