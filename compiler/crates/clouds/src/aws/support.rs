//! The Kubernetes versions that EKS supports.

use gpuc_model::KubernetesVersion;
use gpuc_model::cloud::{SupportFacts, SupportWindow};
use jiff::civil::{Date, date};

pub(super) static SUPPORT: SupportFacts = SupportFacts {
    windows: &[
        window(33, date(2026, 7, 29), Some(date(2027, 7, 29))),
        window(34, date(2026, 12, 2), Some(date(2027, 12, 2))),
        window(35, date(2027, 3, 27), Some(date(2028, 3, 27))),
        window(36, date(2027, 8, 2), Some(date(2028, 8, 2))),
    ],
    effect: "EKS then charges extra for extended support",
    extended_effect: "EKS then upgrades the control plane without notice",
    is_extended: |_| false,
    source: "endoflife-date/endoflife.date@a70eca33 products/amazon-eks.md, 2026-07-08",
};

const fn window(minor: u8, end: Date, extended_end: Option<Date>) -> SupportWindow {
    SupportWindow {
        version: KubernetesVersion(minor),
        end,
        extended_end,
    }
}
