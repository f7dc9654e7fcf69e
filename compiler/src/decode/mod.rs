//! A tree to the types of the configuration.
