//! The files of a simulated machine: `/dev`, `/proc`, `/sys`, and the driver's library that containers need.

use std::path::Path;
use std::{fs, io};

use super::{Fake, links};
use crate::host::Roots;

impl Fake {
    /// Writes the files into a directory and returns its roots. Device nodes are empty files, which is enough for code
    /// that only checks whether they exist. Files of an earlier machine in the directory are replaced.
    pub fn write_roots(&self, folder: &Path) -> io::Result<Roots> {
        let roots = Roots {
            dev: folder.join("dev"),
            proc: folder.join("proc"),
            sys: folder.join("sys"),
            driver: folder.join("driver"),
        };
        let world = self.shared.lock_state();
        let fake_gpus = &world.machine.gpus;
        for name in ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"] {
            write(&roots.dev.join(name), "")?;
        }
        let mut minors = String::from("config 1\nmonitor 2\n");
        for fake_gpu in fake_gpus {
            let info = &fake_gpu.info;
            write(&roots.dev.join(format!("nvidia{}", info.minor)), "")?;
            let bus = info.pci_bus_id.to_lowercase();
            let device = format!("bus/pci/devices/{}", bus.get(4..).unwrap_or(&bus));
            let numa = links::numa_node(info.index, world.machine.count());
            let device = roots.sys.join(device);
            write(&device.join("numa_node"), &format!("{numa}\n"))?;
            // A 3D controller, like every data center GPU in the catalog.
            write(&device.join("class"), "0x030200\n")?;
            minors.push_str(&capability_files(info.minor, fake_gpu.model.mig.is_some()));
        }
        write(&roots.proc.join("driver/nvidia-caps/mig-minors"), &minors)?;
        write(
            &roots.sys.join("class/dmi/id/product_name"),
            "gpuc fake machine\n",
        )?;
        let version = &world.machine.driver.version;
        let library = format!("usr/lib64/libcuda.so.{version}");
        write(&roots.driver.join(library), "")?;
        Ok(roots)
    }
}

/// Returns the capabilities of a GPU with the numbers of the driver: for every possible GPU instance, and every compute
/// instance in it, whether or not it exists.
fn capability_files(minor: u32, mig: bool) -> String {
    const INSTANCES: u32 = 15;
    const COMPUTE_INSTANCES: u32 = 8;
    if !mig {
        return String::new();
    }
    let mut lines = String::new();
    let mut next = 3 + minor * INSTANCES * (1 + COMPUTE_INSTANCES);
    for gi in 0..INSTANCES {
        lines += &format!("gpu{minor}/gi{gi}/access {next}\n");
        next += 1;
        for ci in 0..COMPUTE_INSTANCES {
            lines += &format!("gpu{minor}/gi{gi}/ci{ci}/access {next}\n");
            next += 1;
        }
    }
    lines
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, text)
}
