//! Whether the sums are right and the bandwidth reaches its floor.

use gpuc_model::fabric::{Collective, Fabric};

use super::{Expectation, Findings, Floor, FloorOrigin};
use crate::judgement::Reason;
use crate::transcript::{Row, Transcript};

/// Checks the results. True if there is a floor and the bandwidth reaches it.
pub(super) fn check(
    expected: &Expectation,
    transcript: &Transcript,
    findings: &mut Findings,
) -> bool {
    check_sums(transcript, findings);
    let largest = transcript.rows.iter().map(|row| row.bytes).max();
    // A size that is measured several times has its lowest bandwidth.
    let rows = transcript
        .rows
        .iter()
        .filter(|row| Some(row.bytes) == largest);
    let bandwidth = |row: &Row| row.results().map_or(0.0, |it| it.bus_bandwidth);
    let Some(row) = rows.min_by(|a, b| bandwidth(a).total_cmp(&bandwidth(b))) else {
        let text = "the log contains no results";
        let help = "the program did not run, or its log is cut; read the messages before it ended";
        findings
            .reasons
            .push(Reason::new("table-missing", text).help(help));
        measure_floor(expected, findings);
        return false;
    };
    let collective = collective(expected, transcript, row);
    let value = format!(
        "{:.2} GB/s, {}, {}",
        bandwidth(row),
        collective.map_or("unknown collective", Collective::as_str),
        size(row.bytes)
    );
    findings.measure("bus bandwidth", value);
    measure_floor(expected, findings);
    let Some(floor) = &expected.floor else {
        let text =
            "the bandwidth is not judged: gpuc knows no floor for this machine and number of nodes";
        let help = "set the lowest accepted bandwidth: `--min-bus-bandwidth`";
        findings
            .warnings
            .push(Reason::new("floor-unknown", text).help(help));
        return false;
    };
    match compare(expected.fabric, floor, row, bandwidth(row), collective) {
        Some(reason) => {
            findings.reasons.push(reason.evidence(&row.evidence));
            false
        }
        None => true,
    }
}

/// The reason why a row does not reach a floor.
fn compare(
    fabric: Fabric,
    floor: &Floor,
    row: &Row,
    bandwidth: f64,
    collective: Option<Collective>,
) -> Option<Reason> {
    if let Some(other) = floor.collective
        && collective != Some(other)
    {
        let text = format!(
            "the log is not that of {}, for which the floor is valid",
            other.as_str()
        );
        let help = format!(
            "measure {}, or pass a floor: `--min-bus-bandwidth`",
            other.as_str()
        );
        return Some(Reason::new("collective-differs", text).help(help));
    }
    if row.bytes < floor.min_bytes {
        let text = format!(
            "the largest message is {}; the floor is valid from {}",
            size(row.bytes),
            size(floor.min_bytes)
        );
        let help = "measure larger messages, or pass a floor: `--min-bus-bandwidth`";
        return Some(Reason::new("sizes-too-small", text).help(help));
    }
    // A floor that is not a number is reached by nothing.
    if bandwidth >= floor.gigabytes_per_second {
        return None;
    }
    let text = format!(
        "the bus bandwidth is {bandwidth:.2} GB/s at {}, below {} GB/s",
        size(row.bytes),
        floor.gigabytes_per_second
    );
    let help = if fabric.connects_nodes() {
        "check GPUDirect RDMA, the number of network interfaces, and the slowest node with other pairs of nodes"
    } else {
        "check the clocks and the NVLinks of the GPUs: `nvidia-smi nvlink --status`, `nvidia-smi --query --display=CLOCK`"
    };
    Some(Reason::new("below-floor", text).help(help))
}

fn check_sums(transcript: &Transcript, findings: &mut Findings) {
    if let Some(row) = transcript.wrong_rows.first() {
        let text = format!("{} values are wrong at {}", row.wrong(), size(row.bytes));
        let help = "a GPU, a link or the network corrupts data: run `gpuc prove POOL --gpu 3`, and other pairs of nodes";
        findings.reasons.push(
            Reason::new("wrong-results", text)
                .evidence(&row.evidence)
                .help(help),
        );
    }
    if let Some(end) = transcript.out_of_bounds.iter().find(|end| !end.is_ok) {
        let text = format!("{} results are out of bounds", end.count);
        let reason = Reason::new("out-of-bounds", text).evidence(&end.evidence);
        findings
            .reasons
            .push(reason.help("run `gpuc prove POOL --gpu 3`"));
    }
    if let Some(line) = &transcript.failed_average {
        let text = "the test reports that the average bandwidth failed";
        findings
            .reasons
            .push(Reason::new("test-failed", text).evidence(line));
    }
    let ends_after = transcript.out_of_bounds.last().map(|end| end.rows);
    if ends_after.is_none_or(|rows| rows < transcript.rows.len()) {
        let text = "the run did not end: the line `# Out of bounds values` is missing";
        let last = transcript.rows.last().map(|row| &row.evidence);
        let help = "wait until the run ends, and pass the complete log";
        findings.reasons.push(
            Reason::new("run-incomplete", text)
                .evidence(last)
                .help(help),
        );
    }
    if let Some(row) = transcript.rows.iter().find(|row| !row.is_verified()) {
        let text = "the test did not verify all sums";
        let help = "run nccl-tests with `--check 1`";
        findings.warnings.push(
            Reason::new("sums-not-verified", text)
                .evidence(&row.evidence)
                .help(help),
        );
    }
}

fn measure_floor(expected: &Expectation, findings: &mut Findings) {
    let elsewhere = match expected.measured_elsewhere {
        Some(measured) => format!("; measured elsewhere: {measured}"),
        None => String::new(),
    };
    let value = match &expected.floor {
        None => format!("unknown{elsewhere}"),
        Some(floor) => match floor.origin {
            FloorOrigin::User => format!(
                "{} GB/s, set by the user{elsewhere}",
                floor.gigabytes_per_second
            ),
            FloorOrigin::Facts(row) => format!(
                "{} GB/s from {} on {} ({}){elsewhere}",
                floor.gigabytes_per_second,
                size(floor.min_bytes),
                row.machine,
                row.source
            ),
        },
    };
    findings.measure("floor", value);
}

/// The collective of a row: by the name of the test, otherwise by the ratio of bus bandwidth and algorithm bandwidth.
///
/// Source: NVIDIA/nccl-tests `doc/PERFORMANCE.md`: 2(n-1)/n for `all_reduce`, and (n-1)/n for `all_gather`
/// and `reduce_scatter`, 2026-11-28 (from memory).
fn collective(expected: &Expectation, transcript: &Transcript, row: &Row) -> Option<Collective> {
    if let Some(test) = &transcript.test {
        let names = [Collective::AllReduce, Collective::AllGather];
        return names.into_iter().find(|it| test.starts_with(it.as_str()));
    }
    let results = row.results().filter(|it| it.algorithm_bandwidth > 0.0)?;
    let ranks = f64::from(expected.ranks().max(2));
    let ratio = results.bus_bandwidth / results.algorithm_bandwidth;
    // Figures have two decimals.
    let is_near = |other: f64| (ratio - other).abs() < 0.02 * other;
    let share = (ranks - 1.0) / ranks;
    match row.reduction.as_str() {
        "sum" if is_near(2.0 * share) => Some(Collective::AllReduce),
        "none" | "" if is_near(share) => Some(Collective::AllGather),
        _ => None,
    }
}

/// A size in bytes: `8 GiB`.
fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.iter().find(|(_, shift)| bytes >= 1 << shift);
    match unit {
        Some((unit, shift)) if bytes.is_multiple_of(1 << shift) => {
            format!("{} {unit}", bytes >> shift)
        }
        _ => format!("{bytes} bytes"),
    }
}
