//! A name or an amount of the notebooks cannot be used.

use std::ops::RangeInclusive;

use gpuc_schema::Spanned;
use gpuc_schema::config::{NotebookProfile, Quantity};

use super::Rule;
use super::syntax::is_dns_subdomain;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, slug};

/// A name or an amount of the notebooks cannot be used.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2147",
        name: "notebook-value-invalid",
        severity: Severity::Error,
        summary: "a name or an amount of the notebooks cannot be used",
        explain: "### What it checks

Whether the names of the profiles have letters or digits and differ in them, whether `secret` and
`storage.class` can be the names of objects, whether `cpu` and `memory` are amounts, `idleMinutes` and
`sizeGiB` in their ranges, and whether there is a profile at all.

### Why it matters

The hub tells profiles apart by the letters and digits of their names; of two that are alike people
would get the first. Another name or amount fails when the chart is installed or a notebook starts.

### What to do

Correct it as the help says.
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
      - {name: One A30, pool: gpu, gpus: 1}
      - {name: one-a30, pool: gpu, gpus: 2}
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
      - {name: One A30, pool: gpu, gpus: 1}
      - {name: two-a30, pool: gpu, gpus: 2}
charts: {jupyterhub: {values: {hub: {config: {JupyterHub: {authenticator_class: github}}}}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(hub) = cluster.jupyter_hub() else {
        return;
    };
    let span = cluster.written.notebooks.as_ref().map(|it| it.span);
    if let Some(span) = span.filter(|_| hub.profiles.is_empty()) {
        let message = "`profiles` is empty, so that nobody can choose a notebook".to_owned();
        let draft = report.draft(&RULE.code, span, message);
        let help = "add a profile, such as `{name: CPU only, cpu: 2, memory: 4Gi}`";
        draft.help(help).emit();
    }
    range("idleMinutes", &hub.idle_minutes, IDLE, report);
    if let Some(storage) = &hub.storage {
        range("sizeGiB", &storage.size_gib, SIZES, report);
    }
    for (index, profile) in hub.profiles.iter().enumerate() {
        name(profile, &hub.profiles[..index], report);
        amount("CPU cores", "4, 0.5 or 500m", profile.cpu.as_ref(), report);
        amount("memory", "16Gi or 512Mi", profile.memory.as_ref(), report);
    }
    let class = hub.storage.as_ref().and_then(|it| it.class.as_ref());
    object("StorageClass", class, report);
    object("Secret", hub.secret.as_ref(), report);
}

/// How long a notebook may be idle, in minutes. As the schema has it.
const IDLE: RangeInclusive<u32> = 5..=10080;

/// How large the volume of a person may be, in GiB. As the schema has it.
const SIZES: RangeInclusive<u32> = 1..=65536;

fn range(key: &str, number: &Spanned<u32>, range: RangeInclusive<u32>, report: &mut Report) {
    if range.contains(&number.value) {
        return;
    }
    let (least, most) = (range.start(), range.end());
    let message = format!("`{key}` is from {least} to {most}, not {number}");
    let draft = report.draft(&RULE.code, number.span, message);
    draft.help(format!("write {least} to {most}")).emit();
}

fn name(profile: &NotebookProfile, before: &[Spanned<NotebookProfile>], report: &mut Report) {
    let (name, own) = (&profile.name, slug(&profile.name));
    if own.is_empty() {
        let message = format!("`{name}` has neither letters nor digits");
        let draft = report.draft(&RULE.code, name.span, message);
        draft.help("write a name such as `One A100`").emit();
    } else if let Some(other) = before.iter().find(|it| slug(&it.name) == own) {
        let message = format!("two profiles are called `{own}` in the hub");
        let draft = report.draft(&RULE.code, name.span, message);
        let draft = draft.label(other.name.span, "the first one");
        let help = "choose a name that differs in letters or digits, whatever their case";
        draft.help(help).emit();
    }
}

/// What [`Quantity::thousandths`] cannot count is refused, and nothing at all.
fn amount(what: &str, examples: &str, amount: Option<&Spanned<Quantity>>, report: &mut Report) {
    let Some(amount) = amount.filter(|it| it.thousandths().is_none_or(|count| count == 0)) else {
        return;
    };
    let message = format!("`{}` is no amount of {what}", amount.value.0);
    let draft = report.draft(&RULE.code, amount.span, message);
    draft.help(format!("write {examples}")).emit();
}

fn object(kind: &str, name: Option<&Spanned<String>>, report: &mut Report) {
    let Some(name) = name.filter(|name| !is_dns_subdomain(name)) else {
        return;
    };
    let message = format!("no {kind} can be called `{name}`");
    let draft = report.draft(&RULE.code, name.span, message);
    let help = "write lower-case letters, digits, `-` and `.`, starting and ending with a letter or a digit";
    draft.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(hub: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools: [{{name: cpu, hosts: [a], nodes: {{count: 1}}}}]
            notebooks: {{jupyterHub: {{{hub}}}}}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2147"), expected, "{hub}");
    }

    #[test]
    fn names_and_amounts_are_looked_at() {
        check(
            "secret: hub, storage: {sizeGiB: 5, class: gp3}, profiles: [{name: A b, cpu: 500m, memory: 1.5Gi}, {name: B, cpu: 1}]",
            &[],
        );
        check(
            "secret: Hub, storage: {sizeGiB: 5, class: gp_3}, profiles: [{name: a, cpu: 1}]",
            &[
                "no StorageClass can be called `gp_3`",
                "no Secret can be called `Hub`",
            ],
        );
        check(
            "profiles: [{name: '!', cpu: 16Gb}, {name: A b, memory: 0}, {name: a-B, cpu: 1}]",
            &[
                "`!` has neither letters nor digits",
                "`16Gb` is no amount of CPU cores",
                "`0` is no amount of memory",
                "two profiles are called `a-b` in the hub",
            ],
        );
    }

    #[test]
    fn numbers_are_in_their_ranges() {
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
                    "`idleMinutes` is from 5 to 10080, not 4",
                    "`sizeGiB` is from 1 to 65536, not 0",
                ],
            ),
            (
                "profiles: []".to_owned(),
                &["`profiles` is empty, so that nobody can choose a notebook"],
            ),
        ] {
            check(&keys, expected);
        }
    }
}
