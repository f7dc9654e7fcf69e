//! Webhooks of the API server, and whether they are available.

use serde_json::Value;

use crate::doctor::context::Context;
use crate::objects::{Object, ObjectRef};
use crate::state::Kind;

/// A webhook that a Service of the cluster answers.
pub(super) struct Webhook<'s> {
    kind: &'static str,
    configuration: &'s Object,
    body: &'s Value,
}

impl<'s> Webhook<'s> {
    /// The configuration that contains it.
    pub(super) fn object(&self) -> ObjectRef {
        ObjectRef::of_kind(self.kind, &self.configuration.metadata)
    }

    /// The name.
    pub(super) fn name(&self) -> &'s str {
        self.body["name"].as_str().unwrap_or_default()
    }

    /// The namespace of its Service.
    pub(super) fn namespace(&self) -> &'s str {
        let service = &self.body["clientConfig"]["service"];
        service["namespace"].as_str().unwrap_or_default()
    }

    /// The name of its Service.
    pub(super) fn service(&self) -> &'s str {
        let service = &self.body["clientConfig"]["service"];
        service["name"].as_str().unwrap_or_default()
    }

    /// Whether requests fail without its answer, which is the default.
    pub(super) fn is_required(&self) -> bool {
        self.body["failurePolicy"] != "Ignore"
    }
}

/// The webhooks that Services of the cluster answer.
pub(super) fn all_webhooks<'s>(ctx: &Context<'s>) -> impl Iterator<Item = Webhook<'s>> {
    let kinds = [
        Kind::MutatingWebhookConfiguration,
        Kind::ValidatingWebhookConfiguration,
    ];
    let state = ctx.state;
    let configurations = kinds.into_iter().flat_map(move |kind| {
        let objects = state.objects(kind).iter();
        objects.map(move |object| (kind.info().name, object))
    });
    let webhooks = configurations.flat_map(|(kind, configuration)| {
        let bodies = configuration.items("/webhooks").iter();
        bodies.map(move |body| Webhook {
            kind,
            configuration,
            body,
        })
    });
    webhooks.filter(|it| !it.service().is_empty())
}

/// The webhooks with a name.
pub(super) fn find_webhooks<'s>(
    ctx: &Context<'s>,
    name: &str,
) -> impl Iterator<Item = Webhook<'s>> {
    all_webhooks(ctx).filter(move |it| it.name() == name)
}

/// Whether the Service of a webhook has an endpoint that is ready; `None` if that is not known.
///
/// Source: kubernetes `staging/src/k8s.io/api/discovery/v1/types.go`: no value of `ready` means that it is, 2026-11-28.
pub(super) fn is_available(ctx: &Context<'_>, webhook: &Webhook<'_>) -> Option<bool> {
    let slices = ctx.state.objects(Kind::EndpointSlice).iter();
    let mut slices = slices.filter(|slice| {
        slice.metadata.namespace == webhook.namespace()
            && slice.metadata.label("kubernetes.io/service-name") == Some(webhook.service())
    });
    let is_ready = |endpoint: &Value| {
        let addresses = endpoint["addresses"].as_array();
        addresses.is_some_and(|it| !it.is_empty()) && endpoint["conditions"]["ready"] != false
    };
    if slices.any(|slice| slice.items("/endpoints").iter().any(is_ready)) {
        return Some(true);
    }
    let is_known = ctx.state.completeness(Kind::EndpointSlice).is_complete();
    is_known.then_some(false)
}

/// The seconds in which the pods of a webhook start.
const START_SECONDS: u64 = 120;

/// Whether a webhook or a pod of its Service is new or being replaced.
pub(super) fn is_starting(ctx: &Context<'_>, webhook: &Webhook<'_>) -> bool {
    let is_new = |object: &crate::objects::Metadata| {
        let age = ctx.age(object.creation_timestamp);
        age.is_some_and(|seconds| seconds < START_SECONDS)
    };
    let metadata = &webhook.configuration.metadata;
    if is_new(metadata) || metadata.deletion_timestamp.is_some() {
        return true;
    }
    let service = ctx
        .state
        .object(Kind::Service, webhook.namespace(), webhook.service());
    let selector = service.and_then(|it| it.get("/spec/selector").as_object());
    let Some(selector) = selector.filter(|it| !it.is_empty()) else {
        return false;
    };
    ctx.state.pods.items.iter().any(|pod| {
        let has_label = |(key, value): (&String, &Value)| pod.metadata.label(key) == value.as_str();
        pod.metadata.namespace == webhook.namespace()
            && is_new(&pod.metadata)
            && selector.iter().all(has_label)
    })
}
