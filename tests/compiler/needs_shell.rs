//! The scripts, run: real bash, real jq, and stand-ins for the command lines of the clouds (`tests/standins/README.md`).

mod gcp;
mod hostile;
mod life;
mod stage;
mod verify;
