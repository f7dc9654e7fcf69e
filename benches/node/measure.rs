//! Measures one machine.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gpuc_runtime::device::discover;
use gpuc_runtime::kubelet::api::v1beta1::{
    AllocateRequest, ContainerAllocateRequest, ContainerPreferredAllocationRequest,
    PreferredAllocationRequest,
};

use crate::BenchOptions;
use crate::machine::{Scenario, ScenarioFiles};
use crate::process::{Memory, Process};
use crate::simulated_kubelet::{Kubelet, Plugin};

/// How often each size is asked for, as long as the answers take less than [`PREFERRED_TIME`].
const PREFERRED_REPETITIONS: usize = 20;

/// The time after which a size is not asked for again.
const PREFERRED_TIME: Duration = Duration::from_secs(1);

/// The largest size that is asked for.
const MAX_PREFERRED_SIZE: usize = 16;

/// What was measured of a machine.
#[derive(Default)]
pub(crate) struct Measurement {
    pub(crate) name: &'static str,
    /// Until the kubelet knew all resources.
    pub(crate) registered: Duration,
    /// The same, of the fastest start: what the others add is waiting for a processor.
    pub(crate) fastest_registration: Duration,
    /// Until it had a list of each.
    pub(crate) listed: Duration,
    /// The processor time until the kubelet knew all resources.
    pub(crate) start_cpu: Duration,
    /// What this process needs to open the same driver and read the GPUs.
    pub(crate) driver_read_time: Duration,
    pub(crate) idle: Memory,
    pub(crate) threads: usize,
    /// How often something woke a thread while the daemon was left alone.
    pub(crate) wakeups: u64,
    /// The processor time for a minute of that.
    pub(crate) idle_cpu: Duration,
    /// All answers, fastest first.
    pub(crate) allocations: Vec<Duration>,
    /// All answers while every processor is busy, fastest first.
    pub(crate) busy_allocations: Vec<Duration>,
    pub(crate) cpu_per_allocation: Duration,
    /// The median of each size, from 1 on.
    pub(crate) preferred: Vec<Duration>,
    /// What the driver was asked for all these answers, if it was recorded.
    pub(crate) driver_calls: Option<usize>,
    /// What the driver was asked until the kubelet knew all resources.
    pub(crate) registration_calls: usize,
    pub(crate) loaded: Memory,
}

/// Measures a machine, from start to load.
pub(crate) async fn measure(plan: &BenchOptions, machine: &Scenario) -> Measurement {
    let mut place = machine.set_up();
    let mut starts = Vec::new();
    let mut last = None;
    for _ in 0..plan.starts {
        if let Some((daemon, _)) = last.take() {
            drop::<Daemon>(daemon);
        }
        let (start, daemon, kubelet) = start_and_measure(plan, machine, &place).await;
        starts.push(start);
        last = Some((daemon, kubelet));
    }
    let (daemon, kubelet) = last.unwrap();
    let process = Process::new(daemon.0.id());
    let median_of =
        |part: fn(&StartMeasurement) -> Duration| median(starts.iter().map(part).collect());
    let mut column = Measurement {
        name: machine.name,
        registered: median_of(|it| it.registered),
        fastest_registration: starts.iter().map(|it| it.registered).min().unwrap(),
        listed: median_of(|it| it.listed),
        start_cpu: median_of(|it| it.cpu),
        ..Measurement::default()
    };
    if !machine.is_minimal_plugin() {
        column.driver_read_time =
            median((0..plan.starts).map(|_| measure_driver(&place)).collect());
    }
    // What follows from the start has ended by then.
    tokio::time::sleep(Duration::from_secs(1).min(plan.idle)).await;
    let before = process.voluntary_switches();
    let idle_before = process.cpu();
    tokio::time::sleep(plan.idle).await;
    let idle_cpu = process.cpu().saturating_sub(idle_before);
    column.idle_cpu = idle_cpu.mul_f64(60.0 / plan.idle.as_secs_f64());
    let sleeps = process.voluntary_switches().into_iter();
    column.wakeups = sleeps
        .map(|(thread, after)| after - before.get(&thread).unwrap_or(&0))
        .sum();
    column.threads = process.threads().len();
    column.idle = process.memory();

    // The record of a call takes longer than the call, so calls are not recorded while others are measured.
    if !machine.is_other_plugin() {
        place.record_driver_calls();
    }
    let resource = machine.resources[0];
    let ids: Vec<String> = kubelet
        .wait_for_registration(resource)
        .await
        .devices
        .into_iter()
        .map(|it| it.id)
        .collect();
    let mut plugin = kubelet.plugin(resource).await;
    let cpu = process.cpu();
    column.allocations = measure_allocations(&mut plugin, &ids, plan.allocations).await;
    let spent = process.cpu().saturating_sub(cpu);
    column.cpu_per_allocation = spent / u32::try_from(plan.allocations).unwrap();
    for size in 1..=ids.len().min(MAX_PREFERRED_SIZE) {
        column
            .preferred
            .push(measure_preferred(&mut plugin, &ids, size).await);
    }
    if !machine.is_other_plugin() {
        column.driver_calls = Some(place.driver_call_count());
    }
    column.loaded = process.memory();
    let load = BusyProcessors::start();
    column.busy_allocations = measure_allocations(&mut plugin, &ids, plan.allocations / 4).await;
    drop(load);
    drop((daemon, kubelet));
    place.record_driver_calls();
    let (_, _daemon, _kubelet) = start_and_measure(plan, machine, &place).await;
    column.registration_calls = place.driver_call_count() - column.driver_calls.unwrap_or(0);
    column
}

/// Threads that compute, one for each processor, until this is dropped.
struct BusyProcessors {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyProcessors {
    fn start() -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let count = std::thread::available_parallelism().unwrap().get();
        let compute = |_| {
            let end = Arc::clone(&end);
            std::thread::spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        Self {
            threads: (0..count).map(compute).collect(),
            end,
        }
    }
}

impl Drop for BusyProcessors {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

/// A daemon that ends with this.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

struct StartMeasurement {
    registered: Duration,
    listed: Duration,
    cpu: Duration,
}

async fn start_and_measure(
    plan: &BenchOptions,
    machine: &Scenario,
    place: &ScenarioFiles,
) -> (StartMeasurement, Daemon, Kubelet) {
    let mut kubelet = Kubelet::new(&place.plugins);
    kubelet.start().await;
    let begin = Instant::now();
    let daemon = Daemon(machine.start(&plan.runtime, place));
    let instance = kubelet.instance;
    let known = |resource: &&&str, seen: &crate::simulated_kubelet::Seen| {
        seen.registrations_in(instance, resource) > 0
    };
    kubelet
        .wait_until("a registration", |seen| {
            machine.resources.iter().all(|it| known(&it, seen))
        })
        .await;
    let registered = begin.elapsed();
    let cpu = Process::new(daemon.0.id()).cpu();
    let listed =
        |resource: &&str, seen: &crate::simulated_kubelet::Seen| seen.resource(resource).lists > 0;
    kubelet
        .wait_until("a list", |seen| {
            machine.resources.iter().all(|it| listed(it, seen))
        })
        .await;
    let start = StartMeasurement {
        registered,
        listed: begin.elapsed(),
        cpu,
    };
    (start, daemon, kubelet)
}

/// Opens the driver and reads the GPUs, as the daemon does, in this process.
fn measure_driver(place: &ScenarioFiles) -> Duration {
    let begin = Instant::now();
    let driver = place.driver.open().unwrap();
    discover(&driver, &place.roots, None).unwrap();
    begin.elapsed()
}

async fn measure_allocations(plugin: &mut Plugin, ids: &[String], times: usize) -> Vec<Duration> {
    let mut took = Vec::with_capacity(times);
    for id in ids.iter().cycle().take(times) {
        let request = AllocateRequest {
            container_requests: vec![ContainerAllocateRequest {
                devices_ids: vec![id.clone()],
            }],
        };
        let begin = Instant::now();
        plugin.allocate(request).await.unwrap();
        took.push(begin.elapsed());
    }
    took.sort_unstable();
    took
}

async fn measure_preferred(plugin: &mut Plugin, ids: &[String], size: usize) -> Duration {
    let mut took = Vec::new();
    while took.len() < PREFERRED_REPETITIONS && took.iter().sum::<Duration>() < PREFERRED_TIME {
        let request = PreferredAllocationRequest {
            container_requests: vec![ContainerPreferredAllocationRequest {
                available_device_i_ds: ids.to_vec(),
                must_include_device_i_ds: Vec::new(),
                allocation_size: i32::try_from(size).unwrap(),
            }],
        };
        let begin = Instant::now();
        let answer = plugin.get_preferred_allocation(request).await.unwrap();
        took.push(begin.elapsed());
        let chosen = &answer.get_ref().container_responses[0].device_i_ds;
        assert_eq!(chosen.len(), size, "too few: {chosen:?}");
    }
    median(took)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
