//! `gpuc doctor --watch`: prints causes when they appear, change or are resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use gpuc_live::doctor::{Cause, Diagnosis, render};
use gpuc_live::objects::ObjectRef;
use gpuc_live::state::ClusterState;
use gpuc_model::Cluster;
use gpuc_syntax::diag::render::replace_control_chars;
use gpuc_syntax::source::Sources;
use serde_json::{Value, json};

use super::args::{DoctorArgs, DoctorFormat};
use super::doctor::{examine, read_state};
use super::{Exit, Usage, clock, output};

/// Examines the cluster again and again. Ends only with an error of usage or of the output.
pub(super) fn run(args: &DoctorArgs, cluster: Option<&Cluster>, sources: &Sources) -> Result<Exit> {
    if !matches!(args.format, DoctorFormat::Text | DoctorFormat::Json) {
        let message = "`--watch` prints text or JSON\nhelp: use `--format text` or `--format json`";
        return Err(Usage(message.to_owned()).into());
    }
    let mut known = KnownCauses::default();
    loop {
        // A cluster that cannot be read now may be readable later.
        match read_state(args) {
            Ok(state) => {
                let (diagnosis, _) = examine(args, &state, cluster)?;
                let time = clock::now();
                let events = known.update(&diagnosis);
                let is_first = !known.has_reported;
                known.has_reported = true;
                let report = Report {
                    time: &time,
                    state: &state,
                    sources,
                };
                output::print_data(&match args.format {
                    DoctorFormat::Json => report.json(&events),
                    _ if is_first => {
                        format!("{time}\n{}", render::text(&diagnosis, &state, sources))
                    }
                    _ => report.text(&events),
                })?;
            }
            Err(error) => output::print_message(&format!("{} error: {error:#}", clock::now())),
        }
        thread::sleep(Duration::from_secs(args.interval));
    }
}

/// Identifies a cause: the code and the message.
type Key = (&'static str, String);

/// The causes of the last run.
#[derive(Default)]
struct KnownCauses {
    /// The objects of each cause.
    objects: BTreeMap<Key, BTreeSet<ObjectRef>>,
    has_reported: bool,
}

/// A difference between two runs.
enum Event<'d> {
    Appeared(&'d Cause),
    /// The cause has other objects.
    Changed(&'d Cause),
    Resolved(Key),
}

impl KnownCauses {
    /// Remembers the causes of a diagnosis. Returns the differences from the last one.
    fn update<'d>(&mut self, diagnosis: &'d Diagnosis) -> Vec<Event<'d>> {
        let mut current = BTreeMap::new();
        let mut events = Vec::new();
        for cause in &diagnosis.causes {
            let finding = &cause.finding;
            let key = (finding.code.id, finding.message.clone());
            let objects: BTreeSet<ObjectRef> = finding.subjects.iter().cloned().collect();
            match self.objects.get(&key) {
                None => events.push(Event::Appeared(cause)),
                Some(known) if *known != objects => events.push(Event::Changed(cause)),
                Some(_) => {}
            }
            current.insert(key, objects);
        }
        let is_unknown = |id: &str| {
            let mut skipped = diagnosis.skipped.iter();
            skipped.any(|it| it.check.code.id == id)
        };
        for (key, objects) in &self.objects {
            if current.contains_key(key) {
                continue;
            }
            if is_unknown(key.0) {
                // The check could not run completely, so that the cause may still exist.
                current.insert(key.clone(), objects.clone());
            } else {
                events.push(Event::Resolved(key.clone()));
            }
        }
        self.objects = current;
        events
    }
}

/// What is needed to print events.
struct Report<'a> {
    time: &'a str,
    state: &'a ClusterState,
    sources: &'a Sources,
}

impl Report<'_> {
    fn text(&self, events: &[Event<'_>]) -> String {
        let time = self.time;
        let texts = events.iter().map(|event| match event {
            Event::Appeared(cause) => {
                let text = render::cause_text(cause, self.state, self.sources);
                format!("{time} new:\n{text}\n")
            }
            Event::Changed(cause) => {
                let text = render::cause_text(cause, self.state, self.sources);
                format!("{time} changed:\n{text}\n")
            }
            Event::Resolved((id, message)) => {
                format!(
                    "{time} resolved: {id}: {}\n\n",
                    replace_control_chars(message)
                )
            }
        });
        texts.collect()
    }

    /// One JSON object per line.
    fn json(&self, events: &[Event<'_>]) -> String {
        let values = events.iter().map(|event| {
            let (name, cause): (&str, Value) = match event {
                Event::Appeared(cause) => ("appeared", render::cause_value(cause, self.sources)),
                Event::Changed(cause) => ("changed", render::cause_value(cause, self.sources)),
                Event::Resolved((id, message)) => {
                    ("resolved", json!({"code": id, "message": message}))
                }
            };
            format!(
                "{}\n",
                json!({"time": self.time, "event": name, "cause": cause})
            )
        });
        values.collect()
    }
}
