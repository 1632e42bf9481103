//! Several sockets on one udp port, and which of them a datagram goes to (`SO_REUSEPORT`, socket(7)).
//!
//! A program in the kernel (classic BPF, `SO_ATTACH_REUSEPORT_CBPF`) looks at each datagram's first four
//! bytes: the tokens on its list go to the second socket, all else to the first. So a flood of anything else
//! fills the first socket's buffer only. The list can be changed at any time, also after privileges were
//! given up.

use crate::socket_options::{set_int, set_with_pointers};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Tokens at most: the kernel takes programs of up to 4096 instructions, and no longer ones than
/// `net.core.optmem_max` has room for: some hundreds of tokens by the default of kernels before 6.8.
pub const MOST_TOKENS: usize = 1280;

/// Tokens that are compared one after the other; above that the list is halved.
const LEAF: usize = 4;

/// Lets further sockets of this user be bound to the same port: on each of them, the first one too, also when
/// it is bound already.
pub fn share_port(socket: &impl AsFd) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    set_int(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
}

/// From now on, datagrams that begin with one of these tokens go to the second socket that was bound to this
/// socket's port, all others to the first. Tokens beyond [`MOST_TOKENS`] do not count, nor those for which
/// the kernel has no room.
pub fn steer(socket: &impl AsFd, tokens: &[u32]) -> io::Result<()> {
    let mut sorted = tokens.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.truncate(MOST_TOKENS);
    loop {
        match attach(socket, program(&sorted)) {
            Err(error) if is_too_long(&error) && !sorted.is_empty() => {
                sorted.truncate(sorted.len() / 2);
            }
            done => return done,
        }
    }
}

fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

fn attach(socket: &impl AsFd, mut program: Vec<libc::sock_filter>) -> io::Result<()> {
    let described = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_mut_ptr(),
    };
    let (fd, option) = (socket.as_fd().as_raw_fd(), libc::SO_ATTACH_REUSEPORT_CBPF);
    // SAFETY: `described` points to the `len` instructions of `program`, which the kernel copies before this returns.
    unsafe { set_with_pointers(fd, libc::SOL_SOCKET, option, &described) }
}

/// Of tokens in ascending order.
fn program(sorted: &[u32]) -> Vec<libc::sock_filter> {
    // A datagram without four bytes ends the program with 0: the first socket.
    let mut program = vec![instruction(
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        0,
        0,
        0,
    )];
    search(&mut program, sorted);
    program
}

/// Appends: return 1 if the loaded token is one of these, else 0.
fn search(program: &mut Vec<libc::sock_filter>, sorted: &[u32]) {
    let code = |jump| libc::BPF_JMP | jump | libc::BPF_K;
    let give = |index| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, index);
    if sorted.len() <= LEAF {
        for &token in sorted {
            program.push(instruction(code(libc::BPF_JEQ), 0, 1, token));
            program.push(give(1));
        }
        program.push(give(0));
        return;
    }
    let (low, high) = sorted.split_at(sorted.len() / 2);
    let greatest_low = low[low.len() - 1];
    program.push(instruction(code(libc::BPF_JGT), 0, 1, greatest_low));
    let far_jump = program.len();
    program.push(instruction(libc::BPF_JMP | libc::BPF_JA, 0, 0, 0));
    search(program, low);
    program[far_jump].k = (program.len() - far_jump - 1) as u32;
    search(program, high);
}

const fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use socket2::{Domain, Socket, Type};
    use std::net::{SocketAddr, UdpSocket};
    use std::time::Duration;

    /// What a kernel does with such a program.
    fn run(program: &[libc::sock_filter], token: u32) -> u32 {
        let mut at = 1;
        loop {
            let step = program[at];
            let holds = match u32::from(step.code) & 0xf0 {
                _ if u32::from(step.code) & 7 == libc::BPF_RET => return step.k,
                libc::BPF_JEQ => token == step.k,
                libc::BPF_JGT => token > step.k,
                _ => {
                    at += 1 + step.k as usize;
                    continue;
                }
            };
            at += 1 + usize::from(if holds { step.jt } else { step.jf });
        }
    }

    proptest! {
        #[test]
        fn the_program_finds_what_is_on_the_list(
            tokens in proptest::collection::btree_set(any::<u32>(), 0..MOST_TOKENS), other: u32
        ) {
            let tokens: Vec<u32> = tokens.into_iter().collect();
            let program = program(&tokens);
            prop_assert!(program.len() <= 4096, "{}", program.len());
            for &token in tokens.iter().step_by(17) {
                prop_assert_eq!(run(&program, token), 1);
            }
            prop_assert_eq!(run(&program, other), u32::from(tokens.contains(&other)));
        }
    }

    fn bound(to: SocketAddr, sharing: bool) -> UdpSocket {
        let socket = Socket::new(Domain::for_address(to), Type::DGRAM, None).unwrap();
        if sharing {
            share_port(&socket).unwrap();
        }
        socket.bind(&to.into()).unwrap();
        let socket = UdpSocket::from(socket);
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket
    }

    #[test]
    fn the_kernel_follows_the_program() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let first = bound(address.parse().unwrap(), false);
            let at = first.local_addr().unwrap();
            share_port(&first).unwrap();
            let second = bound(at, true);
            let tokens: Vec<u32> = (0..MOST_TOKENS as u32).map(|n| n * 3_000_000).collect();
            // As many as older kernels have room for.
            for tokens in [&tokens[..400], &tokens[7..8], &[]] {
                steer(&first, tokens).unwrap();
                let client = UdpSocket::bind((at.ip(), 0)).unwrap();
                let mut packet = [0; 8];
                for token in [21_000_000_u32, 21_000_001] {
                    client.send_to(&token.to_be_bytes(), at).unwrap();
                    let taker = if tokens.contains(&token) {
                        &second
                    } else {
                        &first
                    };
                    assert_eq!(taker.recv(&mut packet).unwrap(), 4);
                    assert_eq!(packet[..4], token.to_be_bytes());
                }
                client.send_to(b"ab", at).unwrap();
                assert_eq!(first.recv(&mut packet).unwrap(), 2);
            }
        }
    }

    #[test]
    fn where_a_kernel_has_no_room_for_all_tokens_some_are_steered() {
        if let Err(error) = crate::namespace::enter_new() {
            return println!("skipped: no network of its own: {error}");
        }
        let first = bound("0.0.0.0:0".parse().unwrap(), false);
        share_port(&first).unwrap();
        let _second = bound(first.local_addr().unwrap(), true);
        let tokens: Vec<u32> = (0..MOST_TOKENS as u32).collect();
        steer(&first, &tokens).unwrap();
        // As kernels before 6.8 have it by themselves.
        if let Err(error) = std::fs::write("/proc/sys/net/core/optmem_max", "20480") {
            return println!("skipped: the limit cannot be set: {error}");
        }
        let refused = attach(&first, program(&tokens)).map_err(|error| is_too_long(&error));
        assert_eq!(refused, Err(true));
        steer(&first, &tokens).unwrap();
    }
}
