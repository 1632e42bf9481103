//! System calls and nothing else: this crate asks and tells the kernel, and decides nothing.
//!
//! It is the only crate of delaylab with `unsafe`; each block says why it is sound.
//!
//! | module | holds |
//! |---|---|
//! | [`clock`] | reading and sleeping on the host's clocks |
//! | [`stamping`] | asking for kernel timestamps |
//! | [`ancillary`] | what comes beside a packet: stamps, traffic class, TTL, ICMP errors |
//! | [`error_queue`] | reading departure stamps and ICMP errors in batches |
//! | [`datagram`] | UDP and ICMP sockets whose packets carry stamps |
//! | [`batch`] | many datagrams in one call |
//! | [`steering`] | which of several sockets on one port a datagram goes to |
//! | [`stream`] | TCP sockets whose bytes carry stamps |
//! | [`packet_socket`] | whole frames of one interface |
//! | [`socket_options`] | marks, fragmentation, interface: what all sockets share |
//! | `ifreq` | asking about an interface by its name |
//! | [`interfaces`] | which interface has an address, and their numbers |
//! | [`queue_stats`] | what the kernel's queues hold |
//! | [`offload`] | frames whole, checksums and all |
//! | [`namespace`] | entering network namespaces, and being allowed to make them |
//! | [`names`] | names of addresses |
//! | [`tun`] | an interface whose packets a process answers |
//! | [`nic_stamping`] | switching NIC timestamps on, and back as they were |
//! | [`poller`] | one descriptor to wait on in place of many |
//! | [`wait`] | waiting for a socket until a deadline |
//! | [`signals`] | being told to stop |
//! | [`terminal`] | how wide it is |
//! | [`scheduling`] | policy, CPUs, timer slack, nice value, locked memory |
//! | [`cpu_list`], [`cpuset`], [`dma_latency`] | CPUs of our own, kept awake |
//! | [`owned_name`] | whose is what outlived its process |
//! | [`proc_counters`] | what the kernel counts for everybody |
//! | [`process`] | names, parents, and which process a number means |
//! | [`process_info`] | what a process is: number, start, command line, unit |
//! | [`privilege`] | capabilities, and giving all of them up |
//! | [`host_info`] | what this host is and offers |
//! | [`random`] | random bytes |
//! | [`udp_errors`] | what UDP of a namespace had no room for |
//! | [`tracefs`] | who had the CPU: the scheduler's and the interrupts' own events |

pub mod ancillary;
pub mod batch;
pub mod clock;
pub mod cpu_list;
pub mod cpuset;
pub mod datagram;
pub mod dma_latency;
pub mod error_queue;
pub mod host_info;
mod ifreq;
pub mod interfaces;
pub mod names;
pub mod namespace;
pub mod nic_stamping;
pub mod offload;
pub mod owned_name;
pub mod packet_socket;
pub mod poller;
pub mod privilege;
pub mod proc_counters;
pub mod process;
pub mod process_info;
pub mod queue_stats;
pub mod random;
pub mod scheduling;
pub mod signals;
pub mod socket_options;
pub mod stamping;
pub mod steering;
pub mod stream;
pub mod terminal;
pub mod tracefs;
pub mod tun;
pub mod udp_errors;
pub mod wait;
