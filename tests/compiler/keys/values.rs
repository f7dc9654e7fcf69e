//! Values for keys, by path. `azure:` before a path limits the row to one cloud.

/// The values that the test tries for each key, as YAML.
pub(super) const KEY_VALUES: &[(&str, &[&str])] = &[
    (
        "gitops.flux.repository",
        &[
            "https://git.example.com/acme/gitops.git",
            "https://git.example.com/acme/other.git",
        ],
    ),
    ("gitops.flux.branch", &["main", "release"]),
    ("gitops.flux.path", &["clusters/demo", "fleet/demo"]),
    ("gitops.flux.namespace", &["gitops"]),
    (
        "gitops.argocd.repository",
        &[
            "https://git.example.com/acme/gitops.git",
            "https://git.example.com/acme/other.git",
        ],
    ),
    ("gitops.argocd.branch", &["main", "release"]),
    ("gitops.argocd.path", &["clusters/demo", "fleet/demo"]),
    ("gitops.argocd.namespace", &["gitops"]),
    ("gitops.flux.secret", &["deploy-key"]),
    ("gitops.argocd.cluster", &["other"]),
    (
        "charts.jupyterhub.values",
        &["{hub: {config: {JupyterHub: {authenticator_class: google}}}}"],
    ),
    ("notebooks.jupyterHub.profiles.name", &["CPU", "no GPU"]),
    (
        "notebooks.jupyterHub.profiles.pool",
        &["train", "infer", "slices", "old"],
    ),
    ("notebooks.jupyterHub.profiles.cpu", &["4"]),
    ("notebooks.jupyterHub.profiles.memory", &["16Gi"]),
    ("metadata.name", &["other"]),
    ("base", &["../base/gpu-cluster.yaml"]),
    (
        "charts.network-operator.values",
        &["{operator: {nameOverride: other}}"],
    ),
    ("allow", &["[machine-unknown]"]),
    ("kubernetes.version", &["'1.33'"]),
    ("cloud.aws.account", &["'210987654321'"]),
    ("cloud.aws.region", &["us-west-2"]),
    ("cloud.aws.tags", &["{owner: vision}"]),
    ("cloud.aws.cluster.create.vpc", &["{cidr: 10.0.0.0/16}"]),
    ("cloud.aws.cluster.create.vpc.cidr", &["10.0.0.0/16"]),
    (
        "cloud.aws.cluster.create.zones",
        &["[us-east-1a, us-east-1c]"],
    ),
    (
        "cloud.aws.cluster.create.publicAccessCidrs",
        &["[203.0.113.0/24]"],
    ),
    (
        "cloud.aws.cluster.create.access",
        &["[{principal: 'arn:aws:iam::123456789012:role/a', groups: [a]}]"],
    ),
    (
        "cloud.aws.cluster.create.access.principal",
        &["arn:aws:iam::123456789012:role/b"],
    ),
    ("cloud.aws.cluster.create.access.groups", &["[b]"]),
    ("cloud.aws.cluster.create.access.user", &["b"]),
    (
        "cloud.aws.cluster.create.access.policies",
        &["[{policy: view}]"],
    ),
    (
        "cloud.aws.cluster.create.access.policies.namespaces",
        &["[b]"],
    ),
    (
        "cloud.aws.cluster.existing.access",
        &["[{principal: 'arn:aws:iam::123456789012:role/a', groups: [a]}]"],
    ),
    (
        "cloud.aws.cluster.existing.access.principal",
        &["arn:aws:iam::123456789012:role/b"],
    ),
    ("cloud.aws.cluster.existing.access.groups", &["[b]"]),
    ("cloud.aws.cluster.existing.access.user", &["b"]),
    (
        "cloud.aws.cluster.existing.access.policies",
        &["[{policy: view}]"],
    ),
    (
        "cloud.aws.cluster.existing.access.policies.namespaces",
        &["[b]"],
    ),
    (
        "cloud.aws.cluster.create.vpc.existing.privateSubnets",
        &[
            "[{zone: us-east-1a, id: subnet-0123456789abcdef0}, {zone: us-east-1b, id: subnet-0123456789abcdef1}]",
        ],
    ),
    (
        "cloud.aws.cluster.create.vpc.existing.privateSubnets.zone",
        &["us-east-1d"],
    ),
    (
        "cloud.aws.cluster.create.vpc.existing.privateSubnets.id",
        &["subnet-0123456789abcdefa"],
    ),
    (
        "cloud.aws.cluster.create.vpc.existing.privateSubnets.nodesOnly",
        &["true"],
    ),
    (
        "cloud.aws.cluster.create.vpc.existing.publicSubnets.zone",
        &["us-east-1a", "us-east-1d"],
    ),
    (
        "cloud.aws.cluster.create.vpc.existing.publicSubnets.id",
        &["subnet-0123456789abcdefb", "subnet-0123456789abcdefc"],
    ),
    (
        "cloud.aws.cluster.create.vpc.existing.securityGroup",
        &["sg-0123456789abcdef0"],
    ),
    ("cloud.aws.cluster.existing.name", &["inference"]),
    (
        "cloud.aws.cluster.existing.vpc.securityGroup",
        &["sg-0123456789abcdef0", "sg-0123456789abcdef1"],
    ),
    (
        "cloud.aws.cluster.existing.vpc.privateSubnets.zone",
        &["us-east-1a", "us-east-1b"],
    ),
    (
        "cloud.aws.cluster.existing.vpc.publicSubnets.zone",
        &["us-east-1a", "us-east-1b"],
    ),
    (
        "cloud.aws.nodeRole",
        &["arn:aws:iam::123456789012:role/other"],
    ),
    (
        "cloud.aws.cluster.create.natGateways",
        &["single", "perZone"],
    ),
    ("cloud.aws.cluster.create.serviceCidr", &["172.21.0.0/16"]),
    (
        "cloud.aws.cluster.create.role",
        &["arn:aws:iam::123456789012:role/other"],
    ),
    (
        "cloud.aws.cluster.create.controlPlaneLogs",
        &["[audit]", "[]"],
    ),
    (
        "cloud.aws.cluster.create.secretsKey",
        &["arn:aws:kms:us-east-1:123456789012:key/22222222-2222-3333-4444-555555555555"],
    ),
    (
        "cloud.aws.cluster.create.deletionProtection",
        &["true", "false"],
    ),
    ("cloud.gcp.project", &["acme-other"]),
    (
        "cloud.gcp.nodeServiceAccount",
        &["other-nodes@acme-ml-prod.iam.gserviceaccount.com"],
    ),
    ("cloud.gcp.cluster.create.podRange", &["10.32.0.0/14"]),
    ("cloud.gcp.cluster.create.serviceRange", &["10.36.0.0/20"]),
    (
        "cloud.gcp.cluster.create.controlPlaneLogs",
        &["[apiServer]", "[]"],
    ),
    (
        "cloud.gcp.cluster.create.secretsKey",
        &["projects/acme-keys/locations/us-central1/keyRings/gke/cryptoKeys/other"],
    ),
    ("cloud.gcp.location", &["us-central1-b"]),
    ("cloud.gcp.cluster.create.network", &["training"]),
    ("cloud.gcp.cluster.create.subnetwork", &["training"]),
    (
        "cloud.gcp.cluster.create.privateEndpoint",
        &["true", "false"],
    ),
    (
        "cloud.gcp.cluster.create.authorizedNetworks",
        &["[203.0.113.0/24]"],
    ),
    ("cloud.gcp.cluster.create.dnsEndpoint", &["true", "false"]),
    ("cloud.gcp.cluster.create.globalAccess", &["true", "false"]),
    (
        "cloud.gcp.cluster.create.securityGroup",
        &["gke-security-groups@acme.dev"],
    ),
    ("cloud.gcp.cluster.existing.name", &["inference"]),
    ("cloud.gcp.resourceLabels", &["{owner: vision}"]),
    (
        "cloud.azure.subscription",
        &["99999999-1111-2222-3333-444444444444"],
    ),
    ("cloud.azure.resourceGroup", &["other"]),
    ("cloud.azure.location", &["westeurope"]),
    (
        "cloud.azure.cluster.create.subnet",
        &[
            "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/ml/subnets/nodes",
        ],
    ),
    (
        "cloud.azure.cluster.create.outbound",
        &["managedNatGateway"],
    ),
    (
        "cloud.azure.cluster.create.secretsKey",
        &["https://acme.vault.azure.net/keys/other/0123456789abcdef0123456789abcdef"],
    ),
    (
        "cloud.azure.cluster.create.diskEncryptionSet",
        &[
            "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/net/providers/Microsoft.Compute/diskEncryptionSets/other",
        ],
    ),
    (
        "cloud.azure.cluster.create.kubeletIdentity",
        &[
            "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/net/providers/Microsoft.ManagedIdentity/userAssignedIdentities/other",
        ],
    ),
    (
        "cloud.azure.cluster.create.identity",
        &[
            "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/net/providers/Microsoft.ManagedIdentity/userAssignedIdentities/ml",
        ],
    ),
    (
        "cloud.azure.cluster.create.authorizedIpRanges",
        &["[73.140.245.0/24]"],
    ),
    ("cloud.azure.cluster.create.privateDnsZone", &["none"]),
    ("cloud.azure.cluster.create.publicFqdn", &["true", "false"]),
    (
        "cloud.azure.cluster.create.localAccounts",
        &["true", "false"],
    ),
    (
        "cloud.azure.cluster.create.entra",
        &["{adminGroups: [11111111-2222-3333-4444-555555555555]}"],
    ),
    (
        "cloud.azure.cluster.create.entra.adminGroups",
        &["[11111111-2222-3333-4444-555555555555]"],
    ),
    (
        "cloud.azure.cluster.create.entra.tenant",
        &["99999999-2222-3333-4444-555555555555"],
    ),
    ("cloud.azure.cluster.existing.name", &["inference"]),
    ("cloud.azure.tags", &["{owner: vision}"]),
    ("cloud.existing.context", &["other"]),
    ("cloud.onPrem.context", &["other"]),
    (
        "cloud.onPrem.packages",
        &["{proxy: \"http://proxy.acme.dev:3128\"}"],
    ),
    (
        "cloud.onPrem.packages.cuda.url",
        &[
            "\"https://mirror.acme.dev/{distribution}/{architecture}\"",
            "\"https://other.acme.dev/{distribution}/{architecture}\"",
        ],
    ),
    (
        "cloud.onPrem.packages.toolkit.url",
        &[
            "\"https://mirror.acme.dev/{format}/{architecture}\"",
            "\"https://other.acme.dev/{format}/{architecture}\"",
        ],
    ),
    (
        "stack.runtimeImage",
        &["registry.example.com/gpuc-runtime:0.2.0"],
    ),
    (
        "monitoring.prometheus.existing.release",
        &["prometheus", "observability"],
    ),
    (
        "monitoring.prometheus.install.grafana.adminSecret",
        &["grafana", "grafana-login"],
    ),
    ("nodePools.name", &["renamed"]),
    ("aws:nodePools.machine", &["g6.2xlarge", "m7i.2xlarge"]),
    (
        "azure:nodePools.machine",
        &["Standard_NC8as_T4_v3", "Standard_D8s_v5"],
    ),
    (
        "gcp:nodePools.machine",
        &["g2-standard-12", "e2-standard-8"],
    ),
    ("onPrem:nodePools.machine", &["dgx-h100"]),
    ("nodePools.gpu.model", &["A10G"]),
    ("azure:nodePools.gpu.model", &["A10"]),
    ("gcp:nodePools.gpu.model", &["P4"]),
    ("onPrem:nodePools.gpu.model", &["L4", "A10"]),
    ("nodePools.gpu.perNode", &["1", "4"]),
    ("nodePools.gpu", &["{model: L4, perNode: 1}"]),
    ("nodePools.nodes.count", &["3"]),
    ("nodePools.nodes.min", &["1", "2"]),
    ("nodePools.nodes.max", &["3"]),
    ("nodePools.nodes.initial", &["2", "3"]),
    ("nodePools.zones", &["[us-east-1b]"]),
    ("azure:nodePools.zones", &["['2']"]),
    ("gcp:nodePools.zones", &["[us-central1-c]"]),
    ("nodePools.subnets", &["[subnet-0123456789abcdef9]"]),
    (
        "azure:nodePools.subnets",
        &[
            "[/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/ml/subnets/gpus]",
        ],
    ),
    ("nodePools.hosts", &["[other-01]"]),
    ("nodePools.capacity.spot.maxPrice", &["3.5"]),
    (
        "nodePools.capacity.reservation.id",
        &["cr-0123456789abcdef1", "cr-0123456789abcdef2"],
    ),
    (
        "gcp:nodePools.capacity.reservation.id",
        &["other", "another"],
    ),
    (
        "azure:nodePools.capacity.reservation.id",
        &[
            "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/ml/providers/Microsoft.Compute/capacityReservationGroups/held",
            "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/ml/providers/Microsoft.Compute/capacityReservationGroups/other",
        ],
    ),
    ("nodePools.capacity.reservation.count", &["1"]),
    ("nodePools.capacity.capacityBlock.count", &["1", "2"]),
    (
        "nodePools.capacity.capacityBlock.start",
        &["2096-11-01T11:30:00Z", "2096-11-02T11:30:00Z"],
    ),
    (
        "nodePools.capacity.capacityBlock.end",
        &["2097-11-01T11:30:00Z", "2097-11-02T11:30:00Z"],
    ),
    // 1 is the default.
    ("nodePools.upgrade.blueGreen.batchNodes", &["3", "4"]),
    ("nodePools.nodeImage.channel", &["latest"]),
    (
        "nodePools.nodeImage.version",
        &["1.36.2-20261101", "1.36.3-20261115"],
    ),
    (
        "nodePools.capacity.capacityBlock.id",
        &["cr-0123456789abcdef1", "cr-0123456789abcdef2"],
    ),
    ("nodePools.network.placement.group", &["near"]),
    (
        "azure:nodePools.network.placement.group",
        &[
            "/subscriptions/00000000-1111-2222-3333-444444444444/resourceGroups/ml/providers/Microsoft.Compute/proximityPlacementGroups/near",
        ],
    ),
    (
        "nodePools.network.gpudirect.interfaces",
        &["[{network: gpu-0, subnetwork: gpu-0-sub}]"],
    ),
    (
        "nodePools.network.rdma",
        &["{infiniband: {}}", "{roce: {}}"],
    ),
    ("nodePools.diskGiB", &["300"]),
    ("nodePools.maxPods", &["60"]),
    ("nodePools.sharing.timeSlicing.replicas", &["3", "5"]),
    ("nodePools.sharing.mps.replicas", &["3", "5"]),
    ("nodePools.sharing.mig.perGpu.gpus", &["'0'"]),
    (
        "nodePools.sharing.mig.perGpu.layout.profile",
        &["1g.5gb", "2g.10gb"],
    ),
    (
        "azure:nodePools.sharing.mig.perGpu.layout.profile",
        &["1g.10gb", "2g.20gb"],
    ),
    ("nodePools.sharing.mig.perGpu.layout.count", &["1", "2"]),
    ("nodePools.labels", &["{owner: vision}"]),
    ("nodePools.taints.key", &["owner", "other"]),
    ("nodePools.taints.value", &["vision"]),
    ("nodePools.tags", &["{owner: vision}"]),
    (
        "nodePools.existing.selector",
        &["{owner: vision}", "{owner: other}"],
    ),
    (
        "nodePools.stack.runtimeImage",
        &["registry.example.com/gpuc-runtime:0.3.0"],
    ),
    ("teams.name", &["vision", "other"]),
    ("teams.namespaces", &["[research]"]),
    ("teams.quota.gpus.pool", &["train", "infer", "slices"]),
    ("teams.quota.gpus.profile", &["1g.5gb"]),
    ("teams.quota.gpus.guaranteed", &["1"]),
    ("teams.quota.gpus.limit", &["2"]),
    ("teams.quota.gpus.shares", &["1"]),
    ("teams.quota.pods", &["100"]),
    ("teams.namespaceQuotas.namespace", &["vision", "other"]),
    ("teams.namespaceQuotas.quota.gpus.pool", &["train", "infer"]),
    ("teams.namespaceQuotas.quota.gpus.profile", &["1g.5gb"]),
    ("teams.namespaceQuotas.quota.gpus.guaranteed", &["1"]),
    ("teams.namespaceQuotas.quota.gpus.limit", &["2"]),
    ("teams.namespaceQuotas.quota.gpus.shares", &["1"]),
    ("teams.namespaceQuotas.quota.pods", &["100"]),
    ("priorities.name", &["production", "other"]),
    ("priorities.value", &["1000", "2000"]),
    ("priorities.description", &["what customers wait for"]),
    ("stack.driverVersion", &["'570'"]),
    ("stack.extendedResources", &["true"]),
    ("nodePools.stack.extendedResources", &["true"]),
    ("nodePools.stack.driverVersion", &["'570'"]),
    ("nodePools.dedicatedTo", &["vision"]),
    ("nodePools.upgrade.maxUnavailable", &["2"]),
    (
        "storage",
        &["{classes: [{name: fast, volumes: {disk: {}}}]}"],
    ),
    ("nodePools.autoRepair", &["true"]),
    ("storage.default", &["fast", "slow"]),
    ("storage.classes.name", &["slow", "slower"]),
    ("storage.buckets.name", &["data", "models"]),
    ("storage.buckets.bucket", &["acme-data", "acme-models"]),
    ("storage.buckets.namespace", &["research", "vision"]),
    ("storage.classes.volumes", &["{disk: {}}", "{files: {}}"]),
    ("aws:storage.classes.volumes.disk.type", &["io2", "pd-ssd"]),
    ("gcp:storage.classes.volumes.disk.type", &["pd-ssd", "gp3"]),
    (
        "azure:storage.classes.volumes.disk.type",
        &["PremiumV2_LRS", "gp3"],
    ),
    ("onPrem:storage.classes.volumes.disk.type", &["gp3"]),
    ("storage.classes.volumes.disk.iops", &["5000", "6000"]),
    (
        "storage.classes.volumes.disk.throughputMiB",
        &["300", "400"],
    ),
    (
        "storage.classes.volumes.files.type",
        &["enterprise", "premium"],
    ),
    (
        "storage.classes.volumes.files.id",
        &["fs-0123456789abcdef1", "fs-0123456789abcdef2"],
    ),
    (
        "cloud.gcp.cluster.create.maintenance",
        &["{days: [saturday, sunday], start: '02:00', hours: 6}"],
    ),
    (
        "cloud.gcp.cluster.create.maintenance.days",
        &["[friday, sunday]"],
    ),
    ("cloud.gcp.cluster.create.maintenance.start", &["03:00"]),
    ("cloud.gcp.cluster.create.maintenance.hours", &["8"]),
    (
        "cloud.azure.cluster.create.maintenance",
        &["{days: [saturday], start: '02:00', hours: 6}"],
    ),
    ("cloud.azure.cluster.create.maintenance.days", &["[friday]"]),
    ("cloud.azure.cluster.create.maintenance.start", &["03:00"]),
    ("cloud.azure.cluster.create.maintenance.hours", &["8"]),
    (
        "cloud.aws.cluster.create.vpc.existing.id",
        &["vpc-0123456789abcdef0", "vpc-0123456789abcdef1"],
    ),
];
