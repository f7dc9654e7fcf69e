//! What the webhooks of `JobSet`, `LeaderWorkerSet` and Volcano refuse of their sets.

use super::Here;
use super::counts::share;
use super::names::{Form, one};
use super::place::Step;
use super::read::{Read, get, items, read, text, whole};
use crate::diag::words::nearest;
use crate::node::Node;

pub(super) fn look(here: &mut Here<'_, '_>) {
    let name = here.name;
    // The template of a TrainingRuntime is a JobSet's.
    if name.ends_with("/JobSet.spec") || name.ends_with("TrainingRuntime.spec.template.spec") {
        let known = jobs(here);
        targets(here, &known);
        made_names(here);
    } else if name == "batch.volcano.sh/v1alpha1/Job.spec" {
        least(here);
    } else if name.ends_with("/JobSet.spec.network") || name.ends_with("template.spec.network") {
        if let Some(subdomain) = text(here.node, "subdomain") {
            one(
                here,
                vec![Step::from("subdomain")],
                subdomain,
                Form::Subdomain,
            );
        }
    } else if name.ends_with("/LeaderWorkerSet.spec.leaderWorkerTemplate") {
        groups(here);
    } else if name.ends_with("/LeaderWorkerSet.spec.rolloutStrategy.rollingUpdateConfiguration") {
        standstill(here);
    }
}

/// The names of the jobs, which are there once each; nothing where one is not known. A job waits for those before it.
///
/// Source: kubernetes-sigs/jobset `pkg/webhooks/jobset_webhook.go`, `ValidateCreate` (from memory); the names of
/// `replicatedJobs` are the keys of the list in its definition.
fn jobs<'n>(here: &mut Here<'_, 'n>) -> Vec<&'n str> {
    let mut known: Vec<&str> = Vec::new();
    for (index, job) in items(here.node, "replicatedJobs") {
        let Some(name) = text(job, "name") else {
            return Vec::new();
        };
        let way = [Step::from("replicatedJobs"), Step::from(index)];
        for (at, other) in items(job, "dependsOn") {
            let Some(other) = text(other, "name").filter(|it| !known.contains(it)) else {
                continue;
            };
            let below = [Step::from("dependsOn"), Step::from(at), Step::from("name")];
            here.refuse(
                way.clone().into_iter().chain(below),
                |path| format!("`{path}` is `{other}`, and no job of this name stands before it"),
                "write the name of a job that stands before it",
            );
        }
        if known.contains(&name) {
            here.refuse(
                way.into_iter().chain([Step::from("name")]),
                |path| format!("`{path}` is `{name}`, which is there already"),
                "write another name",
            );
        }
        known.push(name);
    }
    known
}

/// Whoever names a job names one that there is.
fn targets(here: &mut Here<'_, '_>, known: &[&str]) {
    if !here.is_whole || known.is_empty() {
        return;
    }
    let list = |way: Vec<Step>, holder: &Node| {
        let names = items(holder, "targetReplicatedJobs").filter_map(|(index, it)| {
            let Read::Text(name) = read(it) else {
                return None;
            };
            let below = [Step::from("targetReplicatedJobs"), Step::from(index)];
            let way: Vec<_> = way.iter().cloned().chain(below).collect();
            Some((way, name.to_owned()))
        });
        names.collect::<Vec<_>>()
    };
    let mut named: Vec<(Vec<Step>, String)> = Vec::new();
    if let Some(policy) = here.node.get("successPolicy") {
        named.extend(list(vec!["successPolicy".into()], policy));
    }
    if let Some(policy) = here.node.get("failurePolicy") {
        for (index, rule) in items(policy, "rules") {
            named.extend(list(
                vec!["failurePolicy".into(), "rules".into(), index.into()],
                rule,
            ));
        }
    }
    let coordinator = here.node.get("coordinator");
    if let Some(name) = coordinator.and_then(|it| text(it, "replicatedJob")) {
        let way = ["coordinator", "replicatedJob"].map(Step::from);
        named.push((way.to_vec(), name.to_owned()));
    }
    for (way, name) in named {
        if known.contains(&name.as_str()) {
            continue;
        }
        let near = nearest(&name, known.iter().copied());
        let help = match near {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "write the name of one of `replicatedJobs`".to_owned(),
        };
        here.refuse(
            way,
            |path| format!("`{path}` is `{name}`, and the set has no job of this name"),
            help,
        );
        here.meant(near.map(str::to_owned));
    }
}

/// The longest name that a label takes.
const LONGEST: usize = 63;

/// Names of Jobs and of pods are made of those of the set and of its jobs, and are labels of DNS.
///
/// Source: kubernetes-sigs/jobset@01078527 `pkg/webhooks/jobset_webhook.go`, `ValidateCreate`.
fn made_names(here: &mut Here<'_, '_>) {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    // What a runtime makes is called like the job that uses it.
    let set = here.above.iter().rev();
    let set = set.clone().find(|it| it.0.ends_with("/JobSet"));
    let set = set.and_then(|it| text(it.1.get("metadata")?, "name"));
    let mut wrong = Vec::new();
    for (index, job) in items(here.node, "replicatedJobs") {
        let Some(name) = text(job, "name") else {
            continue;
        };
        let way: Vec<_> = ["replicatedJobs".into(), index.into(), "name".into()].into();
        if !name.chars().all(is_letter) {
            let lower = name.to_lowercase().replace(['_', '.'], "-");
            let meant = Some(lower).filter(|it| it.chars().all(is_letter));
            wrong.push((way, name, None, meant));
            continue;
        }
        let replicas = match get(job, "replicas").map(read) {
            None => 1,
            Some(Read::Whole(replicas)) => replicas,
            Some(_) => continue,
        };
        let Some(set) = set else { continue };
        let mut made = format!("{set}-{name}-{}", replicas.max(1) - 1);
        let spec = job.get("template").and_then(|it| it.get("spec"));
        let is_indexed = spec.is_some_and(|it| {
            it.get("completionMode").is_none() || text(it, "completionMode") == Some("Indexed")
        });
        let pods = spec.and_then(|it| whole(it, "completions"));
        if let Some(pods) = pods.filter(|_| is_indexed) {
            made = format!("{made}-{}-abcde", pods.max(1) - 1);
        }
        if made.len() > LONGEST {
            wrong.push((way, name, Some(made.len()), None));
        }
    }
    for (way, name, length, meant) in wrong {
        let help = match (&meant, length) {
            (Some(meant), _) => format!("write `{meant}`"),
            (None, Some(_)) => format!("write a shorter name: a label has at most {LONGEST}"),
            (None, None) => "write small letters, digits and `-`".to_owned(),
        };
        here.refuse(
            way,
            |path| match length {
                Some(length) => format!(
                    "`{path}` is `{name}`: names that are made of it and of the set's have {length} letters"
                ),
                None => format!("`{path}` is `{name}`, of which no name of a Job can be made"),
            },
            help,
        );
    }
}

/// No job has more pods than its tasks, and no task more than its replicas.
///
/// Source: volcano-sh/volcano@00d06366 `pkg/webhooks/admission/jobs/validate/admit_job.go`, `validateJobCreate`.
fn least(here: &mut Here<'_, '_>) {
    let mut all = Some(0_i128);
    for (index, task) in items(here.node, "tasks") {
        let replicas = whole(task, "replicas");
        all = all.zip(replicas).map(|(all, own)| all + own);
        let (Some(replicas), Some(least)) = (replicas, whole(task, "minAvailable")) else {
            continue;
        };
        if least > replicas {
            here.refuse(
                ["tasks".into(), index.into(), "minAvailable".into()],
                |path| format!("`{path}` is {least}, and the task has {replicas} pods"),
                format!("write at most {replicas}"),
            );
        }
    }
    let least = whole(here.node, "minAvailable");
    if let (Some(all), Some(least)) = (all, least)
        && all > 0
        && least > all
    {
        here.refuse(
            [Step::from("minAvailable")],
            |path| format!("`{path}` is {least}, and the tasks have {all} pods together"),
            format!("write at most {all}"),
        );
    }
}

/// Source: kubernetes-sigs/lws `pkg/webhooks/leaderworkerset_webhook.go`, `generalValidate` and
/// `validateUpdateSubGroupPolicy` (from memory).
fn groups(here: &mut Here<'_, '_>) {
    let policy = here.node.get("subGroupPolicy");
    let Some(part) = policy.and_then(|it| whole(it, "subGroupSize")) else {
        return;
    };
    let size = match get(here.node, "size").map(read) {
        Some(Read::Whole(size)) => size,
        None if here.is_whole => 1,
        _ => return,
    };
    let fits = part >= 1 && part <= size && (size % part == 0 || (size - 1) % part == 0);
    if !fits {
        here.refuse(
            ["subGroupPolicy", "subGroupSize"].map(Step::from),
            |path| {
                format!(
                    "`{path}` is {part}, of which neither {size} nor {} is a multiple",
                    size - 1
                )
            },
            "write a size that divides the group, with its leader or without",
        );
    }
}

/// Source: the same.
fn standstill(here: &mut Here<'_, '_>) {
    let is_zero = |key: &str| share(here.node, key) == Some(0);
    if is_zero("maxUnavailable") && (is_zero("maxSurge") || get(here.node, "maxSurge").is_none()) {
        here.refuse(
            [Step::from("maxUnavailable")],
            |path| format!("`{path}` is 0, and `maxSurge` too: no group could ever be replaced"),
            "write 1 or more for one of the two",
        );
    }
}
