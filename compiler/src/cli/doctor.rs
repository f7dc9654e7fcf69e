//! `gpuc doctor`: finds the causes of faults in a running cluster.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use gpuc_live::doctor::{
    Context as DoctorContext, Diagnosis, Scope, Step, diagnose, parse_pod, render, story,
};
use gpuc_live::objects::ObjectRef;
use gpuc_live::role::cluster_role;
use gpuc_live::state::ClusterState;
use gpuc_model::Cluster;
use gpuc_syntax::diag::Severity;
use gpuc_syntax::diag::render::{Format, Options, render as findings_as};
use gpuc_syntax::shell::quote;
use gpuc_syntax::source::Sources;

use super::args::{Cli, DoctorArgs, DoctorFormat, FailOn, FindingsFormat, InputArgs};
use super::findings::{self, OtherOutput};
use super::inputs::{self, CLUSTER_FILE, Run};
use super::{Exit, Usage, doctor_watch, live, output, snapshot_files};

/// Reads the state, and prints the diagnosis.
pub(crate) fn run(cli: &Cli, args: &DoctorArgs) -> Result<Exit> {
    if args.print_role {
        output::print_data(&cluster_role())?;
        return Ok(Exit::Success);
    }
    let run = match read_input(args)? {
        Some(run) => {
            let input = input_args(args);
            let exit = findings::print(cli, &input, &run, OtherOutput::Always)?;
            if exit != Exit::Success {
                return Ok(exit);
            }
            Some(run)
        }
        None => None,
    };
    let cluster = match &run {
        Some(run) => Some(run.choose_cluster(args.cluster.as_deref())?.1),
        None => None,
    };
    if args.watch {
        return doctor_watch::run(args, cluster, sources_of(run.as_ref()));
    }
    let state = read_state(args)?;
    let (diagnosis, steps) = examine(args, &state, cluster)?;
    output::print_data(&render_as(
        args.format,
        args.fail_on,
        &Examination {
            diagnosis: &diagnosis,
            steps: &steps,
            state: &state,
            sources: sources_of(run.as_ref()),
        },
    ))?;
    Ok(exit_code(args, &diagnosis))
}

/// The sources of the input; none without an input.
fn sources_of(run: Option<&Run>) -> &Sources {
    static NONE: LazyLock<Sources> = LazyLock::new(Sources::default);
    run.map_or(&NONE, |run| &run.sources)
}

/// The state of the cluster, from its API server or a folder.
pub(super) fn read_state(args: &DoctorArgs) -> Result<ClusterState> {
    match &args.from {
        Some(folder) => read_folder(folder),
        None => live::read(args.context.as_deref()),
    }
}

/// The diagnosis, limited to the selected part of the cluster, and the steps of a selected pod.
pub(super) fn examine(
    args: &DoctorArgs,
    state: &ClusterState,
    cluster: Option<&Cluster>,
) -> Result<(Diagnosis, Vec<Step>)> {
    let mut diagnosis = diagnose(state, cluster, &gpuc::REGISTRY);
    for cause in &mut diagnosis.causes {
        let findings = std::iter::once(&mut cause.finding).chain(&mut cause.consequences);
        for command in findings.filter_map(|finding| finding.command.as_mut()) {
            *command = for_same_cluster(command, args);
        }
    }
    let mut steps = Vec::new();
    if let Some(scope) = scope(args) {
        let ctx = DoctorContext::new(state, cluster, &gpuc::REGISTRY);
        let objects = scope.objects(&ctx).map_err(Usage)?;
        diagnosis.retain(&objects);
        if let Scope::Pod(pod) = &scope {
            let mut pods = state.pods.items.iter();
            let found = pods.find(|it| ObjectRef::of_kind("Pod", &it.metadata) == *pod);
            steps = found.map(|pod| story(&ctx, pod)).unwrap_or_default();
        }
    }
    Ok((diagnosis, steps))
}

/// A suggested command for the cluster or the folder that was checked.
fn for_same_cluster(command: &str, args: &DoctorArgs) -> String {
    let (program, option) = match (&args.context, &args.from) {
        (Some(context), _) if command.starts_with("kubectl ") => {
            ("kubectl", format!("--context {}", quote(context)))
        }
        (Some(context), _) if command.starts_with("gpuc doctor ") => {
            ("gpuc doctor", format!("--context {}", quote(context)))
        }
        (None, Some(folder)) if command.starts_with("gpuc doctor ") => {
            let folder = folder.display().to_string();
            ("gpuc doctor", format!("--from {}", quote(&folder)))
        }
        _ => return command.to_owned(),
    };
    format!("{program} {option}{}", &command[program.len()..])
}

/// A diagnosis with what is needed to print it.
struct Examination<'a> {
    diagnosis: &'a Diagnosis,
    steps: &'a [Step],
    state: &'a ClusterState,
    sources: &'a Sources,
}

fn render_as(format: DoctorFormat, fail_on: FailOn, found: &Examination<'_>) -> String {
    let Examination {
        diagnosis,
        steps,
        state,
        sources,
    } = found;
    match format {
        DoctorFormat::Text => render::steps(steps) + &render::text(diagnosis, state, sources),
        DoctorFormat::Json => render::json(diagnosis, steps, sources),
        DoctorFormat::Markdown => render::markdown(diagnosis, steps, state, sources),
        DoctorFormat::Junit => render::junit(diagnosis, state, sources, severity(fail_on)),
        DoctorFormat::Sarif => {
            let found = render::diagnostics(diagnosis, state);
            findings_as(Format::Sarif, sources, &found, Options::default())
        }
    }
}

fn severity(fail_on: FailOn) -> Severity {
    match fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
    }
}

/// The part of the cluster that the user is interested in.
fn scope(args: &DoctorArgs) -> Option<Scope> {
    let node = args.node.clone().map(Scope::Node);
    let pool = args.pool.clone().map(Scope::Pool);
    let pod = args.pod.as_deref().map(|pod| Scope::Pod(parse_pod(pod)));
    node.or(pool).or(pod)
}

/// The state in a folder.
fn read_folder(folder: &Path) -> Result<ClusterState> {
    let (state, problems) = snapshot_files::read(folder)?;
    for problem in &problems {
        output::print_message(&format!("warning: {}: {}", problem.path, problem.error));
    }
    if state.nodes.items.is_empty() && state.pods.items.is_empty() {
        let folder = folder.display();
        if !problems.is_empty() {
            bail!("`{folder}` contains no nodes and no pods that can be read");
        }
        bail!(
            "`{folder}` contains no nodes and no pods\nhelp: write a file per kind, such as `kubectl get nodes \
             --all-namespaces -o json > nodes.json`, also for pods, daemonsets and events"
        );
    }
    Ok(state)
}

fn exit_code(args: &DoctorArgs, diagnosis: &Diagnosis) -> Exit {
    if diagnosis.has_severity(severity(args.fail_on)) {
        Exit::OutOfDate
    } else if diagnosis.is_inconclusive() || args.strict && lacks_objects(diagnosis) {
        Exit::Failed
    } else {
        Exit::Success
    }
}

/// Whether checks lacked objects. Only some folders contain logs of workloads and descriptions of node pools.
fn lacks_objects(diagnosis: &Diagnosis) -> bool {
    let mut skipped = diagnosis.skipped.iter();
    skipped.any(|it| !it.lacks_optional_only)
}

/// The compilations of the input; `None` if no file is named and the default file does not exist.
fn read_input(args: &DoctorArgs) -> Result<Option<Run>> {
    if args.path.is_none() && !Path::new(CLUSTER_FILE).exists() {
        return Ok(None);
    }
    inputs::compile_all(&input_args(args), None).map(Some)
}

fn input_args(args: &DoctorArgs) -> InputArgs {
    InputArgs {
        paths: args.path.iter().cloned().collect(),
        deny: Vec::new(),
        format: FindingsFormat::Text,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::Command;
    use super::*;

    #[test]
    fn commands_have_the_context() {
        let cli = Cli::parse_from(["gpuc", "doctor", "--context", "a b"]);
        let Command::Doctor(args) = &cli.command else {
            panic!("{cli:?}")
        };
        for (command, expected) in [
            ("kubectl get pods", "kubectl --context 'a b' get pods"),
            (
                "gpuc doctor --pod a/b",
                "gpuc doctor --context 'a b' --pod a/b",
            ),
            ("kubectlx", "kubectlx"),
        ] {
            assert_eq!(for_same_cluster(command, args), expected);
        }
    }
}
