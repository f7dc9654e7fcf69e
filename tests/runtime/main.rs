//! What the runtime does on a node: with made-up drivers, kubelets and clients, through its public doors.

mod health;
mod machine;
mod watcher;
