//! The volumes of GKE: disks of Compute Engine, shares of Filestore and buckets of Cloud Storage.

use gpuc_schema::Span;
use gpuc_schema::config::GpuCluster;

use super::created;
use crate::cloud::storage::{BucketVolumes, Parameter, StorageFacts, VolumeType};

/// The add-on for shares of Filestore.
pub(super) const FILESTORE: &str = "GcpFilestoreCsiDriver";

/// The add-on for buckets of Cloud Storage.
pub(super) const FUSE: &str = "GcsFuseCsiDriver";

const DISKS: &str =
    "kubernetes-sigs/gcp-compute-persistent-disk-csi-driver@112c869c pkg/common/parameters.go";
const SHARES: &str = "kubernetes-sigs/gcp-filestore-csi-driver@00076279 README.md (the tiers zonal and enterprise, and connect-mode, from memory)";

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
    buckets: Some(BucketVolumes {
        driver: "gcsfuse.csi.storage.gke.io",
        // Folders that no object stands for are there too.
        mount_options: &["implicit-dirs"],
        addon: FUSE,
        pods: "the annotation gke-gcsfuse/volumes: \"true\", and a service account whose identity may read the bucket \
               (roles/storage.objectViewer; to write, roles/storage.objectUser)",
        source: "GoogleCloudPlatform/gcs-fuse-csi-driver@00002858 docs/usage.md",
    }),
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
    has_default: true,
    classes_need: None,
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
        iops,
        throughput,
        ..VolumeType::disk(name, "pd.csi.storage.gke.io", parameters, DISKS)
    }
}

const fn share(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> VolumeType {
    VolumeType {
        // A share is in one zone, unless its tier is another.
        waits: true,
        addon: Some(FILESTORE),
        ..VolumeType::share(name, "filestore.csi.storage.gke.io", parameters, SHARES)
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
