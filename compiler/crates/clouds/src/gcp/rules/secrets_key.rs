//! An invalid key of Secrets.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::{create_section, names, section};

/// Sources: gcloud container clusters create --help (`--database-encryption-key`), Google Cloud SDK 528.0.0; the
/// location: docs.cloud.google.com/kubernetes-engine/docs/how-to/encrypting-secrets, general knowledge.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2667",
        name: "gke-secrets-key",
        severity: Severity::Error,
        summary: "the key that encrypts Secrets is invalid",
        checks: "Whether `secretsKey` is the full name of a Cloud KMS key in the region of the cluster.",
        reason: "GKE encrypts Secrets only with a key in the cluster's own region.",
        remedy: "Write the name that `gcloud kms keys list` shows, of a key in the region of the cluster.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  gcp:
    project: acme-ml-prod
    location: us-central1-a
    nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com
    cluster: {create: {secretsKey: projects/acme-keys/locations/global/keyRings/gke/cryptoKeys/secrets}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace("locations/global", "locations/us-central1"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let create = create_section(&cluster.config);
    let Some(key) = create.and_then(|create| create.secrets_key.as_ref()) else {
        return;
    };
    let location = section(&cluster.config).location.as_str();
    let region = names::region_of_zone(location).unwrap_or(location);
    let problem = match key_location(key) {
        Some(location) if location == region => return,
        Some(location) => format!("the key is in {location}, and the cluster in {region}"),
        None => format!("`{key}` is not the name of a Cloud KMS key"),
    };
    report
        .diagnostic(&RULE.code, key.span, problem)
        .help(format!(
            "write a key in the region: projects/PROJECT/locations/{region}/keyRings/RING/cryptoKeys/KEY"
        ))
        .emit();
}

/// The location in the name of a key.
fn key_location(name: &str) -> Option<&str> {
    let parts: Vec<_> = name.split('/').collect();
    let [
        "projects",
        project,
        "locations",
        location,
        "keyRings",
        ring,
        "cryptoKeys",
        key,
    ] = parts[..]
    else {
        return None;
    };
    let is_name = |text: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
        !text.is_empty() && text.bytes().all(inner)
    };
    ([project, location, ring, key].into_iter())
        .all(is_name)
        .then_some(location)
}

#[cfg(test)]
mod tests {
    use super::key_location;

    #[test]
    fn names_of_keys() {
        let name = "projects/a/locations/europe-west4/keyRings/gke/cryptoKeys/secrets";
        assert_eq!(key_location(name), Some("europe-west4"));
        for text in [
            "",
            "secrets",
            "projects/a/locations//keyRings/gke/cryptoKeys/secrets",
            "projects/a/locations/europe-west4/keyRings/gke/cryptoKeys/secrets/cryptoKeyVersions/1",
            "projects/a/locations/europe-west4/keyRings/g ke/cryptoKeys/secrets",
        ] {
            assert_eq!(key_location(text), None, "{text}");
        }
    }
}
