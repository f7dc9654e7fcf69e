//! Runs a Job in a namespace of its own, reads the logs of its pods, and deletes the namespace.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::Limits;
use crate::dry_run::{Refusal, object_path, resources, text};
use crate::request::{Failure, RequestError, escape, get, send};

/// A Job to run.
#[derive(Clone, Debug)]
pub struct JobRequest {
    /// The namespace, which must not exist.
    pub namespace: String,
    /// The objects in the order in which they are created: the Namespace first, one Job among them.
    pub objects: Vec<Value>,
    /// The field manager.
    pub manager: &'static str,
    /// The time until the Job must have ended.
    pub timeout: Duration,
    /// Whether the namespace is kept.
    pub keep: bool,
}

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Its pods succeeded.
    Complete,
    /// It failed. Contains the reason of the Job.
    Failed(String),
    /// It has not ended in time. Contains what its pods wait for.
    TimedOut(String),
    /// The user interrupted the command.
    Interrupted,
}

/// A Job that ran.
#[derive(Clone, Debug)]
pub struct JobRun {
    /// How it ended.
    pub end: JobEnd,
    /// The logs of the pods; each line has the prefix `[pod/<name>/<container>] ` of `kubectl logs --prefix`.
    pub log: String,
    /// Problems that changed neither: logs that could not be read, a namespace that could not be deleted.
    pub warnings: Vec<String>,
}

/// The pause between two requests for the state of the Job.
const POLL: Duration = Duration::from_secs(3);

/// The number of requests in a row that may fail before the command gives up.
const MAX_FAILURES: u32 = 20;

/// The maximum size of the log of a container in bytes.
const MAX_LOG: u32 = 64 << 20;

/// Runs a Job. `progress` is called with the state of its pods when it changes.
///
/// Whatever happens after the namespace is created, the namespace is deleted: after an error, after the timeout, if the
/// user presses Ctrl-C, and if the process is terminated.
///
/// # Errors
///
/// The objects cannot be created, or the API server does not respond for a minute.
pub async fn run_job(
    client: &Client,
    limits: &Limits,
    request: &JobRequest,
    progress: impl FnMut(&str),
) -> Result<JobRun, String> {
    let session = Session {
        client,
        limits,
        request,
    };
    let namespace = format!("/api/v1/namespaces/{}", escape(&request.namespace));
    match get(client, &namespace, limits, session.deadline()).await {
        Err(RequestError::NotFound) => {}
        Err(error) => {
            let name = &request.namespace;
            return Err(format!(
                "the namespace `{name}` cannot be read: {}",
                error.text()
            ));
        }
        Ok(_) => {
            let name = &request.namespace;
            return Err(format!(
                "the namespace `{name}` exists: another run uses it, or it was kept\nhelp: after that run, delete it: \
`kubectl delete namespace {name}`"
            ));
        }
    }
    let result = tokio::select! {
        result = session.run(progress) => result,
        () = interrupted() => Ok(JobRun {
            end: JobEnd::Interrupted,
            log: String::new(),
            warnings: Vec::new(),
        }),
    };
    if request.keep {
        return result;
    }
    let deleted = session.delete(&namespace).await;
    let warning = deleted.err().map(|error| {
        let name = &request.namespace;
        format!(
            "the namespace `{name}` is not deleted: {error}; run `kubectl delete namespace {name}`"
        )
    });
    match (result, warning) {
        (Ok(mut run), warning) => {
            run.warnings.extend(warning);
            Ok(run)
        }
        (Err(error), Some(warning)) => Err(format!("{error}\n{warning}")),
        (Err(error), None) => Err(error),
    }
}

/// Waits until the user presses Ctrl-C, or until the process receives SIGTERM or SIGHUP: pipelines and closed sessions
/// send these.
#[cfg(unix)]
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};

    let (terminated, closed) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    );
    let (Ok(mut terminated), Ok(mut closed)) = (terminated, closed) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
        _ = closed.recv() => {}
    }
}

/// Waits until the user presses Ctrl-C.
#[cfg(not(unix))]
async fn interrupted() {
    let _ = tokio::signal::ctrl_c().await;
}

/// The connection, and what runs.
#[derive(Clone, Copy)]
struct Session<'a> {
    client: &'a Client,
    limits: &'a Limits,
    request: &'a JobRequest,
}

impl Session<'_> {
    /// The deadline of requests that are sent now.
    fn deadline(self) -> Instant {
        Instant::now() + self.limits.run
    }

    async fn run(self, mut progress: impl FnMut(&str)) -> Result<JobRun, String> {
        let end_time = Instant::now() + self.request.timeout;
        let job = self.create().await?;
        let mut state = String::new();
        let mut failures = 0;
        let end = loop {
            sleep(POLL).await;
            match self.observe(&job).await {
                Ok(Observed::Ended(end)) => break end,
                Ok(Observed::Running(pods)) => {
                    failures = 0;
                    if pods != state {
                        progress(&pods);
                        state = pods;
                    }
                }
                Err(error) => {
                    failures += 1;
                    if failures == MAX_FAILURES {
                        return Err(format!("the state of the Job cannot be read: {error}"));
                    }
                }
            }
            if Instant::now() >= end_time {
                break JobEnd::TimedOut(state);
            }
        };
        let mut warnings = Vec::new();
        let log = match self.pods().await {
            Ok(pods) => self.logs(&pods, &mut warnings).await,
            Err(error) => {
                warnings.push(format!("the pods cannot be read: {error}"));
                String::new()
            }
        };
        Ok(JobRun { end, log, warnings })
    }

    /// Creates the objects, and returns the path of the Job.
    async fn create(self) -> Result<String, String> {
        let deadline = self.deadline();
        let objects = &self.request.objects;
        let resources = resources(self.client, self.limits, deadline, objects).await;
        let mut job = None;
        for object in objects {
            let title = format!(
                "{} {}",
                text(object, "kind"),
                text(&object["metadata"], "name")
            );
            let failed = |reason: String| format!("{title} cannot be created: {reason}");
            let path =
                object_path(&resources, object).map_err(|refusal| failed(reason(&refusal)))?;
            let url = format!(
                "{path}?fieldManager={}&fieldValidation=Strict",
                self.request.manager
            );
            let body = object.to_string().into_bytes();
            let request = || {
                Request::patch(&url)
                    .header("content-type", "application/apply-patch+yaml")
                    .body(body.clone())
            };
            let sent = send(self.client, request, self.limits, deadline).await;
            sent.map_err(|failure| failed(failure.text()))?;
            if text(object, "kind") == "Job" {
                job = Some(path);
            }
        }
        job.ok_or_else(|| "the objects contain no Job".to_owned())
    }

    /// The state of the Job.
    async fn observe(self, job: &str) -> Result<Observed, String> {
        let job = self.read(job).await?;
        let conditions = job["status"]["conditions"].as_array();
        for condition in conditions.into_iter().flatten() {
            if condition["status"] != "True" {
                continue;
            }
            match condition["type"].as_str() {
                Some("Complete") => return Ok(Observed::Ended(JobEnd::Complete)),
                Some("Failed") => {
                    let reason = text(condition, "reason");
                    let message = text(condition, "message");
                    return Ok(Observed::Ended(JobEnd::Failed(format!(
                        "{reason}: {message}"
                    ))));
                }
                _ => {}
            }
        }
        let pods = self.pods().await?;
        if pods.is_empty()
            && let Some(message) = self.refusal().await
        {
            return Ok(Observed::Running(format!("no pods yet ({message})")));
        }
        Ok(Observed::Running(describe(&pods)))
    }

    /// The message of the latest event in which the pods of the Job are refused.
    async fn refusal(self) -> Option<String> {
        let namespace = escape(&self.request.namespace);
        let path =
            format!("/api/v1/namespaces/{namespace}/events?fieldSelector=reason%3DFailedCreate");
        let list = self.read(&path).await.ok()?;
        let events = list["items"].as_array()?;
        let refused = events.iter().filter(|it| it["reason"] == "FailedCreate");
        let last = refused.max_by_key(|it| text(it, "lastTimestamp").to_owned())?;
        Some(text(last, "message").to_owned())
    }

    /// The pods of the namespace by name.
    async fn pods(self) -> Result<Vec<Value>, String> {
        let path = format!(
            "/api/v1/namespaces/{}/pods",
            escape(&self.request.namespace)
        );
        let mut list = self.read(&path).await?;
        let Value::Array(mut pods) = list["items"].take() else {
            return Err("the list of pods is not complete".to_owned());
        };
        let name = |pod: &Value| text(&pod["metadata"], "name").to_owned();
        pods.sort_by_key(name);
        Ok(pods)
    }

    async fn read(self, path: &str) -> Result<Value, String> {
        let body = get(self.client, path, self.limits, self.deadline()).await;
        let body = body.map_err(|error| error.text())?;
        serde_json::from_str(&body).map_err(|_| "the response is not complete JSON".to_owned())
    }

    /// The logs of the first container of each pod.
    async fn logs(self, pods: &[Value], warnings: &mut Vec<String>) -> String {
        let mut all = String::new();
        for pod in pods {
            let name = text(&pod["metadata"], "name");
            let container = text(&pod["spec"]["containers"][0], "name");
            let path = format!(
                "/api/v1/namespaces/{}/pods/{}/log?container={}&limitBytes={MAX_LOG}",
                escape(&self.request.namespace),
                escape(name),
                escape(container)
            );
            match get(self.client, &path, self.limits, self.deadline()).await {
                Ok(log) => {
                    for line in log.lines() {
                        all.push_str(&format!("[pod/{name}/{container}] {line}\n"));
                    }
                }
                Err(error) => warnings.push(format!(
                    "the log of pod {name} cannot be read: {}",
                    error.text()
                )),
            }
        }
        all
    }

    async fn delete(self, path: &str) -> Result<(), String> {
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        let body = options.to_string().into_bytes();
        let request = || {
            Request::delete(path)
                .header("content-type", "application/json")
                .body(body.clone())
        };
        match send(self.client, request, self.limits, self.deadline()).await {
            Ok(_) => Ok(()),
            Err(Failure::Status(status)) if status.code == 404 => Ok(()),
            Err(failure) => Err(failure.text()),
        }
    }
}

/// The state of a Job.
enum Observed {
    /// It has ended.
    Ended(JobEnd),
    /// It has not ended. Contains the state of its pods.
    Running(String),
}

/// The pods by phase, and why the first one waits: `1 Running, 1 Pending (0/5 nodes are available)`.
fn describe(pods: &[Value]) -> String {
    let mut phases: BTreeMap<&str, u32> = BTreeMap::new();
    for pod in pods {
        let phase = pod["status"]["phase"].as_str().unwrap_or("Pending");
        *phases.entry(phase).or_default() += 1;
    }
    let phases: Vec<String> = (phases.iter())
        .map(|(phase, count)| format!("{count} {phase}"))
        .collect();
    let phases = match phases.as_slice() {
        [] => "no pods yet".to_owned(),
        phases => phases.join(", "),
    };
    match pods.iter().find_map(waits_for) {
        Some(reason) => format!("{phases} ({reason})"),
        None => phases,
    }
}

/// Why a pod does not run: the reason of a container that waits, or the message of the scheduler.
fn waits_for(pod: &Value) -> Option<String> {
    let statuses = |key: &str| pod["status"][key].as_array().into_iter().flatten();
    let containers = statuses("initContainerStatuses").chain(statuses("containerStatuses"));
    let mut waiting = containers.filter_map(|status| {
        let waiting = &status["state"]["waiting"];
        let reason = waiting["reason"].as_str()?;
        let message = text(waiting, "message");
        let is_normal = matches!(reason, "ContainerCreating" | "PodInitializing");
        (!is_normal).then(|| format!("{reason} {message}").trim_end().to_owned())
    });
    let mut conditions = statuses("conditions").filter_map(|condition| {
        let is_unscheduled = condition["type"] == "PodScheduled" && condition["status"] == "False";
        is_unscheduled.then(|| text(condition, "message").to_owned())
    });
    waiting.next().or_else(|| conditions.next())
}

fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::KindNotServed => "the API server does not serve the kind".to_owned(),
        Refusal::NamespaceNotFound => "its namespace does not exist".to_owned(),
        Refusal::Forbidden(verb) => format!("the right to {verb} is missing"),
        Refusal::Rejected(reason) | Refusal::NotAnswered(reason) => reason.clone(),
    }
}
