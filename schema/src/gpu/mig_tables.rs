//! The MIG tables of all GPU models with MIG; models with the same die and memory share a table.
//!
//! Sources, read 2026-11-21: the NVIDIA MIG User Guide r580 (names, counts, ids, fractions); public transcripts of
//! `nvidia-smi mig -lgip` and `-lgipp` for A100, A30, H100, H100 NVL, GH200, H200 and RTX PRO 6000 (ids, memory,
//! placements); NVIDIA/go-nvml@2f9e261 `pkg/nvml/const.go` and `pkg/nvml/mock/gpus/{a100,a30}.go` (constants,
//! placements; the mocks of H100, H200 and B200 place by compute slices, which contradicts all transcripts, and are not
//! used); NVIDIA/mig-parted@bd7160f4 `deployments/systemd/config-default.yaml` (names and counts from Blackwell on).
//! The runtime's tests `needs_gpu` compare a table with the driver of a real GPU.

use super::Basis::{self, Derived, Documented, Nominal, Observed};
use super::mig::{Mig, MigBasis, MigProfile};

/// A100 with 40 GB. All observed on the SXM4 model; the PCI Express model has the same die.
pub static A100_40GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.5gb", 4_864),
        ("1g.5gb+me", 4_864),
        ("1g.10gb", 9_856),
        ("2g.10gb", 9_856),
        ("3g.20gb", 19_968),
        ("4g.20gb", 19_968),
        ("7g.40gb", 40_192),
    ]),
    ..with_seven_slices(Observed, Observed, Observed, Observed)
};

/// A100 with 80 GB. All observed on the SXM4 model, except the placements of `1g.20gb`, which are those of the 40 GB
/// model.
pub static A100_80GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.10gb", 9_728),
        ("1g.10gb+me", 9_728),
        ("1g.20gb", 19_968),
        ("2g.20gb", 19_968),
        ("3g.40gb", 40_192),
        ("4g.40gb", 40_192),
        ("7g.80gb", 80_896),
    ]),
    ..with_seven_slices(Observed, Derived, Observed, Observed)
};

/// H100 with 80 GB. All observed on the SXM5 model with driver 580.159.04 (2026-11-26); the PCI Express model has the
/// same die.
pub static H100_80GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.10gb", 9_984),
        ("1g.10gb+me", 9_984),
        ("1g.20gb", 20_096),
        ("2g.20gb", 20_096),
        ("3g.40gb", 40_448),
        ("4g.40gb", 40_448),
        ("7g.80gb", 81_152),
    ]),
    ..with_seven_slices(Observed, Observed, Observed, Observed)
};

/// H100 NVL, observed with driver 560.35.03.
pub static H100_94GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.12gb", 11_008),
        ("1g.12gb+me", 11_008),
        ("1g.24gb", 22_144),
        ("2g.24gb", 22_144),
        ("3g.47gb", 47_488),
        ("4g.47gb", 47_488),
        ("7g.94gb", 95_360),
    ]),
    ..with_seven_slices(Observed, Observed, Observed, Observed)
};

/// GH200 with 96 GB. The placements of `3g.48gb` are observed; the others are those of the same die.
pub static GH200_96GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.12gb", 11_264),
        ("1g.12gb+me", 11_264),
        ("1g.24gb", 23_552),
        ("2g.24gb", 23_552),
        ("3g.48gb", 47_616),
        ("4g.48gb", 47_616),
        ("7g.96gb", 95_232),
    ]),
    ..with_seven_slices(Observed, Derived, Observed, Observed)
};

/// H200. All observed on the SXM5 model with driver 580.159.04 (2026-11-26); the NVL model has the same die.
pub static H200_141GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.18gb", 16_384),
        ("1g.18gb+me", 16_384),
        ("1g.35gb", 33_280),
        ("2g.35gb", 33_280),
        ("3g.71gb", 71_424),
        ("4g.71gb", 71_424),
        ("7g.141gb", 143_360),
    ]),
    ..with_seven_slices(Observed, Observed, Observed, Observed)
};

/// B200. No transcript was found: names and counts are from the guide, memory is from the name.
pub static B200_180GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.23gb", 23_552),
        ("1g.23gb+me", 23_552),
        ("1g.45gb", 46_080),
        ("2g.45gb", 46_080),
        ("3g.90gb", 92_160),
        ("4g.90gb", 92_160),
        ("7g.180gb", 184_320),
    ]),
    ..with_seven_slices(Derived, Derived, Nominal, Documented)
};

/// B300: names and counts from mig-parted's default configuration.
pub static B300_270GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.34gb", 34_816),
        ("1g.34gb+me", 34_816),
        ("1g.67gb", 68_608),
        ("2g.67gb", 68_608),
        ("3g.135gb", 138_240),
        ("4g.135gb", 138_240),
        ("7g.269gb", 275_456),
    ]),
    ..with_seven_slices(Derived, Derived, Nominal, Documented)
};

/// GB200: names and counts from mig-parted's default configuration, which also contains 189 GB names for it.
pub static GB200_186GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.23gb", 23_552),
        ("1g.23gb+me", 23_552),
        ("1g.47gb", 48_128),
        ("2g.47gb", 48_128),
        ("3g.93gb", 95_232),
        ("4g.93gb", 95_232),
        ("7g.186gb", 190_464),
    ]),
    ..with_seven_slices(Derived, Derived, Nominal, Documented)
};

/// GB300: names and counts from mig-parted's default configuration.
pub static GB300_279GB: Mig = Mig {
    profiles: &profiles_of_sevenths([
        ("1g.35gb", 35_840),
        ("1g.35gb+me", 35_840),
        ("1g.70gb", 71_680),
        ("2g.70gb", 71_680),
        ("3g.139gb", 142_336),
        ("4g.139gb", 142_336),
        ("7g.278gb", 284_672),
    ]),
    ..with_seven_slices(Derived, Derived, Nominal, Documented)
};

/// A30, all observed. `1g.6gb+me` needs driver branch 470, `2g.12gb+me` 525 (MIG User Guide).
pub static A30: Mig = Mig {
    compute_slices: 4,
    memory_slices: 4,
    decoders: None,
    profiles: &[
        profile("1g.6gb", 5_952, 1, 1, 4, &[0, 1, 2, 3]).with_ids(14, 0),
        profile("1g.6gb+me", 5_952, 1, 1, 1, &[0, 1, 2, 3])
            .with_ids(21, 7)
            .with_media_extensions(),
        profile("2g.12gb", 11_968, 2, 2, 2, &[0, 2]).with_ids(5, 1),
        profile("2g.12gb+me", 11_968, 2, 2, 1, &[0, 2])
            .with_ids(6, 8)
            .with_media_extensions(),
        profile("4g.24gb", 24_000, 4, 4, 1, &[0]).with_ids(0, 3),
    ],
    basis: basis(Observed, Observed, Observed, Observed),
};

/// RTX PRO 6000 Blackwell Server Edition. All observed, except NVML's constants, which follow from the suffixes. It has
/// four decoders: the plain and `+gfx` profiles use one per compute slice, `-me` none, `+me.all` all four. The numbers
/// are from the engine columns of the guide.
pub static RTX_PRO_6000: Mig = Mig {
    compute_slices: 4,
    memory_slices: 12,
    decoders: Some(4),
    profiles: &[
        profile("1g.24gb", 24_192, 1, 3, 4, &[0, 3, 6, 9])
            .with_ids(14, 0)
            .with_decoders(1),
        profile("1g.24gb+me", 24_192, 1, 3, 1, &[0, 3, 6, 9])
            .with_ids(21, 7)
            .with_decoders(1)
            .with_media_extensions(),
        profile("1g.24gb+gfx", 24_192, 1, 3, 4, &[0, 3, 6, 9])
            .with_ids(47, 10)
            .with_decoders(1),
        profile("1g.24gb+me.all", 24_192, 1, 3, 1, &[0, 3, 6, 9])
            .with_ids(65, 15)
            .with_decoders(4)
            .with_media_extensions(),
        profile("1g.24gb-me", 24_192, 1, 3, 4, &[0, 3, 6, 9]).with_ids(67, 13),
        profile("2g.48gb", 48_512, 2, 6, 2, &[0, 6])
            .with_ids(5, 1)
            .with_decoders(2),
        profile("2g.48gb+gfx", 48_512, 2, 6, 2, &[0, 6])
            .with_ids(35, 11)
            .with_decoders(2),
        profile("2g.48gb+me.all", 48_512, 2, 6, 1, &[0, 6])
            .with_ids(64, 16)
            .with_decoders(4)
            .with_media_extensions(),
        profile("2g.48gb-me", 48_512, 2, 6, 2, &[0, 6]).with_ids(66, 14),
        profile("4g.96gb", 97_280, 4, 12, 1, &[0])
            .with_ids(0, 3)
            .with_decoders(4),
        profile("4g.96gb+gfx", 97_280, 4, 12, 1, &[0])
            .with_ids(32, 12)
            .with_decoders(4),
    ],
    basis: basis(Derived, Observed, Observed, Observed),
};

/// A GPU with seven compute slices and eight memory slices, without profiles yet.
const fn with_seven_slices(ids: Basis, placements: Basis, memory: Basis, counts: Basis) -> Mig {
    Mig {
        compute_slices: 7,
        memory_slices: 8,
        decoders: None,
        profiles: &[],
        basis: basis(ids, placements, memory, counts),
    }
}

/// The seven profiles of such a GPU. Ids, sizes, counts and placements are the same on all of them. Only the name and
/// the memory in MiB differ, given in this order.
const fn profiles_of_sevenths(sizes: [(&'static str, u32); 7]) -> [MigProfile; 7] {
    const ANYWHERE: &[u8] = &[0, 1, 2, 3, 4, 5, 6];
    let [g1, g1_media, g1_double, g2, g3, g4, g7] = sizes;
    [
        profile(g1.0, g1.1, 1, 1, 7, ANYWHERE).with_ids(19, 0),
        profile(g1_media.0, g1_media.1, 1, 1, 1, ANYWHERE)
            .with_ids(20, 7)
            .with_media_extensions(),
        profile(g1_double.0, g1_double.1, 1, 2, 4, &[0, 2, 4, 6]).with_ids(15, 9),
        profile(g2.0, g2.1, 2, 2, 3, &[0, 2, 4]).with_ids(14, 1),
        profile(g3.0, g3.1, 3, 4, 2, &[0, 4]).with_ids(9, 2),
        profile(g4.0, g4.1, 4, 4, 1, &[0]).with_ids(5, 3),
        profile(g7.0, g7.1, 7, 8, 1, &[0]).with_ids(0, 4),
    ]
}

/// A row: name, MiB, compute slices, memory slices, maximum number, possible starts.
const fn profile(
    name: &'static str,
    memory_mib: u32,
    compute_slices: u8,
    memory_slices: u8,
    max_instances: u32,
    starts: &'static [u8],
) -> MigProfile {
    MigProfile {
        name,
        smi_id: 0,
        nvml_profile: 0,
        compute_slices,
        memory_slices,
        memory_mib,
        max_instances,
        starts,
        media_extensions: false,
        decoders: 0,
    }
}

impl MigProfile {
    const fn with_ids(self, smi_id: u32, nvml_profile: u32) -> Self {
        Self {
            smi_id,
            nvml_profile,
            ..self
        }
    }

    const fn with_media_extensions(self) -> Self {
        Self {
            media_extensions: true,
            ..self
        }
    }

    const fn with_decoders(self, decoders: u8) -> Self {
        Self { decoders, ..self }
    }
}

const fn basis(ids: Basis, placements: Basis, memory: Basis, counts: Basis) -> MigBasis {
    MigBasis {
        ids,
        placements,
        memory,
        counts,
    }
}
