//! The limits of an MPS client: an equal part of the GPU, as in NVIDIA's device plugin.
//!
//! The limits of the daemon apply to every client, and a client's own environment can only reduce them
//! (<https://docs.nvidia.com/deploy/topics/topic_5_2_5.html>, read 2026-11-21). The daemon therefore sets limits only
//! if no container has more than one replica; otherwise, the environment of each container does.

use std::fmt;

/// A GPU that is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedGpu {
    /// Its UUID.
    pub uuid: String,
    /// Its memory in bytes; `None` if it shares the memory of the host.
    pub memory_bytes: Option<u64>,
    /// The compute capability, major and minor.
    pub compute_capability: (u32, u32),
}

/// Why a GPU cannot be shared by this number of clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError {
    uuid: String,
    replicas: u32,
    max: u32,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            uuid,
            replicas,
            max,
        } = self;
        write!(
            f,
            "{uuid} supports at most {max} MPS clients, not {replicas}: lower sharing.mps.replicas"
        )
    }
}

impl std::error::Error for LimitError {}

/// Returns the commands for the control daemon. Each client gets an equal part of the threads and of the memory of each
/// GPU, or no limit if a container may have several replicas (`one_replica_per_container` is false). GPUs are numbered
/// in the order of `CUDA_VISIBLE_DEVICES`.
///
/// The maximum is 48 clients, or 16 below compute capability 7.5 (NVIDIA/k8s-device-plugin v0.20.0,
/// `cmd/mps-control-daemon/mps`).
pub fn limit_commands(
    shared_gpus: &[SharedGpu],
    replicas: u32,
    one_replica_per_container: bool,
) -> Result<Vec<String>, LimitError> {
    let replicas = replicas.max(1);
    let mut commands = Vec::new();
    for (number, shared_gpu) in shared_gpus.iter().enumerate() {
        let max = if shared_gpu.compute_capability >= (7, 5) {
            48
        } else {
            16
        };
        if replicas > max {
            return Err(LimitError {
                uuid: shared_gpu.uuid.clone(),
                replicas,
                max,
            });
        }
        if let Some(bytes) = shared_gpu.memory_bytes {
            let mib = (bytes / u64::from(replicas)) >> 20;
            commands.push(format!(
                "set_default_device_pinned_mem_limit {number} {mib}M"
            ));
        }
    }
    commands.push(format!(
        "set_default_active_thread_percentage {}",
        100 / replicas
    ));
    if !one_replica_per_container {
        commands.clear();
    }
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared_gpu(compute_capability: (u32, u32)) -> SharedGpu {
        SharedGpu {
            uuid: "GPU-1".to_owned(),
            memory_bytes: Some(16 << 30),
            compute_capability,
        }
    }

    #[test]
    fn clients_get_equal_limits() {
        let commands = limit_commands(&[shared_gpu((8, 9)), shared_gpu((8, 9))], 4, true).unwrap();
        assert_eq!(
            commands,
            [
                "set_default_device_pinned_mem_limit 0 4096M",
                "set_default_device_pinned_mem_limit 1 4096M",
                "set_default_active_thread_percentage 25",
            ]
        );
    }

    #[test]
    fn several_replicas_have_no_daemon_limits() {
        assert_eq!(
            limit_commands(&[shared_gpu((8, 9))], 4, false),
            Ok(Vec::new())
        );
        assert!(limit_commands(&[shared_gpu((8, 9))], 49, false).is_err());
    }

    #[test]
    fn older_gpus_support_fewer_clients() {
        assert!(limit_commands(&[shared_gpu((7, 0))], 16, true).is_ok());
        let error = limit_commands(&[shared_gpu((7, 0))], 17, true).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("GPU-1 supports at most 16 MPS clients, not 17")
        );
        assert!(limit_commands(&[shared_gpu((7, 5))], 48, true).is_ok());
        assert!(limit_commands(&[shared_gpu((9, 0))], 49, true).is_err());
    }
}
