//! The measuring host, as documents name it.

use delaylab_kernel::host_info::HostInfo;
use delaylab_view::json::SystemInfo;

/// The measuring host.
pub fn system_info() -> SystemInfo {
    let host = HostInfo::read();
    SystemInfo {
        kernel: host.kernel,
        cpu: host.cpu_model,
        cpus: host.cpus.and_then(|cpus| u32::try_from(cpus).ok()),
        clock_source: host.clock_source,
    }
}
