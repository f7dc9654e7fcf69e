//! `gpuc why`: everything in every tree has an answer, and what moves with a line of the input names that line.

mod answered;
mod moves;
mod screened;
mod within;
