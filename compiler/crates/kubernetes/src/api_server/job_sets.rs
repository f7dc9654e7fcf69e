//! Validation by the webhooks of `JobSet`, `LeaderWorkerSet` and Volcano.

use gpuc_syntax::diag::phrases::{closest_match, pluralize};
use gpuc_syntax::node::Node;

use super::ObjectContext;
use super::field_path::Step;
use super::names::{NameSyntax, check_name};
use super::ranges::int_or_percent;
use super::scalar::{ParsedValue, get_integer, get_non_null, get_text, indexed_items, parse_value};

pub(super) fn validate(ctx: &mut ObjectContext<'_, '_>) {
    let name = ctx.type_name;
    // The template of a TrainingRuntime is a JobSet template.
    if name.ends_with("/JobSet.spec") || name.ends_with("TrainingRuntime.spec.template.spec") {
        let known = check_replicated_jobs(ctx);
        check_target_jobs(ctx, &known);
        check_generated_names(ctx);
    } else if name == "batch.volcano.sh/v1alpha1/Job.spec" {
        check_min_available(ctx);
    } else if name.ends_with("/JobSet.spec.network") || name.ends_with("template.spec.network") {
        if let Some(subdomain) = get_text(ctx.node, "subdomain") {
            check_name(
                ctx,
                vec![Step::from("subdomain")],
                subdomain,
                NameSyntax::Subdomain,
            );
        }
    } else if name.ends_with("/LeaderWorkerSet.spec.leaderWorkerTemplate") {
        check_subgroup_size(ctx);
    } else if name.ends_with("/LeaderWorkerSet.spec.rolloutStrategy.rollingUpdateConfiguration") {
        check_rolling_update(ctx);
    }
}

/// The names of the jobs, which are there once each; nothing where one is not known. A job waits for those before it.
///
/// Source: kubernetes-sigs/jobset `pkg/webhooks/jobset_webhook.go`, `ValidateCreate` (from memory); the names of
/// `replicatedJobs` are the keys of the list in its definition.
fn check_replicated_jobs<'n>(ctx: &mut ObjectContext<'_, 'n>) -> Vec<&'n str> {
    let mut known: Vec<&str> = Vec::new();
    for (index, job) in indexed_items(ctx.node, "replicatedJobs") {
        let Some(name) = get_text(job, "name") else {
            return Vec::new();
        };
        let key_path = [Step::from("replicatedJobs"), Step::from(index)];
        for (at, other) in indexed_items(job, "dependsOn") {
            let Some(other) = get_text(other, "name").filter(|it| !known.contains(it)) else {
                continue;
            };
            let below = [Step::from("dependsOn"), Step::from(at), Step::from("name")];
            ctx.report(
                key_path.clone().into_iter().chain(below),
                |path| format!("`{path}` is `{other}`, but no previous job has this name"),
                "use the name of a previous job",
            );
        }
        if known.contains(&name) {
            ctx.report(
                key_path.into_iter().chain([Step::from("name")]),
                |path| format!("`{path}` is `{name}`, which is already used"),
                "write another name",
            );
        }
        known.push(name);
    }
    known
}

/// Referenced jobs must exist.
fn check_target_jobs(ctx: &mut ObjectContext<'_, '_>, known: &[&str]) {
    if !ctx.is_complete || known.is_empty() {
        return;
    }
    let list = |path: Vec<Step>, parent: &Node| {
        let names = indexed_items(parent, "targetReplicatedJobs").filter_map(|(index, it)| {
            let ParsedValue::Text(name) = parse_value(it) else {
                return None;
            };
            let below = [Step::from("targetReplicatedJobs"), Step::from(index)];
            let path: Vec<_> = path.iter().cloned().chain(below).collect();
            Some((path, name.to_owned()))
        });
        names.collect::<Vec<_>>()
    };
    let mut named: Vec<(Vec<Step>, String)> = Vec::new();
    if let Some(policy) = ctx.node.get("successPolicy") {
        named.extend(list(vec!["successPolicy".into()], policy));
    }
    if let Some(policy) = ctx.node.get("failurePolicy") {
        for (index, rule) in indexed_items(policy, "rules") {
            named.extend(list(
                vec!["failurePolicy".into(), "rules".into(), index.into()],
                rule,
            ));
        }
    }
    let coordinator = ctx.node.get("coordinator");
    if let Some(name) = coordinator.and_then(|it| get_text(it, "replicatedJob")) {
        let path = ["coordinator", "replicatedJob"].map(Step::from);
        named.push((path.to_vec(), name.to_owned()));
    }
    for (key_path, name) in named {
        if known.contains(&name.as_str()) {
            continue;
        }
        let closest = closest_match(&name, known.iter().copied());
        let help = match closest {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "write the name of one of `replicatedJobs`".to_owned(),
        };
        ctx.report(
            key_path,
            |path| format!("`{path}` is `{name}`, but the set has no job with this name"),
            help,
        );
        ctx.suggest(closest.map(str::to_owned));
    }
}

/// The maximum length of a label value.
const MAX_LABEL_LENGTH: usize = 63;

/// Names of Jobs and pods are derived from the names of the set and its jobs, and must be DNS labels.
///
/// Source: kubernetes-sigs/jobset@01078527 `pkg/webhooks/jobset_webhook.go`, `ValidateCreate`.
fn check_generated_names(ctx: &mut ObjectContext<'_, '_>) {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    // Objects of a runtime have the name of the TrainJob that uses it.
    let set = ctx.ancestors.iter().rev();
    let set = set.clone().find(|it| it.0.ends_with("/JobSet"));
    let set = set.and_then(|it| get_text(it.1.get("metadata")?, "name"));
    let mut invalid_names = Vec::new();
    for (index, job) in indexed_items(ctx.node, "replicatedJobs") {
        let Some(name) = get_text(job, "name") else {
            continue;
        };
        let path: Vec<_> = ["replicatedJobs".into(), index.into(), "name".into()].into();
        if !name.chars().all(is_letter) {
            let lower = name.to_lowercase().replace(['_', '.'], "-");
            let meant = Some(lower).filter(|it| it.chars().all(is_letter));
            invalid_names.push((path, name, None, meant));
            continue;
        }
        let replicas = match get_non_null(job, "replicas").map(parse_value) {
            None => 1,
            Some(ParsedValue::Integer(replicas)) => replicas,
            Some(_) => continue,
        };
        let Some(set) = set else { continue };
        let mut longest_name = format!("{set}-{name}-{}", replicas.max(1) - 1);
        let spec = job.get("template").and_then(|it| it.get("spec"));
        let is_indexed = spec.is_some_and(|it| {
            it.get("completionMode").is_none() || get_text(it, "completionMode") == Some("Indexed")
        });
        let pods = spec.and_then(|it| get_integer(it, "completions"));
        if let Some(pods) = pods.filter(|_| is_indexed) {
            longest_name = format!("{longest_name}-{}-abcde", pods.max(1) - 1);
        }
        if longest_name.len() > MAX_LABEL_LENGTH {
            invalid_names.push((path, name, Some(longest_name.len()), None));
        }
    }
    for (key_path, name, length, meant) in invalid_names {
        let help = match (&meant, length) {
            (Some(meant), _) => format!("write `{meant}`"),
            (None, Some(_)) => {
                format!("write a shorter name: a label has at most {MAX_LABEL_LENGTH}")
            }
            (None, None) => "use lower-case letters, digits and `-`".to_owned(),
        };
        ctx.report(
            key_path,
            |path| match length {
                Some(length) => format!(
                    "`{path}` is `{name}`: names derived from it and from the set's name have {length} characters"
                ),
                None => format!("`{path}` is `{name}`, which cannot be part of a Job's name"),
            },
            help,
        );
    }
}

/// `minAvailable` must not exceed the number of pods of a job or task.
///
/// Source: volcano-sh/volcano@00d06366 `pkg/webhooks/admission/jobs/validate/admit_job.go`, `validateJobCreate`.
fn check_min_available(ctx: &mut ObjectContext<'_, '_>) {
    let mut all = Some(0_i128);
    for (index, task) in indexed_items(ctx.node, "tasks") {
        let replicas = get_integer(task, "replicas");
        all = all.zip(replicas).map(|(all, own)| all + own);
        let (Some(replicas), Some(min)) = (replicas, get_integer(task, "minAvailable")) else {
            continue;
        };
        if min > replicas {
            ctx.report(
                ["tasks".into(), index.into(), "minAvailable".into()],
                |path| {
                    let pods = pluralize(replicas, "pod");
                    format!("`{path}` is {min}, but the task has {pods}")
                },
                format!("write at most {replicas}"),
            );
        }
    }
    let min = get_integer(ctx.node, "minAvailable");
    if let (Some(all), Some(min)) = (all, min)
        && all > 0
        && min > all
    {
        ctx.report(
            [Step::from("minAvailable")],
            |path| {
                let pods = pluralize(all, "pod");
                format!("`{path}` is {min}, but the tasks have {pods} in total")
            },
            format!("write at most {all}"),
        );
    }
}

/// Source: kubernetes-sigs/lws `pkg/webhooks/leaderworkerset_webhook.go`, `generalValidate` and
/// `validateUpdateSubGroupPolicy` (from memory).
fn check_subgroup_size(ctx: &mut ObjectContext<'_, '_>) {
    let policy = ctx.node.get("subGroupPolicy");
    let Some(subgroup_size) = policy.and_then(|it| get_integer(it, "subGroupSize")) else {
        return;
    };
    let size = match get_non_null(ctx.node, "size").map(parse_value) {
        Some(ParsedValue::Integer(size)) => size,
        None if ctx.is_complete => 1,
        _ => return,
    };
    let fits = subgroup_size >= 1
        && subgroup_size <= size
        && (size % subgroup_size == 0 || (size - 1) % subgroup_size == 0);
    if !fits {
        ctx.report(
            ["subGroupPolicy", "subGroupSize"].map(Step::from),
            |path| {
                format!(
                    "`{path}` is {subgroup_size}, but neither {size} nor {} is a multiple of it",
                    size - 1
                )
            },
            "write a divisor of the group's size, with or without its leader",
        );
    }
}

/// Source: the same.
fn check_rolling_update(ctx: &mut ObjectContext<'_, '_>) {
    let is_zero = |key: &str| int_or_percent(ctx.node, key) == Some(0);
    if is_zero("maxUnavailable")
        && (is_zero("maxSurge") || get_non_null(ctx.node, "maxSurge").is_none())
    {
        ctx.report(
            [Step::from("maxUnavailable")],
            |path| format!("`{path}` and `maxSurge` are both 0, so no group can be replaced"),
            "write 1 or more for one of the two",
        );
    }
}
