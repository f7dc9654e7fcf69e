//! A notebook asks its pool for what no node offers.

use gpuc_schema::Span;
use gpuc_schema::config::{Allocation, MigStrategy, NotebookProfile};

use super::Rule;
use super::places::notebooks_on_pools;
use super::words::one_of;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Devices, Offer, Pool, Sharing};

/// A notebook asks its pool for what no node offers.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2141",
        name: "notebook-offer-missing",
        severity: Severity::Error,
        summary: "a notebook asks its pool for what no node offers",
        explain: "### What it checks

Whether the nodes of a profile's pool offer what it asks for: as many GPUs, shares or slices on one
node, slices of this MIG profile under a name of their own, and by a device plugin. A pool with
GPUs is asked for one where the profile does not say how many.

### Why it matters

The notebook would wait for ever, and the hub says no more than that it did not start in time.

### What to do

Ask for what the pool has, as the help names it, or choose another pool. Slices have names only
with `strategy: mixed`. Where `allocation` is `dra` pods claim GPUs, which notebooks cannot.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      - {name: Two A30, pool: gpu, gpus: 2}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (profile, name, pool) in notebooks_on_pools(cluster) {
        let asked = profile.gpus.as_ref().map(|gpus| gpus.span);
        let asked = asked.or(profile.profile.as_ref().map(|slice| slice.span));
        let misfit = match pool.gpus.get() {
            None => None,
            Some(None) => asked.map(|_| Misfit::new(pool, "has no GPUs", pool.name.span)),
            Some(Some(_)) if pool.allocation.value == Allocation::Dra => Some(claimed(pool)),
            Some(Some(_)) => misfit(profile, pool),
        };
        if let Some(misfit) = misfit {
            let span = asked.unwrap_or(name.span);
            let draft = report.draft(&RULE.code, span, misfit.message);
            let draft = draft.label(misfit.place, "what it offers follows from here");
            draft.help(misfit.help).emit();
        }
    }
}

/// What a pool does not have.
struct Misfit {
    message: String,
    place: Span,
    help: String,
}

impl Misfit {
    fn new(pool: &Pool, what: &str, place: Span) -> Self {
        let written = if place.is_written() {
            place
        } else {
            pool.name.span
        };
        Self {
            message: format!("pool `{}` {what}", pool.name),
            place: written,
            help: "remove `gpus` and `profile`, or name another pool".to_owned(),
        }
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: help.into(),
            ..self
        }
    }
}

fn claimed(pool: &Pool) -> Misfit {
    let what = "has its GPUs claimed, and notebooks can only count them";
    let misfit = Misfit::new(pool, what, pool.allocation.span);
    misfit.help("write `stack: {allocation: devicePlugin}` in the pool, or name another pool")
}

fn misfit(profile: &NotebookProfile, pool: &Pool) -> Option<Misfit> {
    let offers = pool.offers.get()?;
    let sharing = pool.written.sharing.span;
    let slices = slices(offers);
    let is_mixed = matches!(
        pool.sharing.get()?,
        Sharing::Mig { strategy, .. } if strategy.value == MigStrategy::Mixed
    );
    if profile.profile.is_some() && !is_mixed {
        let misfit = Misfit::new(pool, "offers no slices by a name of their own", sharing);
        let help = "remove `profile`, or cut the pool with `sharing.mig.strategy: mixed`";
        return Some(misfit.help(help));
    }
    let Some(devices) = Devices::of(profile, pool) else {
        let misfit = Misfit::new(pool, "offers nothing but slices", sharing);
        return Some(misfit.help(format!("add `profile`: {}", one_of(&slices))));
    };
    let offer = offers.iter().find(|it| it.resource == devices.resource);
    match (offer, &profile.profile) {
        (None, Some(slice)) => {
            let what = format!("offers no slice `{slice}`");
            Some(Misfit::new(pool, &what, sharing).help(one_of(&slices)))
        }
        (Some(offer), _) if offer.per_node < devices.count => {
            let (most, resource) = (offer.per_node, &offer.resource);
            let what = format!(
                "offers {most} of `{resource}` on a node, not {}",
                devices.count
            );
            let chosen = pool.gpus.get()?.as_ref()?.chosen;
            let help = format!("write at most {most}");
            Some(Misfit::new(pool, &what, chosen).help(help))
        }
        _ => None,
    }
}

/// The slices that a node offers, as `profile` names them.
fn slices(offers: &[Offer]) -> Vec<String> {
    let names = offers.iter().filter_map(|offer| {
        let slice = offer.resource.strip_prefix("nvidia.com/mig-")?;
        Some(slice.replacen(".me", "+me", 1))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

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
        assert_eq!(messages(&yaml, "GPUC2141"), expected, "{pool}: {profile}");
    }

    #[test]
    fn a_node_has_what_a_notebook_asks_for() {
        let two = "gpu: {model: A30, perNode: 2}";
        check(two, "gpus: 2", &[]);
        check(two, "cpu: 1", &[]);
        let few = "pool `p` offers 2 of `nvidia.com/gpu` on a node, not 3";
        check(two, "gpus: 3", &[few]);
        let unnamed = "pool `p` offers no slices by a name of their own";
        check(two, "profile: 1g.6gb", &[unnamed]);
        check("labels: {}", "cpu: 1", &[]);
        check("labels: {}", "gpus: 1", &["pool `p` has no GPUs"]);
        let claimed = "pool `p` has its GPUs claimed, and notebooks can only count them";
        let dra = format!("{two}, stack: {{allocation: dra}}");
        check(&dra, "cpu: 1", &[claimed]);
    }

    #[test]
    fn slices_are_those_of_the_layout() {
        let cut = |strategy: &str| {
            format!(
                "gpu: {{model: A30, perNode: 2}}, sharing: {{mig: {{strategy: {strategy}, \
                 perGpu: [{{layout: [{{profile: 1g.6gb, count: 4}}]}}]}}}}"
            )
        };
        check(&cut("mixed"), "profile: 1g.6gb", &[]);
        let other = "pool `p` offers no slice `2g.12gb`";
        check(&cut("mixed"), "profile: 2g.12gb", &[other]);
        let only = "pool `p` offers nothing but slices";
        check(&cut("mixed"), "gpus: 1", &[only]);
        check(&cut("mixed"), "cpu: 1", &[only]);
        check(&cut("single"), "gpus: 1", &[]);
        let unnamed = "pool `p` offers no slices by a name of their own";
        check(&cut("single"), "profile: 1g.6gb", &[unnamed]);
    }
}
