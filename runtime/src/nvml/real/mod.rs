//! The real driver, through libnvidia-ml. It is opened and initialised once. When the last owner of it and of its
//! subscriptions is dropped, NVML is shut down and all handles are closed.

mod error;
mod events;
mod exclusive;
mod gpu;
mod library;
mod links;
mod mig;
mod mig_devices;
mod raw;
mod raw_mig;
mod sample;

use std::path::Path;
use std::sync::{Arc, Mutex};

use nvml_wrapper::error::NvmlError as WrapperError;
use nvml_wrapper::{Device, cuda_driver_version_major, cuda_driver_version_minor};

use self::error::call_error;
use self::links::LinkEnds;
use super::{Condition, DriverInfo, GpuInfo, Link, Nvml, NvmlError, Sample, Watch};

/// The driver of this node.
pub struct Real {
    nvml: Arc<nvml_wrapper::Nvml>,
    /// Cache of each GPU's NVLinks, read with the GPU: every pair of GPUs is queried, and each query would
    /// otherwise take a hundred calls.
    ends: Mutex<LinkEnds>,
}

impl Real {
    /// Loads and initialises the library below this directory, or, if there is none, in the library path of the system.
    pub fn open(driver_root: &Path) -> Result<Self, NvmlError> {
        let nvml = library::open(driver_root, Path::new("/"))?;
        Ok(Self {
            nvml: Arc::new(nvml),
            ends: Mutex::default(),
        })
    }

    /// Calls the driver about a GPU. The error names the GPU.
    fn query<T>(
        &self,
        index: u32,
        question: impl FnOnce(&Device<'_>) -> Result<T, WrapperError>,
    ) -> Result<T, NvmlError> {
        let result = self
            .nvml
            .device_by_index(index)
            .and_then(|device| question(&device));
        result.map_err(|error| call_error(&format!("GPU {index}"), &error))
    }
}

impl Nvml for Real {
    fn driver(&self) -> Result<DriverInfo, NvmlError> {
        let error_of = |error: WrapperError| call_error("driver version", &error);
        let cuda = self.nvml.sys_cuda_driver_version().map_err(error_of)?;
        let to_u32 = |number: i32| u32::try_from(number).unwrap_or_default();
        Ok(DriverInfo {
            version: self.nvml.sys_driver_version().map_err(error_of)?,
            cuda: (
                to_u32(cuda_driver_version_major(cuda)),
                to_u32(cuda_driver_version_minor(cuda)),
            ),
        })
    }

    fn gpu_count(&self) -> Result<u32, NvmlError> {
        let count = self.nvml.device_count();
        count.map_err(|error| call_error("GPU count", &error))
    }

    fn gpu(&self, index: u32) -> Result<GpuInfo, NvmlError> {
        self.forget_links(index);
        self.query(index, |device| gpu::read(device, index))
    }

    fn link(&self, one: u32, other: u32) -> Result<Link, NvmlError> {
        self.read_link(one, other)
    }

    fn condition(&self, index: u32) -> Result<Condition, NvmlError> {
        self.query(index, sample::condition)
    }

    fn sample(&self, index: u32) -> Result<Sample, NvmlError> {
        self.query(index, sample::read)
    }

    fn watch(&self) -> Result<Box<dyn Watch>, NvmlError> {
        Ok(Box::new(events::Subscription::new(&self.nvml)?))
    }
}
