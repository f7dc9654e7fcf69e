//! `gpuc diff --live`: what a deployment of the tree would change in the running cluster.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gpuc_collect::{
    Applier, DryRun, Labeled, Limits, Refusal, connect, current_context, dry_run, labeled,
};
use gpuc_diff::diff::render::render;
use gpuc_diff::diff::{
    Answer, CloudNotes, CloudResult, Diffs, GENERATED_KINDS, InstalledRelease, LiveState,
    Unpredicted, VERSION, desired_objects, diff_live, find_other_cluster,
};
use gpuc_model::plan::{Credentials, Delivery, Plan};
use serde_json::{Value, json};

use super::args::{Cli, DiffArgs, DiffFormat, FindingsFormat, InputArgs};
use super::findings::{self, OtherOutput};
use super::inputs::{self, Plans};
use super::output::{self, ProgressLine};
use super::{Exit, Usage, build, diff, live};

/// The field managers of the tools that apply a tree, by the name of the GitOps controller.
///
/// Sources, from memory, 2026-11-28: kubectl `apply --server-side` uses `kubectl` (kubernetes/kubectl
/// `pkg/cmd/apply/apply.go`); fluxcd/kustomize-controller `main.go` uses its own name; Argo CD uses `argocd-controller`
/// for server-side apply (argo-cd `common/common.go`).
const MANAGERS: &[(&str, &str)] = &[
    ("", "kubectl"),
    ("Flux", "kustomize-controller"),
    ("Argo CD", "argocd-controller"),
];

/// Prefixes of the labels and annotations by which Flux and Argo CD track objects.
///
/// Sources: <https://fluxcd.io/flux/components/kustomize/kustomizations/#garbage-collection> and
/// <https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/>, 2026-11-28.
const TRACKING: &[&str] = &["kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/"];

/// The label of the objects that gpuc generates.
const GPUC_LABEL: &str = "app.kubernetes.io/managed-by=gpuc";

/// The label of the objects of charts.
const HELM_LABEL: &str = "app.kubernetes.io/managed-by=Helm";

/// Compiles the input, asks the API server, and prints the differences.
pub(crate) fn run(cli: &Cli, args: &DiffArgs) -> Result<Exit> {
    let fail_on = args
        .fail_on
        .as_deref()
        .map(diff::parse_impact)
        .transpose()?;
    if args.format == DiffFormat::Github {
        let message =
            "`--live` cannot be used with `--format github`\nhelp: use `--format markdown`";
        return Err(Usage(message.to_owned()).into());
    }
    let input = InputArgs {
        paths: diff::input_paths(args),
        deny: Vec::new(),
        format: FindingsFormat::Text,
    };
    let run = inputs::compile_existing(&input, &[], Some(&args.out), Plans::Kept)?;
    let found = findings::findings_of_run(&run);
    if findings::exit_code(&found) != Exit::Success {
        findings::print_findings(cli, &input, &run.sources, &found, OtherOutput::Always)?;
        return Ok(Exit::Invalid);
    }
    let (compilation, _) = run.choose_cluster(args.running.cluster.as_deref())?;
    let Some(plan) = &compilation.plan else {
        bail!("the cluster's file has errors");
    };
    let own_context = match &plan.provisioning.credentials {
        Credentials::Context(context) => Some(context.as_str()),
        Credentials::Fetch(_) => None,
    };
    let context = args.running.context.as_deref().or(own_context);
    let (state, nodes) = read_state(context, plan)?;
    if let Some(reason) =
        (compilation.cluster.as_ref()).and_then(|it| find_other_cluster(it, &nodes))
    {
        bail!(
            "{} is not the cluster of the file: {reason}\nhelp: select the context of the cluster with `--context`",
            live::title(context)
        );
    }
    let Some(mut found) = diff_live(compilation, &state, &run.sources) else {
        bail!("the cluster's file has errors");
    };
    let folder = build::cluster_folder(&args.out, compilation);
    found.folder = folder.display().to_string();
    // Without resources in a cloud there is no script for them.
    let has_resources =
        (compilation.plan.as_ref()).is_some_and(|plan| !plan.provisioning.resources.is_empty());
    let compares_cloud = has_resources && !args.running.no_cloud;
    if let Some(notes) = found.live.as_mut().filter(|_| compares_cloud) {
        let is_current = diff::unbuilt_files(&args.out, compilation).is_empty();
        notes.cloud = Some(compare_cloud(&folder, is_current));
    }
    let notes = found.live.clone().unwrap_or_default();
    let is_unknown = notes.has_unread();
    let cloud_differs = notes
        .cloud
        .is_some_and(|it| it.result != CloudResult::Equal);
    let worst = found.worst;
    let diffs = Diffs {
        version: VERSION,
        base: match context.map(str::to_owned).or_else(current_context) {
            Some(context) => format!("the running cluster (context {context})"),
            None => "the running cluster".to_owned(),
        },
        worst,
        clusters: vec![found],
    };
    output::print_data(&render(&diffs, diff::output_format(args)))?;
    let is_severe = worst
        .zip(fail_on)
        .is_some_and(|(worst, limit)| worst <= limit);
    // What could not be compared may have any impact.
    let is_unclear = fail_on.is_some() && (is_unknown || cloud_differs);
    Ok(if is_severe || is_unclear {
        Exit::OutOfDate
    } else {
        Exit::Success
    })
}

/// What the API server says about the objects of a tree, and the nodes, as far as the user may list them.
fn read_state(context: Option<&str>, plan: &Plan) -> Result<(LiveState, Vec<Value>)> {
    let tool = match &plan.delivery {
        Delivery::Script => "",
        Delivery::Gitops { tool, .. } => tool,
    };
    let manager = MANAGERS.iter().find(|(name, _)| *name == tool);
    let known: Vec<&str> = MANAGERS.iter().map(|(_, manager)| *manager).collect();
    let applier = Applier {
        manager: manager.map_or("kubectl", |(_, manager)| manager),
        known: &known,
        added_metadata: TRACKING,
    };
    let objects: Result<Vec<Value>, _> = (desired_objects(plan).iter())
        .map(|it| serde_json::to_value(&it.node))
        .collect();
    let objects = objects.context("an object is not JSON")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let progress = ProgressLine::new("comparing objects with the cluster");
    let limits = Limits::default();
    let result = runtime.block_on(async {
        let client = connect(context).await.map_err(|error| error.to_string())?;
        let tick = || progress.tick();
        let answers = dry_run(&client, &limits, objects.clone(), applier, tick).await?;
        let generated = GENERATED_KINDS.iter();
        let generated =
            generated.map(|(version, kind)| json!({"apiVersion": version, "kind": kind}));
        let searched: Vec<Value> = objects.iter().cloned().chain(generated).collect();
        let own = labeled(&client, &limits, &searched, GPUC_LABEL).await;
        let workloads = ["Deployment", "DaemonSet", "StatefulSet"]
            .map(|kind| json!({"apiVersion": "apps/v1", "kind": kind}));
        let charts = labeled(&client, &limits, &workloads, HELM_LABEL).await;
        let kind = [json!({"apiVersion": "v1", "kind": "Node"})];
        let nodes = labeled(&client, &limits, &kind, "").await.objects;
        Ok::<_, String>((answers, own, charts, nodes))
    });
    // Requests that hang do not delay the end.
    runtime.shutdown_background();
    let (answers, own, charts, nodes) = match result {
        Ok(found) => found,
        Err(error) => bail!(
            "cannot read {}: {error}\nhelp: `kubectl get nodes` must work with the same kubeconfig and context",
            live::title(context)
        ),
    };
    let Labeled { objects, unread } = own;
    let state = LiveState {
        answers: answers.into_iter().map(|it| answer(it, &known)).collect(),
        labeled: objects,
        releases: (charts.unread.is_empty()).then(|| InstalledRelease::find_all(&charts.objects)),
        unlisted: (unread.into_iter())
            .map(|(kind, refusal)| (kind, refusal_text(&refusal)))
            .collect(),
    };
    Ok((state, nodes))
}

/// The answer about an object, in the form of the comparison.
fn answer(answer: DryRun, known: &[&str]) -> Answer {
    let managed = answer
        .live
        .as_ref()
        .map(|it| &it["metadata"]["managedFields"]);
    let entries = managed.and_then(Value::as_array).into_iter().flatten();
    let mut applied = entries.filter(|entry| entry["operation"] == "Apply");
    let was_applied = applied.any(|entry| known.iter().any(|it| entry["manager"] == *it));
    let conflicts = answer.conflicts.into_iter();
    Answer {
        live: answer.live,
        predicted: answer.predicted.map_err(|refusal| match refusal {
            Refusal::KindNotServed => Unpredicted::KindNotServed,
            Refusal::NamespaceNotFound => Unpredicted::NamespaceNotFound,
            Refusal::Forbidden(verb) => Unpredicted::Forbidden(verb),
            Refusal::Rejected(reason) => Unpredicted::Rejected(reason),
            Refusal::NotAnswered(reason) => Unpredicted::NotAnswered(reason),
        }),
        conflicts: conflicts.map(|it| (it.field, it.manager)).collect(),
        was_applied,
    }
}

fn refusal_text(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Forbidden(verb) => format!("the right to {verb} is missing"),
        Refusal::Rejected(reason) | Refusal::NotAnswered(reason) => reason.clone(),
        Refusal::KindNotServed | Refusal::NamespaceNotFound => "not found".to_owned(),
    }
}

/// The maximum time for the scripts of the cloud.
const CLOUD_TIMEOUT: Duration = Duration::from_mins(5);

/// The ends of the lines in which the scripts report a difference (`emit/script/lib.sh`).
const DIFFERENCES: &[&str] = &[": to apply this, run apply.sh", ": requires replacement"];

/// Compares the cloud resources with the scripts of the tree.
fn compare_cloud(folder: &Path, is_current: bool) -> CloudNotes {
    let script = folder.join("cloud/apply.sh");
    let command = format!("{} --verify", script.display());
    let failed = |line: String| CloudNotes {
        command: command.clone(),
        result: CloudResult::NotRun,
        lines: vec![line],
    };
    if !script.is_file() {
        let line = format!("{} does not exist: run `gpuc build`", script.display());
        return failed(line);
    }
    if !is_current {
        let line = "the tree does not match this input: run `gpuc build`".to_owned();
        return failed(line);
    }
    match run_script(&script) {
        Ok((is_success, lines)) => {
            // `tools` of `emit/lib.sh`.
            let lacks_tool = |line: &String| line.contains("not installed: ");
            let differs = |line: &String| DIFFERENCES.iter().any(|end| line.contains(end));
            let result = match is_success {
                _ if lines.iter().any(differs) => CloudResult::Differs,
                _ if lines.iter().any(lacks_tool) => CloudResult::NotRun,
                true => CloudResult::Equal,
                false => CloudResult::Failed,
            };
            CloudNotes {
                command,
                result,
                lines,
            }
        }
        Err(error) => failed(format!("{error:#}")),
    }
}

/// Runs a script that only reads. Returns whether it succeeded, and its output.
fn run_script(script: &Path) -> Result<(bool, Vec<String>)> {
    let script = script
        .canonicalize()
        .with_context(|| format!("cannot find `{}`", script.display()))?;
    let progress = ProgressLine::new("comparing cloud resources");
    let mut child = Command::new("bash")
        .arg("-c")
        .arg("exec bash \"$0\" --verify 2>&1")
        .arg(&script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run bash")?;
    let stdout = child.stdout.take().context("the script has no output")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let deadline = Instant::now() + CLOUD_TIMEOUT;
    let mut lines = Vec::new();
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                progress.tick();
                lines.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                // It only reads, so that it can stop at any point.
                let _ = child.kill();
                let _ = child.wait();
                lines.push(format!(
                    "the script did not end within {} minutes",
                    CLOUD_TIMEOUT.as_secs() / 60
                ));
                return Ok((false, lines));
            }
        }
    }
    Ok((child.wait()?.success(), lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The comparison by a script of this text.
    fn notes(script: &str, is_current: bool) -> CloudNotes {
        let folder = tempfile::tempdir().unwrap();
        let cloud = folder.path().join("a folder/cloud");
        std::fs::create_dir_all(&cloud).unwrap();
        std::fs::write(cloud.join("apply.sh"), script).unwrap();
        compare_cloud(&folder.path().join("a folder"), is_current)
    }

    #[test]
    fn the_output_of_the_script_decides() {
        let equal = notes("echo \"pool train: ok $1\"", true);
        let lines = vec!["pool train: ok --verify".to_owned()];
        assert_eq!((equal.result, equal.lines), (CloudResult::Equal, lines));
        let text = "echo 'pool train: labels: 1 -> 2: to apply this, run apply.sh' >&2";
        assert_eq!(notes(text, true).result, CloudResult::Differs);
        let failed = notes("echo 'pool train: missing'; exit 1", true);
        assert_eq!(failed.result, CloudResult::Failed);
        assert_eq!(failed.lines, ["pool train: missing"]);
        let absent = notes("echo 'error: not installed: eksctl' >&2; exit 1", true);
        assert_eq!(absent.result, CloudResult::NotRun);
    }

    #[test]
    fn the_script_of_another_input_does_not_run() {
        let stale = notes("echo ran", false);
        assert_eq!(stale.result, CloudResult::NotRun);
        let line = "the tree does not match this input: run `gpuc build`";
        assert_eq!(stale.lines, [line]);
        let folder = tempfile::tempdir().unwrap();
        let missing = compare_cloud(folder.path(), true);
        assert_eq!(missing.result, CloudResult::NotRun);
        assert!(missing.lines[0].ends_with("does not exist: run `gpuc build`"));
    }

    #[test]
    fn the_scripts_print_the_phrases() {
        let library = include_str!("../../../golden/build/aks-t4/aks-t4/cloud/lib.sh");
        for phrase in DIFFERENCES {
            assert!(library.contains(phrase), "{phrase}");
        }
    }
}
