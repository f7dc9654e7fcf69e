//! `gpuc why`: every part of every tree has an explanation, and every output that changes with a line of the input
//! names that line.

mod answered;
mod changed_values;
mod embedded_text;
mod group_testing;
