//! The volume types of clouds, as data.

use std::collections::BTreeMap;

use gpuc_schema::Span;
use gpuc_schema::config::{GpuCluster, Volumes};

/// The volumes of a cloud.
#[derive(Debug)]
pub struct StorageFacts {
    /// Disk types; the first is the default.
    pub disks: &'static [VolumeType],
    /// File system types; the first is the default.
    pub files: &'static [VolumeType],
    /// How pods mount its buckets; `None` if gpuc supports no way without keys.
    pub buckets: Option<BucketVolumes>,
    /// The StorageClasses that the cloud creates, whose names are reserved.
    pub classes: &'static [&'static str],
    /// Whether one of them is the default of a new cluster.
    pub has_default: bool,
    /// The add-on that a new cluster needs for these classes, by its name in the cloud; `None` if it is preinstalled.
    pub classes_addon: Option<&'static str>,
}

/// How pods mount the buckets of a cloud.
#[derive(Debug)]
pub struct BucketVolumes {
    /// The CSI driver; the volume handle is the name of the bucket.
    pub driver: &'static str,
    /// Mount options that are always set.
    pub mount_options: &'static [&'static str],
    /// The add-on that must be enabled in the cluster, by its name in the cloud.
    pub addon: &'static str,
    /// Requirements of pods in addition to the claim.
    pub pods: &'static str,
    /// The source of these facts.
    pub source: &'static str,
}

/// A type of volume.
#[derive(Debug)]
pub struct VolumeType {
    /// Its name in the cloud and in the file: `gp3`.
    pub name: &'static str,
    /// The CSI driver.
    pub provisioner: &'static str,
    /// Parameters that are always set.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The parameter for IOPS; `None` if they cannot be set.
    pub iops: Option<Parameter>,
    /// The parameter for the throughput.
    pub throughput: Option<Parameter>,
    /// The parameter for the file system of the volumes; `None` if the driver creates one for each volume.
    pub id: Option<Parameter>,
    /// The parameter for the subnet of a new file system.
    pub subnet: Option<Parameter>,
    /// The parameter for the security group of a new file system.
    pub security_group: Option<Parameter>,
    /// Mount options that are always set.
    pub mount_options: &'static [&'static str],
    /// Whether a volume is created only when its first pod is scheduled (`WaitForFirstConsumer`). Volumes that are
    /// accessible from every zone do not need this.
    pub waits_for_pod: bool,
    /// Whether volumes can be expanded.
    pub is_expandable: bool,
    /// The add-on that must be installed or enabled in the cluster, by its name in the cloud.
    pub addon: Option<&'static str>,
    /// The source of these facts.
    pub source: &'static str,
}

/// A parameter of a StorageClass.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key.
    pub key: &'static str,
    /// The suffix of a number.
    pub unit: &'static str,
    /// Whether the driver requires it.
    pub is_required: bool,
}

impl StorageFacts {
    /// The type of these volumes; `None` if the cloud does not have it.
    pub fn volume_type(&self, written: &Volumes) -> Option<&VolumeType> {
        let (types, kind) = match written {
            Volumes::Disk(disk) => (self.disks, &disk.kind),
            Volumes::Files(files) => (self.files, &files.kind),
        };
        match kind {
            Some(kind) => types.iter().find(|it| it.name == kind.value),
            None => types.first(),
        }
    }

    /// The add-ons that the StorageClasses and buckets of a file require, each with the spans it follows from.
    pub fn addons(&self, config: &GpuCluster) -> BTreeMap<&'static str, Vec<Span>> {
        let mut addons: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for class in config.storage.iter().flat_map(|storage| &storage.classes) {
            let volumes = self.volume_type(&class.volumes.value);
            if let Some(addon) = volumes.and_then(|volumes| volumes.addon) {
                addons.entry(addon).or_default().push(class.volumes.span);
            }
        }
        let buckets = config.storage.iter().flat_map(|storage| &storage.buckets);
        if let Some(facts) = &self.buckets {
            for bucket in buckets {
                let spans = addons.entry(facts.addon).or_default();
                spans.push(bucket.bucket.span);
            }
        }
        addons
    }
}

impl VolumeType {
    /// A disk that is created when its first pod is scheduled, and that can be expanded.
    pub const fn disk(
        name: &'static str,
        provisioner: &'static str,
        parameters: &'static [(&'static str, &'static str)],
        source: &'static str,
    ) -> Self {
        Self {
            name,
            provisioner,
            parameters,
            iops: None,
            throughput: None,
            id: None,
            subnet: None,
            security_group: None,
            mount_options: &[],
            waits_for_pod: true,
            is_expandable: true,
            addon: None,
            source,
        }
    }

    /// A share that is accessible from every zone, and that can be expanded.
    pub const fn share(
        name: &'static str,
        provisioner: &'static str,
        parameters: &'static [(&'static str, &'static str)],
        source: &'static str,
    ) -> Self {
        Self {
            waits_for_pod: false,
            ..Self::disk(name, provisioner, parameters, source)
        }
    }
}

impl Parameter {
    /// An optional parameter without a unit.
    pub const fn optional(key: &'static str) -> Option<Self> {
        Some(Self {
            key,
            unit: "",
            is_required: false,
        })
    }

    /// A required parameter without a unit.
    pub const fn required(key: &'static str) -> Option<Self> {
        Some(Self {
            key,
            unit: "",
            is_required: true,
        })
    }
}
