//! The document of `delaylab doctor`.

use crate::json::Published;
use delaylab_live::doctor::Checkup;

impl Published for Checkup {
    const SCHEMA: &'static str = "delaylab/doctor/2";
    const TITLE: &'static str = "delaylab doctor";
}
