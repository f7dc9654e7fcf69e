//! NVIDIA's critical errors: what each number means, and what it says about the GPU.

use Effect::{Application, Ask, Quiet, Reboot, Reset};
use Source::{Catalogue, Daemon, Plugin};

/// What an error says about the GPU or the instance that it was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// A program did something wrong: it counts for nothing.
    Application,
    /// Nothing by itself: the driver is asked at once, and what it says counts.
    Ask,
    /// Not to be used until the GPU was quiet for a while and answers well.
    Quiet,
    /// Not to be used until the driver says that nothing is left to do; a reset is the usual cure.
    Reset,
    /// The same where a reset does not help and the machine has to be restarted.
    Reboot,
}

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// NVIDIA's catalogue of Xids, column "immediate action":
    /// <https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html>, edition of 2025-10-29.
    ///
    /// `IGNORE` is [`Effect::Ask`], `RESTART_APP` and what names no cure are [`Effect::Quiet`], `RESET_GPU` is
    /// [`Effect::Reset`], `RESTART_BM` is [`Effect::Reboot`]. The workflows (48, 74, 144 to 150) and repairs by hand
    /// (54, 151) end in a reset unless the driver says otherwise (field 230, Xid 154), so they are [`Effect::Reset`].
    Catalogue,
    /// The errors of applications that NVIDIA/k8s-device-plugin v0.20.0 never counts, though the catalogue may ask for
    /// more (a reset after 109): programs cause them every day.
    Plugin,
    /// The catalogue names it without an action; the effect is drawn from its description.
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
    /// What it says about the GPU.
    pub effect: Effect,
    /// Where the effect is from.
    pub source: Source,
}

/// The error of this number. Errors that nobody has described are not in the table.
pub fn xid(number: u64) -> Option<&'static Xid> {
    let found = XIDS.binary_search_by_key(&number, |xid| xid.number);
    found.ok().map(|index| &XIDS[index])
}

/// What an error says about the GPU; one that nobody has described is not to be trusted for a while.
pub fn effect(number: u64) -> Effect {
    xid(number).map_or(Effect::Quiet, |xid| xid.effect)
}

/// An error in words: `Xid 79 (the GPU fell off the bus)`.
pub fn describe(number: u64) -> String {
    match xid(number) {
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

/// Every error that drivers of data center cards since Ampere report, by number.
#[rustfmt::skip]
pub const XIDS: &[Xid] = &[
    row(8, "ROBUST_CHANNEL_FIFO_ERROR_IDLE_TIMEOUT", "the GPU stopped processing", Quiet, Catalogue),
    row(11, "ROBUST_CHANNEL_GR_ERROR_MISSING_HW", "a broken command stream", Quiet, Catalogue),
    row(13, "ROBUST_CHANNEL_GR_EXCEPTION", "a program made the compute engine fail", Application, Plugin),
    row(14, "ROBUST_CHANNEL_FAKE_ERROR", "an error that was made up for a test", Ask, Catalogue),
    row(25, "ROBUST_CHANNEL_GR_ILLEGAL_NOTIFY", "an illegal command stream", Quiet, Catalogue),
    row(31, "ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT", "a program touched foreign memory", Application, Plugin),
    row(32, "ROBUST_CHANNEL_PBDMA_ERROR", "a broken command stream", Quiet, Catalogue),
    row(37, "ROBUST_CHANNEL_FECS_ERR_UNIMP_FIRMWARE_METHOD", "the firmware does not know a command", Ask, Catalogue),
    row(38, "ROBUST_CHANNEL_FECS_ERR_WATCHDOG_TIMEOUT", "the firmware was late", Ask, Catalogue),
    row(39, "ROBUST_CHANNEL_CE0_ERROR", "copy engine 0 failed", Quiet, Catalogue),
    row(40, "ROBUST_CHANNEL_CE1_ERROR", "copy engine 1 failed", Quiet, Catalogue),
    row(41, "ROBUST_CHANNEL_CE2_ERROR", "copy engine 2 failed", Quiet, Catalogue),
    row(43, "ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR", "a program was stopped; the GPU is well", Application, Plugin),
    row(44, "ROBUST_CHANNEL_GR_FAULT_DURING_CTXSW", "a fault while programs changed places", Ask, Catalogue),
    row(45, "ROBUST_CHANNEL_PREEMPTIVE_REMOVAL", "a program was removed after an earlier error", Application, Plugin),
    row(46, "ROBUST_CHANNEL_GPU_TIMEOUT_ERROR", "the GPU stopped processing", Reset, Catalogue),
    row(48, "ROBUST_CHANNEL_GPU_ECC_DBE", "a memory error that could not be corrected", Reset, Catalogue),
    row(54, "SILENT_RUNNING_PWR_REDUCED_CLOCKING", "the auxiliary power is not connected", Reset, Catalogue),
    row(60, "ROBUST_CHANNEL_SEC2_ERROR", "the security engine failed", Quiet, Catalogue),
    row(62, "PMU_HALT_ERROR", "a microcontroller on the card halted", Reset, Catalogue),
    row(63, "INFOROM_DRAM_RETIREMENT_EVENT", "a row of memory is to be replaced", Ask, Catalogue),
    row(64, "INFOROM_DRAM_RETIREMENT_FAILURE", "a row of memory could not be replaced", Reset, Catalogue),
    row(66, "ROBUST_CHANNEL_FECS_ERR_REG_ACCESS_VIOLATION", "the driver touched a wrong register", Ask, Catalogue),
    row(67, "ROBUST_CHANNEL_FECS_ERR_VERIF_VIOLATION", "the driver touched a wrong register", Ask, Catalogue),
    row(68, "ROBUST_CHANNEL_NVDEC0_ERROR", "a program made the video decoder fail", Application, Plugin),
    row(69, "ROBUST_CHANNEL_GR_CLASS_ERROR", "the compute engine was given a wrong command", Quiet, Catalogue),
    row(70, "ROBUST_CHANNEL_CE3_ERROR", "copy engine 3 failed", Quiet, Catalogue),
    row(71, "ROBUST_CHANNEL_CE4_ERROR", "copy engine 4 failed", Quiet, Catalogue),
    row(72, "ROBUST_CHANNEL_CE5_ERROR", "copy engine 5 failed", Quiet, Catalogue),
    row(74, "NVLINK_ERROR", "an NVLink failed", Reset, Catalogue),
    row(75, "ROBUST_CHANNEL_CE6_ERROR", "copy engine 6 failed", Quiet, Catalogue),
    row(76, "ROBUST_CHANNEL_CE7_ERROR", "copy engine 7 failed", Quiet, Catalogue),
    row(77, "ROBUST_CHANNEL_CE8_ERROR", "copy engine 8 failed", Quiet, Catalogue),
    row(78, "VGPU_START_ERROR", "a virtual GPU did not start", Quiet, Catalogue),
    row(79, "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", "the GPU fell off the bus", Reboot, Catalogue),
    row(80, "PBDMA_PUSHBUFFER_CRC_MISMATCH", "commands were damaged on their way to the GPU", Quiet, Catalogue),
    row(82, "ROBUST_CHANNEL_NVJPG0_ERROR", "JPEG engine 0 failed", Quiet, Catalogue),
    row(83, "ROBUST_CHANNEL_NVDEC1_ERROR", "video decoder 1 failed", Quiet, Catalogue),
    row(84, "ROBUST_CHANNEL_NVDEC2_ERROR", "video decoder 2 failed", Quiet, Catalogue),
    row(85, "ROBUST_CHANNEL_CE9_ERROR", "copy engine 9 failed", Quiet, Catalogue),
    row(86, "ROBUST_CHANNEL_OFA0_ERROR", "the optical flow engine failed", Quiet, Catalogue),
    row(88, "ROBUST_CHANNEL_NVDEC3_ERROR", "video decoder 3 failed", Quiet, Catalogue),
    row(89, "ROBUST_CHANNEL_NVDEC4_ERROR", "video decoder 4 failed", Quiet, Catalogue),
    row(92, "EXCESSIVE_SBE_INTERRUPTS", "many memory errors that could be corrected", Ask, Catalogue),
    row(93, "INFOROM_ERASE_LIMIT_EXCEEDED", "the memory for settings on the card wears out", Ask, Catalogue),
    row(94, "ROBUST_CHANNEL_CONTAINED_ERROR", "a memory error that hit one program only", Quiet, Catalogue),
    row(95, "ROBUST_CHANNEL_UNCONTAINED_ERROR", "a memory error that may have hit every program", Reset, Catalogue),
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
    row(106, "SMBPBI_TEST_MESSAGE", "a test message", Ask, Catalogue),
    row(107, "SMBPBI_TEST_MESSAGE_SILENT", "a test message", Ask, Catalogue),
    row(108, "NVLINK_REMOTE_TRANSLATION_ERROR", "an NVLink's other side did not know an address", Ask, Catalogue),
    row(109, "ROBUST_CHANNEL_CTXSW_TIMEOUT_ERROR", "programs did not change places in time", Application, Plugin),
    row(110, "SEC_FAULT_ERROR", "a security fault", Reset, Catalogue),
    row(119, "GSP_RPC_TIMEOUT", "the system processor on the card does not answer", Reset, Catalogue),
    row(120, "GSP_ERROR", "the system processor on the card failed", Reset, Catalogue),
    row(121, "C2C_ERROR", "the link between the chips failed", Ask, Catalogue),
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
    row(136, "ALI_TRAINING_FAIL", "an NVLink did not come up", Reset, Catalogue),
    row(137, "NVLINK_PRIV_ERR", "a GPU may not touch the memory of another", Ask, Catalogue),
    row(139, "ROBUST_CHANNEL_OFA1_ERROR", "optical flow engine 1 failed", Quiet, Catalogue),
    row(140, "UNRECOVERABLE_ECC_ERROR_ESCAPE", "a memory error that could not be corrected", Reset, Catalogue),
    row(141, "ROBUST_CHANNEL_FAST_PATH_ERROR", "a short cut of CUDA failed", Ask, Catalogue),
    row(142, "ROBUST_CHANNEL_NVENC3_ERROR", "video encoder 3 failed", Quiet, Catalogue),
    row(143, "GPU_INIT_ERROR", "the GPU did not start", Reset, Catalogue),
    row(144, "NVLINK_SAW_ERROR", "an NVLink failed", Reset, Catalogue),
    row(145, "NVLINK_RLW_ERROR", "an NVLink failed", Reset, Catalogue),
    row(146, "NVLINK_TLW_ERROR", "an NVLink failed", Reset, Catalogue),
    row(147, "NVLINK_TREX_ERROR", "an NVLink failed", Reset, Catalogue),
    row(148, "NVLINK_NVLPW_CTRL_ERROR", "an NVLink failed", Reset, Catalogue),
    row(149, "NVLINK_NETIR_ERROR", "an NVLink failed", Reset, Catalogue),
    row(150, "NVLINK_MSE_ERROR", "an NVLink failed", Reset, Catalogue),
    row(151, "ROBUST_CHANNEL_KEY_ROTATION_ERROR", "keys could not be changed", Reset, Catalogue),
    row(152, "ROBUST_CHANNEL_DLA_SMMU_ERROR", "the deep learning accelerator touched wrong memory", Ask, Catalogue),
    row(153, "ROBUST_CHANNEL_DLA_TIMEOUT", "the deep learning accelerator was late", Ask, Catalogue),
    row(154, "GPU_RECOVERY_ACTION_CHANGED", "the driver changed its mind about what is to be done", Ask, Catalogue),
    row(155, "NVLINK_SW_DEFINED_ERROR", "an NVLink failed", Reset, Catalogue),
    row(156, "RESOURCE_RETIREMENT_EVENT", "a part of the GPU is taken out of use", Reset, Catalogue),
    row(157, "RESOURCE_RETIREMENT_FAILURE", "a part of the GPU could not be taken out of use", Ask, Catalogue),
    row(158, "GPU_FATAL_TIMEOUT", "the GPU does not answer in time", Reset, Catalogue),
    row(159, "ROBUST_CHANNEL_CHI_NON_DATA_ERROR", "the link to the processor failed", Quiet, Catalogue),
    row(160, "CHANNEL_RETIREMENT_EVENT", "a memory channel is taken out of use", Ask, Catalogue),
    row(161, "CHANNEL_RETIREMENT_FAILURE", "a memory channel could not be taken out of use", Ask, Catalogue),
    row(162, "PSHC_REENGAGED", "the smoothing of power is on again", Ask, Daemon),
    row(163, "PSHC_DISENGAGED", "the smoothing of power is off", Ask, Daemon),
    row(164, "PSHC_LOW_LIFETIME", "the smoothing of power wears out", Ask, Daemon),
    row(165, "PSHC_ZERO_LIFETIME", "the smoothing of power is worn out", Ask, Daemon),
    row(167, "PCIE_FATAL_TIMEOUT", "the GPU does not answer on the bus", Reset, Daemon),
    row(171, "UNCORRECTABLE_DRAM_ERROR", "a memory error that could not be corrected", Reset, Daemon),
    row(172, "UNCORRECTABLE_SRAM_ERROR", "an error in a cache that could not be corrected", Reset, Daemon),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(XIDS.is_sorted_by(|one, other| one.number < other.number));
    }

    #[test]
    fn what_nvidias_plugin_never_counts_counts_for_nothing() {
        let ignored = XIDS.iter().filter(|xid| xid.effect == Effect::Application);
        let numbers: Vec<u64> = ignored.map(|xid| xid.number).collect();
        assert_eq!(numbers, [13, 31, 43, 45, 68, 109]);
    }

    /// The catalogue's `RESET_GPU` and `RESTART_BM` rows, but for 109, which applications cause.
    #[test]
    fn what_needs_a_reset_waits_for_the_drivers_word() {
        for number in [
            46, 62, 64, 95, 110, 119, 120, 136, 140, 143, 155, 156, 158, 79,
        ] {
            assert!(effect(number) >= Effect::Reset, "{number}");
        }
        assert_eq!(effect(79), Effect::Reboot);
    }

    #[test]
    fn an_error_that_nobody_described_is_not_trusted() {
        assert_eq!(effect(9_999), Effect::Quiet);
        assert_eq!(describe(9_999), "Xid 9999");
        assert_eq!(describe(79), "Xid 79 (the GPU fell off the bus)");
    }
}
