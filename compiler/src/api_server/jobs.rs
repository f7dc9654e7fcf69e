//! What a job says of its pods' failures, their numbers and its selector.

use std::collections::BTreeSet;

use super::Here;
use super::containers::one_of;
use super::names::is_subdomain;
use super::place::Step;
use super::read::{Read, get, items, read, switch, text, whole};
use super::strategies::selects;
use super::types::is_custom;
use crate::node::Node;

pub(super) fn look(here: &mut Here<'_, '_>) {
    match here.name {
        "JobSpec" => {
            selector(here);
            indexes(here);
            failures(here);
            managed(here);
        }
        "PodFailurePolicyRule" => {
            one_of(here, here.node, &["onExitCodes", "onPodConditions"], true);
        }
        "PodFailurePolicyOnExitCodesRequirement" => codes(here),
        _ => {}
    }
}

/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `ValidateGeneratedSelector`, `ValidateJobSpec` and
/// `ValidateJobTemplateSpec`.
fn selector(here: &mut Here<'_, '_>) {
    let is_manual = switch(here.node, "manualSelector") == Some(true);
    let own = get(here.node, "selector");
    if here.around("CronJobSpec").is_some() {
        for key in ["selector", "manualSelector"] {
            if get(here.node, key).is_some() && (key == "selector" || is_manual) {
                here.refuse(
                    [Step::from(key)],
                    |path| {
                        format!("`{path}`: Kubernetes writes a selector of its own for each job")
                    },
                    "remove it",
                );
            }
        }
        return;
    }
    let is_open = own.is_some_and(|it| read(it) == Read::Open);
    let says = own.is_some_and(|it| it.entries().iter().any(|entry| !is_empty(&entry.value)));
    let is_unknown = get(here.node, "manualSelector").is_some_and(|it| read(it) == Read::Open);
    if is_manual && own.is_none() && here.is_whole {
        here.refuse(
            [Step::from("manualSelector")],
            |path| format!("`{path}` is `true`, and no `selector` is beside it"),
            "write a `selector`, or remove `manualSelector`",
        );
    } else if is_manual && !is_open {
        selects(here);
    } else if says && !is_open && !is_unknown && here.is_whole {
        here.refuse(
            [Step::from("selector")],
            |path| {
                format!("`{path}` is written by Kubernetes, where `manualSelector` is not `true`")
            },
            "remove it",
        );
    }
}

fn is_empty(node: &Node) -> bool {
    node.entries().is_empty() && node.items().is_empty()
}

/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `validateJobSpec`. What a `JobSet` says nothing of is
/// `Indexed`: kubernetes-sigs/jobset `pkg/webhooks/jobset_webhook.go`, `Default` (from memory).
fn indexes(here: &mut Here<'_, '_>) {
    let mode = get(here.node, "completionMode");
    let is_indexed = text(here.node, "completionMode") == Some("Indexed");
    // Where nothing is said of both, both are 1; nobody says so of the jobs of a CronJob.
    let is_one = get(here.node, "parallelism").is_none() && here.around("CronJobSpec").is_none();
    let lacks = get(here.node, "completions").is_none() && !is_one;
    if is_indexed && here.is_whole && lacks {
        here.refuse(
            [Step::from("completionMode")],
            |path| format!("`{path}` is `Indexed`, and no `completions` are beside it"),
            "write `completions`",
        );
    }
    let is_custom = here.above.first().is_some_and(|it| is_custom(it.0));
    let is_plain = match mode {
        None => here.is_whole && !is_custom,
        Some(_) => text(here.node, "completionMode") == Some("NonIndexed"),
    };
    for key in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
        if is_plain && get(here.node, key).is_some() {
            here.refuse(
                [Step::from(key)],
                |path| format!("`{path}` is for `completionMode: Indexed` alone"),
                "remove it, or write `completionMode: Indexed` and `completions`",
            );
        }
    }
    let most = whole(here.node, "maxFailedIndexes");
    if most.is_some()
        && !is_plain
        && here.is_whole
        && get(here.node, "backoffLimitPerIndex").is_none()
    {
        here.refuse(
            [Step::from("maxFailedIndexes")],
            |path| format!("`{path}` is nothing without `backoffLimitPerIndex`"),
            "write `backoffLimitPerIndex` beside it, or remove it",
        );
    }
    let all = whole(here.node, "completions");
    if let (Some(most), Some(all)) = (most, all)
        && most > all
    {
        here.refuse(
            [Step::from("maxFailedIndexes")],
            |path| format!("`{path}` is {most}, which is more than `completions`"),
            format!("write at most {all}"),
        );
    }
}

/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `validateJobSpec`, `validatePodFailurePolicyRule`,
/// `validatePodFailurePolicyRuleOnExitCodes` and `validatePodReplacementPolicy`.
fn failures(here: &mut Here<'_, '_>) {
    let Some(policy) = get(here.node, "podFailurePolicy") else {
        return;
    };
    if text(here.node, "podReplacementPolicy").is_some_and(|it| it == "TerminatingOrFailed") {
        here.refuse(
            [Step::from("podReplacementPolicy")],
            |path| format!("`{path}` has to be `Failed` beside a `podFailurePolicy`"),
            "write `Failed`, or remove it",
        );
    }
    let pod = here.node.get("template").and_then(|it| it.get("spec"));
    if pod.and_then(|pod| text(pod, "restartPolicy")) == Some("OnFailure") {
        here.refuse(
            ["template", "spec", "restartPolicy"].map(Step::from),
            |path| {
                format!(
                    "`{path}` is `OnFailure`, and has to be `Never` beside a `podFailurePolicy`"
                )
            },
            "write `Never`",
        );
    }
    let names = pod.into_iter().flat_map(|pod| {
        let lists = ["containers", "initContainers"].into_iter();
        lists.flat_map(|list| items(pod, list).map(|(_, it)| text(it, "name")))
    });
    let names: Option<BTreeSet<_>> = names.collect();
    let has_index = get(here.node, "backoffLimitPerIndex").is_some();
    for (index, rule) in items(policy, "rules") {
        let way = |rest: &[&str]| {
            let mut way: Vec<Step> = vec!["podFailurePolicy".into(), "rules".into(), index.into()];
            way.extend(rest.iter().map(|key| Step::from(*key)));
            way
        };
        if text(rule, "action") == Some("FailIndex") && !has_index && here.is_whole {
            here.refuse(
                way(&["action"]),
                |path| {
                    format!("`{path}` is `FailIndex`, and the job has no `backoffLimitPerIndex`")
                },
                "write `backoffLimitPerIndex`, or another action",
            );
        }
        let name = rule
            .get("onExitCodes")
            .and_then(|it| text(it, "containerName"));
        let known = names
            .as_ref()
            .filter(|names| !names.is_empty() && here.is_whole);
        if let (Some(name), Some(known)) = (name, known)
            && !known.contains(name)
        {
            here.refuse(
                way(&["onExitCodes", "containerName"]),
                |path| format!("`{path}` is `{name}`, and the pod has no container of this name"),
                "write the name of one of its containers",
            );
        }
    }
}

/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `validateJobSpec`, and
/// `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`, `IsDomainPrefixedPath`.
fn managed(here: &mut Here<'_, '_>) {
    const LONGEST: usize = 63;
    let Some(name) = text(here.node, "managedBy") else {
        return;
    };
    let parts = name.split_once('/');
    let is_good = parts.is_some_and(|(domain, path)| is_subdomain(domain) && !path.is_empty());
    if !is_good || name.len() > LONGEST {
        here.refuse(
            [Step::from("managedBy")],
            |path| format!("`{path}` is `{name}`, which is no name of a controller"),
            "write a domain, `/` and a name, such as `kueue.x-k8s.io/multikueue`",
        );
    }
}

/// Source: kubernetes `pkg/apis/batch/validation/validation.go`, `validatePodFailurePolicyRuleOnExitCodes`.
fn codes(here: &mut Here<'_, '_>) {
    let is_in = text(here.node, "operator") == Some("In");
    let values = items(here.node, "values");
    let values: Vec<_> = values.map(|(index, it)| (index, read(it))).collect();
    if values.is_empty() && get(here.node, "values").is_some() {
        here.refuse(
            [Step::from("values")],
            |path| format!("`{path}` is empty"),
            "write the exit codes",
        );
    }
    let mut last = None;
    for (index, value) in values {
        let Read::Whole(value) = value else {
            continue;
        };
        let way = [Step::from("values"), Step::from(index)];
        if is_in && value == 0 {
            here.refuse(
                way,
                |path| format!("`{path}` is 0, which is no failure"),
                "remove it, or write `operator: NotIn`",
            );
        } else if last.is_some_and(|last| last >= value) {
            here.refuse(
                way,
                |path| format!("`{path}` is {value}, and each has to be more than the one before"),
                "write them in order, each once",
            );
        }
        last = Some(value);
    }
}
