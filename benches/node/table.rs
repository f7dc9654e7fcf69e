//! Prints what was measured.

use std::path::Path;
use std::time::Duration;

use crate::measure::Measurement;

/// Prints a table with a column for each machine, and below it how the machines compare with the first.
pub(crate) fn print(runtime: &Path, columns: &[Measurement]) {
    let file = std::fs::metadata(runtime).unwrap().len();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    println!(
        "load {}, gpuc-runtime has {:.1} MiB\n",
        load.split(' ').next().unwrap_or_default(),
        to_f64(file) / 1024.0 / 1024.0
    );
    row("", columns, |it| it.name.to_owned());
    row("exec to registered, ms", columns, |it| {
        format_ms(it.registered)
    });
    row("  x floor", columns, |it| {
        ratio(it.registered, columns[0].registered)
    });
    row("  fastest start, ms", columns, |it| {
        format_ms(it.fastest_registration)
    });
    row("  driver alone, ms", columns, |it| {
        format_ms(it.driver_read_time)
    });
    row("  without driver, ms", columns, |it| {
        format_ms(it.registered.saturating_sub(it.driver_read_time))
    });
    row("exec to first list, ms", columns, |it| format_ms(it.listed));
    row("cpu until registered, ms", columns, |it| {
        format_ms(it.start_cpu)
    });
    row("RSS idle, KiB", columns, |it| it.idle.resident.to_string());
    row("PSS idle, KiB", columns, |it| {
        it.idle.proportional.to_string()
    });
    row("threads idle", columns, |it| it.threads.to_string());
    row("wake-ups while idle", columns, |it| it.wakeups.to_string());
    for (name, part) in [("p50", 50), ("p90", 90), ("p99", 99)] {
        row(&format!("Allocate {name}, us"), columns, |it| {
            format_us(it.allocations[it.allocations.len() * part / 100])
        });
    }
    for (name, part) in [("p50", 50), ("p99", 99)] {
        row(&format!("  {name} on a busy machine, us"), columns, |it| {
            format_us(it.busy_allocations[it.busy_allocations.len() * part / 100])
        });
    }
    row("cpu per Allocate, us", columns, |it| {
        format_us(it.cpu_per_allocation)
    });
    row("  x floor", columns, |it| {
        ratio(it.cpu_per_allocation, columns[0].cpu_per_allocation)
    });
    let sizes = columns.iter().map(|it| it.preferred.len()).max();
    for size in 1..=sizes.unwrap_or(0) {
        row(&format!("preferred {size}, ms"), columns, |it| {
            it.preferred
                .get(size - 1)
                .map_or_else(String::new, |it| format_ms(*it))
        });
    }
    row("cpu in an idle minute, ms", columns, |it| {
        format_ms(it.idle_cpu)
    });
    row("NVML calls to register", columns, |it| {
        it.registration_calls.to_string()
    });
    row("NVML calls for all answers", columns, |it| {
        it.driver_calls
            .map_or_else(|| "-".to_owned(), |count| count.to_string())
    });
    row("RSS after load, KiB", columns, |it| {
        it.loaded.resident.to_string()
    });
    row("PSS after load, KiB", columns, |it| {
        it.loaded.proportional.to_string()
    });
}

fn row(name: &str, columns: &[Measurement], cell: impl Fn(&Measurement) -> String) {
    print!("{name:<28}");
    for column in columns {
        print!("{:>11}", cell(column));
    }
    println!();
}

fn format_ms(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}

fn format_us(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e6)
}

fn ratio(one: Duration, other: Duration) -> String {
    format!("{:.2}", one.as_secs_f64() / other.as_secs_f64())
}

#[expect(clippy::cast_precision_loss, reason = "files are not that large")]
fn to_f64(number: u64) -> f64 {
    number as f64
}
