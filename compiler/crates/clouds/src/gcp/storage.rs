//! Volume types of GKE: Compute Engine disks, Filestore shares and Cloud Storage buckets.

use gpuc_model::cloud::storage::{BucketVolumes, Parameter, StorageFacts, VolumeType};
use gpuc_schema::Span;
use gpuc_schema::config::GpuCluster;

use super::create_section;

/// Add-on for Filestore shares.
pub(super) const FILESTORE: &str = "GcpFilestoreCsiDriver";

/// Add-on for Cloud Storage buckets.
pub(super) const FUSE: &str = "GcsFuseCsiDriver";

const DISK_DOCS: &str =
    "kubernetes-sigs/gcp-compute-persistent-disk-csi-driver@112c869c pkg/common/parameters.go";
const SHARE_DOCS: &str = "kubernetes-sigs/gcp-filestore-csi-driver@00076279 README.md (the tiers zonal and enterprise, and connect-mode, from memory)";

/// All volume types.
pub(super) static STORAGE: StorageFacts = StorageFacts {
    disks: &[
        compute_disk("pd-balanced", &[("type", "pd-balanced")], None, None),
        compute_disk("pd-ssd", &[("type", "pd-ssd")], None, None),
        compute_disk(
            "hyperdisk-balanced",
            &[("type", "hyperdisk-balanced")],
            Parameter::optional("provisioned-iops-on-create"),
            THROUGHPUT,
        ),
    ],
    files: &[
        filestore_share("zonal", &[("tier", "zonal")]),
        filestore_share("enterprise", &[("tier", "enterprise")]),
        filestore_share("standard", &[("tier", "standard")]),
        filestore_share("premium", &[("tier", "premium")]),
    ],
    buckets: Some(BucketVolumes {
        driver: "gcsfuse.csi.storage.gke.io",
        // Includes directories that have no object of their own.
        mount_options: &["implicit-dirs"],
        addon: FUSE,
        pods: "the annotation gke-gcsfuse/volumes: \"true\", and a service account whose identity can read the bucket \
               (roles/storage.objectViewer; for write access, roles/storage.objectUser)",
        source: "GoogleCloudPlatform/gcs-fuse-csi-driver@00002858 docs/usage.md",
    }),
    // StorageClasses that GKE's add-ons create.
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
    classes_addon: None,
};

const THROUGHPUT: Option<Parameter> = Some(Parameter {
    key: "provisioned-throughput-on-create",
    unit: "Mi",
    is_required: false,
});

const fn compute_disk(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    iops: Option<Parameter>,
    throughput: Option<Parameter>,
) -> VolumeType {
    VolumeType {
        iops,
        throughput,
        ..VolumeType::disk(name, "pd.csi.storage.gke.io", parameters, DISK_DOCS)
    }
}

const fn filestore_share(
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> VolumeType {
    VolumeType {
        // A share is in one zone, except in regional tiers.
        waits_for_pod: true,
        addon: Some(FILESTORE),
        ..VolumeType::share(name, "filestore.csi.storage.gke.io", parameters, SHARE_DOCS)
    }
}

/// Network parameters of the Filestore CSI driver. Without them it creates shares in the network `default` of the
/// project, which the nodes may not reach. A network of another project requires private services access. For an
/// existing cluster, the file does not contain the network.
pub(super) fn volume_parameters(
    config: &GpuCluster,
    volumes: &VolumeType,
) -> Vec<(&'static str, String, Span)> {
    let network = create_section(config).and_then(|create| create.network.as_ref());
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
