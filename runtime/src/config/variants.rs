//! The settings that are one of several variants, each a key: `sharing: {timeSlicing: {…}}`. serde accepts no other key
//! next to that of the variant, not even one of a newer release.

use serde_json::{Map, Value};

/// The settings with variants, and the keys of the variants.
const SETTINGS: [(&str, &[&str]); 3] = [
    ("devices", &["cdi", "deviceNodes"]),
    ("labels", &["featureFile"]),
    ("sharing", &["timeSlicing", "mps", "mig"]),
];

/// A configuration, to find its variants.
pub(super) struct Variants {
    config: Map<String, Value>,
}

impl Variants {
    /// Reads a configuration. One that is not an object has no variants.
    pub(super) fn read(text: &str) -> Self {
        Self {
            config: serde_json::from_str(text).unwrap_or_default(),
        }
    }

    /// Inserts the variant into the path of a key below it: `sharing.newKey` becomes `sharing.mig.newKey`.
    pub(super) fn with_variant(&self, path: &str) -> String {
        let Some((setting, rest)) = path.split_once('.') else {
            return path.to_owned();
        };
        let mut settings = self.settings();
        match settings.find(|(name, ..)| *name == setting) {
            Some((name, variant, _)) => format!("{name}.{variant}.{rest}"),
            None => path.to_owned(),
        }
    }

    /// Returns the paths of the keys other than the variant.
    pub(super) fn other_keys(&self) -> impl Iterator<Item = String> {
        self.settings().flat_map(|(name, variant, keys)| {
            let others = keys.keys().filter(move |key| *key != variant);
            others.map(move |key| format!("{name}.{key}"))
        })
    }

    /// Returns the configuration without the keys other than the variant, if it has any.
    pub(super) fn without_other_keys(&self) -> Option<Value> {
        self.other_keys().next()?;
        let mut config = self.config.clone();
        for (name, variant, keys) in self.settings() {
            let value = keys[variant].clone();
            config.insert(
                name.to_owned(),
                Value::Object([(variant.to_owned(), value)].into_iter().collect()),
            );
        }
        Some(config.into())
    }

    /// Returns the settings with exactly one known variant: name, variant and keys.
    fn settings(&self) -> impl Iterator<Item = (&'static str, &'static str, &Map<String, Value>)> {
        SETTINGS.iter().filter_map(|(name, variants)| {
            let keys = self.config.get(*name)?.as_object()?;
            let mut known = variants
                .iter()
                .filter(|variant| keys.contains_key(**variant));
            let variant = known.next().filter(|_| known.next().is_none())?;
            Some((*name, *variant, keys))
        })
    }
}
