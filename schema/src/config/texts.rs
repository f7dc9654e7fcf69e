//! Iteration over all free-form strings of a configuration, for rules that apply to any string.

use super::{
    AwsAccessEntry, AwsCluster, AwsExistingVpc, AwsVpc, AzureCluster, Capacity, CloudSection,
    EnvFrom, Fragment, GcpCluster, Gitops, GpuCluster, Maintenance, NodeImage, Notebooks,
    Placement, Pods, Prometheus, Sharing, Stack, Task, TextMap, ValueFrom, VolumeFrom, Volumes,
};
use crate::{Span, Spanned};

/// A string in the file.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The string.
    pub written: &'a str,
    /// Its location.
    pub span: Span,
    /// Whether it can have several lines, as command arguments and variables can.
    pub is_multiline: bool,
}

/// All strings of a file, including the keys of string maps, but without quantities, which have their own syntax.
pub fn all_texts(config: &GpuCluster) -> Vec<Text<'_>> {
    let mut texts = Texts::default();
    texts.add(&config.metadata.name);
    texts.add_all(&config.base);
    texts.add_all(&config.allow);
    texts.add(&config.kubernetes.version);
    texts.add_cloud(&config.cloud);
    texts.add_stack(&config.stack);
    texts.add_storage(config);
    texts.add_pools(config);
    texts.add_teams(config);
    match (config.monitoring.as_ref()).map(|monitoring| &monitoring.prometheus.value) {
        Some(Prometheus::Existing(existing)) => texts.add(&existing.release),
        Some(Prometheus::Install(install)) => {
            let storage = install.storage.as_ref();
            texts.add_all(storage.and_then(|storage| storage.class.as_ref()));
            texts.add_all(install.grafana.as_ref().map(|it| &it.admin_secret));
        }
        None => {}
    }
    texts.add_workloads(config);
    if let Some(Notebooks::JupyterHub(hub)) = config.notebooks.as_ref().map(|it| &it.value) {
        texts.add_all(&hub.image);
        texts.add_all(hub.storage.as_ref().and_then(|it| it.class.as_ref()));
        texts.add_all(&hub.secret);
        for profile in &hub.profiles {
            texts.add(&profile.name);
            texts.add_all(&profile.pool);
            texts.add_all(&profile.profile);
            texts.add_all(&profile.image);
        }
    }
    texts.add_all(&config.mirror.images);
    texts.add_all(&config.mirror.charts);
    texts.add_map(&config.digests);
    for (_, settings) in config.charts.configured() {
        texts.add_fragment(&settings.values);
    }
    match config.gitops.as_ref().map(|it| &it.value) {
        Some(Gitops::Flux(flux)) => {
            texts.add_all([&flux.repository, &flux.branch, &flux.path, &flux.namespace]);
            texts.add_all(&flux.secret);
        }
        Some(Gitops::Argocd(argo)) => {
            texts.add_all([&argo.repository, &argo.branch, &argo.path, &argo.namespace]);
            texts.add_all(&argo.cluster);
        }
        None => {}
    }
    texts.found
}

fn new_text(written: &Spanned<String>, is_multiline: bool) -> Text<'_> {
    Text {
        written,
        span: written.span,
        is_multiline,
    }
}

#[derive(Default)]
struct Texts<'a> {
    found: Vec<Text<'a>>,
}

impl<'a> Texts<'a> {
    fn add(&mut self, written: &'a Spanned<String>) {
        self.found.push(new_text(written, false));
    }

    fn add_all(&mut self, written: impl IntoIterator<Item = &'a Spanned<String>>) {
        for text in written {
            self.add(text);
        }
    }

    fn add_map(&mut self, map: &'a TextMap) {
        for (key, value) in map {
            self.add_all([key, value]);
        }
    }

    fn add_multiline(&mut self, written: impl IntoIterator<Item = &'a Spanned<String>>) {
        let lines = written.into_iter().map(|written| new_text(written, true));
        self.found.extend(lines);
    }

    fn add_cloud(&mut self, cloud: &'a CloudSection) {
        match cloud {
            CloudSection::Aws(aws) => {
                self.add_all([&aws.account, &aws.region]);
                match &aws.cluster.value {
                    AwsCluster::Create(create) => {
                        match create.vpc.as_ref().map(|vpc| &vpc.value) {
                            Some(AwsVpc::Cidr(range)) => self.add(range),
                            Some(AwsVpc::Existing(vpc)) => self.add_vpc(vpc),
                            None => {}
                        }
                        self.add_all(create.zones.iter().chain(&create.public_access_cidrs));
                        self.add_all(create.service_cidr.iter().chain(&create.role));
                        self.add_all(&create.secrets_key);
                        self.add_access(&create.access);
                    }
                    AwsCluster::Existing(existing) => {
                        self.add_all(&existing.name);
                        existing.vpc.iter().for_each(|vpc| self.add_vpc(vpc));
                        self.add_access(&existing.access);
                    }
                }
                self.add_all(&aws.node_role);
                self.add_map(&aws.tags);
            }
            CloudSection::Gcp(gcp) => {
                self.add_all([&gcp.project, &gcp.location]);
                match &gcp.cluster.value {
                    GcpCluster::Create(create) => {
                        self.add_all(&create.network);
                        self.add_all(&create.subnetwork);
                        self.add_all(create.pod_range.iter().chain(&create.service_range));
                        self.add_all(&create.secrets_key);
                        self.add_all(&create.authorized_networks);
                        self.add_all(&create.security_group);
                        self.add_maintenance(create.maintenance.as_ref());
                        if let Some(exclusion) = &create.maintenance_exclusion {
                            self.add_all(&exclusion.start);
                            self.add_all(&exclusion.end);
                        }
                    }
                    GcpCluster::Existing(existing) => self.add_all(&existing.name),
                }
                self.add_all(&gcp.node_service_account);
                self.add_map(&gcp.resource_labels);
            }
            CloudSection::Azure(azure) => {
                self.add_all([&azure.subscription, &azure.resource_group, &azure.location]);
                match &azure.cluster.value {
                    AzureCluster::Create(create) => {
                        self.add_all(&create.subnet);
                        self.add_all(&create.pod_cidr);
                        self.add_all(&create.service_cidr);
                        self.add_all(create.identity.iter().chain(&create.kubelet_identity));
                        self.add_all(create.secrets_key.iter().chain(&create.disk_encryption_set));
                        self.add_all(&create.authorized_ip_ranges);
                        self.add_all(&create.private_dns_zone);
                        if let Some(entra) = &create.entra {
                            self.add_all(entra.admin_groups.iter().chain(&entra.tenant));
                        }
                        self.add_maintenance(create.maintenance.as_ref());
                    }
                    AzureCluster::Existing(existing) => self.add_all(&existing.name),
                }
                self.add_map(&azure.tags);
            }
            CloudSection::OnPrem(on_prem) => self.add(&on_prem.context),
            CloudSection::Existing(platform) => self.add_all(&platform.context),
        }
    }

    fn add_maintenance(&mut self, maintenance: Option<&'a Spanned<Maintenance>>) {
        self.add_all(maintenance.map(|it| &it.start));
    }

    fn add_storage(&mut self, config: &'a GpuCluster) {
        let Some(storage) = &config.storage else {
            return;
        };
        self.add_all(&storage.default);
        for class in &storage.classes {
            self.add(&class.name);
            match &class.volumes.value {
                Volumes::Disk(disk) => self.add_all(&disk.kind),
                Volumes::Files(files) => {
                    self.add_all(&files.kind);
                    self.add_all(&files.id);
                    self.add_all(&files.subnet);
                    self.add_all(&files.security_group);
                }
            }
        }
        for bucket in &storage.buckets {
            self.add(&bucket.name);
            self.add(&bucket.namespace);
            self.add(&bucket.bucket);
        }
    }

    fn add_vpc(&mut self, vpc: &'a AwsExistingVpc) {
        self.add(&vpc.id);
        self.add_all(&vpc.security_group);
        for subnet in vpc.private_subnets.iter().chain(&vpc.public_subnets) {
            self.add_all([&subnet.zone, &subnet.id]);
        }
    }

    fn add_access(&mut self, entries: &'a [Spanned<AwsAccessEntry>]) {
        for entry in entries {
            self.add(&entry.principal);
            self.add_all(entry.groups.iter().chain(&entry.user));
            self.add_all(entry.policies.iter().flat_map(|policy| &policy.namespaces));
        }
    }

    fn add_stack(&mut self, stack: &'a Stack) {
        self.add_all(&stack.driver_version);
        self.add_all(&stack.runtime_image);
        self.add_all(&stack.driver_image);
    }

    fn add_pools(&mut self, config: &'a GpuCluster) {
        for pool in &config.node_pools {
            self.add(&pool.name);
            self.add_all(&pool.machine);
            self.add_all(&pool.alternative_machines);
            self.add_all(pool.gpu.as_ref().map(|gpu| &gpu.model));
            self.add_all(pool.zones.iter().chain(&pool.subnets).chain(&pool.hosts));
            match &pool.capacity.value {
                Capacity::Reservation(reservation) => self.add(&reservation.id),
                Capacity::CapacityBlock(block) => {
                    self.add_all([&block.id, &block.start, &block.end]);
                }
                Capacity::FlexStart(flex) => self.add_all(&flex.max_run_duration),
                Capacity::OnDemand | Capacity::Spot(_) => {}
            }
            if let Some(NodeImage::Version(version)) =
                pool.node_image.as_ref().map(|image| &image.value)
            {
                self.add(version);
            }
            if let Some(Placement::Group(group)) =
                pool.network.placement.as_ref().map(|it| &it.value)
            {
                self.add(group);
            }
            if let Sharing::Mig(mig) = &pool.sharing.value {
                for entry in &mig.per_gpu {
                    self.add_all(&entry.gpus);
                    self.add_all(entry.layout.iter().map(|slices| &slices.profile));
                }
            }
            self.add_map(&pool.labels);
            for taint in &pool.taints {
                self.add_all([&taint.key, &taint.value.value]);
            }
            self.add_all(&pool.dedicated_to);
            self.add_map(&pool.tags);
            if let Some(existing) = &pool.existing {
                self.add_map(&existing.selector);
            }
            self.add_stack(&pool.stack);
        }
    }

    fn add_teams(&mut self, config: &'a GpuCluster) {
        for team in &config.teams {
            self.add(&team.name);
            self.add_all(&team.namespaces);
            for member in &team.members {
                self.add_all(&member.group);
                self.add_all(&member.user);
                self.add_all(&member.service_account);
            }
            for namespace_quota in &team.namespace_quotas {
                self.add(&namespace_quota.namespace);
            }
            let quotas = team
                .namespace_quotas
                .iter()
                .map(|namespace_quota| &namespace_quota.quota);
            let team_quota = team.quota.iter().map(|quota| &quota.value);
            for quota in team_quota.chain(quotas).flat_map(|quota| &quota.gpus) {
                self.add(&quota.pool);
                self.add_all(&quota.profile);
            }
        }
        for priority in &config.priorities {
            self.add(&priority.name);
            self.add_all(&priority.description);
        }
    }

    fn add_workloads(&mut self, config: &'a GpuCluster) {
        for workload in &config.workloads {
            self.add(&workload.name);
            self.add_all(&workload.team);
            self.add_all(&workload.namespace);
            self.add_all(&workload.pool);
            self.add_all(&workload.priority);
            for (_, _, task) in workload.tasks() {
                self.add_task(task);
            }
            self.add_fragment(&workload.pod_patch);
            self.add_fragment(&workload.patch);
        }
    }

    fn add_task(&mut self, task: Task<'a>) {
        if let Some(pods) = task.pods() {
            self.add_containers(&pods);
        }
        match task {
            Task::CudaTest(it) => self.add_all(&it.image),
            Task::FabricTest(it) => self.add_all(&it.image),
            Task::CronJob(it) => {
                self.add(&it.schedule);
                self.add_all(&it.time_zone);
            }
            Task::Deployment(it) => {
                let metric = it.autoscaling.as_ref().and_then(|it| it.metric.as_ref());
                self.add_all(metric.map(|it| &it.name));
            }
            Task::LeaderWorkerSet(it) => {
                if let Some(leader) = &it.leader {
                    self.add_multiline(leader.command.iter().chain(&leader.args));
                }
            }
            _ => {}
        }
        if let Some(probes) = task.probes() {
            let all_probes = [&probes.startup, &probes.readiness, &probes.liveness];
            let paths = all_probes
                .into_iter()
                .flatten()
                .filter_map(|it| it.path.as_ref());
            self.add_all(paths);
        }
    }

    fn add_containers(&mut self, pods: &Pods<'a>) {
        self.add(pods.image);
        self.add_multiline(pods.command.iter().chain(pods.args));
        self.add_all(pods.env.keys());
        self.add_multiline(pods.env.values());
        for (name, from) in pods.env_value_from {
            let (ValueFrom::Secret(key) | ValueFrom::ConfigMap(key)) = &from.value;
            self.add_all([name, &key.name, &key.key]);
        }
        for from in pods.env_from {
            let (EnvFrom::Secret(name) | EnvFrom::ConfigMap(name)) = &from.value;
            self.add(name);
        }
        self.add_all(pods.profile);
        for volume in pods.volumes {
            self.add_all([&volume.name, &volume.mount_path]);
            match &volume.from.value {
                VolumeFrom::ExistingClaim(name)
                | VolumeFrom::ConfigMap(name)
                | VolumeFrom::Secret(name) => self.add(name),
                VolumeFrom::Claim(claim) => self.add_all(&claim.class),
                VolumeFrom::Scratch(_) => {}
            }
        }
        self.add_all(pods.image_pull_secrets);
        self.add_all(pods.service_account);
    }

    fn add_fragment(&mut self, fragment: &'a Spanned<Fragment>) {
        let mut add = |written, span| {
            self.found.push(Text {
                written,
                span,
                is_multiline: true,
            });
        };
        fragment.value.visit_strings(&mut add, fragment.span);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Collects the strings that start with `@`, the marker for free-form strings in these tests.
    fn collect_marked(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) if text.starts_with('@') => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| collect_marked(item, found)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    found.extend(key.starts_with('@').then(|| key.clone()));
                    collect_marked(value, found);
                }
            }
            _ => {}
        }
    }

    #[track_caller]
    fn check(cloud: &Value, pool: &Value) {
        let document = json!({
            "apiVersion": "gpuc.dev/v1alpha1", "kind": "GpuCluster",
            "metadata": {"name": "@name"}, "base": "@base", "allow": ["@allow"],
            "kubernetes": {"version": "@version"}, "cloud": cloud,
            "stack": {"driverVersion": "@dv", "runtimeImage": "@ri", "driverImage": "@di"},
            "nodePools": [pool],
            "teams": [{"name": "@team", "namespaces": ["@ns"],
                "members": [{"group": "@group"}, {"user": "@user"}, {"serviceAccount": "@sa"}],
                "quota": {"gpus": [{"pool": "@qp", "profile": "@qprof"}]},
                "namespaceQuotas": [{"namespace": "@qn", "quota": {"gpus": [{"pool": "@np2"}]}}]}],
            "priorities": [{"name": "@prio", "value": 1, "description": "@pd"}],
            "monitoring": {"prometheus": {"existing": {"release": "@release"}}},
            "workloads": [
                {"name": "@w1", "team": "@wt", "namespace": "@wns", "pool": "@wp", "priority": "@wpr",
                    "podPatch": {"@pk": "@pv"}, "patch": {"@ok": ["@ov"]},
                    "trainJob": {"image": "@i1", "nodes": 1, "gpusPerNode": 1}},
                {"name": "@w2", "job": {"image": "@i2", "command": ["@c2"], "args": ["@a2"],
                    "env": {"@k2": "@v2"}, "envValueFrom": {"@k3": {"secret": {"name": "@sn", "key": "@sk2"}}},
                    "envFrom": [{"secret": "@ef1"}, {"configMap": "@ef2"}], "profile": "@pr",
                    "imagePullSecrets": ["@ips"], "serviceAccount": "@sa", "volumes": [
                        {"name": "@v1", "mountPath": "@m1", "from": {"existingClaim": "@ec"}},
                        {"name": "@v2n", "mountPath": "@m2", "from": {"claim": {"sizeGiB": 1, "class": "@vc"}}},
                        {"name": "@v3", "mountPath": "@m3", "from": {"configMap": "@cm"}},
                        {"name": "@v4", "mountPath": "@m4", "from": {"secret": "@vs"}}]}},
                {"name": "@w3", "deployment": {"image": "@i3", "probes": {"readiness": {"port": 1, "path": "@p1"},
                    "startup": {"port": 1, "path": "@p2"}, "liveness": {"port": 1, "path": "@p3"}},
                    "autoscaling": {"min": 1, "max": 2, "metric": {"name": "@mn", "average": "1"}}}},
                {"name": "@w4", "cudaTest": {"image": "@i4"}},
                {"name": "@w7", "fabricTest": {"gpusPerNode": 1, "image": "@i7"}},
                {"name": "@w5", "cronJob": {"image": "@i5", "schedule": "@sch", "timeZone": "@tz"}},
                {"name": "@w6", "leaderWorkerSet": {"image": "@i6", "nodes": 1, "gpusPerNode": 1,
                    "leader": {"command": ["@lc"], "args": ["@la"]}}}],
            "notebooks": {"jupyterHub": {"profiles": [
                {"name": "@n", "pool": "@np", "profile": "@nprof", "image": "@nimage"}],
                "image": "@hi", "secret": "@hs", "storage": {"sizeGiB": 1, "class": "@hc"}}},
            "storage": {"default": "@sd", "classes": [
                {"name": "@s1", "volumes": {"disk": {"type": "@st"}}},
                {"name": "@s2", "volumes": {"files": {"type": "@sf", "id": "@si", "subnet": "@sn",
                    "securityGroup": "@sg"}}}],
                "buckets": [{"name": "@b1", "namespace": "@b2", "bucket": "@b3"}]},
            "charts": {"kueue": {"values": {"@ck": ["@cv", {"@cn": "@cw"}]}}},
            "mirror": {"images": "@mi", "charts": "@mc"},
            "digests": {"@dk": "@dd"},
            "gitops": {"flux": {"repository": "@repo", "branch": "@branch", "path": "@path",
                "secret": "@fs", "namespace": "@fn"}},
        });
        let mut expected = Vec::new();
        collect_marked(&document, &mut expected);
        let config: GpuCluster = serde_json::from_value(document).expect("a configuration");
        let mut found: Vec<_> = all_texts(&config)
            .iter()
            .map(|text| text.written.to_owned())
            .filter(|text| !text.is_empty())
            .collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn all_strings_are_found() {
        let pool = json!({
            "name": "@pool", "machine": "@machine", "alternativeMachines": ["@other"],
            "gpu": {"model": "@model", "perNode": 1},
            "nodes": {"count": 1}, "zones": ["@zone"], "subnets": ["@subnet"], "hosts": ["@host"],
            "capacity": {"reservation": {"id": "@id"}},
            "network": {"placement": {"group": "@pg"}},
            "sharing": {"mig": {"strategy": "mixed", "perGpu": [
                {"gpus": "@gpus", "layout": [{"profile": "@profile", "count": 1}]}]}},
            "labels": {"@lk": "@lv"}, "taints": [{"key": "@tk", "value": "@tv", "effect": "NoSchedule"}],
            "dedicatedTo": "@whom", "tags": {"@gk": "@gv"}, "existing": {"selector": {"@sk": "@sv"}},
            "stack": {"driverVersion": "@pdv", "runtimeImage": "@pri", "driverImage": "@pdi"},
        });
        let block = json!({"name": "@pool", "nodes": {"count": 1},
            "nodeImage": {"version": "@image"},
            "capacity": {"capacityBlock": {"id": "@id", "count": 1, "start": "@start", "end": "@end"}}});
        let flex = json!({"name": "@pool", "nodes": {"count": 1},
            "capacity": {"flexStart": {"maxRunDuration": "@duration"}}});
        let vpc = json!({"id": "@vpc", "securityGroup": "@sg",
            "privateSubnets": [{"zone": "@z1", "id": "@s1"}],
            "publicSubnets": [{"zone": "@z2", "id": "@s2"}]});
        let aws = |cluster: Value| {
            json!({"aws": {"account": "@account", "region": "@region", "cluster": cluster,
                "nodeRole": "@nr", "tags": {"@ak": "@av"}}})
        };
        check(
            &aws(
                json!({"create": {"vpc": {"cidr": "@cidr"}, "zones": ["@az"],
                "serviceCidr": "@sc", "role": "@role", "secretsKey": "@key",
                "publicAccessCidrs": ["@range"], "access": [{"principal": "@arn", "groups": ["@ag"], "user": "@au",
                "policies": [{"policy": "view", "namespaces": ["@an"]}]}]}}),
            ),
            &pool,
        );
        check(&aws(json!({"create": {"vpc": {"existing": vpc}}})), &block);
        check(
            &aws(
                json!({"existing": {"name": "@cluster", "vpc": vpc, "access": [{"principal": "@arn"}]}}),
            ),
            &pool,
        );
        let gcp = |cluster: Value| {
            json!({"gcp": {"project": "@project", "location": "@location", "cluster": cluster,
                "nodeServiceAccount": "@nsa", "resourceLabels": {"@rk": "@rv"}}})
        };
        check(
            &gcp(json!({"create": {"network": "@net", "subnetwork": "@sub",
                "podRange": "@pr", "serviceRange": "@sr", "secretsKey": "@key",
                "authorizedNetworks": ["@range"], "securityGroup": "@group2"}})),
            &pool,
        );
        check(&gcp(json!({"existing": {"name": "@cluster"}})), &pool);
        check(&gcp(json!({"existing": {"name": "@cluster"}})), &flex);
        let azure = |cluster: Value| {
            json!({"azure": {"subscription": "@subscription", "resourceGroup": "@rg",
                "location": "@location", "cluster": cluster, "tags": {"@ak": "@av"}}})
        };
        check(
            &azure(
                json!({"create": {"subnet": "@subnet2", "identity": "@mi", "kubeletIdentity": "@ki",
                "secretsKey": "@key", "diskEncryptionSet": "@des", "authorizedIpRanges": ["@range"],
                "privateDnsZone": "@dns", "entra": {"adminGroups": ["@group2"], "tenant": "@tenant"}}}),
            ),
            &pool,
        );
        check(&azure(json!({"existing": {"name": "@cluster"}})), &pool);
        check(&json!({"onPrem": {"context": "@context"}}), &pool);
        let existing = json!({"provider": "k3s", "context": "@context"});
        check(&json!({"existing": existing}), &pool);
    }
}
