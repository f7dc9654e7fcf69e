//! What each alert means and what to do about it: one table for annotations, `docs/alerts.md` and `gpuc explain`.

use gpuc_schema::config::AlertName;

/// How much an alert matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Somebody has to act now.
    Critical,
    /// Somebody has to look today.
    Warning,
    /// Somebody may want to know.
    Info,
}

impl Severity {
    /// The value of the label `severity`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// What is to be known of an alert.
#[derive(Debug)]
pub struct Page {
    /// How much it matters.
    pub severity: Severity,
    /// When it fires, in words.
    pub when: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do.
    pub action: &'static str,
}

use Severity::{Critical, Info, Warning};

/// The page of an alert.
pub fn page(name: AlertName) -> &'static Page {
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
    }
}

static TEMPERATURE_HIGH: Page = Page {
    severity: Warning,
    when: "A GPU is hotter than `temperatureCelsius` for 5 minutes.",
    meaning: "Cooling does not keep up with the load. A GPU that gets hotter slows itself down.",
    action: "`nvidia-smi -q -d TEMPERATURE,PERFORMANCE` on the node says how far the card is from slowing down, and whether \
             it does already. That differs from card to card, and `temperatureCelsius` is one number for all: set it to \
             what suits yours. Then compare with the other GPUs of the node and of the rack: one hot GPU has a cooling \
             problem of its own, a hot node a fan or an air duct, a hot rack the room. In a cloud, move the work to \
             another node and report this one.",
};

static TEMPERATURE_CRITICAL: Page = Page {
    severity: Critical,
    when: "A GPU is hotter than `temperatureCelsius` and 5 degrees for 2 minutes.",
    meaning: "The GPU is about to slow down or to switch itself off.",
    action: "Drain the node (`kubectl drain <node> --ignore-daemonsets --delete-emptydir-data`), and look at its fans and \
             air; in a cloud, replace it. Do not wait for the GPU to protect itself: its jobs end then.",
};

static MEMORY_NEARLY_FULL: Page = Page {
    severity: Warning,
    when: "More than `memoryUsedPercent` of the memory of a GPU or slice is in use for 10 minutes.",
    meaning: "The next allocation may fail. Servers that take all memory at their start look like this when all is well.",
    action: "Look at the pod that holds the GPU: `gpuc:gpu_holder` with the alert's `UUID` and `GPU_I_ID` names it. If it is made to fill the memory, raise `memoryUsedPercent` or disable \
             the alert; if not, give it a larger slice, fewer neighbours or a smaller batch.",
};

static POWER_HIGH: Page = Page {
    severity: Warning,
    when: "A GPU draws more than `powerWatts` for 10 minutes. Without that key there is no such alert.",
    meaning: "The GPU draws more than was planned for.",
    action: "Compare with the limit that `nvidia-smi -q -d POWER` shows on the node, and with what the rack may draw. If that \
             is less, lower the limit (`nvidia-smi --power-limit=<watts>`, until the next restart); if the card is made \
             to draw as much, raise `powerWatts`.",
};

static XID_FATAL: Page = Page {
    severity: Critical,
    when: "The last critical error (Xid) of a GPU is one after which NVIDIA asks for a reset or a restart.",
    meaning: "The GPU is not to be trusted before it was reset. The metric keeps the last error until the exporter starts anew, so \
              the alert stays until the node was restarted or another error came.",
    action: "Cordon and drain the node. Keep the output of `nvidia-bug-report.sh`, then restart the node, or in a cloud \
             replace it. `nvidia-smi --gpu-reset` is enough where nothing else has the GPU open and no NVLink joins it to \
             others, but the exporter's pod must be made again for the alert to end. If the error comes back, send the \
             card in with that output.",
};

static XID: Page = Page {
    severity: Warning,
    when: "A critical error (Xid) appeared within the last hour that is neither a program's fault nor fatal.",
    meaning: "Something went wrong in the GPU, its memory or its links. The same error again right after is not seen: the \
              metric only knows the last one.",
    action: "Look the number up in NVIDIA's catalogue of Xids (<https://docs.nvidia.com/deploy/xid-errors/>), and at the \
             node's kernel log (`dmesg | grep NVRM`), which names the process and every error in between. If it comes \
             again, treat it as `GpuXidFatal`.",
};

static ECC_UNCORRECTABLE: Page = Page {
    severity: Critical,
    when: "A GPU counted a memory error that could not be corrected within the last hour.",
    meaning: "What was computed may be wrong, and the program that was hit was stopped.",
    action: "Tell the owner of the pod that was hit, drain the node and reset the GPU. Look at the remapped rows (`nvidia-smi -q -d ROW_REMAPPER`, or \
             `PAGE_RETIREMENT` before Ampere); with many of them, or a failed one, send the card in; in a cloud, replace the node.",
};

static ROWS_REMAPPED: Page = Page {
    severity: Warning,
    when: "A row of a GPU's memory was marked for replacement within the last day.",
    meaning: "The spare row takes the broken one's place at the next reset. Until then what runs may be hit again.",
    action: "Cordon the node, and when its pods are done reset the GPU (`nvidia-smi --gpu-reset`) or restart the node. \
             `nvidia-smi -q -d ROW_REMAPPER` then says that nothing is pending. The alert ends a day after the row was \
             marked.",
};

static ROW_REMAP_FAILED: Page = Page {
    severity: Critical,
    when: "A GPU says that a row of its memory could not be replaced.",
    meaning: "There are no spare rows left where one is needed. The card is broken.",
    action: "Drain the node and send the card in; in a cloud, replace the node. Until then the alert stays: the card \
             remembers it.",
};

static PCIE_REPLAYS: Page = Page {
    severity: Warning,
    when: "More than `pcieReplaysPerMinute` packets a minute had to be sent again for 15 minutes.",
    meaning: "The link between the GPU and its host is bad. It works, and slowly.",
    action: "Compare the link's width and speed with its siblings while they work, since idle links slow down \
             (`nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.width.current --format=csv`). Then drain the \
             node and reseat the card or its riser; in a cloud, replace the node.",
};

static IDLE: Page = Page {
    severity: Info,
    when: "A pod holds a GPU or slice that is busy for less than `idlePercent` of the time, for `idleMinutes`. With \
           `exporter: gpuc` there is no such alert for slices: the driver does not tell how busy they are.",
    meaning: "Somebody pays for a GPU that nobody uses: a notebook that was left, a job that hangs, a server without \
              requests.",
    action: "Ask the namespace's owner. A hanging job can be told from a slow one by the network and CPU of its pods.",
};

static UNHEALTHY: Page = Page {
    severity: Critical,
    when: "A node offers fewer GPUs than it has, for 10 minutes.",
    meaning: "The device plugin calls some of them ill, or it is not there. Nothing new is scheduled on them.",
    action: "If `GpuPluginDown` fires too, begin there. Otherwise look at the log of the plugin's pod on the node, and at \
             the alerts of its GPUs. With gpuc-runtime, the node's \
             condition `GPUsHealthy` and its events say why.",
};

static MISSING: Page = Page {
    severity: Critical,
    when: "A node has fewer of a GPU resource than its pool says, for 15 minutes.",
    meaning: "A GPU is gone from the node, the driver did not come up, or GPUs are shared or cut in another way than \
              written.",
    action: "Compare `nvidia-smi -L` on the node with the pool. A GPU that fell off the bus comes back with a restart or \
             not at all; a layout of slices that differs is for `gpuc-runtime inspect`.",
};

static PLUGIN_DOWN: Page = Page {
    severity: Critical,
    when: "The device plugin's DaemonSet is not ready on every node it is wanted on, or wanted on fewer nodes than the \
           pool has at least, for 10 minutes.",
    meaning: "GPUs of such a node cannot be given to new pods. Those that run go on.",
    action: "The alert's labels name the DaemonSet: `kubectl --namespace <namespace> get pods --output wide` shows the pod \
             that is not ready; its events (`kubectl describe pod`) and its log say why. If fewer are wanted than the pool \
             has nodes, its tolerations or node selector do not fit them, or the nodes are not there.",
};

static EXPORTER_DOWN: Page = Page {
    severity: Warning,
    when: "The exporter's DaemonSet is not ready on every node it is wanted on, or Prometheus cannot scrape it, for 10 \
           minutes.",
    meaning: "Nobody watches the GPUs of such a node: the other alerts stay quiet whatever happens there.",
    action: "Look at the events and the log of the exporter's pod on the node. If it is well, Prometheus' page of targets \
             says why it cannot be scraped: a network policy lets in the pods of Prometheus alone.",
};

static NODE_WITHOUT_METRICS: Page = Page {
    severity: Warning,
    when: "A node has GPUs and no metrics of them came in for 10 minutes.",
    meaning: "No exporter runs there, or it does not see the GPUs. The other alerts stay quiet whatever happens there.",
    action: "Look whether an exporter's pod is on the node, and at its log. A node of no pool of the file has none.",
};

static HEALTH_UNWATCHED: Page = Page {
    severity: Warning,
    when: "gpuc-runtime does not hear of the driver's errors for 10 minutes.",
    meaning: "GPUs that fall ill go on being offered to pods.",
    action: "Look at the log of gpuc-runtime's pod on the node, which says what the driver answered; restart the pod once. If \
             that does not help, cordon the node, since GPUs that fail there stay on offer: driver and program may not \
             fit each other.",
};

static CONFIGURATION_REFUSED: Page = Page {
    severity: Warning,
    when: "gpuc-runtime refused its configuration 5 minutes ago and works with the last good one.",
    meaning: "What was changed in the file has no effect on the node yet. gpuc-runtime may be older than the compiler.",
    action: "The log of its pod names the key. Update `stack.runtimeImage` where that is the cause.",
};

static QUOTA_NEARLY_USED: Page = Page {
    severity: Info,
    when: "A namespace uses `quotaUsedPercent` or more of a quota of GPUs for 15 minutes.",
    meaning: "Its next pods will be refused.",
    action: "Look for idle GPUs of the namespace (`GpuIdle`), then raise the quota or wait.",
};
