//! The Kubernetes versions that AKS supports. It publishes months: support ends with the last day of one.

use gpuc_model::KubernetesVersion;
use gpuc_model::cloud::{SupportFacts, SupportWindow};
use gpuc_schema::config::AzureTier;
use jiff::civil::{Date, date};

use super::create_section;

pub(super) static SUPPORT: SupportFacts = SupportFacts {
    windows: &[
        window(33, date(2026, 7, 31), Some(date(2027, 7, 31))),
        window(34, date(2026, 11, 30), Some(date(2027, 11, 30))),
        window(35, date(2027, 3, 31), Some(date(2028, 3, 31))),
        window(36, date(2027, 6, 30), Some(date(2028, 6, 30))),
        window(37, date(2027, 10, 31), Some(date(2028, 10, 31))),
    ],
    effect: "AKS then creates no clusters and no node pools of this version, unless the tier is `premium`",
    extended_effect: "AKS then no longer supports this version",
    is_extended: |cluster| {
        create_section(cluster).is_some_and(|create| create.tier.value == AzureTier::Premium)
    },
    source: "MicrosoftDocs/azure-aks-docs@fb060abe articles/aks/supported-kubernetes-versions.md, 2026-08-21",
};

const fn window(minor: u8, end: Date, extended_end: Option<Date>) -> SupportWindow {
    SupportWindow {
        version: KubernetesVersion(minor),
        end,
        extended_end,
    }
}
