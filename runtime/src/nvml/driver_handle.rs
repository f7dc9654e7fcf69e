//! A driver handle that may be empty: before the driver is loaded, and after it is unloaded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Condition, DriverInfo, GpuInfo, Link, Nvml, NvmlError, NvmlErrorKind, Sample, Watch};

/// A handle of the current driver, for callers that do not handle its absence.
#[derive(Clone, Default)]
pub struct DriverHandle {
    driver: Arc<Mutex<Option<Arc<dyn Nvml>>>>,
}

impl DriverHandle {
    /// Replaces the driver. With `None`, no handle of the last one is kept.
    pub fn set(&self, driver: Option<Arc<dyn Nvml>>) {
        *self.lock() = driver;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<dyn Nvml>>> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Result<Arc<dyn Nvml>, NvmlError> {
        self.lock().clone().ok_or_else(|| NvmlError {
            kind: NvmlErrorKind::NoDriver,
            message: "the driver is not loaded yet".to_owned(),
        })
    }
}

impl Nvml for DriverHandle {
    fn driver(&self) -> Result<DriverInfo, NvmlError> {
        self.current()?.driver()
    }

    fn gpu_count(&self) -> Result<u32, NvmlError> {
        self.current()?.gpu_count()
    }

    fn gpu(&self, index: u32) -> Result<GpuInfo, NvmlError> {
        self.current()?.gpu(index)
    }

    fn link(&self, one: u32, other: u32) -> Result<Link, NvmlError> {
        self.current()?.link(one, other)
    }

    fn condition(&self, index: u32) -> Result<Condition, NvmlError> {
        self.current()?.condition(index)
    }

    fn sample(&self, index: u32) -> Result<Sample, NvmlError> {
        self.current()?.sample(index)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError> {
        self.current()?.watch()
    }
}
