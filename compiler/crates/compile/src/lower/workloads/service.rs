//! Deployments and StatefulSets, with their Services, autoscalers and PodDisruptionBudgets.

use gpuc_model::plan::Object;
use gpuc_schema::config::{
    Deployment, DisruptionBudget, Scaling, Service, ServiceType, StatefulSet,
};
use serde_json::{Value, json};

use super::pod::{self, PORT, Role};
use super::{COMPONENT, Work, slim, volumes};

/// The default target CPU utilization of autoscalers, in percent.
const CPU_PERCENT: u32 = 80;

/// A Deployment and what belongs to it.
pub(super) fn deployment(work: &Work<'_>, it: &Deployment) -> Vec<Object> {
    let role = Role {
        serves: true,
        ..Role::MAIN
    };
    // With an autoscaler, every sync would reset its replica count.
    let replicas = it.autoscaling.is_none().then_some(it.replicas.value);
    // A surge pod stays pending if all GPUs are in use.
    let strategy = work
        .ask
        .map(|_| json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}));
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": work.queued(work.name()),
        "spec": slim(json!({
            "replicas": replicas,
            "selector": {"matchLabels": work.selector()},
            "strategy": strategy,
            "template": pod::template(work, &it.pods(), role),
        })),
    });
    let mut objects = vec![work.object(COMPONENT, &object)];
    let service = it.service.as_ref();
    objects.extend(service.map(|it| {
        crate::lower::workloads::service::service(work, work.name(), it, &work.selector())
    }));
    objects.extend(it.autoscaling.as_ref().map(|it| autoscaler(work, it)));
    objects.extend(it.disruption_budget.as_ref().map(|it| budget(work, it)));
    objects
}

/// A `StatefulSet` and what belongs to it.
pub(super) fn stateful_set(work: &Work<'_>, it: &StatefulSet) -> Vec<Object> {
    let role = Role {
        serves: true,
        ..Role::MAIN
    };
    let names = format!("{}-pods", work.name());
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": work.queued(work.name()),
        "spec": slim(json!({
            "replicas": it.replicas.value,
            "serviceName": names,
            "selector": {"matchLabels": work.selector()},
            "template": pod::template(work, &it.pods(), role),
            "volumeClaimTemplates": volumes::templates(work),
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
    let service = it.service.as_ref();
    objects.extend(service.map(|it| {
        crate::lower::workloads::service::service(work, work.name(), it, &work.selector())
    }));
    objects.extend(it.disruption_budget.as_ref().map(|it| budget(work, it)));
    objects
}

/// The service of this name of pods with these labels.
pub(super) fn service(work: &Work<'_>, name: &str, it: &Service, selector: &Value) -> Object {
    let kind = match it.kind.value {
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
            "ports": [{"name": PORT, "port": it.port.value, "targetPort": PORT}],
        },
    });
    work.object(COMPONENT, &object)
}

fn autoscaler(work: &Work<'_>, scaling: &Scaling) -> Object {
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

fn budget(work: &Work<'_>, budget: &DisruptionBudget) -> Object {
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
