//! StorageClasses, and buckets as PersistentVolumes.

use std::collections::BTreeMap;

use gpuc_schema::config::{Bucket, Reclaim, Storage, StorageClass, Volumes};
use gpuc_schema::{Span, Spanned};
use k8s_openapi::api::core::v1::{
    CSIPersistentVolumeSource, ObjectReference, PersistentVolume, PersistentVolumeSpec,
};
use k8s_openapi::api::storage::v1 as kubernetes;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use gpuc_model::check::Checked;
use gpuc_model::cloud::storage::{BucketVolumes, Parameter, VolumeType};
use gpuc_model::plan::Object;
use gpuc_syntax::node::Origin;

/// The folder of the manifests.
const COMPONENT: &str = "storage";

/// Marks the default class. Of two default classes, Kubernetes uses the newer one:
/// <https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass>, 2026-11-21.
const DEFAULT_CLASS_ANNOTATION: &str = "storageclass.kubernetes.io/is-default-class";

/// The classes and volumes of the file.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let Some(storage) = &cluster.config.storage else {
        return Vec::new();
    };
    let classes = storage.classes.iter();
    let mut objects: Vec<_> = classes
        .map(|class| object(cluster, storage, class))
        .collect();
    let facts = cluster.cloud.facts().storage;
    if let Some(facts) = facts.and_then(|storage| storage.buckets.as_ref()) {
        objects.extend(storage.buckets.iter().map(|it| volume(&it.value, facts)));
    }
    objects
}

/// A bucket as a PersistentVolume reserved for one claim. Deleting the volume keeps the data in the bucket.
fn volume(bucket: &Bucket, facts: &BucketVolumes) -> Object {
    let options = facts.mount_options.iter();
    let mode = if bucket.read_only.value {
        "ReadOnlyMany"
    } else {
        "ReadWriteMany"
    };
    let persistent_volume = PersistentVolume {
        metadata: ObjectMeta {
            name: Some(bucket.name.value.clone()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            access_modes: Some(vec![mode.to_owned()]),
            // Kubernetes requires a size; a bucket has none.
            capacity: Some(BTreeMap::from([(
                "storage".to_owned(),
                Quantity("1Ti".to_owned()),
            )])),
            claim_ref: Some(ObjectReference {
                name: Some(bucket.name.value.clone()),
                namespace: Some(bucket.namespace.value.clone()),
                ..ObjectReference::default()
            }),
            csi: Some(CSIPersistentVolumeSource {
                driver: facts.driver.to_owned(),
                volume_handle: bucket.bucket.value.clone(),
                read_only: bucket.read_only.value.then_some(true),
                ..CSIPersistentVolumeSource::default()
            }),
            mount_options: Some(options.map(|&it| it.to_owned()).collect()),
            persistent_volume_reclaim_policy: Some("Retain".to_owned()),
            storage_class_name: Some(String::new()),
            ..PersistentVolumeSpec::default()
        }),
        ..PersistentVolume::default()
    };
    let inputs = [
        bucket.name.span,
        bucket.namespace.span,
        bucket.bucket.span,
        bucket.read_only.span,
    ];
    let reason = "the file declares this bucket";
    Object::new(
        COMPONENT,
        &persistent_volume,
        Origin::fact(inputs, reason, facts.source),
    )
}

/// The notes on buckets for the generated README.
pub(super) fn notes(cluster: &Checked<'_>) -> Vec<String> {
    let facts = cluster.cloud.facts().storage;
    let Some(facts) = facts.and_then(|storage| storage.buckets.as_ref()) else {
        return Vec::new();
    };
    let buckets = cluster.config.storage.iter().flat_map(|it| &it.buckets);
    let bucket_note = |bucket: &Bucket| {
        format!(
            "The bucket {} is the PersistentVolume {}. To mount it, create the PersistentVolumeClaim {} in the namespace \
             {} with storageClassName: \"\" and volumeName: {}. Its pods need {}.",
            bucket.bucket, bucket.name, bucket.name, bucket.namespace, bucket.name, facts.pods
        )
    };
    buckets.map(|it| bucket_note(&it.value)).collect()
}

fn object(cluster: &Checked<'_>, storage: &Storage, class: &StorageClass) -> Object {
    let mut inputs = vec![class.name.span, class.volumes.span, class.reclaim.span];
    let volumes = (cluster.cloud.facts().storage)
        .and_then(|storage| storage.volume_type(&class.volumes.value))
        .unwrap_or_else(|| unreachable!("GPUC2100 rejects types that the cloud does not have"));
    let own = cluster.cloud.volume_parameters(cluster, volumes);
    inputs.extend(own.iter().map(|(_, _, span)| *span));
    let default = storage.default.as_ref();
    let default = default.filter(|default| default.value == class.name.value);
    inputs.extend(default.map(|default| default.span));
    let storage_class = kubernetes::StorageClass {
        metadata: ObjectMeta {
            name: Some(class.name.value.clone()),
            annotations: default.map(|_| {
                BTreeMap::from([(DEFAULT_CLASS_ANNOTATION.to_owned(), "true".to_owned())])
            }),
            ..ObjectMeta::default()
        },
        provisioner: volumes.provisioner.to_owned(),
        parameters: Some(parameters(&class.volumes.value, volumes, own)),
        mount_options: (!volumes.mount_options.is_empty()).then(|| {
            let options = volumes.mount_options.iter();
            options.map(|&it| it.to_owned()).collect()
        }),
        reclaim_policy: Some(
            match class.reclaim.value {
                Reclaim::Delete => "Delete",
                Reclaim::Retain => "Retain",
            }
            .to_owned(),
        ),
        allow_volume_expansion: Some(volumes.is_expandable),
        volume_binding_mode: Some(
            if volumes.waits_for_pod {
                "WaitForFirstConsumer"
            } else {
                "Immediate"
            }
            .to_owned(),
        ),
        ..kubernetes::StorageClass::default()
    };
    let origin = Origin::fact(inputs, "the file declares this class", volumes.source);
    Object::new(COMPONENT, &storage_class, origin)
}

fn parameters(
    written: &Volumes,
    volumes: &VolumeType,
    cluster_parameters: Vec<(&'static str, String, Span)>,
) -> BTreeMap<String, String> {
    let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let mut all: BTreeMap<_, _> = volumes.parameters.iter().map(text).collect();
    all.extend(
        cluster_parameters
            .into_iter()
            .map(|(key, value, _)| (key.to_owned(), value)),
    );
    let mut add_parameter = |parameter: Option<Parameter>, value: Option<String>| {
        // `storage-setting-wrong` rejects a value without a parameter, and a required parameter without a value.
        if let (Some(parameter), Some(value)) = (parameter, value) {
            all.insert(
                parameter.key.to_owned(),
                format!("{value}{}", parameter.unit),
            );
        }
    };
    match written {
        Volumes::Disk(disk) => {
            add_parameter(volumes.iops, disk.iops.map(|it| it.to_string()));
            add_parameter(
                volumes.throughput,
                disk.throughput_mib.map(|it| it.to_string()),
            );
        }
        Volumes::Files(files) => {
            let text = |it: &Option<Spanned<String>>| it.as_ref().map(|it| it.value.clone());
            add_parameter(volumes.id, text(&files.id));
            add_parameter(volumes.subnet, text(&files.subnet));
            add_parameter(volumes.security_group, text(&files.security_group));
        }
    }
    all
}
