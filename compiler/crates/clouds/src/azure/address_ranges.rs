//! The addresses of pods and Services of a cluster that gpuc creates.

use gpuc_model::plan::{Change, FieldKind};
use gpuc_schema::Spanned;
use gpuc_schema::config::AzureCreate;

use gpuc_model::ipv4_range::Ipv4Range;

/// The default range of pods of AKS. Source: learn.microsoft.com/azure/aks/azure-cni-overlay, 2026-11-24.
pub(super) const DEFAULT_POD_CIDR: &str = "10.244.0.0/16";

/// The default range of Services of AKS. Source: learn.microsoft.com/azure/aks/configure-azure-cni, 2026-11-24.
pub(super) const DEFAULT_SERVICE_CIDR: &str = "10.0.0.0/16";

const SOURCE: &str = "azure-cli 2.91.0: az aks update has no --service-cidr, and sets --pod-cidr only when it changes the network plugin";

pub(super) const POD_CIDR: FieldKind = FieldKind {
    name: "range of pods",
    read: ".networkProfile.podCidr",
    create_flag: Some("--pod-cidr"),
    change: Change::Replacement {
        reason: "the addresses of pods cannot be changed after creation",
    },
    source: SOURCE,
};

pub(super) const SERVICE_CIDR: FieldKind = FieldKind {
    name: "range of Services",
    read: ".networkProfile.serviceCidr",
    create_flag: Some("--service-cidr"),
    change: Change::Replacement {
        reason: "the addresses of Services cannot be changed after creation",
    },
    source: SOURCE,
};

/// The ranges that the file sets.
pub(super) fn ranges(
    create: &AzureCreate,
) -> impl Iterator<Item = (&'static FieldKind, &Spanned<String>)> {
    let pods = create.pod_cidr.as_ref().map(|range| (&POD_CIDR, range));
    let services = create.service_cidr.as_ref();
    let services = services.map(|range| (&SERVICE_CIDR, range));
    pods.into_iter().chain(services)
}

/// The flags that set the ranges at creation. The address of the DNS service is in the range of Services; az
/// does not derive it (azure-cli 2.91.0, `acs/managed_cluster_decorator.py`).
pub(super) fn flags(create: &AzureCreate) -> Vec<String> {
    let mut flags = Vec::new();
    if let Some(range) = &create.pod_cidr {
        flags.extend(["--pod-cidr".to_owned(), range.value.clone()]);
    }
    if let Some(range) = &create.service_cidr {
        let parsed = Ipv4Range::parse(range)
            .unwrap_or_else(|_| unreachable!("GPUC2750 rejects malformed ranges"));
        flags.extend(["--service-cidr".to_owned(), range.value.clone()]);
        flags.extend([
            "--dns-service-ip".to_owned(),
            parsed.address(10).to_string(),
        ]);
    }
    flags
}
