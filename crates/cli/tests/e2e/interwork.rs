//! With programs that are not ours: a STAMP implementation from a registry, plain UDP echo, TWAMP-Light.

use crate::harness::process::{DELAYLAB, Process, Ran, Reflector, delaylab, measure};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use serde_json::Value;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const OUR_KEY: &str = "hex:00112233445566778899aabbccddeeff\n";

fn client(port: u16) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    socket
}

#[test]
fn a_plain_udp_echo_client_gets_its_bytes_back() {
    let reflector = Reflector::plain_echo();
    let socket = client(reflector.port);
    for size in [1, 7, 8, 64, 1400] {
        let request: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
        let mut reply = [0; 2000];
        socket.send(&request).unwrap();
        let length = socket.recv(&mut reply).unwrap();
        assert_eq!(&reply[..length], request);
    }
}

#[test]
fn a_plain_udp_echo_server_is_measured() {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut packet = [0; 2000];
        while let Ok((length, from)) = server.recv_from(&mut packet) {
            let _ = server.send_to(&packet[..length], from);
        }
    });
    let run = measure(
        None,
        &format!("127.0.0.1 --method udp --port {port} -i 5ms -c 20"),
    );
    run.assert_all_received(20);
    for stamp in ["r_rx", "r_user", "r_tx"] {
        assert_eq!(run.delivery(stamp), "unsupported");
    }
    // Without the reflector's stamps the network includes the reflector.
    let record = &run.records[0];
    assert_eq!(
        record.network_ns,
        Some(record.t_rx_ns.unwrap() - record.t_tx_ns.unwrap())
    );
}

/// RFC 5357 appendix I: the sender's unauthenticated packet, 14 bytes and padding (RFC 6038 makes
/// reply and request equally long at 41).
#[test]
fn a_twamp_light_sender_is_answered_with_no_more_than_it_sent() {
    let reflector = Reflector::local();
    let socket = client(reflector.stamp_port);
    let mut request = [0_u8; 41];
    request[..4].copy_from_slice(&7_u32.to_be_bytes());
    request[4..12].copy_from_slice(&0xec00_0000_8000_0000_u64.to_be_bytes());
    request[12..14].copy_from_slice(&[0x80, 0x01]);
    socket.send(&request).unwrap();
    let mut reply = [0; 200];
    let length = socket.recv(&mut reply).unwrap();
    assert!(length <= 41, "{length} B");
    // The reply repeats the sender's number, stamp and error estimate from byte 24 on.
    assert_eq!(reply[24..38], request[..14]);
}

#[test]
fn a_key_in_the_environment_is_as_good_as_one_in_a_file() {
    let scratch = Scratch::new();
    let reflector = Reflector::keyed(&scratch.file("key", OUR_KEY));
    let words = format!(
        "ping 127.0.0.1 --method udp --port {} -i 5ms -c 5 -q",
        reflector.port
    );
    let with = |key: &str| {
        let mut command = delaylab(None);
        command.args(words.split(' ')).env("DELAYLAB_KEY", key);
        Ran::to_end(&mut command)
    };
    assert_eq!(with(OUR_KEY).code, 0);
    assert_eq!(with("another key of some length").code, 1);
}

/// stamp-suite, in `make test-all`: it is built from its source.
mod long {
    use super::*;

    /// The same 16 bytes, as stamp-suite and as our key files write them.
    const THEIR_KEY: &str = "00112233445566778899aabbccddeeff";

    /// stamp-suite, if `scripts/peers.sh` has built it.
    fn stamp_suite() -> Result<PathBuf, String> {
        let target = Path::new(DELAYLAB).ancestors().nth(2).unwrap();
        let path = target.join("peers/bin/stamp-suite");
        if path.exists() {
            Ok(path)
        } else {
            Err("no stamp-suite to interwork with: scripts/peers.sh builds it".to_owned())
        }
    }

    struct Keys {
        theirs: PathBuf,
        ours: PathBuf,
    }

    impl Keys {
        fn new(scratch: &Scratch) -> Self {
            use std::os::unix::fs::PermissionsExt;
            let theirs = scratch.file("theirs", THEIR_KEY);
            std::fs::set_permissions(&theirs, PermissionsExt::from_mode(0o600)).unwrap();
            Self {
                theirs,
                ours: scratch.file("ours", OUR_KEY),
            }
        }
    }

    /// stamp-suite's sender against our reflector: what it counted.
    fn send_stamp(suite: &Path, port: u16, key: Option<&Path>) -> Value {
        let mut command = Command::new(suite);
        let words = format!(
            "--remote-addr 127.0.0.1 --remote-port {port} --count 20 --send-delay 5 --timeout 1 --output-format json"
        );
        command.args(words.split(' '));
        if let Some(key) = key {
            command
                .args(["--auth-mode", "A", "--hmac-key-file"])
                .arg(key);
        }
        let ran = Ran::to_end(&mut command);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let objects = serde_json::Deserializer::from_str(&ran.stdout).into_iter::<Value>();
        objects
            .map(Result::unwrap)
            .find(|object| object["type"] == "summary")
            .unwrap_or_else(|| panic!("no summary: {}", ran.stdout))
    }

    #[test]
    fn a_stamp_sender_that_is_not_ours_is_answered() {
        let suite = or_skip!(stamp_suite());
        let reflector = Reflector::local();
        let said = send_stamp(&suite, reflector.stamp_port, None);
        assert_eq!(
            (&said["packets_sent"], &said["packets_received"]),
            (&20.into(), &20.into())
        );
    }

    #[test]
    fn an_authenticated_stamp_sender_is_answered_if_its_key_is_ours() {
        let suite = or_skip!(stamp_suite());
        let scratch = Scratch::new();
        let keys = Keys::new(&scratch);
        let reflector = Reflector::keyed(&keys.ours);
        let said = send_stamp(&suite, reflector.stamp_port, Some(&keys.theirs));
        assert_eq!(said["packets_received"], 20, "{said}");
        let without = send_stamp(&suite, reflector.stamp_port, None);
        assert_eq!(without["packets_received"], 0, "{without}");
    }

    /// stamp-suite's reflector, on a port that was free a moment ago.
    fn their_reflector(suite: &Path, key: Option<&Path>) -> (Process, u16) {
        let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut command = Command::new(suite);
        let words = format!("--is-reflector --local-addr 127.0.0.1 --local-port {port}");
        command.args(words.split(' '));
        if let Some(key) = key {
            command
                .args(["--auth-mode", "A", "--hmac-key-file"])
                .arg(key);
        }
        let process = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        wait_until_bound(port);
        (process, port)
    }

    fn wait_until_bound(port: u16) {
        for _ in 0..500 {
            if UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nobody listens on {port}");
    }

    #[test]
    fn a_stamp_reflector_that_is_not_ours_answers() {
        let suite = or_skip!(stamp_suite());
        let scratch = Scratch::new();
        let keys = Keys::new(&scratch);
        let (_process, port) = their_reflector(&suite, None);
        let run = measure(
            None,
            &format!("127.0.0.1 --method stamp --port {port} -i 5ms -c 20"),
        );
        run.assert_all_received(20);
        assert_eq!(run.delivery("r_rx"), "delivered");
        let (_process, port) = their_reflector(&suite, Some(&keys.theirs));
        let key = keys.ours.display();
        let words = format!("127.0.0.1 --method stamp --port {port} --key-file {key} -i 5ms -c 20");
        measure(None, &words).assert_all_received(20);
    }
}
