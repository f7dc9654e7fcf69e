//! Deployments and StatefulSets, with their Services, autoscalers and PodDisruptionBudgets.

use gpuc_model::plan::Object;
use gpuc_schema::config::{
    Deployment, DisruptionBudget, Scaling, Service, ServiceType, StatefulSet,
};
use serde_json::{Value, json};

use super::pod::{self, PORT, PodRole};
use super::{COMPONENT, WorkloadContext, volumes, without_empty_fields};

/// The default target CPU utilization of autoscalers, in percent.
const CPU_PERCENT: u32 = 80;

/// A Deployment and what belongs to it.
pub(super) fn deployment(work: &WorkloadContext<'_>, deployment: &Deployment) -> Vec<Object> {
    let role = PodRole {
        serves_requests: true,
        ..PodRole::MAIN
    };
    // With an autoscaler, every sync would reset its replica count.
    let replicas = deployment
        .autoscaling
        .is_none()
        .then_some(deployment.replicas.value);
    // A surge pod stays pending if all GPUs are in use.
    let strategy = work
        .gpu_request
        .map(|_| json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}));
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": work.queued_metadata(work.name()),
        "spec": without_empty_fields(json!({
            "replicas": replicas,
            "selector": {"matchLabels": work.selector()},
            "strategy": strategy,
            "template": pod::pod_template(work, &deployment.pods(), role),
        })),
    });
    let mut objects = vec![work.object(COMPONENT, &object)];
    let service = deployment.service.as_ref();
    objects.extend(service.map(|it| {
        crate::lower::workloads::service::service(work, work.name(), it, &work.selector())
    }));
    objects.extend(
        deployment
            .autoscaling
            .as_ref()
            .map(|it| autoscaler(work, it)),
    );
    objects.extend(
        deployment
            .disruption_budget
            .as_ref()
            .map(|it| disruption_budget(work, it)),
    );
    objects
}

/// A `StatefulSet` and what belongs to it.
pub(super) fn stateful_set(work: &WorkloadContext<'_>, set: &StatefulSet) -> Vec<Object> {
    let role = PodRole {
        serves_requests: true,
        ..PodRole::MAIN
    };
    let names = format!("{}-pods", work.name());
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": work.queued_metadata(work.name()),
        "spec": without_empty_fields(json!({
            "replicas": set.replicas.value,
            "serviceName": names,
            "selector": {"matchLabels": work.selector()},
            "template": pod::pod_template(work, &set.pods(), role),
            "volumeClaimTemplates": volumes::claim_templates(work),
        })),
    });
    let headless = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": work.metadata(&names),
        "spec": {"clusterIP": "None", "selector": work.selector()},
    });
    let mut objects = vec![
        work.object(COMPONENT, &object),
        work.object(COMPONENT, &headless),
    ];
    let service = set.service.as_ref();
    objects.extend(service.map(|it| {
        crate::lower::workloads::service::service(work, work.name(), it, &work.selector())
    }));
    objects.extend(
        set.disruption_budget
            .as_ref()
            .map(|it| disruption_budget(work, it)),
    );
    objects
}

/// The service of this name of pods with these labels.
pub(super) fn service(
    work: &WorkloadContext<'_>,
    name: &str,
    service: &Service,
    selector: &Value,
) -> Object {
    let kind = match service.kind.value {
        ServiceType::ClusterIP => "ClusterIP",
        ServiceType::NodePort => "NodePort",
        ServiceType::LoadBalancer => "LoadBalancer",
    };
    let object = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": work.metadata(name),
        "spec": {
            "type": kind,
            "selector": selector,
            "ports": [{"name": PORT, "port": service.port.value, "targetPort": PORT}],
        },
    });
    work.object(COMPONENT, &object)
}

fn autoscaler(work: &WorkloadContext<'_>, scaling: &Scaling) -> Object {
    let busy = scaling.cpu_percent.map(|it| it.value);
    let busy = busy.or(scaling.metric.is_none().then_some(CPU_PERCENT));
    let busy = busy.map(|percent| {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    });
    let metric = scaling.metric.as_ref().map(|it| {
        let target = json!({"type": "AverageValue", "averageValue": it.average.value.0});
        json!({"type": "Pods", "pods": {"metric": {"name": it.name.value}, "target": target}})
    });
    let metrics: Vec<_> = busy.into_iter().chain(metric).collect();
    let object = json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": work.metadata(work.name()),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": work.name()},
            "minReplicas": scaling.min.value,
            "maxReplicas": scaling.max.value,
            "metrics": metrics,
        },
    });
    work.object(COMPONENT, &object)
}

fn disruption_budget(work: &WorkloadContext<'_>, budget: &DisruptionBudget) -> Object {
    let (key, count) = match budget {
        DisruptionBudget::MaxUnavailable(count) => ("maxUnavailable", &count.value),
        DisruptionBudget::MinAvailable(count) => ("minAvailable", &count.value),
    };
    let object = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": work.metadata(work.name()),
        "spec": {key: count, "selector": {"matchLabels": work.selector()}},
    });
    work.object(COMPONENT, &object)
}
