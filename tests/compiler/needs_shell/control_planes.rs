//! Drift in the ranges, the identities, the logs and the keys of clusters.

use gpuc_model::plan::Field;
use serde_json::{Value, json};

/// Causes drift in a field of an EKS cluster.
pub(super) fn drift_eks(cluster: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "IAM role" => cluster["roleArn"] = json!("arn:aws:iam::123456789012:role/other"),
        "range of Services" => {
            cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"] = json!("10.99.0.0/16");
        }
        // EKS does not report them.
        "NAT gateways" => cluster["_config"]["vpc"]["nat"] = json!({"gateway": "Disable"}),
        "logs of the control plane" => {
            let setups = json!([{"types": ["api", "audit"], "enabled": true}]);
            cluster["logging"]["clusterLogging"] = setups;
        }
        "key of Secrets" => {
            cluster.as_object_mut().unwrap().remove("encryptionConfig");
        }
        "deletion protection" => cluster["deletionProtection"] = json!(true),
        "support of versions" => cluster["upgradePolicy"] = json!({"supportType": "EXTENDED"}),
        _ => return false,
    }
    true
}

/// Causes drift in a field of a GKE cluster.
pub(super) fn drift_gke(cluster: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "range of pods" => {
            cluster["clusterIpv4Cidr"] = json!("10.99.0.0/16");
            cluster["ipAllocationPolicy"]["clusterSecondaryRangeName"] = json!("other");
        }
        "range of Services" => {
            cluster["ipAllocationPolicy"]["servicesIpv4CidrBlock"] = json!("10.99.0.0/20");
            cluster["ipAllocationPolicy"]["servicesSecondaryRangeName"] = json!("other");
        }
        "logs of the control plane" => {
            let components = json!(["SYSTEM_COMPONENTS", "APISERVER"]);
            cluster["loggingConfig"]["componentConfig"]["enableComponents"] = components;
        }
        "key of Secrets" => cluster["databaseEncryption"] = json!({"state": "DECRYPTED"}),
        _ => return false,
    }
    true
}

/// Causes drift in a field of an AKS cluster.
pub(super) fn drift_aks(cluster: &mut Value, field: &Field) -> bool {
    match field.kind.name {
        "identity of nodes" => {
            cluster["identityProfile"]["kubeletidentity"]["resourceId"] = json!("/other");
        }
        "outbound type" => cluster["networkProfile"]["outboundType"] = json!("loadBalancer"),
        "key of Secrets" => {
            let key = &mut cluster["securityProfile"]["azureKeyVaultKms"];
            *key = json!({"enabled": false, "keyId": "https://acme.vault.azure.net/keys/old/1"});
        }
        "disk encryption set" => cluster["diskEncryptionSetId"] = json!(null),
        _ => return false,
    }
    true
}
