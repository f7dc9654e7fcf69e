//! Who can reach the API server, and who can log in.

use std::collections::BTreeSet;

use gpuc_model::Cluster;
use gpuc_model::plan::{Change, Command, Field, FieldKind};
use gpuc_schema::Span;
use gpuc_schema::config::{AzureCreate, AzureEntra};
use gpuc_syntax::node::{DerivationReason, Origin};
use serde_json::{Value, json};

use super::{az_command, create_section, section};

const UPDATE: &str = "azure-cli 2.91.0, az aks update";

pub(super) const RANGES: FieldKind = FieldKind {
    name: "authorized IP ranges",
    read: ".apiServerAccessProfile.authorizedIpRanges // [] | sort",
    create_flag: Some("--api-server-authorized-ip-ranges"),
    change: Change::Access,
    source: UPDATE,
};

pub(super) const PRIVATE_DNS: FieldKind = FieldKind {
    name: "private DNS zone",
    read: r#".apiServerAccessProfile.privateDnsZone // "system" | ascii_downcase"#,
    create_flag: Some("--private-dns-zone"),
    change: Change::Replacement {
        reason: "AKS can change the private DNS zone of a cluster only to none: az aks update --private-dns-zone none",
    },
    source: "learn.microsoft.com/azure/aks/private-clusters, general knowledge",
};

pub(super) const PUBLIC_FQDN: FieldKind = FieldKind {
    name: "public DNS name",
    read: ".apiServerAccessProfile.enablePrivateClusterPublicFqdn | if . == null then true else . end",
    create_flag: Some("--disable-public-fqdn"),
    change: Change::Access,
    source: UPDATE,
};

pub(super) const ENTRA: FieldKind = FieldKind {
    name: "Entra ID",
    read: ".aadProfile.managed // false",
    create_flag: Some("--enable-aad"),
    change: Change::Access,
    source: UPDATE,
};

/// Azure answers with object IDs in letters of either case.
pub(super) const ADMINS: FieldKind = FieldKind {
    name: "Entra groups of administrators",
    read: ".aadProfile.adminGroupObjectIDs // [] | map(ascii_downcase) | sort",
    create_flag: Some("--aad-admin-group-object-ids"),
    change: Change::Access,
    source: UPDATE,
};

pub(super) const TENANT: FieldKind = FieldKind {
    name: "Entra tenant",
    read: r#".aadProfile.tenantId // "" | ascii_downcase"#,
    create_flag: Some("--aad-tenant-id"),
    change: Change::Access,
    source: UPDATE,
};

pub(super) const AZURE_RBAC: FieldKind = FieldKind {
    name: "Azure RBAC",
    read: ".aadProfile.enableAzureRbac // false",
    create_flag: Some("--enable-azure-rbac"),
    change: Change::Access,
    source: UPDATE,
};

pub(super) const LOCAL_ACCOUNTS: FieldKind = FieldKind {
    name: "local accounts",
    read: ".disableLocalAccounts // false | not",
    create_flag: Some("--disable-local-accounts"),
    change: Change::Access,
    source: UPDATE,
};

/// A field with its desired value, the location of the value, and the flags of `az aks update` that set it.
type AccessField = (&'static FieldKind, Value, Span, Vec<String>);

/// The fields that the file sets.
pub(super) fn fields(cluster: &Cluster, create: &AzureCreate) -> Vec<Field> {
    let section = section(&cluster.config).cluster.span;
    let command = az_command(&cluster.config, &["aks", "update"])
        .with_arguments(["--name", &cluster.name])
        .with_arguments(["--output", "none"]);
    let fields = access_fields(create).into_iter();
    fields
        .map(|(kind, desired, span, flags)| Field {
            kind,
            desired,
            update: (!flags.is_empty())
                .then(|| command.clone().with_arguments(flags))
                .into_iter()
                .collect(),
            lookup: None,
            is_set_after_creation: false,
            external_entries: None,
            origin: Origin::derived([section, span], DerivationReason::Written),
        })
        .collect()
}

fn access_fields(create: &AzureCreate) -> Vec<AccessField> {
    let mut fields: Vec<AccessField> = Vec::new();
    if let Some(first) = create.authorized_ip_ranges.first() {
        let ranges = ranges(create);
        let flags = vec![flag(&RANGES), join(&ranges)];
        fields.push((&RANGES, json!(ranges), first.span, flags));
    }
    if let Some(zone) = &create.private_dns_zone {
        let desired = json!(zone.to_ascii_lowercase());
        fields.push((&PRIVATE_DNS, desired, zone.span, Vec::new()));
    }
    if let Some(fqdn) = create.public_fqdn {
        let flags = vec![switch("public-fqdn", fqdn.value)];
        fields.push((&PUBLIC_FQDN, json!(fqdn.value), fqdn.span, flags));
    }
    if let Some(entra) = &create.entra {
        fields.extend(entra_fields(entra, entra.span));
    }
    if let Some(accounts) = create.local_accounts {
        let flags = vec![switch("local-accounts", accounts.value)];
        fields.push((&LOCAL_ACCOUNTS, json!(accounts.value), accounts.span, flags));
    }
    fields
}

fn entra_fields(entra: &AzureEntra, span: Span) -> Vec<AccessField> {
    let admins = admin_groups(entra);
    let set_admins = vec![flag(&ADMINS), join(&admins)];
    let tenant = entra.tenant.as_ref();
    let set_tenant = |tenant: &str| vec![flag(&TENANT), tenant.to_owned()];
    let enable = std::iter::once(flag(&ENTRA))
        .chain(set_admins.clone())
        .chain(tenant.iter().flat_map(|tenant| set_tenant(tenant)))
        .chain(entra.azure_rbac.value.then(|| flag(&AZURE_RBAC)));
    let mut fields: Vec<AccessField> = vec![
        (&ENTRA, json!(true), span, enable.collect()),
        (&ADMINS, json!(admins), span, set_admins),
    ];
    if let Some(tenant) = tenant {
        let desired = json!(tenant.to_ascii_lowercase());
        fields.push((&TENANT, desired, tenant.span, set_tenant(tenant)));
    }
    let rbac = entra.azure_rbac;
    let flags = vec![switch("azure-rbac", rbac.value)];
    fields.push((&AZURE_RBAC, json!(rbac.value), rbac.span, flags));
    fields
}

/// The flags that set the fields at creation. Those of the defaults are omitted.
pub(super) fn create_flags(create: &AzureCreate) -> Vec<String> {
    let mut flags = Vec::new();
    if !create.authorized_ip_ranges.is_empty() {
        flags.extend([flag(&RANGES), join(&ranges(create))]);
    }
    if let Some(zone) = &create.private_dns_zone {
        flags.extend([flag(&PRIVATE_DNS), zone.value.clone()]);
    }
    if create.public_fqdn.is_some_and(|fqdn| !fqdn.value) {
        flags.push(flag(&PUBLIC_FQDN));
    }
    if let Some(entra) = &create.entra {
        flags.push(flag(&ENTRA));
        let admins = admin_groups(entra);
        if !admins.is_empty() {
            flags.extend([flag(&ADMINS), join(&admins)]);
        }
        if let Some(tenant) = &entra.tenant {
            flags.extend([flag(&TENANT), tenant.value.clone()]);
        }
        if entra.azure_rbac.value {
            flags.push(flag(&AZURE_RBAC));
        }
    }
    if create
        .local_accounts
        .is_some_and(|accounts| !accounts.value)
    {
        flags.push(flag(&LOCAL_ACCOUNTS));
    }
    flags
}

/// Makes `kubectl` log in as the user of `az`. By default, the kubeconfig of a cluster with Entra ID asks the user to
/// open a page in a browser.
///
/// Source: azure-cli 2.91.0 `acs/custom.py` (`aks_get_credentials` runs the same command if `kubelogin` is installed;
/// older releases do not).
pub(super) fn login_command(cluster: &Cluster) -> Option<Command> {
    create_section(cluster)?.entra.as_ref()?;
    let command = ["kubelogin", "convert-kubeconfig", "--login", "azurecli"];
    Some(Command::new(command))
}

/// Who can reach the API server and log in, as sentences.
pub(super) fn notes(cluster: &Cluster) -> Vec<String> {
    let Some(create) = create_section(cluster) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    if create.private_cluster.value {
        notes.push(
            "API server: it has only a private address. Run install.sh, cloud/verify.sh and kubectl in a network that is \
             connected to the network of the cluster."
                .to_owned(),
        );
    } else if !create.authorized_ip_ranges.is_empty() {
        notes.push(format!(
            "API server: it accepts clients from {} only.",
            ranges(create).into_iter().collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(entra) = &create.entra {
        let admins = admin_groups(entra);
        let admins = if admins.is_empty() {
            "identities with a role in Azure".to_owned()
        } else {
            format!("the members of the Entra groups {}", join(&admins))
        };
        notes.push(format!(
            "Login: with Microsoft Entra ID. kubectl, install.sh and cloud/verify.sh need kubelogin. Administrators are \
             {admins}. The groups of teams are object IDs of Entra groups."
        ));
    }
    if create
        .local_accounts
        .is_some_and(|accounts| !accounts.value)
    {
        notes.push(
            "Login: the cluster has no local accounts; az aks get-credentials --admin fails."
                .to_owned(),
        );
    }
    notes
}

fn ranges(create: &AzureCreate) -> BTreeSet<String> {
    let ranges = create.authorized_ip_ranges.iter();
    ranges.map(|range| range.value.clone()).collect()
}

fn admin_groups(entra: &AzureEntra) -> BTreeSet<String> {
    let groups = entra.admin_groups.iter();
    groups.map(|group| group.to_ascii_lowercase()).collect()
}

fn join(texts: &BTreeSet<String>) -> String {
    texts
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(",")
}

fn flag(kind: &FieldKind) -> String {
    kind.create_flag.unwrap_or_default().to_owned()
}

fn switch(setting: &str, is_enabled: bool) -> String {
    let verb = if is_enabled { "enable" } else { "disable" };
    format!("--{verb}-{setting}")
}
