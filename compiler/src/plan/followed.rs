//! What nodes follow by themselves, and what makes them, where no script does.

use gpuc_schema::Span;

/// What a pool's nodes follow by themselves.
#[derive(Clone, Debug)]
pub struct Followed {
    /// What it is called: `Kubernetes version`.
    pub name: &'static str,
    /// What it is.
    pub value: String,
    /// How new nodes become by it: more is newer.
    pub rank: u8,
    /// The places in the file that it follows from.
    pub inputs: Vec<Span>,
    /// What becomes of nodes where it goes up, in words.
    pub up: &'static str,
    /// What becomes of them where it goes down, in words.
    pub down: &'static str,
    /// Where that stands.
    pub source: &'static str,
}

/// Something in the cluster that makes a pool's nodes, by objects that are called after the pool.
#[derive(Debug)]
pub struct Maker {
    /// What it is called: `Karpenter`.
    pub name: &'static str,
    /// Its Helm release.
    pub release: &'static str,
    /// The kinds of the objects, and as kubectl takes them; the first one's nodes go with it.
    pub kinds: &'static [(&'static str, &'static str)],
    /// The label of its nodes, with the pool's name.
    pub label: &'static str,
    /// Where it stands that nodes go with the object.
    pub source: &'static str,
}
