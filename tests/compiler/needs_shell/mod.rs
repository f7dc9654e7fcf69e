//! The scripts, run: real bash, real jq, and stand-ins for the command lines of the clouds
//! (`tests/standins/README.md`).

mod aws;
mod azure;
mod gcp;
mod hostile;
mod install;
mod life;
mod on_prem;
mod shared;
mod stage;
mod verify;
