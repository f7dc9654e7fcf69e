//! Development program: import_one OBJECTS_JSON... -- [CLOUD_JSON...]; prints YAML to stdout, report to stderr.
#![allow(
    clippy::all,
    clippy::pedantic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "development"
)]
use gpuc_model::Registry;
static REGISTRY: Registry = Registry {
    clouds: gpuc_clouds::CLOUDS,
    rules: gpuc_checks::RULES,
    codes: || REGISTRY.codes_of_rules(),
};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let at = args.iter().position(|a| a == "--").unwrap_or(args.len());
    let load = |p: &str| std::fs::read(p).map_err(|e| e.to_string());
    let (state, problems) = gpuc_live::read::read_files(&args[..at], &load);
    for p in problems {
        eprintln!("{}: {}", p.path, p.error);
    }
    let cloud: Vec<_> = args
        .iter()
        .skip(at + 1)
        .map(|p| {
            gpuc_import::CloudFile::parse(p, &std::fs::read(p).unwrap())
                .unwrap_or_else(|e| panic!("{e}"))
        })
        .collect();
    let ctx = std::env::var("CTX").ok();
    match gpuc_import::import(
        gpuc_import::Input {
            state: &state,
            cloud: &cloud,
            context: ctx.as_deref(),
        },
        &REGISTRY,
    ) {
        Ok(i) => {
            print!("{}", i.yaml);
            eprint!(
                "{}",
                if std::env::var("JSON").is_ok() {
                    i.report.json()
                } else {
                    i.report.text()
                }
            );
        }
        Err(e) => {
            eprintln!("error: {e}");
            std::process::exit(1)
        }
    }
    if let Ok(built) = std::env::var("BUILT") {
        let objects: Vec<serde_json::Value> =
            serde_json::from_slice(&std::fs::read(built).unwrap()).unwrap();
        let c = gpuc_import::differences(&state, &objects);
        eprintln!(
            "compared {} differences {}",
            c.compared,
            c.differences.len()
        );
        for d in c.differences {
            eprintln!("  {d}");
        }
        for d in c.not_compared {
            eprintln!("  not compared {d}");
        }
    }
}
