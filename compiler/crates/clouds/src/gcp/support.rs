//! The Kubernetes versions that GKE supports. The dates are estimates by Google.

use gpuc_model::KubernetesVersion;
use gpuc_model::cloud::{SupportFacts, SupportWindow};
use gpuc_schema::config::GcpReleaseChannel;
use jiff::civil::{Date, date};

use super::create_section;

pub(super) static SUPPORT: SupportFacts = SupportFacts {
    windows: &[
        window(33, date(2026, 8, 3), None),
        window(34, date(2026, 10, 1), None),
        window(35, date(2027, 4, 11), None),
        window(36, date(2027, 8, 9), None),
    ],
    effect: "GKE then upgrades clusters that are not on the release channel `extended`",
    extended_effect: "",
    is_extended: |cluster| {
        create_section(&cluster.config)
            .is_some_and(|create| create.release_channel.value == GcpReleaseChannel::Extended)
    },
    source: "endoflife-date/endoflife.date@a70eca33 products/google-kubernetes-engine.md, 2026-08-21",
};

const fn window(minor: u8, end: Date, extended_end: Option<Date>) -> SupportWindow {
    SupportWindow {
        version: KubernetesVersion(minor),
        end,
        extended_end,
    }
}
