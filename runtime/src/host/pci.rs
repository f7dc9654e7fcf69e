//! PCI information of a GPU in sysfs: its class, and whether it is a virtual GPU.

use std::fs;
use std::path::Path;

/// PCI information of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PciFacts {
    /// Its class and subclass: `0x0302` for a 3D controller.
    pub class: Option<u16>,
    /// The driver of the hypervisor, if the GPU is a virtual one.
    pub vgpu: Option<VgpuHost>,
}

/// The driver of the hypervisor of a virtual GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VgpuHost {
    /// `535.54.06`.
    pub version: String,
    /// `r536_22`.
    pub branch: String,
}

impl PciFacts {
    /// Reads the GPU with this ID from sysfs. Errors are ignored: without the information, two labels are less precise.
    pub fn read(sys: &Path, pci_bus_id: &str) -> Self {
        let folder = sys.join("bus/pci/devices").join(sysfs_id(pci_bus_id));
        let class = fs::read_to_string(folder.join("class")).ok();
        let class = class.and_then(|text| {
            let digits = text.trim().strip_prefix("0x")?;
            u32::from_str_radix(digits, 16).ok()
        });
        let config = fs::read(folder.join("config")).unwrap_or_default();
        Self {
            class: class.and_then(|class| u16::try_from(class >> 8).ok()),
            vgpu: find_vgpu_host(&config),
        }
    }
}

/// Converts a PCI ID to the form of sysfs: a domain of four digits if possible, lower case.
pub fn sysfs_id(pci_bus_id: &str) -> String {
    let id = pci_bus_id.to_ascii_lowercase();
    match id.split_once(':') {
        Some((domain, rest)) if domain.len() == 8 && domain.starts_with("0000") => {
            format!("{}:{rest}", &domain[4..])
        }
        _ => id,
    }
}

/// Returns the driver of the hypervisor, from the configuration space of a virtual GPU: a vendor-specific capability
/// with the signature `VF`, whose record 0 has version and branch of ten bytes each (NVIDIA/k8s-device-plugin v0.20.0
/// `internal/vgpu`, read 2026-11). Without administrator rights, the kernel shows only the first 64 bytes, which do not
/// include it.
fn find_vgpu_host(config: &[u8]) -> Option<VgpuHost> {
    const STATUS: usize = 0x06;
    const HAS_CAPABILITIES: u8 = 0x10;
    const FIRST: usize = 0x34;
    const VENDOR_SPECIFIC: u8 = 0x09;
    if config.get(STATUS)? & HAS_CAPABILITIES == 0 {
        return None;
    }
    let mut at = usize::from(*config.get(FIRST)?);
    // Capabilities are at least four bytes long, so that more than 64 of them are a cycle.
    for _ in 0..64 {
        let [id, next, length] = *config.get(at..at + 3)?.first_chunk()?;
        if id == VENDOR_SPECIFIC {
            let capability = config.get(at..at + usize::from(length))?;
            return parse_host_record(capability);
        }
        if next == 0 || id == 0xff {
            return None;
        }
        at = usize::from(next);
    }
    None
}

fn parse_host_record(capability: &[u8]) -> Option<VgpuHost> {
    const RECORDS: usize = 5;
    const HOST_DRIVER: u8 = 0;
    if capability.get(3..RECORDS)? != b"VF" {
        return None;
    }
    let mut at = RECORDS;
    loop {
        let [record, length] = *capability.get(at..at + 2)?.first_chunk()?;
        if record == HOST_DRIVER {
            let text = |from: usize| {
                let bytes = capability.get(from..from + 10)?;
                let text = bytes.split(|byte| *byte == 0).next()?;
                String::from_utf8(text.to_vec()).ok()
            };
            return Some(VgpuHost {
                version: text(at + 2)?,
                branch: text(at + 12)?,
            });
        }
        if length == 0 {
            return None;
        }
        at += usize::from(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The configuration space of a virtual GPU, with a power management capability before the vendor's.
    fn config() -> Vec<u8> {
        let mut config = vec![0; 256];
        config[0x06] = 0x10;
        config[0x34] = 0x60;
        config[0x60..0x63].copy_from_slice(&[0x01, 0xd0, 0x00]);
        config[0xd0..0xd5].copy_from_slice(&[0x09, 0x00, 31, b'V', b'F']);
        // A record of another type.
        config[0xd5..0xd9].copy_from_slice(&[7, 4, 1, 2]);
        config[0xd9..0xdb].copy_from_slice(&[0, 22]);
        config[0xdb..0xe1].copy_from_slice(b"535.54");
        config[0xe5..0xec].copy_from_slice(b"r536_22");
        config
    }

    #[test]
    fn vgpu_host_driver_is_read() {
        let host = find_vgpu_host(&config()).unwrap();
        assert_eq!(
            (host.version.as_str(), host.branch.as_str()),
            ("535.54", "r536_22")
        );
        let mut other = config();
        other[0xd3] = b'X';
        assert_eq!(find_vgpu_host(&other), None);
    }

    #[test]
    fn broken_configuration_space_does_not_panic() {
        let config = config();
        for length in 0..config.len() {
            let _ = find_vgpu_host(&config[..length]);
        }
        assert_eq!(find_vgpu_host(&[0xff; 256]), None);
        let mut circle = config.clone();
        circle[0x61] = 0x60;
        assert_eq!(find_vgpu_host(&circle), None);
        let mut endless = config;
        endless[0xd6] = 0;
        assert_eq!(find_vgpu_host(&endless), None);
    }

    #[test]
    fn sysfs_ids_have_four_digit_domains() {
        assert_eq!(sysfs_id("00000000:3B:00.0"), "0000:3b:00.0");
        assert_eq!(sysfs_id("00010000:01:00.0"), "00010000:01:00.0");
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("bus/pci/devices/0000:3b:00.0");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("class"), "0x030200\n").unwrap();
        fs::write(device.join("config"), config()).unwrap();
        let facts = PciFacts::read(folder.path(), "00000000:3B:00.0");
        assert_eq!(facts.class, Some(0x0302));
        assert!(facts.vgpu.is_some());
        let nothing = PciFacts::read(folder.path(), "00000000:3C:00.0");
        assert_eq!(nothing, PciFacts::default());
    }
}
