//! `gpuc prove`: proves that the GPUs of a pool, or the network between them, work.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use gpuc_collect::{JobEnd, JobRequest, JobRun, Limits, connect, run_job};
use gpuc_compile::charts::images::chart_images;
use gpuc_compile::compile::{Compilation, Options, compile};
use gpuc_compile::lower::mirrored_image;
use gpuc_diff::diff::desired_objects;
use gpuc_model::plan::{Credentials, Object, Plan};
use gpuc_model::resolve::Choices;
use gpuc_model::{Cluster, Pool};
use gpuc_prove::{NotProvable, Proof, Property, render};
use gpuc_syntax::diag::{Levels, Severity};
use gpuc_syntax::node::{Entry, Node, Origin, Value};
use gpuc_syntax::source::Span;
use gpuc_syntax::yaml::to_yaml;
use serde_json::Value as Json;

use super::args::{Cli, FindingsFormat, GpuLevel, InputArgs, ProveArgs, ReportFormat};
use super::findings::{self, OtherOutput};
use super::inputs;
use super::{Exit, Usage, live, output};

/// The repository of the image with DCGM, which the GPU Operator's chart lists with a version.
const DCGM: &str = "nvcr.io/nvidia/cloud-native/dcgm";

/// The maximum size of a log in bytes.
const MAX_LOG: u64 = 512 << 20;

/// Prints the manifest, runs it, or judges a log.
pub(crate) fn run(cli: &Cli, args: &ProveArgs) -> Result<Exit> {
    let input = InputArgs {
        paths: args.path.iter().cloned().collect(),
        deny: Vec::new(),
        format: FindingsFormat::Text,
    };
    let run = inputs::compile_all(&input, None)?;
    let found = findings::findings_of_run(&run);
    if findings::exit_code(&found) != Exit::Success {
        findings::print_findings(cli, &input, &run.sources, &found, OtherOutput::Always)?;
        return Ok(Exit::Invalid);
    }
    let (compilation, cluster) = run.choose_cluster(args.cluster.as_deref())?;
    let pool = find_pool(cluster, &args.pool)?;
    let property = property(args);
    let default_nodes = if args.fabric { 2 } else { 1 };
    let nodes = args.nodes.unwrap_or(default_nodes);
    let proof = Proof::new(cluster, pool, property, nodes).map_err(usage)?;
    if let Some(path) = &args.judge {
        return judge(args, &proof, &read_log(path)?);
    }
    let (plan, objects) = proof_objects(args, compilation, &proof)?;
    if !args.apply {
        output::print_data(&manifest(args, &proof, &objects))?;
        return Ok(Exit::Success);
    }
    let own_context = match &plan.provisioning.credentials {
        Credentials::Context(context) => Some(context.as_str()),
        Credentials::Fetch(_) => None,
    };
    let context = args.context.as_deref().or(own_context);
    // Before the run: hours of results must not depend on a path.
    let log_file = args.log.as_deref().map(create_log).transpose()?;
    output::print_message(&format!(
        "running the Job in {}, in the namespace `{}`",
        live::title(context),
        proof.namespace()
    ));
    let run = run_in_cluster(&proof, objects, context, args.keep);
    let has_log = run.as_ref().is_ok_and(|it| it.end != JobEnd::Interrupted);
    if let Some(path) = args.log.as_ref().filter(|_| !has_log) {
        // It is empty, and the next run may use its name.
        let _ = fs::remove_file(path);
    }
    let run = run?;
    for warning in &run.warnings {
        output::print_message(&format!("warning: {warning}"));
    }
    let written = log_file.map_or(Ok(()), |mut file| file.write_all(run.log.as_bytes()));
    match &run.end {
        JobEnd::Complete => {}
        JobEnd::Failed(reason) => output::print_message(&format!("the Job failed: {reason}")),
        JobEnd::TimedOut(state) => {
            output::print_message(&format!("the Job has not ended in time: {state}"));
        }
        JobEnd::Interrupted if args.keep => bail!(
            "interrupted; the Job may still run in the namespace `{0}`\nhelp: delete it with `kubectl delete namespace {0}`",
            proof.namespace()
        ),
        JobEnd::Interrupted => bail!("interrupted"),
    }
    let exit = judge(args, &proof, &run.log)?;
    written.context("cannot write the log")?;
    Ok(exit)
}

/// Creates the file for the logs.
fn create_log(path: &Path) -> Result<File> {
    let title = path.display();
    match File::create_new(path) {
        Ok(file) => Ok(file),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("`{title}` exists already\nhelp: name another file");
            Err(Usage(message).into())
        }
        Err(error) => Err(error).with_context(|| format!("cannot write `{title}`")),
    }
}

/// The pool with a name.
fn find_pool<'c>(cluster: &'c Cluster, name: &str) -> Result<&'c Pool> {
    cluster.pool(name).ok_or_else(|| {
        let names: Vec<&str> = cluster.pools.iter().map(|it| it.name.as_str()).collect();
        let names = names.join(", ");
        Usage(format!(
            "cluster `{}` has no pool `{name}`\nhelp: the pools are {names}",
            cluster.name
        ))
        .into()
    })
}

fn property(args: &ProveArgs) -> Property {
    match args.gpu {
        None => Property::Fabric {
            min_bus_bandwidth: args.min_bus_bandwidth,
        },
        Some(GpuLevel::Cuda) => Property::Cuda,
        Some(GpuLevel::Software) => Property::Diagnostics { level: 1 },
        Some(GpuLevel::Hardware) => Property::Diagnostics { level: 2 },
        Some(GpuLevel::Load) => Property::Diagnostics { level: 3 },
        Some(GpuLevel::All) => Property::Diagnostics { level: 4 },
    }
}

fn usage(error: NotProvable) -> Usage {
    let NotProvable { reason, help } = error;
    Usage(format!("{reason}\nhelp: {help}"))
}

/// The text of a log. Bytes that are not UTF-8 are replaced: NCCL prints names of devices.
fn read_log(path: &Path) -> Result<String> {
    let title = path.display();
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .take(MAX_LOG + 1)
            .read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MAX_LOG + 1).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("cannot read `{title}`"))?;
    if bytes.len() as u64 > MAX_LOG {
        bail!("the log `{title}` is larger than {} MiB", MAX_LOG >> 20);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Judges a log, and prints the judgement.
fn judge(args: &ProveArgs, proof: &Proof<'_>, log: &str) -> Result<Exit> {
    let judgement = proof.judge(log).map_err(usage)?;
    output::print_data(&match args.format {
        ReportFormat::Text => render::text(&judgement),
        ReportFormat::Json => render::json(&judgement),
    })?;
    Ok(if judgement.is_proven() {
        Exit::Success
    } else {
        Exit::OutOfDate
    })
}

/// The plan with the workload of the proof, and the objects of its namespace.
fn proof_objects(
    args: &ProveArgs,
    compilation: &Compilation,
    proof: &Proof<'_>,
) -> Result<(Plan, Vec<Json>)> {
    let config = compilation.config.as_deref();
    let image = match (&args.image, args.gpu) {
        (Some(image), _) => Some(image.clone()),
        (None, None | Some(GpuLevel::Cuda)) => None,
        (None, Some(_)) => {
            let image = chart_images("gpu-operator").iter();
            let mut image = image.filter(|image| image.repository == DCGM);
            let image = image.next().context("the catalog has no image of DCGM")?;
            let reference = image.reference();
            Some(config.map_or_else(|| reference.clone(), |it| mirrored_image(&reference, it)))
        }
    };
    let mut loaded = compilation.loaded.clone();
    add_workload(&mut loaded.root, proof.workload(image.as_deref()))?;
    let options = Options {
        registry: &gpuc::REGISTRY,
        levels: Levels::default(),
        today: None,
        choices: &|_| Choices::default(),
    };
    let mut with_proof = compile(loaded, &options);
    let diagnostics = with_proof.report.diagnostics().iter();
    let errors: Vec<String> = diagnostics
        .filter(|it| it.severity == Severity::Error)
        .map(|it| format!("{}: {}", it.code.id, it.message))
        .collect();
    let Some(plan) = with_proof.plan.take().filter(|_| errors.is_empty()) else {
        bail!("the proof does not fit the cluster:\n{}", errors.join("\n"));
    };
    let namespace = proof.namespace();
    let is_own = |object: &&Object| {
        let identity = &object.identity;
        match &identity.namespace {
            Some(other) => *other == namespace,
            None => identity.kind == "Namespace" && identity.name == namespace,
        }
    };
    let own = desired_objects(&plan);
    let own = own.iter().copied().filter(is_own);
    let objects: Result<Vec<Json>, _> = own.map(|it| serde_json::to_value(&it.node)).collect();
    let mut objects = objects.context("an object is not JSON")?;
    objects.sort_by_key(|it| match it["kind"].as_str() {
        Some("Namespace") => 0,
        Some("Job") => 2,
        _ => 1,
    });
    proof.complete(&mut objects);
    Ok((plan, objects))
}

/// Adds a workload to the document of a cluster.
fn add_workload(root: &mut Node, workload: Json) -> Result<()> {
    let Value::Mapping(entries) = &mut root.value else {
        bail!("the cluster's file is not a mapping");
    };
    let workload = Node::from_json(workload);
    let existing = entries.iter_mut().find(|entry| entry.key == "workloads");
    match existing.map(|entry| &mut entry.value.value) {
        Some(Value::Sequence(workloads)) => workloads.push(workload),
        Some(_) => bail!("`workloads` is not a list"),
        None => entries.push(Entry {
            key: "workloads".to_owned(),
            key_span: Span::NONE,
            value: Node {
                value: Value::Sequence(vec![workload]),
                origin: Origin::Inherited,
            },
        }),
    }
    Ok(())
}

/// The objects as YAML, after the commands that use them.
fn manifest(args: &ProveArgs, proof: &Proof<'_>, objects: &[Json]) -> String {
    let namespace = proof.namespace();
    let nodes = args
        .nodes
        .map_or_else(String::new, |nodes| format!(" --nodes {nodes}"));
    let property = match args.gpu {
        None => "--fabric".to_owned(),
        Some(level) => format!("--gpu {}", level_name(level)),
    };
    let path = args.path.as_ref();
    let path = path.map_or_else(String::new, |path| format!(" {}", path.display()));
    let floor = args.min_bus_bandwidth;
    let floor = floor.map_or_else(String::new, |floor| format!(" --min-bus-bandwidth {floor}"));
    let pool = &args.pool;
    let mut text = format!(
        "# This Job proves pool {pool}. With this manifest as proof.yaml:
#
#   kubectl apply --filename proof.yaml
#   kubectl --namespace {namespace} get jobs --watch    # until the status is Complete or Failed
#   kubectl --namespace {namespace} logs --selector job-name --container main --prefix --tail=-1 > proof.log
#   gpuc prove {pool}{path} {property}{nodes}{floor} --judge proof.log
#   kubectl delete --filename proof.yaml
#
# `gpuc prove {pool}{path} {property}{nodes}{floor} --apply` does all of this.
"
    );
    for object in objects {
        text.push_str("---\n");
        text.push_str(&to_yaml(&Node::from_json(object.clone())));
    }
    text
}

fn level_name(level: GpuLevel) -> &'static str {
    match level {
        GpuLevel::Cuda => "cuda",
        GpuLevel::Software => "1",
        GpuLevel::Hardware => "2",
        GpuLevel::Load => "3",
        GpuLevel::All => "4",
    }
}

/// Runs the objects in the cluster of a context.
fn run_in_cluster(
    proof: &Proof<'_>,
    objects: Vec<Json>,
    context: Option<&str>,
    keep: bool,
) -> Result<JobRun> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let request = JobRequest {
        namespace: proof.namespace(),
        objects,
        manager: "gpuc",
        // Kubernetes deletes the pods, and with them their logs, of a Job that exceeds its own time limit.
        timeout: Duration::from_secs(u64::from(proof.deadline_seconds()) - 60),
        keep,
    };
    let result = runtime.block_on(async {
        let client = connect(context).await.map_err(|error| error.to_string())?;
        let progress = |state: &str| output::print_message(&format!("pods: {state}"));
        run_job(&client, &Limits::default(), &request, progress).await
    });
    // Requests that hang do not delay the end.
    runtime.shutdown_background();
    match result {
        Ok(run) => Ok(run),
        Err(error) => bail!("cannot run the Job in {}: {error}", live::title(context)),
    }
}
