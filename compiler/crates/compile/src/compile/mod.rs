//! The compilation phases, from a document to the generated files.

mod allow_unused;
mod cascade;

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_model::check::check;
use gpuc_model::plan::{Identity, Plan, Summary};
use gpuc_model::resolve::{Choices, resolve};
use gpuc_model::{Cluster, MachineType, Registry};
use gpuc_schema::config::GpuCluster;
use gpuc_syntax::decode;
use gpuc_syntax::diag::{self, Code, Levels, Report};
use gpuc_syntax::load::Loaded;
use gpuc_syntax::tree::Tree;
use jiff::civil::Date;

use self::allow_unused::allow_unused;
use self::cascade::Cascade;
use crate::audit::audit;
use crate::emit::emit;
use crate::expand;
use crate::lock::{self, ChartPin, IncompleteImage, Lock, Pins};
use crate::lower::{attach_origins, lower, monitoring};

/// Codes of findings about the file's `allow`.
pub static CODES: &[&Code] = &[&allow_unused::CODE];

/// The options of a run.
pub struct Options<'o> {
    /// The clouds and rules.
    pub registry: &'static Registry,
    /// The levels of findings.
    pub levels: Levels,
    /// Today's date, for findings about dated facts; `None` to omit them. The generated files do not depend on it.
    pub today: Option<Date>,
    /// Earlier choices for the cluster of this name; valid choices are kept.
    pub choices: &'o (dyn Fn(&str) -> Choices + Sync),
}

/// The results for one document; later results are missing if earlier phases have errors.
pub struct Compilation {
    /// The document.
    pub loaded: Loaded,
    /// The decoded configuration.
    pub config: Option<Arc<GpuCluster>>,
    /// The resolved cluster.
    pub cluster: Option<Cluster>,
    /// The summary of the plan.
    pub summary: Option<Summary>,
    /// The plan.
    pub plan: Option<Plan>,
    /// The objects that are registered with the GitOps controller, by name; kept longer than the plan.
    pub controller_objects: Vec<Identity>,
    /// The generated files and their lock.
    pub output: Option<(Tree, Lock)>,
    /// The diagnostics.
    pub report: Report,
}

/// Whether a compilation is for the user or for an experiment of `diff` and `why`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Reports everything.
    Complete,
    /// Stops at the first phase with errors.
    Experiment,
}

/// Compiles one document.
pub fn compile(loaded: Loaded, options: &Options<'_>) -> Compilation {
    run(loaded, options, Mode::Complete)
}

/// Compiles a modified document for an experiment: if it cannot be decoded, further checks are skipped.
pub fn compile_experiment(loaded: Loaded, options: &Options<'_>) -> Compilation {
    run(loaded, options, Mode::Experiment)
}

fn run(loaded: Loaded, options: &Options<'_>, mode: Mode) -> Compilation {
    let mut compilation = Compilation {
        loaded,
        config: None,
        cluster: None,
        summary: None,
        plan: None,
        controller_objects: Vec::new(),
        output: None,
        report: Report::default(),
    };
    // A phase that stops early has put its reason into the report.
    let _ = run_phases(&mut compilation, options, mode);
    compilation
}

/// Runs the phases in order. `None` if one stops early.
fn run_phases(compilation: &mut Compilation, options: &Options<'_>, mode: Mode) -> Option<()> {
    let report = &mut compilation.report;
    for span in &compilation.loaded.poisoned {
        report.poison(*span);
    }
    let config = Arc::new(decode::decode_cluster(&compilation.loaded.root, report)?);
    compilation.config = Some(Arc::clone(&config));
    // Without the cloud, nearly all other names would be checked against the wrong facts.
    let is_cloud_read = config.cloud.span.is_written() && !report.is_poisoned_at(config.cloud.span);
    if !is_cloud_read || mode == Mode::Experiment && report.has_errors() {
        return None;
    }
    let choices = (options.choices)(&config.metadata.name);
    let decoded = report.diagnostics().len();
    // An unknown key is an error, and its intended setting can be what other diagnostics miss.
    let has_placeholders = report.has_errors();
    let cluster = compilation.cluster.insert(resolve(
        Arc::clone(&config),
        options.registry,
        &choices,
        report,
    ));
    cluster.today = options.today;
    let checked = check(cluster, report);
    if has_placeholders {
        let cascade = Cascade {
            loaded: &compilation.loaded,
            registry: options.registry,
            choices: &choices,
            today: options.today,
        };
        cascade.suppress(decoded, report);
    }
    decode::check_ranges(&compilation.loaded.root, report);
    let audited = checked
        .filter(|_| !report.has_errors())
        .and_then(|checked| Some((checked, audit(lower(&checked), &checked, report)?)));
    apply_levels(&config, options, report);
    let (checked, audited) = audited.filter(|_| !report.has_errors())?;
    let tree = emit(&audited, compilation.loaded.file.as_deref());
    let lock = Lock::for_tree(&tree, input_digest(&checked), lock_pins(&checked, &audited));
    compilation.output = Some((tree, lock));
    compilation.summary = Some(audited.summary.clone());
    let mut plan = audited.into_plan();
    attach_origins(&checked, &mut plan);
    cluster.exported_metrics = monitoring::exported_metrics(cluster, &plan.releases);
    compilation.controller_objects = plan.delivery.identities();
    compilation.plan = Some(plan);
    Some(())
}

/// Applies `allow:` and `--deny`, and reports unused entries of `allow:`, unless they can be needed once errors are
/// fixed.
fn apply_levels(config: &GpuCluster, options: &Options<'_>, report: &mut Report) {
    let words: Vec<_> = config.allow.iter().map(|word| word.value.clone()).collect();
    let used = diag::apply_levels(report.diagnostics_mut(), &words, &options.levels);
    if report.has_errors() {
        return;
    }
    let mut unused = Report::default();
    allow_unused(config, &(options.registry.codes)(), &used, &mut unused);
    diag::apply_levels(unused.diagnostics_mut(), &words, &options.levels);
    report.append(unused);
}

/// The digest of the configuration's meaning. Comments, order and formatting do not count, nor explicit defaults or the
/// use of a base.
fn input_digest(cluster: &Cluster) -> String {
    let mut json = expand::with_defaults(cluster);
    json.sort_all_objects();
    lock::digest(json.to_string().as_bytes())
}

fn lock_pins(cluster: &Cluster, plan: &Plan) -> Pins {
    let charts = plan.releases.iter().map(|release| {
        let pin = ChartPin {
            chart: release.chart.name.to_owned(),
            repository: release.repository.clone(),
            version: release.chart.version.to_owned(),
        };
        (release.name.clone(), pin)
    });
    let picked = cluster
        .pools
        .iter()
        .filter(|pool| pool.machine_name.is_none());
    let machines: BTreeMap<_, _> = picked
        .filter_map(|pool| match pool.machine.get() {
            Some(MachineType::Catalog(machine)) => {
                Some((pool.name.value.clone(), machine.name.to_owned()))
            }
            _ => None,
        })
        .collect();
    let mut pins = Pins {
        charts: charts.collect(),
        machines,
        ..Pins::default()
    };
    for image in &plan.images {
        let public = image.public_reference().to_owned();
        if let Some(unknown) = &image.unknown {
            let incomplete = IncompleteImage {
                mirror: image.source.as_ref().map(|_| image.reference.clone()),
                unknown: unknown.clone(),
            };
            pins.incomplete_images.insert(public, incomplete);
            continue;
        }
        pins.images.insert(image.reference.clone());
        if image.source.is_some() {
            pins.mirrored_images.insert(public, image.reference.clone());
        }
    }
    pins
}
