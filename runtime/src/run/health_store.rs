//! The health records in a file, so that a daemon that crashes or is killed does not forget an error that the driver
//! reports only once.
//!
//! The file belongs to the pod: it is in an `emptyDir` volume, which a restart of the container keeps and the deletion
//! of the pod discards. An operator who has reset a GPU deletes the pod, as before.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::health::{Health, Records};

/// The name of the file.
const FILE: &str = "health.json";

/// The version of the file's format. Records of other versions are discarded.
const VERSION: u32 = 1;

/// Maximum size of the file in bytes; many times the records of 16 GPUs with seven MIG devices each.
const MAX_SIZE: u64 = 1 << 20;

/// Maximum delay before repeated errors of an unhealthy device are stored, and before a failed write is retried.
const SAVE_DELAY: Duration = Duration::from_secs(1);

/// The file of the health records, and the clock of their times: milliseconds since the machine booted.
pub struct HealthStore {
    /// The file; without one, nothing is stored.
    path: Option<PathBuf>,
    /// Identifies the boot of the machine.
    boot_id: String,
    /// The start of the daemon in milliseconds since the machine booted.
    started_at_millis: u64,
    started_at: Instant,
    /// The records in the file.
    saved: Records,
    save_at: Option<Instant>,
    /// The last error, which is logged once.
    error: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<R> {
    version: u32,
    boot_id: String,
    records: R,
}

/// What documents of all versions have.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl HealthStore {
    /// Creates a store in this folder, if any. `proc` is the mount point of procfs.
    pub fn new(folder: Option<&Path>, proc: &Path) -> Self {
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            error!(
                "the health of the GPUs is not stored: {} is not a directory",
                folder.display()
            );
        }
        let boot_id = fs::read_to_string(proc.join("sys/kernel/random/boot_id"));
        let now = clock_gettime(ClockId::Boottime);
        let now = Duration::try_from(now).unwrap_or_default();
        Self {
            path: folder.map(|folder| folder.join(FILE)),
            boot_id: boot_id.unwrap_or_default().trim().to_owned(),
            started_at_millis: millis(now),
            started_at: Instant::now(),
            saved: Records::default(),
            save_at: None,
            error: None,
        }
    }

    /// Returns the milliseconds since the machine booted.
    pub(super) fn now(&self) -> u64 {
        self.started_at_millis
            .saturating_add(millis(self.started_at.elapsed()))
    }

    /// Converts milliseconds since the machine booted.
    pub(super) fn instant(&self, at: u64) -> Instant {
        self.started_at + Duration::from_millis(at.saturating_sub(self.started_at_millis))
    }

    /// Restores the records of a previous process in the same pod. Records that cannot be used are discarded: the
    /// driver is queried anyway.
    pub(super) fn restore(&mut self, health: &mut Health) {
        let Some(path) = &self.path else {
            return;
        };
        let document = match read(path) {
            Ok(Some(document)) => document,
            Ok(None) => return,
            Err(error) => {
                warn!(
                    "the health records in {} are discarded: {error}",
                    path.display()
                );
                return;
            }
        };
        if document.boot_id != self.boot_id {
            info!("the health records are discarded: the machine has rebooted since");
            return;
        }
        self.saved = document.records.clone();
        health.restore(document.records, self.now());
        for (uuid, cause) in health.restored() {
            error!("{uuid} is still unhealthy since before the restart: {cause}");
        }
    }

    /// Stores changed records soon, or at the next [`HealthStore::save_due`] if the health of a device changed.
    pub(super) fn schedule(&mut self, health: &Health, is_urgent: bool) {
        if self.path.is_some() && self.saved != *health.records() {
            let delay = if is_urgent {
                Duration::ZERO
            } else {
                SAVE_DELAY
            };
            let at = Instant::now() + delay;
            self.save_at = Some(self.save_at.map_or(at, |before| before.min(at)));
        }
    }

    /// Stores scheduled records, before the daemon exits.
    pub(super) fn flush(&mut self, health: &Health) {
        self.save_at = self.save_at.map(|_| Instant::now());
        self.save_due(health);
    }

    /// Returns when the records must be stored.
    pub(super) fn save_at(&self) -> Option<Instant> {
        self.save_at
    }

    /// Stores the records if it is time.
    pub(super) fn save_due(&mut self, health: &Health) {
        let Some(path) = self
            .path
            .as_ref()
            .filter(|_| self.save_at.is_some_and(|at| at <= Instant::now()))
        else {
            return;
        };
        self.save_at = None;
        let document = Document {
            version: VERSION,
            boot_id: self.boot_id.clone(),
            records: health.records(),
        };
        match write(path, &document) {
            Ok(()) => {
                self.saved = health.records().clone();
                self.error = None;
            }
            Err(error) => {
                let error = format!(
                    "cannot store the health records in {}: {error}",
                    path.display()
                );
                if self.error.as_ref() != Some(&error) {
                    error!("{error}");
                    self.error = Some(error);
                }
                self.save_at = Some(Instant::now() + SAVE_DELAY);
            }
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Reads the file; `None` if there is none.
fn read(path: &Path) -> Result<Option<Document<Records>>, String> {
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| error.to_string())?,
    };
    let mut text = Vec::new();
    file.take(MAX_SIZE)
        .read_to_end(&mut text)
        .map_err(|error| error.to_string())?;
    let parsed = serde_json::from_slice::<Version>(&text).map_err(|error| error.to_string())?;
    let version = parsed.version;
    if version != VERSION {
        return Err(format!("they have version {version}, not {VERSION}"));
    }
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| error.to_string())
}

/// Replaces the file atomically: a process that is killed meanwhile leaves the previous records.
fn write(path: &Path, document: &Document<&Records>) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    fs::write(&temporary, serde_json::to_vec(document)?)?;
    fs::rename(temporary, path)
}
