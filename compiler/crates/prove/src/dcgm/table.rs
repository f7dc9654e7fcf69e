//! The table of `dcgmi diag`.

use super::{MAX, Report, Status, Test, TestResult};
use crate::log_line::LogLine;

/// The reports in the lines of a pod. A table without its last line is cut and contains no report.
pub(super) fn reports(lines: &[LogLine<'_>]) -> Vec<Report> {
    let mut found = Vec::new();
    let mut table: Option<Table> = None;
    for line in lines {
        let text = line.text.trim();
        let cells = cells(text);
        if let Some((name, value)) = cells
            && name == "Diagnostic"
            && value == "Result"
        {
            table = Some(Table::new(line));
        } else if let Some(current) = &mut table {
            if let Some(category) = category(text) {
                category.clone_into(&mut current.category);
            } else if let Some((name, value)) = cells {
                current.read_row(name, value);
            } else if is_end(text) {
                found.extend(table.take().map(|it| it.report));
            }
        }
    }
    found
}

/// A table while it is read.
struct Table {
    report: Report,
    category: String,
}

impl Table {
    fn new(line: &LogLine<'_>) -> Self {
        let report = Report {
            evidence: line.evidence(),
            ..Report::default()
        };
        Self {
            report,
            category: String::new(),
        }
    }

    fn read_row(&mut self, name: &str, value: &str) {
        match (self.category.as_str(), name) {
            ("Metadata", "DCGM Version") => self.report.version = Some(value.to_owned()),
            ("Metadata", "Driver Version Detected") => self.report.driver = Some(value.to_owned()),
            ("Metadata", "GPU Device IDs Detected") => {
                let count = value.split(',').filter(|id| !id.trim().is_empty()).count();
                self.report.detected_gpus = u32::try_from(count).ok();
            }
            ("Metadata", _) | (_, "Info" | "EUD Test Version") => {}
            (_, "Error" | "Warning") => self.add_message(value, true),
            (_, "") => self.continue_test(value),
            (category, name) => {
                let test = Test {
                    category: category.to_owned(),
                    name: name.to_owned(),
                    results: results(value).unwrap_or_else(|| vec![unknown(value)]),
                };
                if self.report.tests.len() < MAX {
                    self.report.tests.push(test);
                }
            }
        }
    }

    /// A row without a name: the result of a GPU, or the rest of a message.
    fn continue_test(&mut self, value: &str) {
        let Some(read) = results(value) else {
            return self.add_message(value, false);
        };
        let Some(test) = self.report.tests.last_mut() else {
            return;
        };
        // In DCGM 4, the first row has the worst status of all GPUs, which follow.
        let is_summary = matches!(test.results.as_slice(), [only] if only.gpu.is_none());
        if is_summary && read.iter().any(|it| it.gpu.is_some()) {
            let summary = test.results.remove(0);
            let is_passed = read.iter().all(|it| it.status == Status::Pass);
            if summary.status != Status::Pass && is_passed {
                // The GPU that is not passed follows.
                test.results.push(summary);
            }
        }
        if test.results.len() < MAX {
            test.results.extend(read);
        }
        let has_failed = |it: &TestResult| it.gpu.is_some() && it.status != Status::Pass;
        if test.results.iter().any(has_failed) {
            test.results.retain(|it| it.gpu.is_some());
        }
    }

    fn add_message(&mut self, text: &str, is_new: bool) {
        let last = self
            .report
            .tests
            .last_mut()
            .and_then(|test| test.results.last_mut());
        let Some(result) = last else { return };
        let has_room = result.messages.len() < 8;
        match result.messages.last_mut() {
            Some(message) if !is_new => message.push_str(text),
            _ if has_room => result.messages.push(text.to_owned()),
            _ => {}
        }
    }
}

/// Whether a line is the complete last line of a table. The line below the header has other characters.
fn is_end(text: &str) -> bool {
    let is_border = text.chars().all(|it| matches!(it, '+' | '-'));
    is_border && text.len() > 2 && text.matches('+').count() == 3 && text.ends_with('+')
}

/// The two cells of a row.
fn cells(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.strip_prefix('|')?.strip_suffix('|')?.split_once('|')?;
    Some((name.trim(), value.trim()))
}

/// The category of a separator: `|-----  Deployment  --------+---|`.
fn category(text: &str) -> Option<&str> {
    let name = text
        .strip_prefix(['|', '+'])?
        .strip_prefix("-----")?
        .split('+')
        .next()?;
    let name = name.trim_matches(['-', ' ']);
    (!name.is_empty()).then_some(name)
}

/// The results in a cell: `Pass`, `Pass - All`, `Fail - GPUs: 0, 1` and `GPU0: Pass`.
fn results(value: &str) -> Option<Vec<TestResult>> {
    let on = |gpu, status| TestResult {
        gpu,
        status,
        messages: Vec::new(),
    };
    if let Some((gpu, status)) = value.split_once(':')
        && let Some(gpu) = gpu.strip_prefix("GPU").and_then(|it| it.parse().ok())
    {
        return Some(vec![on(Some(gpu), Status::from_name(status))]);
    }
    let (status, scope) = value.split_once(" - ").unwrap_or((value, "All"));
    let status = Status::from_name(status);
    if status == Status::Unknown {
        return None;
    }
    let Some((_, gpus)) = scope.split_once(':') else {
        return Some(vec![on(None, status)]);
    };
    let gpus = gpus.split(',').filter_map(|gpu| gpu.trim().parse().ok());
    Some(gpus.take(MAX).map(|gpu| on(Some(gpu), status)).collect())
}

fn unknown(value: &str) -> TestResult {
    TestResult {
        gpu: None,
        status: Status::Unknown,
        messages: vec![value.to_owned()],
    }
}
