//! A notebook requests resources that its pool does not advertise.

use gpuc_model::check::Rule;
use gpuc_model::{AdvertisedResource, Cluster, ExtendedResourceRequest, Pool, Sharing};
use gpuc_schema::Span;
use gpuc_schema::config::{Allocation, MigStrategy, NotebookProfile};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::{keyword_list, one_of_help};
use super::queries::notebooks_on_pools;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2141",
        name: "notebook-resource-unavailable",
        severity: Severity::Error,
        summary: "a notebook requests resources that its pool does not advertise",
        checks: "Whether the nodes of a profile's pool advertise the requested resources: as many GPUs, replicas or
MIG devices on one node, and MIG devices of this profile under a resource name of their own. They
must be advertised by a device plugin, or the pool has `extendedResources`. On a pool with GPUs, a profile that does not set `gpus`
requests one.",
        reason: "The notebook stays pending indefinitely. The hub reports only that it did not start in time.",
        remedy: "Request resources that the pool advertises, as listed in the help, or choose another pool. MIG
devices have resource names of their own only with `strategy: mixed`. With `allocation: dra`,
notebooks get GPUs only if the pool's `stack` has `extendedResources: true`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
notebooks:
  jupyterHub:
    image: "registry.example.com/notebook:1.0.0"
    profiles:
      - {name: Four A30, pool: gpu, gpus: 4}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
        correction: Correction::Replace("Four A30, pool: gpu, gpus: 4", "Two A30, pool: gpu, gpus: 2"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (profile, name, pool) in notebooks_on_pools(cluster) {
        let requested = profile.gpus.as_ref().map(|gpus| gpus.span);
        let requested = requested.or(profile
            .profile
            .as_ref()
            .map(|profile_name| profile_name.span));
        let mismatch = match pool.gpus.get() {
            None => None,
            Some(None) => requested.map(|_| Mismatch::new(pool, "has no GPUs", pool.name.span)),
            Some(Some(_)) if is_only_claimed(pool) => Some(dra_mismatch(pool)),
            Some(Some(_)) => find_mismatch(profile, pool),
        };
        if let Some(mismatch) = mismatch {
            let span = requested.unwrap_or(name.span);
            report
                .diagnostic(&RULE.code, span, mismatch.message)
                .label(
                    mismatch.label_span,
                    "the advertised resources follow from this",
                )
                .help(mismatch.help)
                .emit();
        }
    }
}

/// Whether pods get the GPUs of a pool only through claims.
fn is_only_claimed(pool: &Pool) -> bool {
    pool.allocation.value == Allocation::Dra && !pool.extended_resources.value
}

/// A request that a pool cannot satisfy.
struct Mismatch {
    message: String,
    label_span: Span,
    help: String,
}

impl Mismatch {
    fn new(pool: &Pool, problem: &str, span: Span) -> Self {
        let written = if span.is_written() {
            span
        } else {
            pool.name.span
        };
        Self {
            message: format!("pool `{}` {problem}", pool.name),
            label_span: written,
            help: "remove `gpus` and `profile`, or name another pool".to_owned(),
        }
    }

    fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: help.into(),
            ..self
        }
    }
}

fn dra_mismatch(pool: &Pool) -> Mismatch {
    let problem = "allocates its GPUs through DRA, which notebooks do not support";
    let mismatch = Mismatch::new(pool, problem, pool.allocation.span);
    mismatch
        .with_help("write `stack: {allocation: devicePlugin}` in the pool, or name another pool")
}

fn find_mismatch(profile: &NotebookProfile, pool: &Pool) -> Option<Mismatch> {
    let advertised = pool.requestable_devices()?;
    let sharing = pool.sharing_span;
    let profiles = advertised_mig_profiles(&advertised);
    let is_mixed = matches!(
        pool.sharing.get()?,
        Sharing::Mig { strategy, .. } if strategy.value == MigStrategy::Mixed
    );
    if profile.profile.is_some() && !is_mixed {
        let mismatch = Mismatch::new(pool, "does not advertise MIG devices by profile", sharing);
        let help = "remove `profile`, or set `sharing.mig.strategy: mixed` in the pool";
        return Some(mismatch.with_help(help));
    }
    let Some(devices) = ExtendedResourceRequest::for_notebook(profile, pool) else {
        let mismatch = Mismatch::new(pool, "advertises only MIG devices", sharing);
        return Some(
            mismatch.with_help(format!("add `profile`, one of {}", keyword_list(&profiles))),
        );
    };
    let advertised_resource = advertised.iter().find(|it| it.name == devices.resource);
    match (advertised_resource, &profile.profile) {
        (None, Some(profile_name)) => {
            let problem = format!("does not advertise MIG profile `{profile_name}`");
            Some(Mismatch::new(pool, &problem, sharing).with_help(one_of_help(&profiles)))
        }
        (Some(advertised_resource), _) if advertised_resource.per_node < devices.count => {
            let (max, resource) = (advertised_resource.per_node, &advertised_resource.name);
            let problem = format!(
                "advertises only {max} of `{resource}` per node, not {}",
                devices.count
            );
            let chosen = pool.gpus.get()?.as_ref()?.span;
            let help = format!("write at most {max}");
            Some(Mismatch::new(pool, &problem, chosen).with_help(help))
        }
        _ => None,
    }
}

/// The MIG profiles that a node advertises, as `profile` names them.
fn advertised_mig_profiles(advertised: &[AdvertisedResource]) -> Vec<String> {
    let names = advertised
        .iter()
        .filter_map(|resource| resource.name.strip_prefix("nvidia.com/mig-"));
    names.map(|name| name.replacen(".me", "+me", 1)).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[track_caller]
    fn check(pool: &str, profile: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: p, hosts: [a], nodes: {{count: 1}}, {pool}}}
            notebooks: {{jupyterHub: {{profiles: [{{name: a, pool: p, {profile}}}]}}}}
            "
        );
        assert_eq!(
            messages_with_id(&yaml, "GPUC2141"),
            expected,
            "{pool}: {profile}"
        );
    }

    #[test]
    fn requests_beyond_the_advertised_gpus_are_found() {
        let two = "gpu: {model: A30, perNode: 2}";
        check(two, "gpus: 2", &[]);
        check(two, "cpu: 1", &[]);
        let few = "pool `p` advertises only 2 of `nvidia.com/gpu` per node, not 3";
        check(two, "gpus: 3", &[few]);
        let unnamed = "pool `p` does not advertise MIG devices by profile";
        check(two, "profile: 1g.6gb", &[unnamed]);
        check("labels: {}", "cpu: 1", &[]);
        check("labels: {}", "gpus: 1", &["pool `p` has no GPUs"]);
        let allocated_through_dra =
            "pool `p` allocates its GPUs through DRA, which notebooks do not support";
        let dra = format!("{two}, stack: {{allocation: dra}}");
        check(&dra, "cpu: 1", &[allocated_through_dra]);
        let named = format!("{two}, stack: {{allocation: dra, extendedResources: true}}");
        check(&named, "gpus: 2", &[]);
        check(&named, "gpus: 3", &[few]);
    }

    #[test]
    fn mig_profiles_of_the_geometry_are_known() {
        let mig_pool = |strategy: &str| {
            format!(
                "gpu: {{model: A30, perNode: 2}}, sharing: {{mig: {{strategy: {strategy}, \
                 perGpu: [{{layout: [{{profile: 1g.6gb, count: 4}}]}}]}}}}"
            )
        };
        check(&mig_pool("mixed"), "profile: 1g.6gb", &[]);
        let other = "pool `p` does not advertise MIG profile `2g.12gb`";
        check(&mig_pool("mixed"), "profile: 2g.12gb", &[other]);
        let only = "pool `p` advertises only MIG devices";
        check(&mig_pool("mixed"), "gpus: 1", &[only]);
        check(&mig_pool("mixed"), "cpu: 1", &[only]);
        check(&mig_pool("single"), "gpus: 1", &[]);
        let unnamed = "pool `p` does not advertise MIG devices by profile";
        check(&mig_pool("single"), "profile: 1g.6gb", &[unnamed]);
    }
}
