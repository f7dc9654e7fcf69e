//! Findings as text for people and data for tools.
