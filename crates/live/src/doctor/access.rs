//! What this user may do here, tried out where trying does no harm.

use super::in_own_thread;
use delaylab_kernel::cpuset::{self, Hierarchy, Version};
use delaylab_kernel::dma_latency::DmaLatency;
use delaylab_kernel::host_info;
use delaylab_kernel::privilege::{self, Capability, needs};
use delaylab_kernel::scheduling::{self, Scheduling};
use delaylab_wire::stamp;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;

/// What this user may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Access {
    /// May it use datagram ICMP sockets, by `ping_group_range`?
    pub icmp_datagram: bool,
    /// May it use raw ICMP sockets?
    pub icmp_raw: bool,
    /// May it use port 862, where STAMP is served?
    pub stamp_port: bool,
    /// Does another program have that port?
    pub stamp_port_in_use: bool,
    /// May it use `SCHED_FIFO`?
    pub fifo: bool,
    /// May it lock all memory, also what is asked for later?
    pub lock_memory: bool,
    /// May it keep the CPUs out of slow idle states?
    pub cpu_dma_latency: bool,
    /// The version of cgroups by which it may make a cpuset, 1 or 2; null where it may not.
    pub cpuset: Option<u8>,
    /// May it switch NIC stamping on?
    pub nic_stamping: bool,
    /// Capabilities that would be of use and are not held, as setcap(8) names them.
    pub missing_capabilities: Vec<String>,
    /// The command that gives them to this program; null where none is missing.
    pub setcap: Option<String>,
    /// Cpusets of runs that died together with their guardian.
    pub leftovers: Vec<String>,
}

impl Access {
    /// Looks, and undoes at once what it tries. What is missing would be given to this `program`.
    pub fn read(program: Option<&Path>) -> Self {
        let may = privilege::permitted;
        Self {
            icmp_datagram: host_info::in_ping_group_range(),
            icmp_raw: may(Capability::CAP_NET_RAW),
            stamp_port: may(Capability::CAP_NET_BIND_SERVICE)
                || host_info::first_unprivileged_port() <= stamp::PORT,
            stamp_port_in_use: is_stamp_port_in_use(),
            fifo: may_use_fifo(),
            lock_memory: scheduling::may_lock_memory(),
            cpu_dma_latency: DmaLatency::hold(0).is_ok(),
            cpuset: may_make_cpuset(),
            nic_stamping: may(Capability::CAP_NET_ADMIN),
            missing_capabilities: needs::missing().into_iter().map(needs::name).collect(),
            setcap: program.and_then(privilege::setcap_hint),
            leftovers: cpuset::leftovers()
                .iter()
                .map(|set| set.dir().display().to_string())
                .collect(),
        }
    }
}

fn is_stamp_port_in_use() -> bool {
    let bound = privilege::with(Capability::CAP_NET_BIND_SERVICE, || {
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, stamp::PORT))
    });
    bound.is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
}

fn may_use_fifo() -> bool {
    let fifo = || {
        privilege::with(Capability::CAP_SYS_NICE, || {
            Scheduling::fifo(1).apply().is_ok()
        })
    };
    in_own_thread(fifo).unwrap_or(false)
}

fn may_make_cpuset() -> Option<u8> {
    let hierarchy = Hierarchy::find().ok().filter(Hierarchy::is_writable)?;
    Some(match hierarchy.version() {
        Version::V1 => 1,
        Version::V2 => 2,
    })
}
