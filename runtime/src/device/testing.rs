//! Test inventories.

use gpuc_schema::node_config::{MigGpu, MigSlice, NodeSharing};

use super::{Gpu, Inventory, Topology};
use crate::nvml::{Nvml, fake::Fake};

/// Returns the inventory of a fake machine. Its first half is on NUMA node 0, the second on 1.
pub(crate) fn inventory(words: &str) -> Inventory {
    let fake = Fake::from_description(words).expect(words);
    let count = fake.gpu_count().expect("the driver responds");
    let known = |index: u32| Gpu::Responding {
        info: fake.gpu(index).expect("the GPU responds"),
        numa: Some(u32::from(index >= count.div_ceil(2))),
    };
    let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
    Inventory {
        driver: fake.driver().expect("the driver responds"),
        gpus: (0..count).map(known).collect(),
        topology: Topology::new(pairs.map(|(one, other)| {
            let link = fake.link(one, other).expect("the GPU responds");
            ((one, other), link)
        })),
    }
}

/// A MIG configuration with these expected GPUs.
pub(crate) fn mig(strategy: &str, gpus: Vec<MigGpu>) -> NodeSharing {
    NodeSharing::Mig {
        strategy: serde_json::from_value(strategy.into()).expect("a strategy"),
        apply: false,
        gpus,
    }
}

/// A GPU with these MIG devices: profile, start, size.
pub(crate) fn mig_gpu(index: u32, slices: &[(&str, u8, u8)]) -> MigGpu {
    let mig_slice = |(profile, start, size): &(&str, u8, u8)| MigSlice {
        profile: (*profile).to_owned(),
        start: *start,
        size: *size,
    };
    MigGpu {
        index,
        slices: slices.iter().map(mig_slice).collect(),
    }
}
