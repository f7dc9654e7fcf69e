//! NVIDIA's critical errors (Xids): the meaning of each number and its effect on the health of the GPU.

use Effect::{Application, QueryOnly, Quiet, Reboot, Reset};
use Source::{Catalogue, Daemon, Plugin};

/// The effect of an error on the GPU or instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// An application error; it is ignored.
    Application,
    /// No effect by itself: the driver is queried at once, and its response decides.
    QueryOnly,
    /// Unhealthy until the GPU was quiet for a while and responds normally.
    Quiet,
    /// Unhealthy until the driver confirms that no action is pending, usually after a reset.
    Reset,
    /// The same, but a reset does not help and the machine must be rebooted.
    Reboot,
}

/// The source of the effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// NVIDIA's catalog of Xids, column "immediate action":
    /// <https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html>, edition of 2025-10-29.
    ///
    /// `IGNORE` is [`Effect::QueryOnly`], `RESTART_APP` and rows without an action are [`Effect::Quiet`], `RESET_GPU`
    /// is [`Effect::Reset`], `RESTART_BM` is [`Effect::Reboot`]. The workflows (48, 74, 144 to 150) and manual repairs
    /// (54, 151) end in a reset unless the driver says otherwise (field 230, Xid 154), so they are [`Effect::Reset`].
    Catalogue,
    /// Application errors that NVIDIA/k8s-device-plugin v0.20.0 ignores, although the catalog may request
    /// more (a reset after 109): applications cause them every day.
    Plugin,
    /// The catalog lists it without an action; the effect is derived from its description.
    Daemon,
}

/// A critical error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xid {
    /// NVIDIA's number.
    pub number: u64,
    /// NVIDIA's name.
    pub name: &'static str,
    /// What happened.
    pub meaning: &'static str,
    /// The effect on the GPU.
    pub effect: Effect,
    /// The source of the effect.
    pub source: Source,
}

/// Returns the error with this number. Undocumented errors are not in the table.
pub fn find_xid(number: u64) -> Option<&'static Xid> {
    let found = XIDS.binary_search_by_key(&number, |xid| xid.number);
    found.ok().map(|index| &XIDS[index])
}

/// Returns the effect of an error; undocumented errors make the GPU unhealthy for a while.
pub fn effect(number: u64) -> Effect {
    find_xid(number).map_or(Effect::Quiet, |xid| xid.effect)
}

/// Describes an error: `Xid 79 (the GPU fell off the bus)`.
pub fn describe(number: u64) -> String {
    match find_xid(number) {
        Some(xid) => format!("Xid {number} ({})", xid.meaning),
        None => format!("Xid {number}"),
    }
}

const fn row(
    number: u64,
    name: &'static str,
    meaning: &'static str,
    effect: Effect,
    source: Source,
) -> Xid {
    Xid {
        number,
        name,
        meaning,
        effect,
        source,
    }
}

/// Every error that drivers of data center GPUs since Ampere report, by number.
#[rustfmt::skip]
pub const XIDS: &[Xid] = &[
    row(8, "ROBUST_CHANNEL_FIFO_ERROR_IDLE_TIMEOUT", "the GPU stopped processing", Quiet, Catalogue),
    row(11, "ROBUST_CHANNEL_GR_ERROR_MISSING_HW", "a corrupt command stream", Quiet, Catalogue),
    row(13, "ROBUST_CHANNEL_GR_EXCEPTION", "an application caused a compute engine exception", Application, Plugin),
    row(14, "ROBUST_CHANNEL_FAKE_ERROR", "an error injected for a test", QueryOnly, Catalogue),
    row(25, "ROBUST_CHANNEL_GR_ILLEGAL_NOTIFY", "an illegal command stream", Quiet, Catalogue),
    row(31, "ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT", "an application accessed invalid memory", Application, Plugin),
    row(32, "ROBUST_CHANNEL_PBDMA_ERROR", "a corrupt command stream", Quiet, Catalogue),
    row(37, "ROBUST_CHANNEL_FECS_ERR_UNIMP_FIRMWARE_METHOD", "the firmware does not support a command", QueryOnly, Catalogue),
    row(38, "ROBUST_CHANNEL_FECS_ERR_WATCHDOG_TIMEOUT", "a firmware watchdog timeout", QueryOnly, Catalogue),
    row(39, "ROBUST_CHANNEL_CE0_ERROR", "copy engine 0 failed", Quiet, Catalogue),
    row(40, "ROBUST_CHANNEL_CE1_ERROR", "copy engine 1 failed", Quiet, Catalogue),
    row(41, "ROBUST_CHANNEL_CE2_ERROR", "copy engine 2 failed", Quiet, Catalogue),
    row(43, "ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR", "application stopped; the GPU is healthy", Application, Plugin),
    row(44, "ROBUST_CHANNEL_GR_FAULT_DURING_CTXSW", "a fault during a context switch", QueryOnly, Catalogue),
    row(45, "ROBUST_CHANNEL_PREEMPTIVE_REMOVAL", "application ended after an earlier error", Application, Plugin),
    row(46, "ROBUST_CHANNEL_GPU_TIMEOUT_ERROR", "the GPU stopped processing", Reset, Catalogue),
    row(48, "ROBUST_CHANNEL_GPU_ECC_DBE", "an uncorrectable memory error", Reset, Catalogue),
    row(54, "SILENT_RUNNING_PWR_REDUCED_CLOCKING", "the auxiliary power is not connected", Reset, Catalogue),
    row(60, "ROBUST_CHANNEL_SEC2_ERROR", "the security engine failed", Quiet, Catalogue),
    row(62, "PMU_HALT_ERROR", "a microcontroller of the GPU halted", Reset, Catalogue),
    row(63, "INFOROM_DRAM_RETIREMENT_EVENT", "a memory row is pending remapping", QueryOnly, Catalogue),
    row(64, "INFOROM_DRAM_RETIREMENT_FAILURE", "a memory row could not be remapped", Reset, Catalogue),
    row(66, "ROBUST_CHANNEL_FECS_ERR_REG_ACCESS_VIOLATION", "the driver accessed an invalid register", QueryOnly, Catalogue),
    row(67, "ROBUST_CHANNEL_FECS_ERR_VERIF_VIOLATION", "the driver accessed an invalid register", QueryOnly, Catalogue),
    row(68, "ROBUST_CHANNEL_NVDEC0_ERROR", "an application caused a video decoder exception", Application, Plugin),
    row(69, "ROBUST_CHANNEL_GR_CLASS_ERROR", "the compute engine received an invalid command", Quiet, Catalogue),
    row(70, "ROBUST_CHANNEL_CE3_ERROR", "copy engine 3 failed", Quiet, Catalogue),
    row(71, "ROBUST_CHANNEL_CE4_ERROR", "copy engine 4 failed", Quiet, Catalogue),
    row(72, "ROBUST_CHANNEL_CE5_ERROR", "copy engine 5 failed", Quiet, Catalogue),
    row(74, "NVLINK_ERROR", "an NVLink failed", Reset, Catalogue),
    row(75, "ROBUST_CHANNEL_CE6_ERROR", "copy engine 6 failed", Quiet, Catalogue),
    row(76, "ROBUST_CHANNEL_CE7_ERROR", "copy engine 7 failed", Quiet, Catalogue),
    row(77, "ROBUST_CHANNEL_CE8_ERROR", "copy engine 8 failed", Quiet, Catalogue),
    row(78, "VGPU_START_ERROR", "a virtual GPU did not start", Quiet, Catalogue),
    row(79, "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", "the GPU fell off the bus", Reboot, Catalogue),
    row(80, "PBDMA_PUSHBUFFER_CRC_MISMATCH", "commands were corrupted in transit to the GPU", Quiet, Catalogue),
    row(82, "ROBUST_CHANNEL_NVJPG0_ERROR", "JPEG engine 0 failed", Quiet, Catalogue),
    row(83, "ROBUST_CHANNEL_NVDEC1_ERROR", "video decoder 1 failed", Quiet, Catalogue),
    row(84, "ROBUST_CHANNEL_NVDEC2_ERROR", "video decoder 2 failed", Quiet, Catalogue),
    row(85, "ROBUST_CHANNEL_CE9_ERROR", "copy engine 9 failed", Quiet, Catalogue),
    row(86, "ROBUST_CHANNEL_OFA0_ERROR", "the optical flow engine failed", Quiet, Catalogue),
    row(88, "ROBUST_CHANNEL_NVDEC3_ERROR", "video decoder 3 failed", Quiet, Catalogue),
    row(89, "ROBUST_CHANNEL_NVDEC4_ERROR", "video decoder 4 failed", Quiet, Catalogue),
    row(92, "EXCESSIVE_SBE_INTERRUPTS", "many correctable memory errors", QueryOnly, Catalogue),
    row(93, "INFOROM_ERASE_LIMIT_EXCEEDED", "the InfoROM of the GPU is wearing out", QueryOnly, Catalogue),
    row(94, "ROBUST_CHANNEL_CONTAINED_ERROR", "a contained memory error", Quiet, Catalogue),
    row(95, "ROBUST_CHANNEL_UNCONTAINED_ERROR", "an uncontained memory error", Reset, Catalogue),
    row(96, "ROBUST_CHANNEL_NVDEC5_ERROR", "video decoder 5 failed", Quiet, Catalogue),
    row(97, "ROBUST_CHANNEL_NVDEC6_ERROR", "video decoder 6 failed", Quiet, Catalogue),
    row(98, "ROBUST_CHANNEL_NVDEC7_ERROR", "video decoder 7 failed", Quiet, Catalogue),
    row(99, "ROBUST_CHANNEL_NVJPG1_ERROR", "JPEG engine 1 failed", Quiet, Catalogue),
    row(100, "ROBUST_CHANNEL_NVJPG2_ERROR", "JPEG engine 2 failed", Quiet, Catalogue),
    row(101, "ROBUST_CHANNEL_NVJPG3_ERROR", "JPEG engine 3 failed", Quiet, Catalogue),
    row(102, "ROBUST_CHANNEL_NVJPG4_ERROR", "JPEG engine 4 failed", Quiet, Catalogue),
    row(103, "ROBUST_CHANNEL_NVJPG5_ERROR", "JPEG engine 5 failed", Quiet, Catalogue),
    row(104, "ROBUST_CHANNEL_NVJPG6_ERROR", "JPEG engine 6 failed", Quiet, Catalogue),
    row(105, "ROBUST_CHANNEL_NVJPG7_ERROR", "JPEG engine 7 failed", Quiet, Catalogue),
    row(106, "SMBPBI_TEST_MESSAGE", "a test message", QueryOnly, Catalogue),
    row(107, "SMBPBI_TEST_MESSAGE_SILENT", "a test message", QueryOnly, Catalogue),
    row(108, "NVLINK_REMOTE_TRANSLATION_ERROR", "a remote NVLink address translation failed", QueryOnly, Catalogue),
    row(109, "ROBUST_CHANNEL_CTXSW_TIMEOUT_ERROR", "a context switch timed out", Application, Plugin),
    row(110, "SEC_FAULT_ERROR", "a security fault", Reset, Catalogue),
    row(119, "GSP_RPC_TIMEOUT", "the GPU system processor (GSP) is not responding", Reset, Catalogue),
    row(120, "GSP_ERROR", "the GPU system processor (GSP) failed", Reset, Catalogue),
    row(121, "C2C_ERROR", "the chip-to-chip link failed", QueryOnly, Catalogue),
    row(126, "ROBUST_CHANNEL_CE10_ERROR", "copy engine 10 failed", Quiet, Catalogue),
    row(127, "ROBUST_CHANNEL_CE11_ERROR", "copy engine 11 failed", Quiet, Catalogue),
    row(128, "ROBUST_CHANNEL_CE12_ERROR", "copy engine 12 failed", Quiet, Catalogue),
    row(129, "ROBUST_CHANNEL_CE13_ERROR", "copy engine 13 failed", Quiet, Catalogue),
    row(130, "ROBUST_CHANNEL_CE14_ERROR", "copy engine 14 failed", Quiet, Catalogue),
    row(131, "ROBUST_CHANNEL_CE15_ERROR", "copy engine 15 failed", Quiet, Catalogue),
    row(132, "ROBUST_CHANNEL_CE16_ERROR", "copy engine 16 failed", Quiet, Catalogue),
    row(133, "ROBUST_CHANNEL_CE17_ERROR", "copy engine 17 failed", Quiet, Catalogue),
    row(134, "ROBUST_CHANNEL_CE18_ERROR", "copy engine 18 failed", Quiet, Catalogue),
    row(135, "ROBUST_CHANNEL_CE19_ERROR", "copy engine 19 failed", Quiet, Catalogue),
    row(136, "ALI_TRAINING_FAIL", "an NVLink failed to train", Reset, Catalogue),
    row(137, "NVLINK_PRIV_ERR", "a GPU has no permission to access the memory of a peer", QueryOnly, Catalogue),
    row(139, "ROBUST_CHANNEL_OFA1_ERROR", "optical flow engine 1 failed", Quiet, Catalogue),
    row(140, "UNRECOVERABLE_ECC_ERROR_ESCAPE", "an uncorrectable memory error", Reset, Catalogue),
    row(141, "ROBUST_CHANNEL_FAST_PATH_ERROR", "a CUDA fast path failed", QueryOnly, Catalogue),
    row(142, "ROBUST_CHANNEL_NVENC3_ERROR", "video encoder 3 failed", Quiet, Catalogue),
    row(143, "GPU_INIT_ERROR", "the GPU failed to initialize", Reset, Catalogue),
    row(144, "NVLINK_SAW_ERROR", "an NVLink failed", Reset, Catalogue),
    row(145, "NVLINK_RLW_ERROR", "an NVLink failed", Reset, Catalogue),
    row(146, "NVLINK_TLW_ERROR", "an NVLink failed", Reset, Catalogue),
    row(147, "NVLINK_TREX_ERROR", "an NVLink failed", Reset, Catalogue),
    row(148, "NVLINK_NVLPW_CTRL_ERROR", "an NVLink failed", Reset, Catalogue),
    row(149, "NVLINK_NETIR_ERROR", "an NVLink failed", Reset, Catalogue),
    row(150, "NVLINK_MSE_ERROR", "an NVLink failed", Reset, Catalogue),
    row(151, "ROBUST_CHANNEL_KEY_ROTATION_ERROR", "encryption keys could not be rotated", Reset, Catalogue),
    row(152, "ROBUST_CHANNEL_DLA_SMMU_ERROR", "the deep learning accelerator accessed invalid memory", QueryOnly, Catalogue),
    row(153, "ROBUST_CHANNEL_DLA_TIMEOUT", "the deep learning accelerator timed out", QueryOnly, Catalogue),
    row(154, "GPU_RECOVERY_ACTION_CHANGED", "the recovery action of the driver changed", QueryOnly, Catalogue),
    row(155, "NVLINK_SW_DEFINED_ERROR", "an NVLink failed", Reset, Catalogue),
    row(156, "RESOURCE_RETIREMENT_EVENT", "a part of the GPU is being retired", Reset, Catalogue),
    row(157, "RESOURCE_RETIREMENT_FAILURE", "a part of the GPU could not be retired", QueryOnly, Catalogue),
    row(158, "GPU_FATAL_TIMEOUT", "the GPU timed out", Reset, Catalogue),
    row(159, "ROBUST_CHANNEL_CHI_NON_DATA_ERROR", "the link to the CPU failed", Quiet, Catalogue),
    row(160, "CHANNEL_RETIREMENT_EVENT", "a memory channel is being retired", QueryOnly, Catalogue),
    row(161, "CHANNEL_RETIREMENT_FAILURE", "a memory channel could not be retired", QueryOnly, Catalogue),
    row(162, "PSHC_REENGAGED", "power smoothing is on again", QueryOnly, Daemon),
    row(163, "PSHC_DISENGAGED", "power smoothing is off", QueryOnly, Daemon),
    row(164, "PSHC_LOW_LIFETIME", "power smoothing is near the end of its lifetime", QueryOnly, Daemon),
    row(165, "PSHC_ZERO_LIFETIME", "power smoothing reached the end of its lifetime", QueryOnly, Daemon),
    row(167, "PCIE_FATAL_TIMEOUT", "the GPU does not respond on the PCIe bus", Reset, Daemon),
    row(171, "UNCORRECTABLE_DRAM_ERROR", "an uncorrectable memory error", Reset, Daemon),
    row(172, "UNCORRECTABLE_SRAM_ERROR", "an uncorrectable SRAM error", Reset, Daemon),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xids_are_sorted() {
        assert!(XIDS.is_sorted_by(|one, other| one.number < other.number));
    }

    #[test]
    fn nvidias_ignored_xids_are_application_errors() {
        let ignored = XIDS.iter().filter(|xid| xid.effect == Effect::Application);
        let numbers: Vec<u64> = ignored.map(|xid| xid.number).collect();
        assert_eq!(numbers, [13, 31, 43, 45, 68, 109]);
    }

    /// The catalog's rows with `RESET_GPU` and `RESTART_BM`, except 109, which applications cause.
    #[test]
    fn reset_xids_require_confirmation() {
        for number in [
            46, 62, 64, 95, 110, 119, 120, 136, 140, 143, 155, 156, 158, 79,
        ] {
            assert!(effect(number) >= Effect::Reset, "{number}");
        }
        assert_eq!(effect(79), Effect::Reboot);
    }

    #[test]
    fn undocumented_xids_are_temporary_faults() {
        assert_eq!(effect(9_999), Effect::Quiet);
        assert_eq!(describe(9_999), "Xid 9999");
        assert_eq!(describe(79), "Xid 79 (the GPU fell off the bus)");
    }
}
