//! `gpuc check --against`: compares pools with the node pools of a Terraform configuration.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use gpuc_contract::terraform::{self, Declared};
use gpuc_syntax::diag::{self, Levels, Report, phrases};

use super::args::CheckArgs;
use super::inputs::Run;
use super::{Usage, manifests, output};

/// The maximum number of attributes that a note lists.
const MAX_NAMED: usize = 4;

/// The maximum size of a plan or a state in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// Compares the node pools and adds the findings to the run. Returns a phrase about the node pools, to follow the
/// number of clusters.
pub(super) fn check(args: &CheckArgs, run: &mut Run) -> Result<String> {
    let mut declared = Declared::default();
    for path in &args.against {
        declared.merge(read(path)?);
    }
    let index = manifests::select_cluster(args, run, "node pools")?;
    let compilation = &run.compilations[index];
    let (config, cluster) = (compilation.config.as_ref(), compilation.cluster.as_ref());
    let is_valid = manifests::has_no_errors(compilation);
    let Some((cluster, config)) = cluster.zip(config).filter(|_| is_valid) else {
        output::print_message(
            "note: the node pools were not compared, because the cluster has errors",
        );
        return Ok(String::new());
    };
    if !cluster.cloud.facts().creates_machines {
        let text = format!(
            "`--against` reads the node pools of EKS, GKE and AKS, and the cluster is on {}\n\
             help: compare the nodes with `cloud/contract.json` of the output of `gpuc build`",
            cluster.cloud.facts().name
        );
        return Err(Usage(text).into());
    }
    let mut report = Report::default();
    let compared = gpuc_contract::compare(cluster, &declared, &mut report);
    let allowed: Vec<_> = config.allow.iter().map(|word| word.value.clone()).collect();
    let levels = Levels {
        deny: args.input.deny.clone(),
    };
    diag::apply_levels(report.diagnostics_mut(), &allowed, &levels);
    run.report.append(report);
    if !compared.unknown.is_empty() {
        let (verb, count) = match compared.unknown.len() {
            1 => ("is", "1 attribute".to_owned()),
            several => ("are", format!("{several} attributes")),
        };
        output::print_message(&format!(
            "note: {count} {verb} not compared, because the value is not known here: {}",
            phrases::quoted_list(&compared.unknown, MAX_NAMED)
        ));
    }
    let pools = phrases::pluralize(compared.matched, "node pool");
    Ok(format!(" and {pools}"))
}

fn read(path: &Path) -> Result<Declared> {
    let is_stdin = path.as_os_str() == "-";
    let mut bytes = Vec::new();
    if is_stdin {
        let mut stdin = std::io::stdin().lock().take(MAX_BYTES + 1);
        let read = stdin.read_to_end(&mut bytes);
        read.context("cannot read standard input")?;
    } else {
        let failed = || format!("cannot read {}", path.display());
        let file = File::open(path).with_context(failed)?;
        let mut file = file.take(MAX_BYTES + 1);
        file.read_to_end(&mut bytes).with_context(failed)?;
    }
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let refuse = |reason: String| {
        Usage(format!(
            "{name} is not the output of `terraform show -json`: {reason}\n\
             help: run `terraform plan -out=plan.bin` and `terraform show -json plan.bin`"
        ))
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refuse("it is larger than 512 MiB".to_owned()).into());
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(refuse("it is empty".to_owned()).into());
    }
    Ok(terraform::read(text).map_err(refuse)?)
}
