//! The volumes of GKE: disks of Compute Engine and shares of Filestore.

use gpuc_schema::Span;
use gpuc_schema::config::GpuCluster;

use super::created;
use crate::cloud::storage::{Parameter, StorageFacts, VolumeType};

/// The add-on for shares of Filestore.
pub(super) const FILESTORE: &str = "GcpFilestoreCsiDriver";

const DISKS: &str = "kubernetes-sigs/gcp-compute-persistent-disk-csi-driver:README.md; cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/gce-pd-csi-driver (named from memory, not opened)";
const SHARES: &str = "cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/filestore-csi-driver (named from memory, not opened)";

/// Every type of volume.
pub(super) static STORAGE: StorageFacts = StorageFacts {
    disks: &[
        disk("pd-balanced", &[("type", "pd-balanced")], None, None),
        disk("pd-ssd", &[("type", "pd-ssd")], None, None),
        disk(
            "hyperdisk-balanced",
            &[("type", "hyperdisk-balanced")],
            Parameter::may("provisioned-iops-on-create"),
            THROUGHPUT,
        ),
    ],
    files: &[
        share("zonal", &[("tier", "zonal")]),
        share("enterprise", &[("tier", "enterprise")]),
        share("standard", &[("tier", "standard")]),
        share("premium", &[("tier", "premium")]),
    ],
    // What GKE's own add-ons make.
    classes: &[
        "enterprise-multishare-rwx",
        "enterprise-rwx",
        "premium-rwo",
        "premium-rwx",
        "regional-rwx",
        "standard",
        "standard-rwo",
        "standard-rwx",
        "zonal-rwx",
    ],
};

const THROUGHPUT: Option<Parameter> = Some(Parameter {
    key: "provisioned-throughput-on-create",
    unit: "Mi",
    needed: false,
});

const fn disk(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    iops: Option<Parameter>,
    throughput: Option<Parameter>,
) -> VolumeType {
    VolumeType {
        name,
        provisioner: "pd.csi.storage.gke.io",
        parameters,
        iops,
        throughput,
        id: None,
        waits: true,
        expands: true,
        addon: None,
        source: DISKS,
    }
}

const fn share(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> VolumeType {
    VolumeType {
        name,
        provisioner: "filestore.csi.storage.gke.io",
        parameters,
        iops: None,
        throughput: None,
        id: None,
        waits: true,
        expands: true,
        addon: Some(FILESTORE),
        source: SHARES,
    }
}

/// What the driver must be told of a cluster's network: without it, it makes shares in the project's network `default`,
/// where the nodes would not reach them. A network of another project is reached by private services access alone.
/// Of an existing cluster the file does not say the network.
pub(super) fn parameters(
    config: &GpuCluster,
    volumes: &VolumeType,
) -> Vec<(&'static str, String, Span)> {
    let network = created(config).and_then(|create| create.network.as_ref());
    let Some(network) = network.filter(|_| volumes.addon == Some(FILESTORE)) else {
        return Vec::new();
    };
    let mut parameters = vec![("network", network.value.clone(), network.span)];
    if network.contains('/') {
        let mode = "PRIVATE_SERVICE_ACCESS".to_owned();
        parameters.push(("connect-mode", mode, network.span));
    }
    parameters
}
