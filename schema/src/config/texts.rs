//! Iteration over all free-form strings of a configuration, for rules that apply to any string.

use super::{
    AwsCluster, AwsExistingVpc, AwsVpc, AzureCluster, Capacity, CloudSection, EnvFrom, Fragment,
    GcpCluster, Gitops, GpuCluster, Maintenance, Notebooks, Placement, Pods, Prometheus, Sharing,
    Stack, Task, TextMap, ValueFrom, VolumeFrom, Volumes,
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
    pub many_lines: bool,
}

/// All strings of a file, including the keys of string maps, but without quantities, which have their own syntax.
pub fn texts(config: &GpuCluster) -> Vec<Text<'_>> {
    let mut texts = Texts::default();
    texts.one(&config.metadata.name);
    texts.some(&config.base);
    texts.some(&config.allow);
    texts.one(&config.kubernetes.version);
    texts.cloud(&config.cloud);
    texts.stack(&config.stack);
    texts.storage(config);
    texts.pools(config);
    texts.teams(config);
    match (config.monitoring.as_ref()).map(|monitoring| &monitoring.prometheus.value) {
        Some(Prometheus::Existing(existing)) => texts.one(&existing.release),
        Some(Prometheus::Install(install)) => {
            let storage = install.storage.as_ref();
            texts.some(storage.and_then(|storage| storage.class.as_ref()));
            texts.some(install.grafana.as_ref().map(|it| &it.admin_secret));
        }
        None => {}
    }
    texts.workloads(config);
    if let Some(Notebooks::JupyterHub(hub)) = config.notebooks.as_ref().map(|it| &it.value) {
        texts.some(&hub.image);
        texts.some(hub.storage.as_ref().and_then(|it| it.class.as_ref()));
        texts.some(&hub.secret);
        for profile in &hub.profiles {
            texts.one(&profile.name);
            texts.some(&profile.pool);
            texts.some(&profile.profile);
            texts.some(&profile.image);
        }
    }
    texts.some(&config.mirror.images);
    texts.some(&config.mirror.charts);
    texts.map(&config.digests);
    for (_, settings) in config.charts.written() {
        texts.fragment(&settings.values);
    }
    match config.gitops.as_ref().map(|it| &it.value) {
        Some(Gitops::Flux(flux)) => {
            texts.some([&flux.repository, &flux.branch, &flux.path, &flux.namespace]);
            texts.some(&flux.secret);
        }
        Some(Gitops::Argocd(argo)) => {
            texts.some([&argo.repository, &argo.branch, &argo.path, &argo.namespace]);
            texts.some(&argo.cluster);
        }
        None => {}
    }
    texts.found
}

fn text(written: &Spanned<String>, many_lines: bool) -> Text<'_> {
    Text {
        written,
        span: written.span,
        many_lines,
    }
}

#[derive(Default)]
struct Texts<'a> {
    found: Vec<Text<'a>>,
}

impl<'a> Texts<'a> {
    fn one(&mut self, written: &'a Spanned<String>) {
        self.found.push(text(written, false));
    }

    fn some(&mut self, written: impl IntoIterator<Item = &'a Spanned<String>>) {
        for text in written {
            self.one(text);
        }
    }

    fn map(&mut self, map: &'a TextMap) {
        for (key, value) in map {
            self.some([key, value]);
        }
    }

    fn lines(&mut self, written: impl IntoIterator<Item = &'a Spanned<String>>) {
        let lines = written.into_iter().map(|written| text(written, true));
        self.found.extend(lines);
    }

    fn cloud(&mut self, cloud: &'a CloudSection) {
        match cloud {
            CloudSection::Aws(aws) => {
                self.some([&aws.account, &aws.region]);
                match &aws.cluster.value {
                    AwsCluster::Create(create) => {
                        match create.vpc.as_ref().map(|vpc| &vpc.value) {
                            Some(AwsVpc::Cidr(range)) => self.one(range),
                            Some(AwsVpc::Existing(vpc)) => self.vpc(vpc),
                            None => {}
                        }
                        self.some(&create.zones);
                    }
                    AwsCluster::Existing(existing) => {
                        self.some(&existing.name);
                        existing.vpc.iter().for_each(|vpc| self.vpc(vpc));
                    }
                }
                self.map(&aws.tags);
            }
            CloudSection::Gcp(gcp) => {
                self.some([&gcp.project, &gcp.location]);
                match &gcp.cluster.value {
                    GcpCluster::Create(create) => {
                        self.some(&create.network);
                        self.some(&create.subnetwork);
                        self.maintenance(create.maintenance.as_ref());
                    }
                    GcpCluster::Existing(existing) => self.some(&existing.name),
                }
                self.map(&gcp.resource_labels);
            }
            CloudSection::Azure(azure) => {
                self.some([&azure.subscription, &azure.resource_group, &azure.location]);
                match &azure.cluster.value {
                    AzureCluster::Create(create) => {
                        self.some(&create.subnet);
                        self.maintenance(create.maintenance.as_ref());
                    }
                    AzureCluster::Existing(existing) => self.some(&existing.name),
                }
                self.map(&azure.tags);
            }
            CloudSection::OnPrem(on_prem) => self.one(&on_prem.context),
        }
    }

    fn maintenance(&mut self, maintenance: Option<&'a Spanned<Maintenance>>) {
        self.some(maintenance.map(|it| &it.start));
    }

    fn storage(&mut self, config: &'a GpuCluster) {
        let Some(storage) = &config.storage else {
            return;
        };
        self.some(&storage.default);
        for class in &storage.classes {
            self.one(&class.name);
            match &class.volumes.value {
                Volumes::Disk(disk) => self.some(&disk.kind),
                Volumes::Files(files) => {
                    self.some(&files.kind);
                    self.some(&files.id);
                    self.some(&files.subnet);
                    self.some(&files.security_group);
                }
            }
        }
        for bucket in &storage.buckets {
            self.one(&bucket.name);
            self.one(&bucket.namespace);
            self.one(&bucket.bucket);
        }
    }

    fn vpc(&mut self, vpc: &'a AwsExistingVpc) {
        self.one(&vpc.id);
        self.some(&vpc.security_group);
        for subnet in vpc.private_subnets.iter().chain(&vpc.public_subnets) {
            self.some([&subnet.zone, &subnet.id]);
        }
    }

    fn stack(&mut self, stack: &'a Stack) {
        self.some(&stack.driver_version);
        self.some(&stack.runtime_image);
        self.some(&stack.driver_image);
    }

    fn pools(&mut self, config: &'a GpuCluster) {
        for pool in &config.node_pools {
            self.one(&pool.name);
            self.some(&pool.machine);
            self.some(pool.gpu.as_ref().map(|gpu| &gpu.model));
            self.some(pool.zones.iter().chain(&pool.subnets).chain(&pool.hosts));
            match &pool.capacity.value {
                Capacity::Reservation(reservation) => self.one(&reservation.id),
                Capacity::CapacityBlock(block) => self.one(&block.id),
                Capacity::OnDemand | Capacity::Spot(_) => {}
            }
            if let Some(Placement::Group(group)) =
                pool.network.placement.as_ref().map(|it| &it.value)
            {
                self.one(group);
            }
            if let Sharing::Mig(mig) = &pool.sharing.value {
                for entry in &mig.per_gpu {
                    self.some(&entry.gpus);
                    self.some(entry.layout.iter().map(|slices| &slices.profile));
                }
            }
            self.map(&pool.labels);
            for taint in &pool.taints {
                self.some([&taint.key, &taint.value.value]);
            }
            self.some(&pool.dedicated_to);
            self.map(&pool.tags);
            if let Some(existing) = &pool.existing {
                self.map(&existing.selector);
            }
            self.stack(&pool.stack);
        }
    }

    fn teams(&mut self, config: &'a GpuCluster) {
        for team in &config.teams {
            self.one(&team.name);
            self.some(&team.namespaces);
            for member in &team.members {
                self.some(&member.group);
                self.some(&member.user);
                self.some(&member.service_account);
            }
            for part in &team.namespace_quotas {
                self.one(&part.namespace);
            }
            let parts = team.namespace_quotas.iter().map(|part| &part.quota);
            let whole = team.quota.iter().map(|quota| &quota.value);
            for quota in whole.chain(parts).flat_map(|quota| &quota.gpus) {
                self.one(&quota.pool);
                self.some(&quota.profile);
            }
        }
        for priority in &config.priorities {
            self.one(&priority.name);
            self.some(&priority.description);
        }
    }

    fn workloads(&mut self, config: &'a GpuCluster) {
        for workload in &config.workloads {
            self.one(&workload.name);
            self.some(&workload.team);
            self.some(&workload.namespace);
            self.some(&workload.pool);
            self.some(&workload.priority);
            for (_, _, task) in workload.tasks() {
                self.task(task);
            }
            self.fragment(&workload.pod_patch);
            self.fragment(&workload.patch);
        }
    }

    fn task(&mut self, task: Task<'a>) {
        if let Some(pods) = task.pods() {
            self.containers(&pods);
        }
        match task {
            Task::CudaTest(it) => self.some(&it.image),
            Task::CronJob(it) => {
                self.one(&it.schedule);
                self.some(&it.time_zone);
            }
            Task::Deployment(it) => {
                let metric = it.autoscaling.as_ref().and_then(|it| it.metric.as_ref());
                self.some(metric.map(|it| &it.name));
            }
            Task::LeaderWorkerSet(it) => {
                if let Some(leader) = &it.leader {
                    self.lines(leader.command.iter().chain(&leader.args));
                }
            }
            _ => {}
        }
        if let Some(probes) = task.probes() {
            let all = [&probes.startup, &probes.readiness, &probes.liveness];
            let paths = all.into_iter().flatten().filter_map(|it| it.path.as_ref());
            self.some(paths);
        }
    }

    fn containers(&mut self, pods: &Pods<'a>) {
        self.one(pods.image);
        self.lines(pods.command.iter().chain(pods.args));
        self.some(pods.env.keys());
        self.lines(pods.env.values());
        for (name, from) in pods.env_value_from {
            let (ValueFrom::Secret(key) | ValueFrom::ConfigMap(key)) = &from.value;
            self.some([name, &key.name, &key.key]);
        }
        for from in pods.env_from {
            let (EnvFrom::Secret(name) | EnvFrom::ConfigMap(name)) = &from.value;
            self.one(name);
        }
        self.some(pods.profile);
        for volume in pods.volumes {
            self.some([&volume.name, &volume.mount_path]);
            match &volume.from.value {
                VolumeFrom::ExistingClaim(name)
                | VolumeFrom::ConfigMap(name)
                | VolumeFrom::Secret(name) => self.one(name),
                VolumeFrom::Claim(claim) => self.some(&claim.class),
                VolumeFrom::Scratch(_) => {}
            }
        }
        self.some(pods.image_pull_secrets);
        self.some(pods.service_account);
    }

    fn fragment(&mut self, fragment: &'a Spanned<Fragment>) {
        let mut add = |written, span| {
            self.found.push(Text {
                written,
                span,
                many_lines: true,
            });
        };
        fragment.value.texts(&mut add, fragment.span);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Collects the strings that start with `@`, the marker for free-form strings in these tests.
    fn marked(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) if text.starts_with('@') => found.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| marked(item, found)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    found.extend(key.starts_with('@').then(|| key.clone()));
                    marked(value, found);
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
        marked(&document, &mut expected);
        let config: GpuCluster = serde_json::from_value(document).expect("a configuration");
        let mut found: Vec<_> = texts(&config)
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
            "name": "@pool", "machine": "@machine", "gpu": {"model": "@model", "perNode": 1},
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
            "capacity": {"capacityBlock": {"id": "@id", "count": 1}}});
        let vpc = json!({"id": "@vpc", "securityGroup": "@sg",
            "privateSubnets": [{"zone": "@z1", "id": "@s1"}],
            "publicSubnets": [{"zone": "@z2", "id": "@s2"}]});
        let aws = |cluster: Value| {
            json!({"aws": {"account": "@account", "region": "@region", "cluster": cluster,
                "tags": {"@ak": "@av"}}})
        };
        check(
            &aws(json!({"create": {"vpc": {"cidr": "@cidr"}, "zones": ["@az"]}})),
            &pool,
        );
        check(&aws(json!({"create": {"vpc": {"existing": vpc}}})), &block);
        check(
            &aws(json!({"existing": {"name": "@cluster", "vpc": vpc}})),
            &pool,
        );
        let gcp = |cluster: Value| {
            json!({"gcp": {"project": "@project", "location": "@location", "cluster": cluster,
                "resourceLabels": {"@rk": "@rv"}}})
        };
        check(
            &gcp(json!({"create": {"network": "@net", "subnetwork": "@sub"}})),
            &pool,
        );
        check(&gcp(json!({"existing": {"name": "@cluster"}})), &pool);
        let azure = |cluster: Value| {
            json!({"azure": {"subscription": "@subscription", "resourceGroup": "@rg",
                "location": "@location", "cluster": cluster, "tags": {"@ak": "@av"}}})
        };
        check(&azure(json!({"create": {"subnet": "@subnet2"}})), &pool);
        check(&azure(json!({"existing": {"name": "@cluster"}})), &pool);
        check(&json!({"onPrem": {"context": "@context"}}), &pool);
    }
}
