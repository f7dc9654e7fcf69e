//! A manifest requests a GPU resource that no pool advertises.

use gpuc_model::POOL_LABEL;
use gpuc_syntax::diag::{Code, Correction, Edit, Report, Severity, phrases};
use gpuc_syntax::node::Entry;

use crate::corrections::spelling_applicability;
use crate::resources::{
    ALPHA_GPU, MISNAMED_GPUS, advertised_resources, is_gpu_name, is_unadvertised_gpu,
};
use crate::{CheckContext, Container, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4001",
        name: "manifest-resource-unknown",
        severity: Severity::Error,
        summary: "a manifest requests a GPU resource that no pool advertises",
        checks: "Whether some pool of the cluster advertises each GPU resource that a pod requests or that a ResourceQuota
counts.",
        reason: "A pod that requests a resource that no node advertises stays Pending indefinitely: `Insufficient
nvidia.com/gpu.type`. The resource name depends on the sharing of the pool: `nvidia.com/gpu`,
`nvidia.com/gpu.shared`, `nvidia.com/mig-1g.5gb`. The GPU model is not a resource; it is a label of the
nodes.",
        remedy: "Request the resource that the help names, and select the GPU model by the pool's label in `nodeSelector`.

`gpuc check --fix` corrects the case and plurals, with `--unsafe-fixes` also other spellings. It does not replace
full GPUs with replicas or MIG devices, nor the reverse: the quantities are not equivalent.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 1}}
"#,
        correction: Correction::Replace("alpha.kubernetes.io/nvidia-gpu:", "nvidia.com/gpu:"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in &pod.containers {
            for entry in container
                .requested_resources()
                .filter(|entry| is_unadvertised_gpu(ctx.cluster, &entry.key))
            {
                let title = format!("{} requests `{}`", pod.title(), entry.key);
                report_unknown(
                    ctx,
                    &title,
                    entry,
                    &entries_for(container, &entry.key),
                    advertised_request(ctx, container, &entry.key),
                    report,
                );
            }
        }
    }
    for (object, entry) in ctx.quota_entries() {
        let Some(resource) = entry.key.strip_prefix(REQUESTS_PREFIX) else {
            continue;
        };
        if is_unadvertised_gpu(ctx.cluster, resource) {
            let title = format!("{} counts `{resource}`", object.title());
            let lists = object.root.get("spec").and_then(|spec| spec.get("hard"));
            let meant =
                corrected_resource(ctx, resource).map(|name| format!("{REQUESTS_PREFIX}{name}"));
            // No edit if it would create a duplicate key.
            let can_rename =
                meant.is_none_or(|name| lists.is_none_or(|it| it.get(&name).is_none()));
            let keys = [entry];
            let keys = if can_rename { &keys[..] } else { &[] };
            report_unknown(ctx, &title, entry, keys, None, report);
        }
    }
}

/// The prefix of resources in a quota.
const REQUESTS_PREFIX: &str = "requests.";

/// The advertised resource that an unknown name is another spelling of.
pub(super) fn corrected_resource<'s>(ctx: &CheckContext<'s>, name: &str) -> Option<&'s str> {
    let gpus = advertised_resources(ctx.cluster).into_iter();
    let gpus: Vec<_> = gpus.filter(|name| is_gpu_name(name)).collect();
    let meant = intended_resource(name, &gpus).filter(|meant| is_spelling(name, meant));
    meant.filter(|_| is_unadvertised_gpu(ctx.cluster, name))
}

/// The GPUs of a pool that a container requests in addition to a resource that is no other name for them, such as
/// `nvidia.com/gpumem` of a scheduler extension.
fn advertised_request<'n>(
    ctx: &CheckContext<'_>,
    container: &Container<'n>,
    name: &str,
) -> Option<&'n str> {
    let is_advertised =
        |entry: &&Entry| is_gpu_name(&entry.key) && !ctx.pools_advertising(&entry.key).is_empty();
    let requested = container.requested_resources().find(is_advertised)?;
    corrected_resource(ctx, name)
        .is_none()
        .then_some(requested.key.as_str())
}

/// The entries of a resource in a container's limits and requests.
fn entries_for<'n>(container: &Container<'n>, name: &str) -> Vec<&'n Entry> {
    let lists = ["limits", "requests"].map(|list| container.resource_list(list));
    let entries = lists.into_iter().flatten();
    entries.filter(|entry| entry.key == name).collect()
}

fn report_unknown(
    ctx: &CheckContext<'_>,
    title: &str,
    entry: &Entry,
    keys: &[&Entry],
    also_requested: Option<&str>,
    report: &mut Report,
) {
    let message = format!("{title}, which no pool advertises");
    let gpus: Vec<_> = advertised_resources(ctx.cluster)
        .into_iter()
        .filter(|name| is_gpu_name(name))
        .collect();
    let builder = report.diagnostic(&RULE.code, entry.key_span, message);
    let builder = builder.primary_label("no node advertises this resource");
    let builder = match ctx.cluster.gpu_pools().next() {
        Some((pool, _)) => match pool
            .advertised
            .get()
            .and_then(|advertised| advertised.first())
        {
            Some(resource) => {
                let text = format!("pool `{}` advertises `{}`", pool.name, resource.name);
                builder.label(pool.name.span, text)
            }
            None => builder.label(pool.name.span, format!("pool `{}` has GPUs", pool.name)),
        },
        None => builder,
    };
    let builder = builder.help(match also_requested {
        Some(gpu) => format!("remove it: `{gpu}` is requested as well"),
        None => help(ctx, &entry.key, &gpus),
    });
    let (prefix, name) = split_requests_prefix(&entry.key);
    let edits = corrected_resource(ctx, name).and_then(|meant| {
        let edits = rename_edits(ctx, keys, &format!("{prefix}{meant}"))?;
        Some((spelling_applicability(name, meant), edits))
    });
    match edits {
        Some((applicability, edits)) => builder.fix_as(applicability, edits).emit(),
        None => builder.emit(),
    };
}

/// Splits the prefix of a quota from the resource name.
fn split_requests_prefix(key: &str) -> (&str, &str) {
    match key.strip_prefix(REQUESTS_PREFIX) {
        Some(name) => (REQUESTS_PREFIX, name),
        None => ("", key),
    }
}

/// Suggests an advertised resource or DeviceClass.
fn help(ctx: &CheckContext<'_>, name: &str, gpus: &[&str]) -> String {
    let (prefix, name) = split_requests_prefix(name);
    let classes = ctx.cluster.dra_pools().flat_map(|pool| &pool.classes);
    let classes: Vec<_> = classes.map(|class| class.name.as_str()).collect();
    let Some(first) = gpus.first() else {
        return match classes.as_slice() {
            [] => "add a pool with GPUs to the cluster".to_owned(),
            classes => format!(
                "create a ResourceClaim with the DeviceClass {}",
                phrases::quoted_conjunction(classes, "or")
            ),
        };
    };
    if let Some(meant) = intended_resource(name, gpus) {
        return format!("write `{prefix}{meant}`");
    }
    if let Some(closest) = closest(name, gpus) {
        return format!("did you mean `{prefix}{closest}`?");
    }
    if is_replica(name) {
        return match gpus.iter().find(|name| name.ends_with(SHARED_SUFFIX)) {
            Some(shared) => format!("write `{prefix}{shared}`"),
            None => format!(
                "{}; no pool advertises replicas under a separate name",
                request_one(prefix, gpus)
            ),
        };
    }
    if is_label(name) {
        return format!(
            "request `{first}`, and select the GPU model with `nodeSelector: {{{POOL_LABEL}: …}}`; this is a label"
        );
    }
    request_one(prefix, gpus)
}

/// A help to request one of the resources, or to count one of them in a quota (with a prefix).
fn request_one(prefix: &str, gpus: &[&str]) -> String {
    let verb = if prefix.is_empty() {
        "request"
    } else {
        "write"
    };
    let names = gpus.iter().map(|name| format!("{prefix}{name}"));
    let names: Vec<_> = names.collect();
    format!("{verb} {}", phrases::quoted_conjunction(&names, "or"))
}

/// The resource whose name differs by one or two letters. Different digits mean a different MIG device.
fn closest<'g>(name: &str, gpus: &[&'g str]) -> Option<&'g str> {
    const NVIDIA_PREFIX: &str = "nvidia.com/";
    let digits = |text: &str| {
        let digits = text.chars().filter(char::is_ascii_digit);
        digits.collect::<String>()
    };
    let own = name.strip_prefix(NVIDIA_PREFIX)?;
    let all = gpus.iter().filter(|it| digits(it) == digits(name));
    let closest = phrases::closest_match(own, all.filter_map(|it| it.strip_prefix(NVIDIA_PREFIX)))?;
    gpus.iter()
        .find(|it| it.strip_prefix(NVIDIA_PREFIX) == Some(closest))
        .copied()
}

/// Whether the name is a node label of GPU Feature Discovery, often mistaken for a resource.
///
/// Source: NVIDIA/k8s-device-plugin@v0.20.0 docs/gpu-feature-discovery/README.md.
fn is_label(name: &str) -> bool {
    let own = name.strip_prefix("nvidia.com/gpu.");
    own.is_some_and(|own| own != "shared")
}

/// The suffix of replicas that are advertised under a separate name.
const SHARED_SUFFIX: &str = ".shared";

/// Whether the name is a common one for a replica of a GPU.
fn is_replica(name: &str) -> bool {
    const FULL_GPU_NAMES: &[&str] = &[
        "gpu.share",
        "gpu.shares",
        "gpu.shared",
        "gpu-share",
        "gpu-shared",
        "gpushare",
        "shared-gpu",
        "sharedgpu",
        "gpu_shared",
    ];
    let own = name
        .strip_prefix("nvidia.com/")
        .map(str::to_ascii_lowercase);
    own.is_some_and(|own| FULL_GPU_NAMES.contains(&own.as_str()))
}

/// The resource that a name stands for: another spelling of it, or the only one for full GPUs and replicas.
fn intended_resource<'g>(name: &str, gpus: &[&'g str]) -> Option<&'g str> {
    let same = gpus.iter().find(|gpu| gpu.eq_ignore_ascii_case(name));
    if let Some(same) = same {
        return Some(same);
    }
    let mut shared = gpus.iter().filter(|gpu| gpu.ends_with(SHARED_SUFFIX));
    if let Some(shared) = shared.next().filter(|_| is_replica(name)) {
        return Some(shared);
    }
    let is_plain = is_full_gpu(name) || ["nvidia.com/gpu", "nvidia.com/gpu.shared"].contains(&name);
    match gpus {
        [only] if is_plain && !only.contains("/mig-") => Some(only),
        _ if is_full_gpu(name) => gpus.iter().find(|gpu| **gpu == "nvidia.com/gpu").copied(),
        _ => None,
    }
}

/// Whether the name is an obsolete or misspelled one for full GPUs.
fn is_full_gpu(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [ALPHA_GPU, "nvidia.com/gpus"].contains(&name) || MISNAMED_GPUS.contains(&lower.as_str())
}

/// Whether one name is another spelling of the other, so that their quantities are equivalent.
fn is_spelling(name: &str, meant: &str) -> bool {
    let is_full = is_full_gpu(name) && meant == "nvidia.com/gpu";
    let is_shared = is_replica(name) && meant.ends_with(SHARED_SUFFIX);
    is_full || is_shared || name.eq_ignore_ascii_case(meant)
}

/// Renames the keys; `None` if one of them cannot be edited.
fn rename_edits(ctx: &CheckContext<'_>, keys: &[&Entry], name: &str) -> Option<Vec<Edit>> {
    let edits = keys
        .iter()
        .map(|entry| text_edit::rename_key(ctx.sources, entry, name));
    edits
        .collect::<Option<Vec<_>>>()
        .filter(|edits| !edits.is_empty())
}
