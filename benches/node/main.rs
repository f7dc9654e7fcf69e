//! How long the daemon takes and what it costs, as a whole process: with a simulated driver and a kubelet that is
//! simulated, next to a plugin that does as little as one can. `benches/runtime` builds and starts this.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark may stop at the first surprise, and prints what it found"
)]

#[path = "../../tests/support/fake_driver.rs"]
mod fake_driver;
mod floor;
mod machine;
mod measure;
mod process;
#[path = "../../tests/support/kubelet/mod.rs"]
mod simulated_kubelet;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::Scenario;

/// What is measured, and how often.
struct BenchOptions {
    /// The program.
    runtime: PathBuf,
    /// How often each machine is started.
    starts: usize,
    /// How often devices are asked for.
    allocations: usize,
    /// How long the daemon is left alone.
    idle: Duration,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    if let [command, folder, count] = words.as_slice()
        && command == floor::COMMAND
    {
        return runtime.block_on(floor::serve_minimal_plugin(
            folder.as_ref(),
            count.parse().unwrap(),
        ));
    }
    let number = |flag: &str, usual: u64| {
        let at = words.iter().position(|word| word == flag);
        let value = at.and_then(|at| words.get(at + 1));
        value.map_or(usual, |value| value.parse().unwrap())
    };
    let count = |flag, usual| usize::try_from(number(flag, usual)).unwrap();
    let plan = BenchOptions {
        runtime: runtime_path(),
        starts: count("-n", 15),
        allocations: count("-a", 4_000),
        idle: Duration::from_secs(number("-i", 30)),
    };
    let other = words.iter().position(|word| word == "-p");
    let other = other.map(|at| Path::new(words.get(at + 1).expect("-p has a program")));
    let mut columns = Vec::new();
    for machine in Scenario::scenarios(other) {
        columns.push(runtime.block_on(measure::measure(&plan, &machine)));
    }
    table::print(&plan.runtime, &columns);
}

/// The daemon that was built with this: examples are in a folder next to the programs.
fn runtime_path() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("gpuc-runtime");
    assert!(program.exists(), "benches/runtime builds it");
    program
}
