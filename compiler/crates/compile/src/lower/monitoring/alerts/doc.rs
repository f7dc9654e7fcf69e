//! The meaning of each alert and the required action: one table for annotations, `docs/alerts.md` and `gpuc explain`.

use gpuc_schema::config::AlertName;

/// The severity of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Requires immediate action.
    Critical,
    /// Requires attention within the day.
    Warning,
    /// Informational.
    Info,
}

impl Severity {
    /// The value of the label `severity`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// The documentation of an alert.
#[derive(Debug)]
pub struct AlertDoc {
    /// The severity.
    pub severity: Severity,
    /// The condition under which it fires, as a sentence.
    pub condition: &'static str,
    /// The meaning.
    pub meaning: &'static str,
    /// The required action.
    pub action: &'static str,
}

use Severity::{Critical, Info, Warning};

/// Returns the documentation of an alert.
pub fn alert_doc(name: AlertName) -> &'static AlertDoc {
    match name {
        AlertName::GpuTemperatureHigh => &TEMPERATURE_HIGH,
        AlertName::GpuTemperatureCritical => &TEMPERATURE_CRITICAL,
        AlertName::GpuMemoryNearlyFull => &MEMORY_NEARLY_FULL,
        AlertName::GpuPowerHigh => &POWER_HIGH,
        AlertName::GpuXidFatal => &XID_FATAL,
        AlertName::GpuXid => &XID,
        AlertName::GpuEccUncorrectable => &ECC_UNCORRECTABLE,
        AlertName::GpuRowsRemapped => &ROWS_REMAPPED,
        AlertName::GpuRowRemapFailed => &ROW_REMAP_FAILED,
        AlertName::GpuPcieReplays => &PCIE_REPLAYS,
        AlertName::GpuIdle => &IDLE,
        AlertName::GpuUnhealthy => &UNHEALTHY,
        AlertName::GpuMissing => &MISSING,
        AlertName::GpuPluginDown => &PLUGIN_DOWN,
        AlertName::GpuExporterDown => &EXPORTER_DOWN,
        AlertName::GpuNodeWithoutMetrics => &NODE_WITHOUT_METRICS,
        AlertName::GpuHealthUnwatched => &HEALTH_UNWATCHED,
        AlertName::GpuConfigurationRefused => &CONFIGURATION_REFUSED,
        AlertName::GpuQuotaNearlyUsed => &QUOTA_NEARLY_USED,
        AlertName::KubeStateMetricsAbsent => &STATE_METRICS_ABSENT,
    }
}

static TEMPERATURE_HIGH: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "A GPU is hotter than `temperatureCelsius` for 5 minutes.",
    meaning: "Cooling does not keep up with the load. A GPU that gets hotter reduces its clocks.",
    action: "Run `nvidia-smi -q -d TEMPERATURE,PERFORMANCE` on the node: it shows how close the GPU is to its \
             slowdown temperature, and whether it is throttled already. That temperature differs between GPU models, \
             and `temperatureCelsius` is one number for all of them: set it to a value that suits yours. Then compare \
             with the other GPUs of the node and of the rack. A single hot GPU has a cooling problem of its own. A \
             hot node has a problem with a fan or an air duct, a hot rack one with the room. In a cloud, move the \
             work to another node and report this one.",
};

static TEMPERATURE_CRITICAL: AlertDoc = AlertDoc {
    severity: Critical,
    condition: "A GPU is more than 5 degrees hotter than `temperatureCelsius` for 2 minutes.",
    meaning: "The GPU is about to reduce its clocks or to shut down.",
    action: "Drain the node (`kubectl drain <node> --ignore-daemonsets --delete-emptydir-data`), and check its fans \
             and airflow; in a cloud, replace the node. Do not wait for the GPU to protect itself: a shutdown ends \
             its jobs.",
};

static MEMORY_NEARLY_FULL: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "More than `memoryUsedPercent` of the memory of a GPU or MIG device is in use for 10 minutes.",
    meaning: "The next allocation may fail. Servers that allocate all memory at startup look like this in normal \
              operation.",
    action: "Find the pod that holds the GPU: the series `gpuc:gpu_holder` with the alert's `UUID` and `GPU_I_ID` \
             names it. If it is meant to fill the memory, raise `memoryUsedPercent` or disable the alert. Otherwise, \
             give it a larger MIG device, fewer replicas on the same GPU, or a smaller batch.",
};

static POWER_HIGH: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "A GPU draws more than `powerWatts` for 10 minutes. If that key is not set, this alert does not exist.",
    meaning: "The GPU draws more power than planned.",
    action: "Compare with the limit that `nvidia-smi -q -d POWER` shows on the node, and with the power budget of the \
             rack. If the budget is smaller, lower the limit (`nvidia-smi --power-limit=<watts>`, until the next \
             restart). If the GPU model is designed to draw as much, raise `powerWatts`.",
};

static XID_FATAL: AlertDoc = AlertDoc {
    severity: Critical,
    condition: "The last critical error (Xid) of a GPU is one after which NVIDIA requires a reset or a restart.",
    meaning: "The GPU is not reliable until it is reset. The metric keeps the last error until the exporter restarts, \
              so the alert fires until the node restarts or another error follows.",
    action: "Cordon and drain the node. Keep the output of `nvidia-bug-report.sh`, then restart the node; in a cloud, \
             replace it. `nvidia-smi --gpu-reset` is enough if no other process has the GPU open and no NVLink \
             connects it to other GPUs, but then the exporter's pod must be recreated to resolve the alert. If the \
             error recurs, return the GPU to its vendor with that output.",
};

static XID: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "A critical error (Xid) appeared within the last hour that is neither caused by a program nor fatal.",
    meaning: "An error occurred in the GPU, its memory or its links. An immediate repetition of the same error is not \
              visible: the metric only keeps the last one.",
    action: "Look the number up in NVIDIA's catalog of Xids (<https://docs.nvidia.com/deploy/xid-errors/>). Check \
             the node's kernel log (`dmesg | grep NVRM`), which names the process and every error in between. If the \
             error recurs, handle it like `GpuXidFatal`.",
};

static ECC_UNCORRECTABLE: AlertDoc = AlertDoc {
    severity: Critical,
    condition: "A GPU counted an uncorrectable memory error within the last hour.",
    meaning: "Results may be wrong, and the affected program was stopped.",
    action: "Notify the owner of the affected pod, drain the node and reset the GPU. Check the remapped rows \
             (`nvidia-smi -q -d ROW_REMAPPER`, or `PAGE_RETIREMENT` before Ampere). If there are many of them, or a \
             remapping failed, return the GPU to its vendor; in a cloud, replace the node.",
};

static ROWS_REMAPPED: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "A row of a GPU's memory was marked for remapping within the last day.",
    meaning: "The spare row replaces the faulty one at the next reset. Until then, running programs may be affected \
              again.",
    action: "Cordon the node. When its pods have finished, reset the GPU (`nvidia-smi --gpu-reset`) or restart the \
             node. Afterwards `nvidia-smi -q -d ROW_REMAPPER` shows no pending remapping. The alert resolves a day \
             after the row was marked.",
};

static ROW_REMAP_FAILED: AlertDoc = AlertDoc {
    severity: Critical,
    condition: "A GPU reports that remapping of a memory row has failed.",
    meaning: "No spare rows are left where one is required. The GPU is defective.",
    action: "Drain the node and return the GPU to its vendor; in a cloud, replace the node. Until then the alert \
             keeps firing: the GPU stores the failure.",
};

static PCIE_REPLAYS: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "More than `pcieReplaysPerMinute` PCIe packets a minute had to be retransmitted for 15 minutes.",
    meaning: "The PCIe link between the GPU and its host is unreliable. It works, but slowly.",
    action: "Compare the link's width and speed with those of the other GPUs under load, since idle links reduce \
             their speed (`nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.width.current --format=csv`). \
             Then drain the node and reseat the GPU or its riser; in a cloud, replace the node.",
};

static IDLE: AlertDoc = AlertDoc {
    severity: Info,
    condition: "A pod holds a GPU or MIG device that is busy for less than `idlePercent` of the time, for `idleMinutes`. \
           With `exporter: gpuc`, there is no such alert for MIG devices: the driver does not report their \
           utilization.",
    meaning: "An allocated GPU is not used: for example by a forgotten notebook, a hanging job, or a server without \
              requests.",
    action: "Ask the owner of the namespace. The network and CPU usage of its pods tells a hanging job from a slow \
             one.",
};

static UNHEALTHY: AlertDoc = AlertDoc {
    severity: Critical,
    condition: "A node advertises fewer GPUs as allocatable than it has, for 10 minutes.",
    meaning: "The device plugin reports some of them as unhealthy, or it does not run. The scheduler places no new \
              pods on them.",
    action: "If `GpuPluginDown` fires too, start there. Otherwise check the log of the plugin's pod on the node, and \
             the alerts of its GPUs. With gpuc-runtime, the node's condition `GPUsHealthy` and its events give the \
             reason.",
};

static MISSING: AlertDoc = AlertDoc {
    severity: Critical,
    condition: "A node has fewer or more of a GPU resource than its pool declares, for 15 minutes.",
    meaning: "A GPU is missing from the node, the driver did not start, or the GPUs are shared or partitioned in \
              another way than the file says: a change of the file has not taken effect on the node.",
    action: "Compare `nvidia-smi -L` on the node with the pool. A GPU that fell off the bus returns after a restart \
             or not at all. If the MIG geometry differs, run `gpuc-runtime inspect`.",
};

static PLUGIN_DOWN: AlertDoc = AlertDoc {
    severity: Critical,
    condition: "The device plugin's DaemonSet is not ready on every node it is scheduled to, or is scheduled to fewer \
           nodes than the pool's minimum, for 10 minutes.",
    meaning: "GPUs of such a node cannot be allocated to new pods. Running pods are not affected.",
    action: "The alert's labels name the DaemonSet: `kubectl --namespace <namespace> get pods --output wide` shows \
             the pod that is not ready. Its events (`kubectl describe pod`) and its log give the reason. If the \
             DaemonSet is scheduled to fewer nodes than the pool has, its tolerations or node selector do not match \
             them, or the nodes do not exist.",
};

static EXPORTER_DOWN: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "The exporter's DaemonSet is not ready on every node it is scheduled to, or Prometheus cannot scrape it, \
           for 10 minutes.",
    meaning: "There are no metrics of the GPUs of such a node, so the other alerts cannot fire for it.",
    action: "Check the events and the log of the exporter's pod on the node. If the pod is healthy, the page of \
             targets in Prometheus shows why the scrape fails: a NetworkPolicy allows only the pods of Prometheus.",
};

static NODE_WITHOUT_METRICS: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "A node has GPUs and Prometheus received no metrics of them for 10 minutes.",
    meaning: "No exporter runs there, or it does not find the GPUs. The other alerts cannot fire for this node.",
    action: "Check whether an exporter's pod runs on the node, and its log. A node that belongs to no pool of the \
             file has none.",
};

static HEALTH_UNWATCHED: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "gpuc-runtime receives no error events of a GPU, or of all GPUs, from the driver for 10 minutes.",
    meaning: "GPUs with errors are still advertised to pods, unless they stop responding.",
    action: "The condition `GPUsHealthy` of the node and the log of gpuc-runtime's pod there contain the driver's \
             response. Delete the pod once. If that does not help, cordon the node, since GPUs that fail there remain allocatable: \
             gpuc-runtime and the driver may not be compatible.",
};

static CONFIGURATION_REFUSED: AlertDoc = AlertDoc {
    severity: Warning,
    condition: "gpuc-runtime rejected its configuration 5 minutes ago and uses the last valid one.",
    meaning: "The change in the file has no effect on the node yet. gpuc-runtime may be older than the compiler.",
    action: "The log of its pod names the key. If the version is the cause, update `stack.runtimeImage`.",
};

static QUOTA_NEARLY_USED: AlertDoc = AlertDoc {
    severity: Info,
    condition: "A namespace uses `quotaUsedPercent` or more of a GPU quota for 15 minutes.",
    meaning: "The quota will reject its next pods.",
    action: "Look for idle GPUs in the namespace (`GpuIdle`), then raise the quota or wait.",
};

static STATE_METRICS_ABSENT: AlertDoc = AlertDoc {
    severity: Critical,
    condition: "Prometheus has no metrics of the nodes from kube-state-metrics for 10 minutes.",
    meaning: "Alerts about nodes, pools, DaemonSets, quotas and idle GPUs cannot fire: silence does not mean that they \
              are healthy.",
    action: "Check that kube-state-metrics runs, and the page of targets in Prometheus. If Prometheus is not part of \
             the file, it must scrape kube-state-metrics itself.",
};
