//! Clusters for tests, from YAML.

use gpuc_model::Cluster;
use gpuc_model::check::check;
use gpuc_model::plan::{Argument, Command, Field, Provisioning, Resource};
use gpuc_syntax::diag::Report;

use crate::testing::{json, resolved};

/// The first lines of a file with a new cluster.
pub(super) const HEAD: &str = r#"
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
"#;

/// The cluster of a file, and the diagnostics of resolving it and of every rule.
pub(super) fn cluster(yaml: &str) -> (Cluster, Report) {
    let (cluster, mut report) = resolved(json(yaml));
    check(&cluster, &mut report);
    (cluster, report)
}

/// The codes of the diagnostics.
pub(super) fn codes(yaml: &str) -> Vec<&'static str> {
    let (_, report) = cluster(yaml);
    report
        .diagnostics()
        .iter()
        .map(|found| found.code.id)
        .collect()
}

/// The messages of the diagnostics with a code, of a file with [`HEAD`] and these pools.
pub(super) fn messages_with_id(body: &str, id: &str) -> Vec<String> {
    let (_, report) = cluster(&format!("{HEAD}{body}"));
    let found = report.diagnostics().iter();
    found
        .filter(|found| found.code.id == id)
        .map(|found| found.message.clone())
        .collect()
}

/// The provisioning plan of a file with [`HEAD`] and these pools.
pub(super) fn provision(body: &str) -> Provisioning {
    provision_file(&format!("{HEAD}{body}"))
}

/// The provisioning plan of a complete file.
pub(super) fn provision_file(yaml: &str) -> Provisioning {
    let (cluster, report) = cluster(yaml);
    let found = report.diagnostics();
    let mut report = Report::default();
    let checked = check(&cluster, &mut report);
    let checked = checked.unwrap_or_else(|| panic!("{found:#?}"));
    cluster.cloud.provision(&checked)
}

/// A command as a line; words that are computed at run time are shown as `$(…)`.
pub(super) fn command_line(command: &Command) -> String {
    let word = |word: &Argument| match word {
        Argument::Text(text) => text.clone(),
        Argument::Observed(program)
        | Argument::ObservedOptional(program)
        | Argument::ObservedList(program) => {
            format!("$({program})")
        }
        Argument::CloudFile(path) => format!("./{path}"),
        Argument::UpdateId => "$update".to_owned(),
    };
    command.0.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The field with this name.
pub(super) fn field<'r>(resource: &'r Resource, name: &str) -> &'r Field {
    let mut fields = resource.fields.iter();
    fields.find(|field| field.kind.name == name).expect(name)
}
