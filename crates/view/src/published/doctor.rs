//! The document of `delaylab doctor`.

use crate::json::Published;
use delaylab_live::doctor::Checkup;
use schemars::JsonSchema;
use serde::Serialize;

/// What was asked for.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Config {
    /// Does it take less time, and is it less precise?
    pub quick: bool,
}

impl Published for Checkup {
    type Config = Config;
    const SCHEMA: &'static str = "delaylab/doctor/2";
    const TITLE: &'static str = "delaylab doctor";
}
