//! Alerts about single GPUs.

use gpuc_model::Sharing;
use gpuc_schema::config::{AlertName, DevicePlugin};
use gpuc_schema::gpu::GpuArchitecture;

use super::super::exporter::reports_utilization;
use super::super::expression::Expression;
use super::super::metrics::{self, Metric};
use super::super::recording::pool_matcher;
use super::super::series::{self, Series};
use super::xid::{CAUSED_BY_PROGRAMS, FATAL, any_number_pattern};
use super::{Alert, PoolAlertContext};

/// The labels that identify a GPU in an alert.
const GPU: &str = "pool, node, gpu, UUID, modelName";

/// A GPU as summaries name it.
const GPU_DESCRIPTION: &str = "GPU {{ $labels.gpu }} of {{ $labels.node }}";

/// The alerts about a pool's GPUs.
pub(super) fn alerts(watched: &PoolAlertContext<'_>) -> Vec<Alert> {
    let mut alerts = vec![
        temperature_high(watched),
        temperature_critical(watched),
        memory_nearly_full(watched),
    ];
    alerts.extend(power_high(watched));
    alerts.extend([xid_fatal(watched), xid(watched), ecc(watched)]);
    if has_row_remapper(watched) {
        alerts.extend([rows_remapped(watched), row_remap_failed(watched)]);
    }
    alerts.push(pcie_replays(watched));
    if reports_utilization(watched.pool, watched.exporter) {
        alerts.push(idle_gpu(watched));
    }
    alerts
}

/// GPUs remap rows since Ampere; earlier models retire pages, which neither exporter reports
/// (<https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html>).
fn has_row_remapper(watched: &PoolAlertContext<'_>) -> bool {
    let gpus = watched.pool.gpus.expect_resolved().as_ref();
    gpus.is_some_and(|gpus| gpus.model.architecture >= GpuArchitecture::Ampere)
}

fn metric(watched: &PoolAlertContext<'_>, metric: &'static Metric) -> Expression {
    Expression::for_metric(metric, &pool_matcher(watched.pool))
}

fn series_expression(watched: &PoolAlertContext<'_>, series: &'static Series) -> Expression {
    Expression::for_series(series, &pool_matcher(watched.pool))
}

fn alert(
    name: AlertName,
    duration: &str,
    expression: Expression,
    summary: &str,
    description: &str,
) -> Alert {
    Alert {
        name,
        pool: None,
        expression,
        duration: duration.to_owned(),
        summary: format!("{GPU_DESCRIPTION} {summary}"),
        description: format!(
            "{GPU_DESCRIPTION} (pool {{{{ $labels.pool }}}}, {{{{ $labels.UUID }}}}) {description}"
        ),
    }
}

fn temperature_high(watched: &PoolAlertContext<'_>) -> Alert {
    let limit = watched.limits.temperature_celsius.value;
    let expression = series_expression(watched, &series::TEMPERATURE_CELSIUS);
    alert(
        AlertName::GpuTemperatureHigh,
        "5m",
        expression.wrapped_in(&format!("{{}} > {limit}")),
        "is hotter than its threshold",
        "has been at {{ $value }} °C for 5 minutes.",
    )
}

fn temperature_critical(watched: &PoolAlertContext<'_>) -> Alert {
    let limit = watched.limits.temperature_celsius.value + 5;
    let expression = series_expression(watched, &series::TEMPERATURE_CELSIUS);
    alert(
        AlertName::GpuTemperatureCritical,
        "2m",
        expression.wrapped_in(&format!("{{}} > {limit}")),
        "is close to overheating",
        "has been at {{ $value }} °C for 2 minutes.",
    )
}

fn memory_nearly_full(watched: &PoolAlertContext<'_>) -> Alert {
    let limit = watched.limits.memory_used_percent.value;
    let used = series_expression(watched, &series::MEMORY_USED_BYTES);
    let all = series_expression(watched, &series::MEMORY_BYTES);
    alert(
        AlertName::GpuMemoryNearlyFull,
        "10m",
        used.combined_with(all, &format!("{{}} / {{}} > {limit} / 100")),
        "has little free memory",
        "uses {{ $value | humanizePercentage }} of its memory\
         {{ with $labels.GPU_I_PROFILE }}, in a MIG device {{ . }}{{ end }}.",
    )
}

fn power_high(watched: &PoolAlertContext<'_>) -> Option<Alert> {
    let limit = watched.limits.power_watts?.value;
    let expression = series_expression(watched, &series::POWER_WATTS);
    Some(alert(
        AlertName::GpuPowerHigh,
        "10m",
        expression.wrapped_in(&format!("{{}} > {limit}")),
        "draws more power than its threshold",
        "has drawn {{ $value | printf \"%.0f\" }} W for 10 minutes.",
    ))
}

/// The value of the metric is the number of the last error, and persists: its presence is the condition, not a change.
/// A range of five minutes bridges failed scrapes. `increase` over the number of an error has no meaning
/// (NVIDIA/dcgm-exporter#500, #190).
fn xid_fatal(watched: &PoolAlertContext<'_>) -> Alert {
    let codes = any_number_pattern(FATAL);
    let matchers = format!("{},err_code=~\"{codes}\"", pool_matcher(watched.pool));
    let last = Expression::for_metric(&metrics::XID, &matchers);
    alert(
        AlertName::GpuXidFatal,
        "0m",
        last.wrapped_in(&format!(
            "max by ({GPU}, err_code, err_msg) (max_over_time({{}}[5m])) > 0"
        )),
        "requires a reset",
        "reported Xid {{ $labels.err_code }} ({{ $labels.err_msg }}).",
    )
}

/// An error that was not the last one an hour ago. The label changes with the error, so a new error is a new series.
fn xid(watched: &PoolAlertContext<'_>) -> Alert {
    let codes = any_number_pattern([0].iter().chain(FATAL).chain(CAUSED_BY_PROGRAMS));
    let matchers = format!("{},err_code!~\"{codes}\"", pool_matcher(watched.pool));
    let last = || Expression::for_metric(&metrics::XID, &matchers);
    alert(
        AlertName::GpuXid,
        "0m",
        last().combined_with(
            last(),
            &format!(
                "max by ({GPU}, err_code, err_msg) ({{}}) > 0 unless on (UUID, err_code) {{}} offset 1h"
            ),
        ),
        "reported an error",
        "reported Xid {{ $labels.err_code }} ({{ $labels.err_msg }}) within the last hour.",
    )
}

fn ecc(watched: &PoolAlertContext<'_>) -> Alert {
    let errors = metric(watched, &metrics::ECC_UNCORRECTABLE);
    alert(
        AlertName::GpuEccUncorrectable,
        "0m",
        errors.wrapped_in(&format!("max by ({GPU}) (increase({{}}[1h])) > 0")),
        "had an uncorrectable memory error",
        "had {{ $value | printf \"%.0f\" }} uncorrectable memory errors within the last hour.",
    )
}

fn rows_remapped(watched: &PoolAlertContext<'_>) -> Alert {
    let rows = metric(watched, &metrics::ROWS_REMAPPED);
    alert(
        AlertName::GpuRowsRemapped,
        "0m",
        rows.wrapped_in(&format!("max by ({GPU}) (increase({{}}[1d])) > 0")),
        "must be reset to remap faulty memory",
        "marked {{ $value | printf \"%.0f\" }} memory rows for remapping within the last day.",
    )
}

fn row_remap_failed(watched: &PoolAlertContext<'_>) -> Alert {
    let failed = metric(watched, &metrics::ROW_REMAP_FAILURE);
    alert(
        AlertName::GpuRowRemapFailed,
        "0m",
        failed.wrapped_in(&format!("max by ({GPU}) ({{}}) > 0")),
        "has faulty memory that it cannot remap",
        "could not remap a row of its memory.",
    )
}

fn pcie_replays(watched: &PoolAlertContext<'_>) -> Alert {
    let limit = watched.limits.pcie_replays_per_minute.value;
    let replays = metric(watched, &metrics::PCIE_REPLAYS);
    alert(
        AlertName::GpuPcieReplays,
        "15m",
        replays.wrapped_in(&format!("max by ({GPU}) (rate({{}}[15m])) * 60 > {limit}")),
        "has an unreliable PCIe link to its host",
        "retransmits {{ $value | printf \"%.0f\" }} PCIe packets a minute.",
    )
}

/// The alert names the pod that holds an idle GPU only if that is certain: of several pods that share a GPU,
/// dcgm-exporter names varying ones (NVIDIA/dcgm-exporter#307, #340).
fn idle_gpu(watched: &PoolAlertContext<'_>) -> Alert {
    let limits = watched.limits;
    let percent = limits.idle_percent.value;
    let shared = matches!(
        watched.pool.sharing.expect_resolved(),
        Sharing::TimeSlicing { .. } | Sharing::Mps { .. }
    );
    let is_certain = !shared || watched.pool.is_advertised_by(DevicePlugin::Gpuc);
    let holders = series_expression(watched, &series::HOLDER);
    let (holders, holder_text) = if is_certain {
        (
            holders,
            "pod {{ $labels.namespace }}/{{ $labels.pod }} holds it",
        )
    } else {
        let by = "group by (pool, node, UUID) ({})";
        (holders.wrapped_in(by), "pods hold replicas of it")
    };
    let busy = series_expression(watched, &series::UTILIZATION_RATIO);
    let minutes = limits.idle_minutes.value;
    let expression = holders.combined_with(
        busy,
        &format!("{{}} and on (UUID, GPU_I_ID) avg_over_time({{}}[10m]) < {percent} / 100"),
    );
    Alert {
        name: AlertName::GpuIdle,
        pool: None,
        expression,
        duration: format!("{minutes}m"),
        summary: "an allocated GPU of {{ $labels.node }} is idle".to_owned(),
        description: format!(
            "{{{{ $labels.UUID }}}} of {{{{ $labels.node }}}} (pool {{{{ $labels.pool }}}}) has been busy for less \
             than {percent} % of the time, for {minutes} minutes, and {holder_text}."
        ),
    }
}
