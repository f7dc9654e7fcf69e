//! The series of Azure VM sizes without accelerators: their names, with `#` for the number of vCPUs.
//!
//! Source: kubernetes/autoscaler `cluster-autoscaler/cloudprovider/azure/azure_instance_types.go` @55c37cd5,
//! 2026-08-22. The letters of features are those of the list.

use gpuc_model::cloud::MachineName;

use super::cpu::cpu_machine;
use crate::families::{Families, Family, FamilyName};

/// The series.
pub(super) static FAMILIES: Families = Families {
    names: NAMES,
    parse,
    attributes: "abdeilmoprst",
};

#[rustfmt::skip] // A list of names.
static NAMES: &[&str] = &[
    "A#_v2", "A#m_v2", "B#als_v2", "B#as_v2", "B#ats_v2", "B#ls", "B#ls_v2", "B#ms", "B#pls_v2", "B#ps_v2",
    "B#pts_v2", "B#s", "B#s_v2", "B#ts_v2", "D#", "D#_v2", "D#_v3", "D#_v4", "D#_v5", "D#a_v4", "D#ads_v5",
    "D#ads_v6", "D#ads_v7", "D#alds_v6", "D#alds_v7", "D#als_v6", "D#als_v7", "D#as_v4", "D#as_v5", "D#as_v6",
    "D#as_v7", "D#d_v4", "D#d_v5", "D#ds_v4", "D#ds_v5", "D#ds_v6", "D#lds_v5", "D#lds_v6", "D#ls_v5", "D#ls_v6",
    "D#pds_v5", "D#pds_v6", "D#plds_v5", "D#plds_v6", "D#pls_v5", "D#pls_v6", "D#ps_v5", "D#ps_v6", "D#s_v3",
    "D#s_v4", "D#s_v5", "D#s_v6", "DC#_v2", "DC#ads_cc_v5", "DC#ads_v5", "DC#ads_v6", "DC#as_cc_v5", "DC#as_v5",
    "DC#as_v6", "DC#ds_v3", "DC#eds_v5", "DC#eds_v6", "DC#es_v5", "DC#es_v6", "DC#s_v2", "DC#s_v3", "DS#", "DS#_v2",
    "E#_v3", "E#_v4", "E#_v5", "E#a_v4", "E#ads_v5", "E#ads_v6", "E#ads_v7", "E#as_v4", "E#as_v5", "E#as_v6",
    "E#as_v7", "E#bds_v5", "E#bs_v5", "E#d_v4", "E#d_v5", "E#ds_v4", "E#ds_v5", "E#ds_v6", "E#i_v3", "E#i_v5",
    "E#iads_v5", "E#ias_v4", "E#ias_v5", "E#ibds_v5", "E#ibs_v5", "E#id_v5", "E#ids_v4", "E#ids_v5", "E#ids_v6",
    "E#is_v3", "E#is_v4", "E#is_v5", "E#is_v6", "E#pds_v5", "E#pds_v6", "E#ps_v5", "E#ps_v6", "E#s_v3", "E#s_v4",
    "E#s_v5", "E#s_v6", "EC#ads_cc_v5", "EC#ads_v5", "EC#ads_v6", "EC#as_cc_v5", "EC#as_v5", "EC#as_v6", "EC#eds_v5",
    "EC#eds_v6", "EC#es_v5", "EC#es_v6", "EC#iads_v5", "EC#ias_v5", "EC#ieds_v5", "EC#ies_v5", "F#", "F#ads_v7",
    "F#alds_v7", "F#als_v6", "F#als_v7", "F#amds_v7", "F#ams_v6", "F#ams_v7", "F#as_v6", "F#as_v7", "F#s", "F#s_v2",
    "FX#mds", "FX#mds_v2", "FX#ms_v2", "G#", "GS#", "HB#rs_v2", "HB#rs_v3", "HB#rs_v4", "HB#rs_v5", "HC#rs", "HX#rs",
    "L#aos_v4", "L#as_v3", "L#as_v4", "L#s", "L#s_v2", "L#s_v3", "L#s_v4", "M#", "M#bds_1_v3", "M#bds_2_v3",
    "M#bds_3_v3", "M#bds_4_v3", "M#bds_v3", "M#bs_v3", "M#dms_v2", "M#ds_12_v3", "M#ds_1_v3", "M#ds_2_v3",
    "M#ds_3_v3", "M#ds_4_v3", "M#ds_6_v3", "M#ds_8_v3", "M#ds_v2", "M#ds_v3", "M#idms_v2", "M#ids_16_v3", "M#ids_v2",
    "M#ims_v2", "M#is_16_v3", "M#is_v2", "M#ls", "M#m", "M#ms", "M#ms_v2", "M#s", "M#s_10_v2", "M#s_12_v3",
    "M#s_1_v3", "M#s_2_v3", "M#s_3_v3", "M#s_4_v3", "M#s_6_v3", "M#s_8_v2", "M#s_8_v3", "M#s_9_v2", "M#s_v2",
    "M#s_v3", "M#ts",
];

/// Classifies the name of a VM size without accelerators.
pub(super) fn classify(name: &str) -> MachineName {
    let Some((shape, vcpus)) = shape(name) else {
        return MachineName::Plausible;
    };
    match FAMILIES.classify(&shape) {
        FamilyName::Unknown => MachineName::Plausible,
        FamilyName::Mistyped(similar) => {
            let size = |shape: &&str| format!("Standard_{}", shape.replacen('#', vcpus, 1));
            MachineName::Mistyped(similar.iter().map(size).collect())
        }
        FamilyName::Known => match cpu_machine(name) {
            Some(cpu) => MachineName::Cpu(cpu),
            None => MachineName::Plausible,
        },
    }
}

/// The series of a size, and the number of vCPUs in its name: `E8-4s_v5` is `E#s_v5` and `8-4`.
fn shape(name: &str) -> Option<(String, &str)> {
    let size = name.strip_prefix("Standard_")?;
    let start = size.find(|c: char| c.is_ascii_digit())?;
    let is_number = |c: char| c.is_ascii_digit() || c == '-';
    let rest = size[start..].trim_start_matches(is_number);
    let end = size.len() - rest.len();
    Some((format!("{}#{rest}", &size[..start]), &size[start..end]))
}

/// The parts of a series: the letters before the number, the version, and the features after the number.
fn parse(shape: &str) -> Option<Family<'_>> {
    let (series, rest) = shape.split_once('#')?;
    let (attributes, version) = rest.split_once('_').unwrap_or((rest, "v1"));
    let generation = version.strip_prefix('v')?.parse().ok()?;
    Some(Family {
        series,
        generation,
        attributes,
    })
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    #[test]
    fn typos_are_found() {
        for (name, similar) in [
            ("Standard_D4ss_v5", &["Standard_D4s_v5"][..]),
            ("Standard_D4sd_v5", &["Standard_D4ds_v5"]),
            ("Standard_D4s_5v", &["Standard_D4s_v5"]),
            ("Standard_E8-4s_vv5", &["Standard_E8-4s_v5"]),
        ] {
            let similar = similar.iter().map(|name| (*name).to_owned());
            assert_eq!(
                classify(name),
                MachineName::Mistyped(similar.collect()),
                "{name}"
            );
        }
    }

    #[test]
    fn new_series_are_possible() {
        for name in [
            "Standard_D4s_v8",
            "Standard_E8pbs_v7",
            "Standard_QZ4s_v1",
            "Standard_B2s",
            "Standard_M64",
        ] {
            assert_eq!(classify(name), MachineName::Plausible, "{name}");
        }
        assert!(matches!(classify("Standard_D4s_v5"), MachineName::Cpu(_)));
    }

    #[test]
    fn series_have_no_accelerators() {
        assert!(NAMES.is_sorted());
        for series in NAMES {
            let name = format!("Standard_{}", series.replacen('#', "8", 1));
            assert!(
                names::is_machine_name(&name) && !names::has_gpus(&name),
                "{name}"
            );
            assert_eq!(shape(&name), Some(((*series).to_owned(), "8")));
        }
    }
}
