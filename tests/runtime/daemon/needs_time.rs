//! Memory, threads and open files of the daemon do not grow over time.

use std::fs;
use std::time::{Duration, Instant};

use gpuc_runtime::kubelet::api::v1beta1::{AllocateRequest, ContainerAllocateRequest};

use super::{GPU, H100, Node, to_strings};

/// The resources that a process uses.
#[derive(Clone, Copy, Debug)]
struct ProcessSize {
    /// `VmRSS`.
    kib: u64,
    threads: u64,
    files: usize,
}

impl ProcessSize {
    fn of_process(process: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let number = line.unwrap().split_whitespace().next().unwrap();
            number.parse().unwrap()
        };
        Self {
            kib: number("VmRSS:"),
            threads: number("Threads:"),
            files: fs::read_dir(format!("/proc/{process}/fd")).unwrap().count(),
        }
    }

    /// Waits until idle threads have ended and connections are closed.
    async fn of_idle_daemon(node: &Node) -> Self {
        tokio::time::sleep(Duration::from_secs(12)).await;
        Self::of_process(node.id())
    }

    /// Fails if the daemon leaks memory, threads or files. A few additional pages of memory are not a leak.
    #[expect(clippy::print_stdout, reason = "the numbers help to judge a failure")]
    fn assert_no_growth(self, before: Self, what: &str, elapsed: Duration) {
        println!("{what} in {elapsed:?}: {before:?}, then {self:?}");
        assert!(self.kib <= before.kib + 1_024, "{what}: memory grows");
        // The discovery that runs every minute keeps a thread for ten seconds.
        assert!(self.threads <= before.threads + 1, "{what}: threads grow");
        assert!(self.files <= before.files, "{what}: open files grow");
    }
}

async fn allocate_repeatedly(node: &Node, times: usize) {
    let mut plugin = node.kubelet.plugin(GPU).await;
    for count in 0..times {
        let id = format!("GPU-{}", count % 8);
        let request = AllocateRequest {
            container_requests: vec![ContainerAllocateRequest {
                devices_ids: to_strings(&[&id]),
            }],
        };
        plugin.allocate(request).await.unwrap();
    }
}

async fn restart_kubelet_repeatedly(node: &mut Node, times: usize) {
    for _ in 0..times {
        node.kubelet.restart().await;
        node.kubelet.wait_for_registration(GPU).await;
    }
}

/// Makes every GPU unhealthy and lets it recover, this number of times.
async fn fail_and_recover_repeatedly(node: &mut Node, times: usize) {
    for _ in 0..times {
        node.driver.set("gpu.recovery_action", "1");
        for gpu in 0..8 {
            node.driver.event(&format!("{gpu} xid 94"));
        }
        node.wait_for_devices(GPU, 8, 0).await;
        node.driver.set("gpu.recovery_action", "0");
        for gpu in 0..8 {
            node.driver.event(&format!("{gpu} recovery"));
        }
        node.wait_for_devices(GPU, 8, 8).await;
        // The fake driver stores its events in the daemon's memory.
        node.driver.clear_events();
    }
}

#[tokio::test]
#[ignore = "takes minutes"]
async fn two_hundred_thousand_allocations_do_not_leak() {
    let node = Node::running(H100).await;
    allocate_repeatedly(&node, 5_000).await;
    let before = ProcessSize::of_idle_daemon(&node).await;
    let start = Instant::now();
    allocate_repeatedly(&node, 200_000).await;
    let elapsed = start.elapsed();
    ProcessSize::of_idle_daemon(&node).await.assert_no_growth(
        before,
        "200,000 allocations",
        elapsed,
    );
}

#[tokio::test]
#[ignore = "takes minutes"]
async fn thousand_kubelet_restarts_do_not_leak() {
    let mut node = Node::running(H100).await;
    restart_kubelet_repeatedly(&mut node, 50).await;
    let before = ProcessSize::of_idle_daemon(&node).await;
    let start = Instant::now();
    restart_kubelet_repeatedly(&mut node, 1_000).await;
    let elapsed = start.elapsed();
    ProcessSize::of_idle_daemon(&node)
        .await
        .assert_no_growth(before, "1,000 restarts", elapsed);
    let seen = node.kubelet.seen();
    assert_eq!(
        seen.registrations.len(),
        1 + 50 + 1_000,
        "one registration per restart"
    );
}

/// 50,000 errors a second for ten seconds, first of a kind that is ignored, then of one that makes its GPU unhealthy.
/// NVIDIA's plugin has an unbounded queue.
#[tokio::test]
#[ignore = "takes minutes"]
#[expect(clippy::print_stdout, reason = "the numbers help to judge a failure")]
async fn storm_of_errors_affects_one_gpu() {
    let mut node = Node::running(H100).await;
    node.wait_until_monitoring().await;
    let before = ProcessSize::of_idle_daemon(&node).await;
    node.driver.set("storm_per_second", "50000");
    for (xid, healthy) in [(31, 8), (94, 7)] {
        node.driver.set("storm", &format!("0 xid {xid}"));
        node.wait_for_devices(GPU, 8, healthy).await;
        let (start, first) = (Instant::now(), xid_count(&node, xid).await);
        let queries_before = queries(&node);
        while start.elapsed() < Duration::from_secs(10) {
            node.wait_for_response("/healthz", 200, "ok").await;
            node.allocate(GPU, &["GPU-1"]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let count = xid_count(&node, xid).await - first;
        let rate = count / start.elapsed().as_secs_f64();
        let queried = queries(&node) - queries_before;
        let during = ProcessSize::of_process(node.id());
        println!("Xid {xid}: {rate:.0} a second, {queried} queries; {before:?}, then {during:?}");
        // Five in a second, and those of all GPUs each 5 s.
        assert!(queried < 10 * 12, "{queried} queries");
        assert!(rate > 1_000.0, "{rate} a second");
        assert!(
            during.kib <= before.kib + 8 * 1_024,
            "memory grows: {during:?}"
        );
    }
    // An error of another GPU is noticed meanwhile.
    node.driver.event("6 xid 94");
    let seen = node.wait_for_devices(GPU, 8, 6).await;
    assert!(!seen.healthy().contains(&"GPU-6"), "{seen:?}");
    let lines = node.log().lines().count();
    assert!(lines < 100, "{lines} lines of log");
    node.driver.unset("storm");
    node.wait_for_devices(GPU, 8, 8).await;
}

/// The number of queries of the condition of a GPU.
fn queries(node: &Node) -> usize {
    node.driver.calls("nvmlDeviceGetRemappedRows")
}

/// The number of errors with this number that the daemon has counted.
async fn xid_count(node: &Node, xid: u32) -> f64 {
    let metrics = node.metrics().await;
    let number = xid.to_string();
    let counts = metrics.values_with_labels("gpuc_xid_errors_total", &[("xid", &number)]);
    counts.iter().sum()
}

/// The quiet time is zero, because it doubles with every recurrence within a day.
#[tokio::test]
#[ignore = "takes minutes"]
async fn thousand_gpu_faults_do_not_leak() {
    let mut node = Node::new(H100);
    node.config["health"] = serde_json::json!({"watch": true, "quietSeconds": 0});
    node.configure();
    node.start_all().await;
    node.wait_until_monitoring().await;
    fail_and_recover_repeatedly(&mut node, 20).await;
    let before = ProcessSize::of_idle_daemon(&node).await;
    let start = Instant::now();
    fail_and_recover_repeatedly(&mut node, 125).await;
    let elapsed = start.elapsed();
    ProcessSize::of_idle_daemon(&node)
        .await
        .assert_no_growth(before, "1,000 faults", elapsed);
    let metrics = node.metrics().await;
    let recoveries =
        metrics.values_with_labels("gpuc_health_transitions_total", &[("to", "healthy")]);
    assert_eq!(recoveries, [145.0; 8]);
}
