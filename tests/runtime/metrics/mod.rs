//! The metrics page: its format, its values, and a hanging driver.

mod exporter;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gpuc_runtime::health::{HealthEvent, Monitoring, Reaction, WatchReport};
use gpuc_runtime::metrics::{
    Exporter, MetricSources, POD_CACHE_TIME, PluginMetrics, PodDevices, pod_lister,
};
use gpuc_runtime::nvml::{NvmlErrorKind, NvmlEvent, NvmlEventKind};
use gpuc_schema::node_config::NodeSharing;
use tokio::sync::watch;

use exporter::TestExporter;
pub(crate) use exporter::{FakeMeter, exporter};

use crate::exposition::parse;
use crate::machine::{
    inventory, lost_gpu_error, mig, mig_device_uuid, nvml_error, state, time_slicing, uuid,
    with_unresponsive_gpu,
};

fn pod(name: &str, ids: &[String]) -> PodDevices {
    PodDevices {
        namespace: "research".into(),
        pod: name.into(),
        container: "train".into(),
        resource: "nvidia.com/gpu".into(),
        device_ids: ids.to_vec(),
    }
}

fn event(gpu: u32, kind: NvmlEventKind) -> HealthEvent {
    HealthEvent::Watch(WatchReport::Event(NvmlEvent {
        gpu: Some(gpu),
        kind,
    }))
}

fn xid(gpu: u32, xid: u64) -> HealthEvent {
    let kind = NvmlEventKind::Xid {
        xid,
        instance: None,
    };
    event(gpu, kind)
}

#[tokio::test]
async fn formats_have_the_same_values() {
    let machine = inventory(8, false);
    let test = TestExporter::new(
        &machine,
        &NodeSharing::Exclusive,
        vec![pod("a", &[uuid(0)])],
    );
    let plugin = &test.plugin;
    plugin.count_registration("nvidia.com/gpu");
    plugin.record_allocation("nvidia.com/gpu", Duration::from_micros(70));
    plugin.record_refusal("nvidia.com/gpu", "unhealthy", Duration::from_micros(20));
    plugin.record_health_event(&machine, &xid(3, 79), 1);
    plugin.set_config_hash("0123abcd");
    // The first scrape sets the metrics about scrapes.
    test.read().await;
    let open = test
        .exporter
        .scrape(Some("application/openmetrics-text;version=1.0.0,*/*;q=0.1"))
        .await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.content_type, kind);
    let open = parse(&open.text, true);
    let text = test.read().await;
    let is_constant = |(name, _): &(String, _)| {
        !name.starts_with("gpuc_missed") && !name.starts_with("gpuc_nvml")
    };
    let open: Vec<_> = open
        .series
        .into_iter()
        .filter(|(it, _)| is_constant(it))
        .collect();
    let text: Vec<_> = text
        .series
        .into_iter()
        .filter(|(it, _)| is_constant(it))
        .collect();
    assert_eq!(open, text);
    assert!(text.len() > 80);
}

#[tokio::test]
async fn gpu_metrics_have_dcgm_names() {
    let machine = inventory(8, false);
    let test = TestExporter::new(
        &machine,
        &NodeSharing::Exclusive,
        vec![pod("a", &[uuid(2)])],
    );
    let page = test.read().await;
    let temperatures = page.all_series("DCGM_FI_DEV_GPU_TEMP");
    assert_eq!(temperatures.len(), 7, "the eighth GPU is lost");
    let (labels, number) = temperatures
        .iter()
        .find(|(labels, _)| labels["gpu"] == "2")
        .expect("GPU 2 has a series");
    assert!((number - 42.0).abs() < 1e-9);
    let expected = [
        ("DCGM_FI_DRIVER_VERSION", "570.86.15"),
        ("Hostname", "node \"a\"\\\n1"),
        ("UUID", &uuid(2)),
        ("container", "train"),
        ("device", "nvidia2"),
        ("gpu", "2"),
        ("modelName", "NVIDIA H100 80GB HBM3"),
        ("namespace", "research"),
        ("pci_bus_id", "00000000:1B:00.0"),
        ("pod", "a"),
    ];
    let labels: Vec<(&str, &str)> = labels.iter().map(|(k, v)| (&**k, &**v)).collect();
    assert_eq!(labels, expected);
    let types = &page.types;
    assert_eq!(types["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"], "counter");
    assert_eq!(types["DCGM_FI_DEV_POWER_USAGE"], "gauge");
    assert!(
        !types.contains_key("DCGM_FI_DEV_SM_CLOCK"),
        "the driver does not report the clock"
    );
    let text = test.exporter.scrape(None).await.text;
    assert!(
        text.contains(" 9007199254740993\n"),
        "the number has all digits"
    );
}

/// The compiler's rules depend on the names and types of these metrics.
#[tokio::test]
async fn metrics_of_alerts_are_exported() {
    use gpuc_compile::lower::monitoring::metrics;

    let pods = vec![pod("a", &[uuid(2)])];
    let meter = Arc::new(FakeMeter {
        has_all_sensors: true,
        ..FakeMeter::default()
    });
    let node = state(
        &inventory(8, false),
        &NodeSharing::Exclusive,
        BTreeMap::new(),
    );
    let (exporter, _state) = exporter(node, pods, meter, PluginMetrics::default());
    let page = parse(&exporter.scrape(None).await.text, false);
    let runtime_metrics = metrics::METRICS.iter();
    let runtime_metrics =
        runtime_metrics.filter(|it| it.exporters.contains(&metrics::Exporter::Runtime));
    for metric in runtime_metrics {
        let kind = page.types.get(metric.name).map(String::as_str);
        assert_eq!(kind, Some(metric.kind.as_str()), "{}", metric.name);
    }
    let mut of_gpus = page.types.keys().filter(|it| it.starts_with("DCGM_"));
    let unknown = of_gpus.find(|it| !metrics::dcgm::RUNTIME_GPU_METRICS.contains(&it.as_str()));
    assert_eq!(unknown, None);
}

#[tokio::test]
async fn last_xid_is_kept() {
    let machine = inventory(8, false);
    let test = TestExporter::new(&machine, &NodeSharing::Exclusive, Vec::new());
    let healthy = test.read().await;
    let name = "DCGM_FI_DEV_XID_ERRORS";
    let no_error = [("gpu", "3"), ("err_code", "0"), ("err_msg", "No Error")];
    assert_eq!(healthy.values_with_labels(name, &no_error), [0.0]);
    for number in [48, 79, 79] {
        test.plugin
            .record_health_event(&machine, &xid(3, number), 1);
    }
    for _ in 0..2 {
        let page = test.read().await;
        assert_eq!(
            page.values_with_labels(name, &[("gpu", "3"), ("err_code", "79")]),
            [79.0]
        );
        assert_eq!(page.values_with_labels(name, &[("gpu", "3")]).len(), 1);
        let labels = [("gpu", uuid(3)), ("xid", "79".to_owned())];
        let labels = labels.each_ref().map(|(key, value)| (*key, value.as_str()));
        assert_eq!(
            page.values_with_labels("gpuc_xid_errors_total", &labels),
            [2.0]
        );
    }
}

/// dcgm-exporter names one of the containers, or repeats the value for each.
#[tokio::test]
async fn shared_gpu_has_one_series() {
    let machine = inventory(2, false);
    let replica = |gpu, number| format!("{}::{number}", uuid(gpu));
    let pods = vec![
        pod("a", &[replica(0, 0), replica(0, 1)]),
        pod("b", &[replica(0, 2)]),
        pod("c", &[replica(1, 3), "GPU-unknown".into()]),
    ];
    let test = TestExporter::new(&machine, &time_slicing(10), pods);
    let page = test.read().await;
    let power = page.all_series("DCGM_FI_DEV_POWER_USAGE");
    assert_eq!(power.len(), 2);
    assert!(!power[0].0.contains_key("pod"), "two pods share the GPU");
    assert_eq!(power[1].0["pod"], "c");
    let shares = |pod| page.values_with_labels("gpuc_container_shares", &[("pod", pod)]);
    assert_eq!(shares("a"), [2.0]);
    assert_eq!(shares("b"), [1.0]);
    assert_eq!(shares("c"), [1.0]);
    let unhealthy = [("resource", "nvidia.com/gpu"), ("health", "unhealthy")];
    assert_eq!(page.values_with_labels("gpuc_devices", &unhealthy), [10.0]);
    let healthy = [("resource", "nvidia.com/gpu"), ("health", "healthy")];
    assert_eq!(page.values_with_labels("gpuc_devices", &healthy), [10.0]);
}

#[tokio::test]
async fn mig_devices_have_memory_metrics() {
    let machine = inventory(2, true);
    let test = TestExporter::new(&machine, &mig(), vec![pod("a", &[mig_device_uuid(0, 8)])]);
    let page = test.read().await;
    let used = page.all_series("DCGM_FI_DEV_FB_USED");
    assert_eq!(used.len(), 14);
    let sum: f64 = used.iter().map(|(_, number)| number).sum();
    assert!((sum - 2.0 * 7_000.0).abs() < 1e-9, "{sum}");
    let labels = [
        ("GPU_I_PROFILE", "1g.10gb"),
        ("GPU_I_ID", "8"),
        ("UUID", &uuid(0)),
        ("pod", "a"),
    ];
    assert_eq!(
        page.values_with_labels("DCGM_FI_DEV_FB_USED", &labels),
        [800.0]
    );
    assert_eq!(page.all_series("DCGM_FI_DEV_POWER_USAGE").len(), 2);
    let attributed = page.values_with_labels("DCGM_FI_DEV_POWER_USAGE", &[("pod", "a")]);
    assert_eq!(attributed, [0.0; 0], "the pod has a seventh of the GPU");
}

#[tokio::test]
async fn unresponsive_gpus_are_not_measured() {
    let machine = with_unresponsive_gpu(&inventory(4, false), 2);
    let test = TestExporter::new(&machine, &NodeSharing::Exclusive, Vec::new());
    let page = test.read().await;
    assert_eq!(page.all_series("DCGM_FI_DEV_GPU_TEMP").len(), 3);
    assert_eq!(page.all_series("DCGM_FI_DEV_XID_ERRORS").len(), 4);
    assert_eq!(test.meter.call_count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn dcgm_exporter_disables_measurement() {
    let machine = inventory(4, false);
    let mut node = state(&machine, &NodeSharing::Exclusive, BTreeMap::new());
    let mut config = (*node.config).clone();
    config.metrics.gpus = false;
    node.config = Arc::new(config);
    let meter = Arc::new(FakeMeter::default());
    let (exporter, _state) = exporter(
        node,
        Vec::new(),
        Arc::clone(&meter),
        PluginMetrics::default(),
    );
    let text = exporter.scrape(None).await.text;
    assert!(!text.contains("DCGM_") && text.contains("gpuc_devices"));
    assert_eq!(meter.call_count.load(Ordering::SeqCst), 0);
}

/// The time limit of a measurement is one second.
#[tokio::test]
async fn hanging_gpu_loses_only_its_samples() {
    let test = TestExporter::new(&inventory(4, false), &NodeSharing::Exclusive, Vec::new());
    test.meter.hang(&[2]);
    let start = Instant::now();
    let page = test.read().await;
    assert!(start.elapsed() < Duration::from_secs(5), "the scrape hangs");
    assert_eq!(
        page.all_series("DCGM_FI_DEV_GPU_TEMP").len(),
        2,
        "the GPUs before the hanging one"
    );
    let late = uuid(2);
    let late = [("gpu", late.as_str()), ("reason", "late")];
    tokio::time::sleep(Duration::from_millis(400)).await;
    let page = test.read().await;
    assert_eq!(
        page.all_series("DCGM_FI_DEV_GPU_TEMP").len(),
        3,
        "all GPUs except the hanging one"
    );
    assert_eq!(
        page.values_with_labels("gpuc_missed_samples_total", &late),
        [2.0]
    );
    let calls = test.meter.call_count.load(Ordering::SeqCst);
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(400)).await;
        test.read().await;
    }
    let more_calls = test.meter.call_count.load(Ordering::SeqCst) - calls;
    assert_eq!(more_calls, 9, "the hanging GPU is not queried again");
    test.meter.hang(&[]);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let page = test.read().await;
    assert_eq!(
        page.all_series("DCGM_FI_DEV_GPU_TEMP").len(),
        4,
        "the GPU responds again"
    );
}

#[tokio::test]
async fn concurrent_scrapes_share_a_measurement() {
    let test = TestExporter::new(&inventory(4, false), &NodeSharing::Exclusive, Vec::new());
    test.meter.hang(&[3]);
    let (first, second, third) = tokio::join!(test.read(), test.read(), test.read());
    for page in [first, second, third] {
        assert_eq!(page.all_series("DCGM_FI_DEV_GPU_TEMP").len(), 3);
    }
    assert_eq!(test.meter.call_count.load(Ordering::SeqCst), 4);
    assert!((test.read().await.single_value("gpuc_missed_samples_total") - 1.0).abs() < 1e-9);
    test.meter.hang(&[]);
}

#[tokio::test]
async fn hanging_kubelet_does_not_delay_scrapes() {
    let machine = inventory(1, false);
    let (_sender, receiver) = watch::channel(Arc::new(state(
        &machine,
        &NodeSharing::Exclusive,
        BTreeMap::new(),
    )));
    let sources = MetricSources {
        state: receiver,
        nvml: Arc::new(FakeMeter::default()),
        pods: Box::new(|| Box::pin(std::future::pending())),
        hostname: "a".into(),
    };
    let second = Duration::from_secs(1);
    let exporter = Exporter::start(sources, PluginMetrics::default(), second, second);
    let start = Instant::now();
    let page = parse(&exporter.scrape(None).await.text, false);
    assert!(start.elapsed() < Duration::from_secs(8), "the scrape hangs");
    assert_eq!(page.all_series("DCGM_FI_DEV_GPU_TEMP").len(), 1);
}

#[tokio::test]
async fn scrapes_share_a_query_of_the_kubelet() {
    let machine = inventory(1, false);
    let (_sender, receiver) = watch::channel(Arc::new(state(
        &machine,
        &NodeSharing::Exclusive,
        BTreeMap::new(),
    )));
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let sources = MetricSources {
        state: receiver,
        nvml: Arc::new(FakeMeter::default()),
        pods: pod_lister(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            std::future::ready(None)
        }),
        hostname: "a".into(),
    };
    let second = Duration::from_secs(1);
    let exporter = Exporter::start(sources, PluginMetrics::default(), second, second);
    let start = Instant::now();
    for _ in 0..100 {
        let page = parse(&exporter.scrape(None).await.text, false);
        assert_eq!(page.all_series("DCGM_FI_DEV_GPU_TEMP").len(), 1);
    }
    let intervals = start.elapsed().as_secs() / POD_CACHE_TIME.as_secs();
    let calls = calls.load(Ordering::SeqCst);
    assert!(calls as u64 <= intervals + 1, "{calls} in {intervals}");
}

#[tokio::test]
async fn daemon_counters_are_exported() {
    let machine = inventory(8, false);
    let test = TestExporter::new(&machine, &NodeSharing::Exclusive, Vec::new());
    let plugin = &test.plugin;
    plugin.count_registration_failure("nvidia.com/gpu");
    plugin.record_allocation("nvidia.com/gpu", Duration::from_micros(70));
    plugin.record_allocation("nvidia.com/gpu", Duration::from_secs(5));
    plugin.record_refusal("nvidia.com/gpu", "unhealthy", Duration::from_micros(20));
    plugin.record_preferred_allocation(Duration::from_micros(10));
    plugin.count_rescan(true);
    plugin.count_rescan(false);
    plugin.set_config_hash("aaaa");
    plugin.set_config_hash("bbbb");
    plugin.count_rejected_config();
    plugin.record_health_event(&machine, &event(0, NvmlEventKind::SingleBitEcc), 1);
    plugin.record_health_event(
        &machine,
        &HealthEvent::Watch(WatchReport::Failed(lost_gpu_error())),
        1,
    );
    let reaction = Reaction {
        became_unhealthy: vec![(uuid(1), "Xid 79".into())],
        recovered: vec![uuid(2)],
        ..Reaction::default()
    };
    let unwatched = [
        (5, lost_gpu_error()),
        (6, lost_gpu_error()),
        (7, nvml_error(NvmlErrorKind::NotSupported, "no events")),
    ]
    .into();
    plugin.count_transitions(&reaction);
    plugin.set_monitoring(&Monitoring::Up { unwatched });
    let page = test.read().await;
    let numbers = [
        ("gpuc_registration_failures_total", 1.0),
        ("gpuc_allocations_total", 2.0),
        ("gpuc_allocation_refusals_total", 1.0),
        ("gpuc_allocate_duration_seconds_count", 3.0),
        ("gpuc_preferred_allocation_duration_seconds_count", 1.0),
        ("gpuc_rescans_total", 2.0),
        ("gpuc_rescan_errors_total", 1.0),
        ("gpuc_config_generation", 2.0),
        ("gpuc_config_last_reload_successful", 0.0),
        ("gpuc_config_hash", 1.0),
        ("gpuc_ecc_errors_total", 1.0),
        ("gpuc_monitoring_failures_total", 1.0),
        ("gpuc_monitoring_up", 1.0),
        ("gpuc_build_info", 1.0),
    ];
    for (name, number) in numbers {
        assert!((page.single_value(name) - number).abs() < 1e-9, "{name}");
    }
    for (reason, count) in [("error", 2.0), ("not_supported", 1.0)] {
        assert_eq!(
            page.values_with_labels("gpuc_unmonitored_gpus", &[("reason", reason)]),
            [count]
        );
    }
    assert_eq!(
        page.values_with_labels("gpuc_config_hash", &[("hash", "bbbb")]),
        [1.0]
    );
    let to = |to| page.values_with_labels("gpuc_health_transitions_total", &[("to", to)]);
    assert_eq!((to("unhealthy"), to("healthy")), (vec![1.0], vec![1.0]));
    let buckets = page.all_series("gpuc_allocate_duration_seconds_bucket");
    let below = |bound| buckets.iter().find(|(labels, _)| labels["le"] == bound);
    assert_eq!(below("0.00005").map(|it| it.1), Some(1.0));
    assert_eq!(below("+Inf").map(|it| it.1), Some(3.0));
}
