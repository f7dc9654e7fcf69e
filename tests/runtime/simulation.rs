//! A day of the daemon with random faults, in simulated time: every fault of a GPU becomes visible, no other GPU is
//! affected, everything recovers, and neither calls, threads nor memory grow.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

use gpuc_runtime::nvml::NvmlErrorKind;
use tokio::time::{Instant, advance};

use crate::hangs::Node;

/// Set in the process that runs the simulation: a process of its own, so that its memory can be measured.
const VARIABLE: &str = "GPUC_SIMULATION_SEED";

const DAY: Duration = Duration::from_hours(24);

const STEP: Duration = Duration::from_secs(1);

/// The time limit of driver calls.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The time within which a fault becomes visible: a query every 5 s, the time limit of its call, and a margin.
const DETECTION: Duration = Duration::from_secs(20);

/// The quiet time in seconds; it doubles up to six hours.
const QUIET_SECONDS: u64 = 60;

/// The maximum quiet time, and the time until the last query.
const RECOVERY: Duration = Duration::from_mins(6 * 60 + 20);

/// GPUs with faults of their own. The others only have those of the whole driver.
const FAULTY: std::ops::Range<u32> = 0..6;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// A GPU is off the bus.
    Lost(u32),
    /// Calls about a GPU do not return.
    Hung(u32),
    /// The driver is unloaded.
    NoDriver,
}

struct Simulation {
    node: Node,
    random: u64,
    start: Instant,
    /// The current faults: their start and end.
    faults: BTreeMap<Fault, (Instant, Instant)>,
    /// The last time at which the driver was unloaded, or loaded again.
    driver_changed_at: Option<Instant>,
    /// GPUs with an Xid, and when.
    xids: BTreeMap<u32, Instant>,
}

impl Simulation {
    /// A pseudorandom number below `limit` (xorshift64*, Marsaglia and Vigna).
    fn random(&mut self, limit: u64) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }

    /// Advances the clock by a second, and waits until the daemon has done what is due: its jobs have ended, except
    /// those that hang, and its watcher has received all events.
    async fn step(&mut self) {
        advance(STEP).await;
        self.settle().await;
    }

    async fn settle(&self) {
        let control = &self.node.control;
        let mut settled = 0;
        // Twice, because the result of a job can start another one.
        while settled < 2 {
            for _ in 0..16 {
                tokio::task::yield_now().await;
            }
            control.notify_clock();
            let is_settled =
                self.node.jobs.get() == control.hung_calls() && control.is_waiting_for_events();
            if is_settled {
                settled += 1;
            } else {
                settled = 0;
                // The clock of the runtime does not advance meanwhile.
                let pause = || std::thread::sleep(Duration::from_micros(20));
                tokio::task::spawn_blocking(pause).await.unwrap();
            }
        }
    }

    fn is_faulty(&self, gpu: u32) -> bool {
        let mut faults = self.faults.keys();
        faults.any(|it| *it == Fault::Lost(gpu) || *it == Fault::Hung(gpu))
    }

    /// Ends faults that are over, and sometimes begins one.
    fn change_faults(&mut self) {
        let now = Instant::now();
        let over = self.faults.iter().filter(|(_, (_, end))| *end <= now);
        let over: Vec<_> = over.map(|(fault, _)| *fault).collect();
        for fault in over {
            self.end(fault);
        }
        if self.random(60) != 0 {
            return;
        }
        let gpu = u32::try_from(self.random(u64::from(FAULTY.end))).unwrap();
        let duration = Duration::from_secs(1 + self.random(600));
        match self.random(8) {
            0 | 1 if !self.is_faulty(gpu) => {
                self.node.control.lose(gpu);
                self.begin(Fault::Lost(gpu), duration);
            }
            2 if !self.is_faulty(gpu) => {
                for function in ["gpu", "condition", "link"] {
                    self.node.control.hang(function, Some(gpu));
                }
                self.begin(Fault::Hung(gpu), duration);
            }
            3 if self.faults.is_empty() => {
                let kinds = [NvmlErrorKind::NoDriver, NvmlErrorKind::NoLibrary];
                let kind = kinds[usize::try_from(self.random(2)).unwrap()];
                self.node.control.fail_all(Some(kind));
                self.begin(Fault::NoDriver, duration);
                self.driver_changed_at = Some(now);
            }
            4 | 5 if self.node.control.is_watched(gpu) => {
                self.node.control.send_xid(gpu, 94, None);
                self.xids.insert(gpu, now);
            }
            6 => self.node.control.fail_wait(NvmlErrorKind::Other),
            _ => {}
        }
    }

    fn begin(&mut self, fault: Fault, duration: Duration) {
        let now = Instant::now();
        self.faults.insert(fault, (now, now + duration));
    }

    fn end(&mut self, fault: Fault) {
        self.faults.remove(&fault);
        match fault {
            Fault::Lost(gpu) => self.node.control.bring_back(gpu),
            // All hanging calls return; those of other GPUs hang again at once.
            Fault::Hung(_) => {
                self.node.control.release();
                let mut others = self.faults.keys().copied().collect::<Vec<_>>();
                others.retain(|it| matches!(it, Fault::Hung(_)));
                for other in others {
                    self.end(other);
                }
            }
            Fault::NoDriver => {
                self.node.control.fail_all(None);
                self.driver_changed_at = Some(Instant::now());
            }
        }
    }

    /// Checks the health of every GPU.
    fn check(&self) {
        let now = Instant::now();
        let at = now - self.start;
        let unhealthy = &self.node.state.borrow().unhealthy;
        let since = |at: Instant| now - at;
        for (fault, (start, _)) in &self.faults {
            let (Fault::Lost(gpu) | Fault::Hung(gpu)) = fault else {
                continue;
            };
            let is_visible = unhealthy.contains_key(&self.node.uuid(*gpu));
            assert!(
                is_visible || since(*start) < DETECTION,
                "{at:?}: {fault:?} is not visible"
            );
        }
        for (gpu, sent) in &self.xids {
            let visible = Duration::from_secs(2)..Duration::from_secs(QUIET_SECONDS);
            let is_visible = unhealthy.contains_key(&self.node.uuid(*gpu));
            assert!(
                is_visible || !visible.contains(&since(*sent)),
                "{at:?}: the Xid of {gpu}"
            );
        }
        let driver_changes = self.faults.contains_key(&Fault::NoDriver)
            || self
                .driver_changed_at
                .is_some_and(|at| since(at) < Duration::from_secs(40));
        for gpu in FAULTY.end..8 {
            let reason = unhealthy.get(&self.node.uuid(gpu));
            assert!(
                reason.is_none() || driver_changes,
                "{at:?}: GPU {gpu} is {reason:?}"
            );
        }
    }
}

/// The resident memory in KiB, and the number of threads.
fn process_size() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let number = line.unwrap().split_whitespace().next().unwrap();
        number.parse().unwrap()
    };
    (number("VmRSS:"), number("Threads:"))
}

#[expect(clippy::print_stdout, reason = "the numbers help to judge a failure")]
async fn simulate(seed: u64) {
    let node = Node::start_with(QUIET_SECONDS, CALL_TIMEOUT, |_| {});
    let mut simulation = Simulation {
        node,
        random: seed.max(1),
        start: Instant::now(),
        faults: BTreeMap::new(),
        driver_changed_at: None,
        xids: BTreeMap::new(),
    };
    while simulation.node.state.borrow().inventory.gpus.len() < 8 {
        simulation.step().await;
    }
    let (mut early, mut begun, mut hours) = (None, 0, 0);
    let mut calls = simulation.node.control.call_count();
    while simulation.start.elapsed() < DAY {
        let before = simulation.faults.len();
        simulation.change_faults();
        begun += usize::from(simulation.faults.len() > before);
        simulation.step().await;
        simulation.check();
        if simulation.start.elapsed() >= Duration::from_hours(hours + 1) {
            hours += 1;
            let total = simulation.node.control.call_count();
            // Eight queries each 5 s are 5,760; a discovery each minute and 2,000 for the faults are added.
            assert!(
                total - calls < 16_000,
                "hour {hours}: {} calls",
                total - calls
            );
            calls = total;
            early = early.or((hours == 4).then(process_size));
        }
    }
    let late = process_size();
    while let Some(fault) = simulation.faults.keys().next().copied() {
        simulation.end(fault);
    }
    let end = Instant::now() + RECOVERY;
    while Instant::now() < end {
        simulation.step().await;
    }
    let (kib, threads) = early.unwrap();
    println!(
        "seed {seed}: {begun} faults, {} Xids; {kib} KiB, {threads} threads, then {late:?}",
        simulation.xids.len()
    );
    assert!(begun > 200, "{begun} faults");
    let status = simulation.node.status.borrow().clone();
    assert_eq!(simulation.node.state.borrow().unhealthy, BTreeMap::new());
    assert_eq!((status.driver_error, status.monitoring_error), (None, None));
    assert_eq!(
        (status.overdue_calls, status.unmonitored_gpus),
        (vec![], vec![])
    );
    assert_eq!(simulation.node.control.subscription_count(), 1);
    assert_eq!(
        (
            simulation.node.jobs.get(),
            simulation.node.control.hung_calls()
        ),
        (0, 0)
    );
    assert!(
        late.0 < kib + 4_096,
        "memory grows from {kib} to {} KiB",
        late.0
    );
    // Each GPU and the driver can keep a thread.
    assert!(
        late.1 <= threads + 12,
        "threads grow from {threads} to {}",
        late.1
    );
}

/// Runs the simulation of several days, each in a process of its own.
#[test]
#[ignore = "takes minutes"]
fn day_with_random_faults_needs_time() {
    for seed in [1, 2] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "simulation::simulated_day", "--nocapture"])
            .env(VARIABLE, seed.to_string());
        assert!(command.status().unwrap().success(), "seed {seed}");
    }
}

/// The simulation of one day; without a seed, nothing.
#[tokio::test(start_paused = true)]
async fn simulated_day() {
    if let Ok(seed) = std::env::var(VARIABLE) {
        simulate(seed.parse().unwrap()).await;
    }
}
