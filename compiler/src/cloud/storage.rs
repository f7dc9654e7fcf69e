//! What volumes a cloud has for pods, as data.

use std::collections::BTreeMap;

use gpuc_schema::Span;
use gpuc_schema::config::{GpuCluster, Volumes};

/// The volumes of a cloud.
#[derive(Debug)]
pub struct StorageFacts {
    /// Its types of disks; the first is the default.
    pub disks: &'static [VolumeType],
    /// Its types of file systems; the first is the default.
    pub files: &'static [VolumeType],
    /// How pods mount its buckets; `None` where gpuc knows no way without keys.
    pub buckets: Option<BucketVolumes>,
    /// The classes that it makes by itself, whose names are taken.
    pub classes: &'static [&'static str],
    /// Whether one of them is the default of a new cluster.
    pub has_default: bool,
    /// What must be installed before a new cluster makes volumes of them, by the name that the cloud gives it; `None`
    /// where it is there.
    pub classes_need: Option<&'static str>,
}

/// How pods mount the buckets of a cloud.
#[derive(Debug)]
pub struct BucketVolumes {
    /// The CSI driver, whose handle of a volume is the bucket's name.
    pub driver: &'static str,
    /// What a mount is always told.
    pub mount_options: &'static [&'static str],
    /// What must be switched on in the cluster, by the name that the cloud gives it.
    pub addon: &'static str,
    /// What pods need beside the claim.
    pub pods: &'static str,
    /// Where this stands.
    pub source: &'static str,
}

/// A type of volume.
#[derive(Debug)]
pub struct VolumeType {
    /// As the cloud and the file call it: `gp3`.
    pub name: &'static str,
    /// The CSI driver.
    pub provisioner: &'static str,
    /// What the driver is always told.
    pub parameters: &'static [(&'static str, &'static str)],
    /// How the driver is told the reads and writes a second; `None` where they are not sold apart.
    pub iops: Option<Parameter>,
    /// How it is told the throughput.
    pub throughput: Option<Parameter>,
    /// How it is told the file system that the volumes are part of; `None` where it makes one for each.
    pub id: Option<Parameter>,
    /// How it is told the subnet of the file system that it makes.
    pub subnet: Option<Parameter>,
    /// How it is told the security group of that.
    pub security_group: Option<Parameter>,
    /// What a mount is always told.
    pub mount_options: &'static [&'static str],
    /// Whether a volume is made where the first pod is that mounts it. What can be reached from every zone need not
    /// wait.
    pub waits: bool,
    /// Whether a volume can be made larger later.
    pub expands: bool,
    /// What must be installed or switched on in the cluster, by the name that the cloud gives it.
    pub addon: Option<&'static str>,
    /// Where this stands.
    pub source: &'static str,
}

/// A parameter of a storage class.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key.
    pub key: &'static str,
    /// What follows a number.
    pub unit: &'static str,
    /// Whether the driver makes no volume without it.
    pub needed: bool,
}

impl StorageFacts {
    /// The type of these volumes; `None` where the cloud has no such type.
    pub fn volumes(&self, written: &Volumes) -> Option<&VolumeType> {
        let (types, kind) = match written {
            Volumes::Disk(disk) => (self.disks, &disk.kind),
            Volumes::Files(files) => (self.files, &files.kind),
        };
        match kind {
            Some(kind) => types.iter().find(|it| it.name == kind.value),
            None => types.first(),
        }
    }

    /// What the classes of a file need in the cluster, each with the places it follows from.
    pub fn addons(&self, config: &GpuCluster) -> BTreeMap<&'static str, Vec<Span>> {
        let mut addons: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for class in config.storage.iter().flat_map(|storage| &storage.classes) {
            let volumes = self.volumes(&class.volumes.value);
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
    /// A disk that is made where the first pod is, and can grow.
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
            waits: true,
            expands: true,
            addon: None,
            source,
        }
    }

    /// A share that every zone reaches, and that can grow.
    pub const fn share(
        name: &'static str,
        provisioner: &'static str,
        parameters: &'static [(&'static str, &'static str)],
        source: &'static str,
    ) -> Self {
        Self {
            waits: false,
            ..Self::disk(name, provisioner, parameters, source)
        }
    }
}

impl Parameter {
    /// A parameter that may be left out, without a unit.
    pub const fn may(key: &'static str) -> Option<Self> {
        Some(Self {
            key,
            unit: "",
            needed: false,
        })
    }

    /// A parameter that the driver needs, without a unit.
    pub const fn must(key: &'static str) -> Option<Self> {
        Some(Self {
            key,
            unit: "",
            needed: true,
        })
    }
}
