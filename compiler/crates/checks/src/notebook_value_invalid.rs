//! A name or quantity of the notebooks is invalid.

use std::ops::RangeInclusive;

use gpuc_schema::Spanned;
use gpuc_schema::config::{NotebookProfile, Quantity};

use gpuc_kubernetes::names::is_dns_subdomain;
use gpuc_model::check::Rule;
use gpuc_model::{Cluster, slug};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::with_quantity_help;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2147",
        name: "notebook-value-invalid",
        severity: Severity::Error,
        summary: "a name or quantity of the notebooks is invalid",
        checks: "Whether the profile names contain letters or digits and differ in them. Whether `secret` and
`storage.class` are valid object names, `cpu` and `memory` are valid quantities, and `idleMinutes`
and `sizeGiB` are within their ranges. Whether there is at least one profile.",
        reason: "The hub identifies profiles by the letters and digits of their names. Of two profiles that are equal
in them, users would always get the first. Other invalid values make the chart's installation or the
start of a notebook fail.",
        remedy: "Correct the value as described in the help.",
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
      - {name: One A30, pool: gpu, gpus: 1}
      - {name: one-a30, pool: gpu, gpus: 2}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
        correction: Correction::Replace("one-a30", "two-a30"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(hub) = cluster.jupyter_hub() else {
        return;
    };
    let span = cluster.config.notebooks.as_ref().map(|it| it.span);
    if let Some(span) = span.filter(|_| hub.profiles.is_empty()) {
        let message = "`profiles` is empty: users cannot start a notebook".to_owned();
        let help = "add a profile, such as `{name: CPU only, cpu: 2, memory: 4Gi}`";
        report
            .diagnostic(&RULE.code, span, message)
            .help(help)
            .emit();
    }
    check_range("idleMinutes", &hub.idle_minutes, IDLE_MINUTES, report);
    if let Some(storage) = &hub.storage {
        check_range("sizeGiB", &storage.size_gib, STORAGE_SIZES_GIB, report);
    }
    for (index, profile) in hub.profiles.iter().enumerate() {
        check_profile_name(profile, &hub.profiles[..index], report);
        check_quantity(
            "CPU cores",
            "`4`, `0.5` or `500m`",
            profile.cpu.as_ref(),
            report,
        );
        check_quantity(
            "memory",
            "`16Gi` or `512Mi`",
            profile.memory.as_ref(),
            report,
        );
    }
    let class = hub.storage.as_ref().and_then(|it| it.class.as_ref());
    check_object_name("StorageClass", class, report);
    check_object_name("Secret", hub.secret.as_ref(), report);
}

/// The range of `idleMinutes`, as in the JSON schema.
const IDLE_MINUTES: RangeInclusive<u32> = 5..=10080;

/// The range of `sizeGiB`, the volume of one user, as in the JSON schema.
const STORAGE_SIZES_GIB: RangeInclusive<u32> = 1..=65536;

fn check_range(key: &str, number: &Spanned<u32>, range: RangeInclusive<u32>, report: &mut Report) {
    if range.contains(&number.value) {
        return;
    }
    let (min, max) = (range.start(), range.end());
    let message = format!("`{key}` must be from {min} to {max}, not {number}");
    report
        .diagnostic(&RULE.code, number.span, message)
        .help(format!("write a number from {min} to {max}"))
        .emit();
}

fn check_profile_name(
    profile: &NotebookProfile,
    previous: &[Spanned<NotebookProfile>],
    report: &mut Report,
) {
    let (name, profile_slug) = (&profile.name, slug(&profile.name));
    if profile_slug.is_empty() {
        let message = format!("profile name `{name}` contains neither letters nor digits");
        report
            .diagnostic(&RULE.code, name.span, message)
            .help("write a name such as `One A100`")
            .emit();
    } else if let Some(other) = previous.iter().find(|it| slug(&it.name) == profile_slug) {
        let message = format!("the hub identifies two profiles as `{profile_slug}`");
        let help = "choose a name that differs in letters or digits, ignoring case";
        report
            .diagnostic(&RULE.code, name.span, message)
            .label(other.name.span, "the first profile")
            .help(help)
            .emit();
    }
}

/// Reports a quantity that [`Quantity::thousandths`] cannot parse, or that is zero.
fn check_quantity(
    resource: &str,
    examples: &str,
    quantity: Option<&Spanned<Quantity>>,
    report: &mut Report,
) {
    let Some(quantity) = quantity.filter(|it| it.thousandths().is_none_or(|count| count == 0))
    else {
        return;
    };
    let message = format!("invalid quantity `{}` for {resource}", quantity.value.0);
    let builder = report.diagnostic(&RULE.code, quantity.span, message);
    let examples = format!("write a quantity such as {examples}");
    let is_cpu = resource == "CPU cores";
    with_quantity_help(builder, &quantity.0, quantity.span, is_cpu, examples).emit();
}

fn check_object_name(kind: &str, name: Option<&Spanned<String>>, report: &mut Report) {
    let Some(name) = name.filter(|name| !is_dns_subdomain(name)) else {
        return;
    };
    let message = format!("invalid {kind} name `{name}`");
    let help = "write lower-case letters, digits, `-` and `.`, starting and ending with a letter or a digit";
    report
        .diagnostic(&RULE.code, name.span, message)
        .help(help)
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(hub: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools: [{name: cpu, hosts: [a], nodes: {count: 1}}]
            notebooks: {jupyterHub: {<rest>}}
            ";
        check_in(file, "GPUC2147", hub, expected);
    }

    #[test]
    fn invalid_names_and_quantities_are_found() {
        check(
            "secret: hub, storage: {sizeGiB: 5, class: gp3}, profiles: [{name: A b, cpu: 500m, memory: 1.5Gi}, {name: B, cpu: 1}]",
            &[],
        );
        check(
            "secret: Hub, storage: {sizeGiB: 5, class: gp_3}, profiles: [{name: a, cpu: 1}]",
            &[
                "invalid StorageClass name `gp_3`",
                "invalid Secret name `Hub`",
            ],
        );
        check(
            "profiles: [{name: '!', cpu: 16Gb}, {name: A b, memory: 0}, {name: a-B, cpu: 1}]",
            &[
                "profile name `!` contains neither letters nor digits",
                "invalid quantity `16Gb` for CPU cores",
                "invalid quantity `0` for memory",
                "the hub identifies two profiles as `a-b`",
            ],
        );
    }

    #[test]
    fn numbers_outside_their_ranges_are_found() {
        let one = "profiles: [{name: a, cpu: 1}]";
        for (keys, expected) in [
            (one.to_owned(), &[][..]),
            (
                format!("idleMinutes: 5, storage: {{sizeGiB: 1}}, {one}"),
                &[],
            ),
            (format!("idleMinutes: 10080, {one}"), &[]),
            (
                format!("idleMinutes: 4, storage: {{sizeGiB: 0}}, {one}"),
                &[
                    "`idleMinutes` must be from 5 to 10080, not 4",
                    "`sizeGiB` must be from 1 to 65536, not 0",
                ],
            ),
            (
                "profiles: []".to_owned(),
                &["`profiles` is empty: users cannot start a notebook"],
            ),
        ] {
            check(&keys, expected);
        }
    }
}
