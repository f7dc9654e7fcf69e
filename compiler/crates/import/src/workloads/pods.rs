//! The keys of a workload that its pods have, for all kinds.

use gpuc_live::state::Kind;
use serde_json::Value;

use crate::context::Context;
use crate::json::{items, number, text, text_entries, texts};
use crate::pool::Pool;
use crate::tree::{Entries, Item};

use super::json_item;

/// The volume of `/dev/shm`.
const SHARED_MEMORY: &str = "shm";

/// What the template of a workload's pods contains.
pub(super) struct PodTemplate<'s> {
    /// The `spec` of the pods.
    pub(super) spec: &'s Value,
    /// The container that gpuc configures.
    pub(super) container: &'s Value,
}

/// The GPUs that a pod requests.
#[derive(Debug, Default)]
pub(super) struct Gpus {
    /// Their number.
    pub(super) count: u64,
    /// The profile of MIG devices.
    pub(super) profile: Option<String>,
}

/// An environment variable or a volume, which gpuc may set by itself.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The key in the file.
    pub(super) key: &'static str,
    /// The name.
    pub(super) name: String,
    /// The entry in the container.
    pub(super) entry: Value,
    /// The value in the file.
    pub(super) item: Item,
}

impl<'s> PodTemplate<'s> {
    /// The template at a pointer of an object.
    pub(super) fn new(object: &'s Value, pointer: &str) -> Option<Self> {
        let spec = object.pointer(pointer)?;
        let names = ["main", "node", "pytorch"];
        let mut containers = items(spec, "/containers").iter();
        let container =
            containers.find(|it| text(it, "/name").is_some_and(|name| names.contains(&name)))?;
        Some(Self { spec, container })
    }

    /// The name of the pool that the pods select, if they select one.
    pub(super) fn pool<'p>(&self, pools: &'p [Pool<'_>]) -> Option<&'p str> {
        let mut selector = text_entries(self.spec, "/nodeSelector");
        // gpuc adds the label of GKE's nodes whose networks GKE creates.
        selector.retain(|(key, _)| *key != "gke.networks.io/accelerator-network-profile");
        if let [("gpuc.dev/pool", name)] = selector[..] {
            return pools
                .iter()
                .map(|it| it.name.as_str())
                .find(|it| *it == name);
        }
        let is_same = |pool: &&Pool<'_>| {
            let mut labels = pool.selector.iter();
            !selector.is_empty()
                && labels.len() == selector.len()
                && labels.all(|(key, value)| selector.contains(&(key, value)))
        };
        pools.iter().find(is_same).map(|pool| pool.name.as_str())
    }

    /// The GPUs of a device plugin, or of a claim.
    pub(super) fn gpus(&self, cx: &Context<'_>, namespace: &str) -> Gpus {
        for (resource, amount) in text_entries(self.container, "/resources/limits") {
            let Some(device) = resource.strip_prefix("nvidia.com/") else {
                continue;
            };
            let profile = device
                .strip_prefix("mig-")
                .map(|it| it.replace(".shared", ""));
            return Gpus {
                count: amount.parse().unwrap_or_default(),
                profile,
            };
        }
        self.claimed(cx, namespace).unwrap_or_default()
    }

    fn claimed(&self, cx: &Context<'_>, namespace: &str) -> Option<Gpus> {
        let claim = items(self.spec, "/resourceClaims").first()?;
        let template = text(claim, "/resourceClaimTemplateName");
        let of_template = template.map(|name| (Kind::ResourceClaimTemplate, name, "/spec/spec"));
        let own = || {
            Some((
                Kind::ResourceClaim,
                text(claim, "/resourceClaimName")?,
                "/spec",
            ))
        };
        let (kind, name, spec) = of_template.or_else(own)?;
        let pointer = format!("{spec}/devices/requests/0");
        let request = cx.state.object(kind, namespace, name)?.get(&pointer);
        let count = number(request, "/exactly/count").unwrap_or(1);
        Some(Gpus {
            count: count.try_into().ok()?,
            profile: None,
        })
    }

    /// The keys that all kinds have, without environment variables. `has_many` is whether a pod gets shared memory by
    /// default.
    pub(super) fn keys(&self, has_many: bool) -> Entries {
        let mut keys = Entries::default();
        let container = self.container;
        keys.push(
            "image",
            Item::text(text(container, "/image").unwrap_or_default()),
        );
        for key in ["command", "args"] {
            let list = program(container, key);
            keys.push_list(key, list.into_iter().map(Item::text).collect());
        }
        let sources = items(container, "/envFrom").iter().filter_map(|it| {
            let secret = text(it, "/secretRef/name").map(|name| ("secret", name));
            let (key, name) =
                secret.or_else(|| Some(("configMap", text(it, "/configMapRef/name")?)))?;
            Some(Item::single(key, Item::text(name)))
        });
        keys.push_list("envFrom", sources.collect());
        for key in ["cpu", "memory"] {
            let amount = container
                .pointer("/resources/limits")
                .and_then(|it| it.get(key));
            keys.push_some(key, amount.map(json_item));
        }
        let volumes = items(self.spec, "/volumes");
        let shared = volumes
            .iter()
            .find(|it| text(it, "/name") == Some(SHARED_MEMORY));
        let size = shared.and_then(|it| text(it, "/emptyDir/sizeLimit"));
        match (size, shared) {
            (Some(size), _) => keys.push("sharedMemory", Item::text(size)),
            (None, None) if has_many => keys.push("sharedMemory", Item::text("0")),
            _ => {}
        }
        let secrets = items(self.spec, "/imagePullSecrets").iter();
        let secrets = secrets.filter_map(|it| Some(Item::text(text(it, "/name")?)));
        keys.push_list("imagePullSecrets", secrets.collect());
        let account = text(self.spec, "/serviceAccountName").filter(|name| *name != "default");
        keys.push_some("serviceAccount", account.map(Item::text));
        keys.push_some("runAs", self.run_as());
        let grace = number(self.spec, "/terminationGracePeriodSeconds").filter(|it| *it != 30);
        keys.push_some("graceSeconds", grace.map(Item::number));
        keys
    }

    fn run_as(&self) -> Option<Item> {
        let user = number(self.spec, "/securityContext/runAsUser")?;
        let group = number(self.spec, "/securityContext/runAsGroup");
        let volumes = number(self.spec, "/securityContext/fsGroup");
        let mut entries = Entries::default();
        entries.push("user", Item::number(user));
        let own = group.filter(|group| *group != user);
        entries.push_some("group", own.map(Item::number));
        let of_volumes = volumes.filter(|it| Some(*it) != group);
        entries.push_some("volumesGroup", of_volumes.map(Item::number));
        entries.into_some()
    }

    /// The volumes whose sources the file can have.
    pub(super) fn volumes(&self, cx: &Context<'_>, owner: (&str, &str)) -> Vec<Part> {
        let mounts = items(self.container, "/volumeMounts").iter();
        let mut found = Vec::new();
        for mount in mounts {
            let (Some(name), Some(path)) = (text(mount, "/name"), text(mount, "/mountPath")) else {
                continue;
            };
            if name == SHARED_MEMORY {
                continue;
            }
            let volumes = items(self.spec, "/volumes");
            let volume = volumes.iter().find(|it| text(it, "/name") == Some(name));
            let Some(from) = volume_source(cx, owner, name, volume) else {
                continue;
            };
            let mut entries = Entries::default();
            entries.push("name", Item::text(name));
            entries.push("mountPath", Item::text(path));
            entries.push("from", from);
            if mount["readOnly"] == true {
                entries.push("readOnly", Item::bool(true));
            }
            found.push(Part {
                key: "volumes",
                name: name.to_owned(),
                entry: mount.clone(),
                item: entries.into_item(),
            });
        }
        found
    }

    /// The environment variables that are values, or entries of Secrets and ConfigMaps.
    pub(super) fn variables(&self) -> Vec<Part> {
        let entries = items(self.container, "/env").iter();
        let variables = entries.filter_map(|entry| {
            let name = text(entry, "/name")?.to_owned();
            let reference = |kind: &str, key: &str| {
                let from = entry.pointer(&format!("/valueFrom/{key}"))?;
                let names = ["name", "key"]
                    .map(|it| (it, Item::text(from[it].as_str().unwrap_or_default())));
                Some(Item::single(kind, Item::map(names)))
            };
            let value = entry.get("value").and_then(Value::as_str);
            let value = value.map(|value| ("env", Item::text(value)));
            let secret = || reference("secret", "secretKeyRef");
            let reference = || secret().or_else(|| reference("configMap", "configMapKeyRef"));
            let (key, item) = value.or_else(|| Some(("envValueFrom", reference()?)))?;
            Some(Part {
                key,
                name,
                entry: entry.clone(),
                item,
            })
        });
        variables.collect()
    }
}

/// The key `from` of a volume: `volume` is that of the pod; `None` for the claims of a StatefulSet.
fn volume_source(
    cx: &Context<'_>,
    (workload, namespace): (&str, &str),
    name: &str,
    volume: Option<&Value>,
) -> Option<Item> {
    let Some(volume) = volume else {
        let set = cx.state.object(Kind::StatefulSet, namespace, workload)?;
        let mut templates = set.items("/spec/volumeClaimTemplates").iter();
        let template = templates.find(|it| text(it, "/metadata/name") == Some(name))?;
        return claim(template);
    };
    if let Some(own) = text(volume, "/persistentVolumeClaim/claimName") {
        let object = cx.state.object(Kind::PersistentVolumeClaim, namespace, own);
        let created = object.filter(|it| {
            own == format!("{workload}-{name}")
                && it.metadata.label(gpuc_model::WORKLOAD_LABEL) == Some(workload)
        });
        return match created {
            Some(object) => claim(&object.body),
            None => Some(Item::single("existingClaim", Item::text(own))),
        };
    }
    if let Some(map) = text(volume, "/configMap/name") {
        return Some(Item::single("configMap", Item::text(map)));
    }
    if let Some(secret) = text(volume, "/secret/secretName") {
        return Some(Item::single("secret", Item::text(secret)));
    }
    let scratch = volume
        .get("emptyDir")
        .filter(|it| it.get("medium").is_none())?;
    let size = text(scratch, "/sizeLimit").map(gibibytes);
    let size = match size {
        Some(size) => Some(("sizeGiB", Item::number(size?))),
        None => None,
    };
    Some(Item::single("scratch", Item::map(size)))
}

/// The key `claim` of a PersistentVolumeClaim, or of a template.
fn claim(object: &Value) -> Option<Item> {
    let size = gibibytes(text(object, "/spec/resources/requests/storage")?)?;
    let mut entries = Entries::default();
    entries.push("sizeGiB", Item::number(size));
    let class = text(object, "/spec/storageClassName");
    entries.push_some("class", class.map(Item::text));
    Some(Item::single("claim", entries.into_item()))
}

fn gibibytes(amount: &str) -> Option<u32> {
    amount.strip_suffix("Gi")?.parse().ok()
}

/// The words of `command` or `args` of a container, without the script of the network that gpuc runs before them.
pub(super) fn program<'v>(container: &'v Value, key: &str) -> Vec<&'v str> {
    let words = texts(container, &format!("/{key}"));
    match words.as_slice() {
        ["/bin/bash", "-c", script, "bash", program @ ..]
            if script.contains("set_nccl_env.sh") && script.ends_with(r#" && exec "$@""#) =>
        {
            program.to_vec()
        }
        _ => words,
    }
}
