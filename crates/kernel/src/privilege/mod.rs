//! Privileges: what is needed, what is held, and giving all of it up.
//!
//! | module | holds |
//! |---|---|
//! | [`needs`] | capabilities that delaylab can use, and how to get them |
//! | [`lockdown`] | what a server does once its sockets are bound: give up everything |
//! | [`attendant`] | a process that may still read files |
//! | [`seccomp`] | the system calls that it keeps |
//! | [`landlock`] | no file and no new TCP connection |
//! | [`status`] | what holds, as the kernel reports it |

pub mod attendant;
pub mod landlock;
pub mod lockdown;
pub mod needs;
pub mod seccomp;
pub mod status;

pub use attendant::{Attendant, AttendantError};
pub use caps::Capability;
pub use lockdown::{LockDownError, Options, Violation, lock_down, lock_down_beneath};
pub use needs::{holds, is_root, permitted, setcap_hint, setcap_of_installed, with};
pub use status::Holds;
