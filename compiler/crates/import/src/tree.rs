//! The file that is written, as a tree: every value has its evidence, from which comments and the report follow.

/// A value, with its evidence and the comments above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// The value.
    pub(crate) value: Value,
    /// Where the value is from; `None` for lists and mappings whose parts have evidence.
    pub(crate) evidence: Option<Evidence>,
    /// Comments above it.
    pub(crate) notes: Vec<String>,
}

/// A value of YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A text.
    Text(String),
    /// A number or a boolean, as it is written.
    Plain(String),
    /// A list.
    List(Vec<Item>),
    /// A mapping, in the order of the file.
    Map(Vec<(String, Item)>),
}

/// Where a value is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// The object, its field and the field's value: `Node a#spec.providerID = aws:///…`.
    pub(crate) source: String,
    /// The reason for the value, if the source does not determine it.
    pub(crate) guess: Option<String>,
}

impl Evidence {
    /// A source that determines the value.
    pub(crate) fn sure(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            guess: None,
        }
    }

    /// A source from which the value is inferred.
    pub(crate) fn guess(source: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            guess: Some(reason.into()),
        }
    }
}

impl Item {
    fn new(value: Value) -> Self {
        Self {
            value,
            evidence: None,
            notes: Vec::new(),
        }
    }

    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(Value::Text(text.into()))
    }

    /// A number.
    pub(crate) fn number(number: impl Into<i128>) -> Self {
        Self::new(Value::Plain(number.into().to_string()))
    }

    /// A boolean.
    pub(crate) fn bool(value: bool) -> Self {
        Self::new(Value::Plain(value.to_string()))
    }

    /// A list.
    pub(crate) fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::new(Value::List(items.into_iter().collect()))
    }

    /// A list of texts.
    pub(crate) fn texts<S: Into<String>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::list(items.into_iter().map(Self::text))
    }

    /// A mapping.
    pub(crate) fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        let entries = entries.into_iter().map(|(key, item)| (key.into(), item));
        Self::new(Value::Map(entries.collect()))
    }

    /// A mapping with one key.
    pub(crate) fn single(key: &str, item: Self) -> Self {
        Self::map([(key, item)])
    }

    /// The same value with its evidence.
    pub(crate) fn with(mut self, evidence: Evidence) -> Self {
        self.evidence = Some(evidence);
        self
    }

    /// The same value, determined by a source.
    pub(crate) fn sure(self, source: impl Into<String>) -> Self {
        self.with(Evidence::sure(source))
    }

    /// The same value, inferred from a source.
    pub(crate) fn guess(self, source: impl Into<String>, reason: impl Into<String>) -> Self {
        self.with(Evidence::guess(source, reason))
    }

    /// The same value with a comment above it.
    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Whether a comment is on it or in it.
    pub(crate) fn has_comments(&self) -> bool {
        let is_guess = self.evidence.as_ref().is_some_and(|it| it.guess.is_some());
        is_guess || !self.notes.is_empty() || self.children().any(Self::has_comments)
    }

    /// The values in it.
    pub(crate) fn children(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match &self.value {
            Value::Text(_) | Value::Plain(_) => Box::new(std::iter::empty()),
            Value::List(items) => Box::new(items.iter()),
            Value::Map(entries) => Box::new(entries.iter().map(|(_, item)| item)),
        }
    }
}

/// The entries of a mapping while it is built.
#[derive(Debug, Default)]
pub(crate) struct Entries(pub(crate) Vec<(String, Item)>);

impl Entries {
    /// Adds an entry.
    pub(crate) fn push(&mut self, key: &str, item: Item) {
        self.0.push((key.to_owned(), item));
    }

    /// Adds an entry, if there is a value.
    pub(crate) fn push_some(&mut self, key: &str, item: Option<Item>) {
        if let Some(item) = item {
            self.push(key, item);
        }
    }

    /// Adds a list, unless it is empty.
    pub(crate) fn push_list(&mut self, key: &str, items: Vec<Item>) {
        if !items.is_empty() {
            self.push(key, Item::list(items));
        }
    }

    /// The mapping; `None` without entries.
    pub(crate) fn into_some(self) -> Option<Item> {
        (!self.0.is_empty()).then(|| self.into_item())
    }

    /// The mapping.
    pub(crate) fn into_item(self) -> Item {
        Item::map(self.0)
    }
}
