//! What the runtime does on a node: with made-up drivers, kubelets and clients, through its public doors.

mod exposition;
mod health;
mod http;
mod machine;
mod metrics;
mod watcher;
