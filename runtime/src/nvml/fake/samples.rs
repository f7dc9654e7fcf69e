//! Simulated measurements: plausible values that vary.

use gpuc_schema::gpu::GpuArchitecture;

use super::machine::FakeGpu;
use crate::nvml::Sample;

impl FakeGpu {
    /// Returns the next sample. The sequence is deterministic for a machine.
    pub(super) fn next_sample(&mut self) -> Sample {
        self.samples += 1;
        let tick = self.samples;
        let index = u64::from(self.info.index);
        // The load varies between 0 and 96 percent, with a different phase for each GPU.
        let phase = (tick + index * 5) % 24;
        let utilization = u32::try_from(8 * phase.min(24 - phase)).unwrap_or_default();
        let (idle_watts, most_watts) = self.watts();
        let power = idle_watts + (most_watts - idle_watts) * f64::from(utilization) / 100.0;
        self.energy += u64::from(utilization) * 1_000 + 50_000;

        let total = u64::from(self.model.memory_mib);
        let reserved = total / 100;
        let used = (total - reserved) * u64::from(utilization) / 100;
        let high_bandwidth = self.model.mig.is_some();
        // A GPU in MIG mode has no utilization of its own.
        let is_unpartitioned = !self.info.mig.is_some_and(|mode| mode.enabled);
        Sample {
            temperature: Some(34 + utilization / 3),
            memory_temperature: high_bandwidth.then_some(40 + utilization / 3),
            power: Some(power),
            energy: (self.model.architecture >= GpuArchitecture::Volta).then_some(self.energy),
            sm_clock: Some(345 + utilization * 14),
            memory_clock: Some(if high_bandwidth { 2_619 } else { 6_251 }),
            utilization: is_unpartitioned.then_some(utilization),
            copy_utilization: is_unpartitioned.then_some(utilization / 2),
            encoder_utilization: is_unpartitioned.then_some(0),
            decoder_utilization: is_unpartitioned.then_some(utilization / 8),
            memory_used: Some(used),
            memory_free: Some(total - reserved - used),
            memory_reserved: Some(reserved),
            pcie_replays: Some(0),
            correctable_remapped_rows: high_bandwidth.then_some(0),
            uncorrectable_remapped_rows: high_bandwidth.then_some(0),
            remap_failure: high_bandwidth.then_some(self.condition.remap_failed),
            single_bit_errors: Some(0),
            double_bit_errors: Some(self.double_bit_errors),
            slices: self
                .info
                .slices
                .iter()
                .map(|mig_device| {
                    let used = mig_device.memory_mib * u64::from(utilization) / 100;
                    (mig_device.uuid.clone(), used, mig_device.memory_mib - used)
                })
                .collect(),
        }
    }

    /// Idle and maximum power in watts, roughly by generation.
    fn watts(&self) -> (f64, f64) {
        match (self.model.architecture, self.model.memory_gb) {
            (_, ..=24) => (16.0, 72.0),
            (GpuArchitecture::Blackwell, _) => (140.0, 1_000.0),
            (GpuArchitecture::Hopper, _) => (70.0, 700.0),
            _ => (55.0, 400.0),
        }
    }
}
