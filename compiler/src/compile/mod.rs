//! The phases, one after the other: from a document to the files that become of it.

mod doubt;

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuc_schema::config::GpuCluster;

use crate::audit::audit;
use crate::check;
use crate::decode;
use crate::diag::{self, Levels, Report};
use crate::emit::emit;
use crate::expand;
use crate::load::Loaded;
use crate::lock::{self, ChartPin, Lock, Pins};
use crate::lower::{images::images, lower, refine};
use crate::model::{Cluster, MachineType};
use crate::plan::{Identity, Plan, Release, Summary};
use crate::resolve::{Choices, resolve};
use crate::tree::Tree;

/// What a run wants beside the input.
pub struct Options<'o> {
    /// What the user is stricter about.
    pub levels: Levels,
    /// What was chosen before for the cluster of this name; a choice that still fits is kept.
    pub choices: &'o (dyn Fn(&str) -> Choices + Sync),
}

/// Everything that is known of one document; later parts are missing where earlier ones have errors.
pub struct Compilation {
    /// The document.
    pub loaded: Loaded,
    /// What the user wrote.
    pub config: Option<Arc<GpuCluster>>,
    /// What gpuc understands of it.
    pub cluster: Option<Cluster>,
    /// What to do, in words and numbers.
    pub summary: Option<Summary>,
    /// What to do.
    pub plan: Option<Plan>,
    /// What the tool of `gitops` is told of, by name; known for longer than the plan.
    pub tool_objects: Vec<Identity>,
    /// The files, and their lock.
    pub output: Option<(Tree, Lock)>,
    /// What there is to say.
    pub report: Report,
}

/// Compiles one document.
pub fn compile(loaded: Loaded, options: &Options<'_>) -> Compilation {
    run(loaded, options, false)
}

/// Compiles a document that was changed to see what becomes of it: what is wrong with one that cannot be read is of no
/// interest beyond that.
pub(crate) fn compile_trial(loaded: Loaded, options: &Options<'_>) -> Compilation {
    run(loaded, options, true)
}

fn run(loaded: Loaded, options: &Options<'_>, is_trial: bool) -> Compilation {
    let mut report = Report::default();
    for span in &loaded.poisoned {
        report.poison(*span);
    }
    let config = decode::cluster(&loaded.root, &mut report).map(Arc::new);
    let mut compilation = Compilation {
        loaded,
        cluster: None,
        summary: None,
        plan: None,
        tool_objects: Vec::new(),
        output: None,
        report: Report::default(),
        config,
    };
    let Some(config) = compilation.config.clone() else {
        compilation.report = report;
        return compilation;
    };
    // Without the cloud nearly every other name would be judged by the wrong facts.
    let is_cloud_read = config.cloud.span.is_written() && !report.is_poisoned_at(config.cloud.span);
    if !is_cloud_read || is_trial && report.has_errors() {
        compilation.report = report;
        return compilation;
    }
    let choices = (options.choices)(&config.metadata.name);
    let decoded = report.diagnostics().len();
    // An unknown key is an error, and what it was to do may be what others miss.
    let is_made_up = report.has_errors();
    let cluster = resolve(Arc::clone(&config), &choices, &mut report);
    let checked = check::check(&cluster, &mut report);
    if is_made_up {
        doubt::doubt(&compilation.loaded, &choices, decoded, &mut report);
    }
    decode::ranges(&compilation.loaded.root, &mut report);
    let checked = checked.filter(|_| !report.has_errors());
    let audited = checked.and_then(|checked| {
        let audited = audit(lower(&checked), &checked, &mut report)?;
        Some((checked, audited))
    });
    gate(&config, &options.levels, &mut report);
    if let Some((checked, audited)) = audited
        && !report.has_errors()
    {
        let tree = emit(&audited, compilation.loaded.file.as_deref());
        let lock = Lock::of(&tree, input_digest(&cluster), pins(&checked, &audited));
        compilation.output = Some((tree, lock));
        compilation.summary = Some(audited.summary.clone());
        let mut plan = audited.into_plan();
        refine(&checked, &mut plan);
        compilation.tool_objects = plan.delivery.identities();
        compilation.plan = Some(plan);
    }
    compilation.cluster = Some(cluster);
    compilation.report = report;
    compilation
}

/// Applies `allow:` and `--deny`, and speaks up about an `allow:` that nothing needed, unless it may be needed once the
/// errors are mended.
fn gate(config: &GpuCluster, levels: &Levels, report: &mut Report) {
    let words: Vec<_> = config.allow.iter().map(|word| word.value.clone()).collect();
    let used = diag::apply(report.diagnostics_mut(), &words, levels);
    if report.has_errors() {
        return;
    }
    let mut unused = Report::default();
    check::allow_unused(config, &used, &mut unused);
    diag::apply(unused.diagnostics_mut(), &words, levels);
    report.append(unused);
}

/// The digest of what the user means: comments, order and layout of the file do not count, nor whether a default is
/// written out or a part comes from a base.
fn input_digest(cluster: &Cluster) -> String {
    let mut json = expand::complete(cluster);
    json.sort_all_objects();
    lock::digest(json.to_string().as_bytes())
}

fn pins(cluster: &Cluster, plan: &Plan) -> Pins {
    let charts = plan.releases.iter().map(|release| {
        let pin = ChartPin {
            chart: release.chart.name.to_owned(),
            repository: release.repository.clone(),
            version: release.chart.version.to_owned(),
        };
        (release.name.clone(), pin)
    });
    let of_releases = plan.releases.iter().flat_map(Release::images);
    let of_objects = plan.objects.iter().flat_map(images);
    let picked = cluster
        .pools
        .iter()
        .filter(|pool| pool.written.machine.is_none());
    let machines: BTreeMap<_, _> = picked
        .filter_map(|pool| match pool.machine.get() {
            Some(MachineType::Catalog(machine)) => {
                Some((pool.name.value.clone(), machine.name.to_owned()))
            }
            _ => None,
        })
        .collect();
    Pins {
        charts: charts.collect(),
        images: of_releases.chain(of_objects).collect(),
        machines,
    }
}
