//! Known Azure locations.
//!
//! General knowledge of 2026-11: the public cloud, US government and China. Azure adds locations, and offers some only
//! to selected customers. A location that is missing here is therefore reported as a warning, not an error.

/// The locations, grouped by part of the world.
#[rustfmt::skip] // One part of the world per line.
pub(super) static REGIONS: &[&str] = &[
    "eastus", "eastus2", "centralus", "northcentralus", "southcentralus", "westcentralus", "westus", "westus2",
    "westus3", "eastus2euap", "centraluseuap",
    "canadacentral", "canadaeast", "mexicocentral", "brazilsouth", "brazilsoutheast", "chilecentral",
    "northeurope", "westeurope", "austriaeast", "belgiumcentral", "denmarkeast", "francecentral", "francesouth",
    "germanynorth", "germanywestcentral", "italynorth", "norwayeast", "norwaywest", "polandcentral", "spaincentral",
    "swedencentral", "swedensouth", "switzerlandnorth", "switzerlandwest", "uksouth", "ukwest",
    "israelcentral", "qatarcentral", "uaecentral", "uaenorth", "southafricanorth", "southafricawest",
    "eastasia", "southeastasia", "australiacentral", "australiacentral2", "australiaeast", "australiasoutheast",
    "centralindia", "southindia", "westindia", "jioindiacentral", "jioindiawest", "indonesiacentral", "japaneast",
    "japanwest", "koreacentral", "koreasouth", "malaysiawest", "newzealandnorth", "taiwannorth", "taiwannorthwest",
    "usgovarizona", "usgovtexas", "usgovvirginia", "usdodcentral", "usdodeast",
    "chinaeast", "chinaeast2", "chinaeast3", "chinanorth", "chinanorth2", "chinanorth3",
];
