//! Storage classes.

use std::collections::BTreeMap;

use gpuc_schema::Span;
use gpuc_schema::config::{Reclaim, Storage, StorageClass, Volumes};
use k8s_openapi::api::storage::v1 as kubernetes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::check::Checked;
use crate::cloud::storage::{Parameter, VolumeType};
use crate::node::Origin;
use crate::plan::Object;

/// The folder of the manifests.
const COMPONENT: &str = "storage";

/// Of two classes that say it, Kubernetes takes the newer one:
/// <https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass>, 2026-11-21.
const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";

/// The classes that the file asks for.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let Some(storage) = &cluster.written.storage else {
        return Vec::new();
    };
    let classes = storage.classes.iter();
    classes
        .map(|class| object(cluster, storage, class))
        .collect()
}

fn object(cluster: &Checked<'_>, storage: &Storage, class: &StorageClass) -> Object {
    let mut inputs = vec![class.name.span, class.volumes.span, class.reclaim.span];
    let volumes = (cluster.cloud.facts().storage)
        .and_then(|storage| storage.volumes(&class.volumes.value))
        .unwrap_or_else(|| unreachable!("GPUC2100 rejects types that the cloud has not"));
    let own = cluster.cloud.volume_parameters(cluster, volumes);
    inputs.extend(own.iter().map(|(_, _, span)| *span));
    let default = storage.default.as_ref();
    let default = default.filter(|default| default.value == class.name.value);
    inputs.extend(default.map(|default| default.span));
    let made = kubernetes::StorageClass {
        metadata: ObjectMeta {
            name: Some(class.name.value.clone()),
            annotations: default.map(|_| BTreeMap::from([(DEFAULT.to_owned(), "true".to_owned())])),
            ..ObjectMeta::default()
        },
        provisioner: volumes.provisioner.to_owned(),
        parameters: Some(parameters(&class.volumes.value, volumes, own)),
        reclaim_policy: Some(
            match class.reclaim.value {
                Reclaim::Delete => "Delete",
                Reclaim::Retain => "Retain",
            }
            .to_owned(),
        ),
        allow_volume_expansion: Some(volumes.expands),
        volume_binding_mode: Some(
            if volumes.waits {
                "WaitForFirstConsumer"
            } else {
                "Immediate"
            }
            .to_owned(),
        ),
        ..kubernetes::StorageClass::default()
    };
    let origin = Origin::fact(inputs, "the file asks for this class", volumes.source);
    Object::new(COMPONENT, &made, origin)
}

fn parameters(
    written: &Volumes,
    volumes: &VolumeType,
    own: Vec<(&'static str, String, Span)>,
) -> BTreeMap<String, String> {
    let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let mut all: BTreeMap<_, _> = volumes.parameters.iter().map(text).collect();
    all.extend(
        own.into_iter()
            .map(|(key, value, _)| (key.to_owned(), value)),
    );
    let mut put = |parameter: Option<Parameter>, value: Option<String>| {
        // `storage-setting-wrong` refuses a value without a parameter, and a needed parameter without a value.
        if let (Some(parameter), Some(value)) = (parameter, value) {
            all.insert(
                parameter.key.to_owned(),
                format!("{value}{}", parameter.unit),
            );
        }
    };
    match written {
        Volumes::Disk(disk) => {
            put(volumes.iops, disk.iops.map(|it| it.to_string()));
            put(
                volumes.throughput,
                disk.throughput_mib.map(|it| it.to_string()),
            );
        }
        Volumes::Files(files) => put(volumes.id, files.id.as_ref().map(|it| it.value.clone())),
    }
    all
}
