//! A locked-down process has nothing left: checked in a child, since there is no way back.
//!
//! The program runs itself: with an argument it is the child that locks down and then tries what
//! must fail and what must go on working. Its exit code and output are the verdict.

use delaylab_kernel::privilege::{
    Attendant, LockDownError, Options, Violation, lock_down, lock_down_beneath,
};
use delaylab_kernel::stream::StreamSocket;
use libtest_mimic::{Arguments, Trial, run};
use std::error::Error;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output};
use std::time::Duration;

fn main() -> ExitCode {
    let role = std::env::args().nth(1).unwrap_or_default();
    let outcome = match role.as_str() {
        "serve" => serve(),
        "forbidden" => forbidden(),
        "beneath" => beneath(),
        "attendant" => attendant(),
        "killed" => killed(),
        "too-late" => too_late(),
        _ => return run(&Arguments::from_args(), tests()).exit_code(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{role}: {error}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), Box<dyn Error>>;

fn tests() -> Vec<Trial> {
    let ends_well = ["serve", "forbidden", "beneath", "attendant", "too-late"].map(|role| {
        let check = move || {
            let output = child(role)?;
            Ok(ensure(output.status.success(), &describe(role, &output))?)
        };
        Trial::test(role, check)
    });
    let is_killed = Trial::test("killed", || {
        let output = child("killed")?;
        let signal = output.status.signal();
        Ok(ensure(
            signal == Some(SIGSYS),
            &describe("killed", &output),
        )?)
    });
    ends_well.into_iter().chain([is_killed]).collect()
}

const SIGSYS: i32 = 31;

/// Names a folder that the child may use, and everybody.
const FOLDER: &str = "DELAYLAB_TEST_FOLDER";

fn child(role: &str) -> std::io::Result<Output> {
    let name = format!("delaylab-lockdown-{}-{role}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777))?;
    let output = Command::new("/proc/self/exe")
        .arg(role)
        .env(FOLDER, &folder)
        .output();
    fs::remove_dir_all(&folder)?;
    output
}

fn describe(role: &str, output: &Output) -> String {
    format!(
        "{role}: {:?}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    )
}

/// What a reflector does all day still works: UDP, TCP, threads, memory, clocks, sleeping.
fn serve() -> Outcome {
    let udp = UdpSocket::bind("127.0.0.1:0")?;
    let tcp = TcpListener::bind("127.0.0.1:0")?;
    let mut peer = TcpStream::connect(tcp.local_addr()?)?;
    let (stuck, _) = tcp.accept()?;
    let copy = stuck.try_clone()?;
    let mut client = TcpStream::connect(tcp.local_addr()?)?;
    let holds = lock_down(Options {
        violation: Violation::Kills,
    })?;
    ensure(holds.is_safe(), &format!("{holds:?}"))?;

    udp.send_to(b"to myself", udp.local_addr()?)?;
    let mut buffer = [0; 32];
    ensure(udp.recv(&mut buffer)? == 9, "the packet came back")?;

    let echo =
        std::thread::Builder::new()
            .name("echo".into())
            .spawn(move || -> std::io::Result<()> {
                let (mut stream, _) = tcp.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                let mut byte = [0];
                stream.read_exact(&mut byte)?;
                stream.write_all(&byte)
            })?;
    client.write_all(b"x")?;
    client.read_exact(&mut buffer[..1])?;
    // A connection that takes nothing is reset, though somebody has a copy of its descriptor.
    StreamSocket::new(stuck)?.abort()?;
    ensure(
        matches!(peer.read(&mut buffer), Err(error) if error.kind() == ErrorKind::ConnectionReset),
        "the peer of an aborted connection is told",
    )?;
    drop(copy);
    echo.join().map_err(|_| "the echo thread panicked")??;

    std::thread::sleep(Duration::from_millis(1));
    let large = vec![1_u8; 32 << 20];
    ensure(
        large.iter().map(|&byte| u64::from(byte)).sum::<u64>() == 32 << 20,
        "memory",
    )?;
    ensure(
        std::time::SystemTime::now() > std::time::UNIX_EPOCH,
        "the clock",
    )
}

/// What a hijacked one would try fails.
fn forbidden() -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let has_landlock = kernel_has_landlock();
    let holds = lock_down(Options::default())?;
    ensure(holds.is_safe(), &format!("{holds:?}"))?;
    ensure(holds.landlock == Some(has_landlock), &format!("{holds:?}"))?;
    refused("open a file", File::open("/etc/passwd"))?;
    refused("make a file", File::create("/tmp/delaylab-lockdown"))?;
    refused("bind", UdpSocket::bind("127.0.0.1:0"))?;
    refused("connect", TcpStream::connect(address))?;
    // SAFETY: signal 0 is sent to nobody: it only asks whether it might be.
    let asked = |process: u32| unsafe { libc::syscall(libc::SYS_tgkill, process, process, 0) };
    let signalled = |process| match asked(process) {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    signalled(std::process::id())?;
    // There is no such process: without the filter the error would be another one.
    refused("signal another process", signalled(i32::MAX as u32))?;
    refused("execute", Command::new("/bin/true").spawn())
}

/// Files of one folder remain, and nothing else.
fn beneath() -> Outcome {
    let folder = PathBuf::from(std::env::var(FOLDER)?).canonicalize()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let holds = lock_down_beneath(&folder, Options::default())?;
    ensure(holds.is_safe(), &format!("{holds:?}"))?;
    let (one, other) = (folder.join("one"), folder.join("other"));
    fs::write(&one, "text")?;
    fs::rename(&one, &other)?;
    ensure(fs::read_to_string(&other)? == "text", "the file")?;
    ensure(fs::read_dir(&folder)?.count() == 1, "the list")?;
    fs::remove_file(&other)?;
    if kernel_has_landlock() {
        refused("open a file", File::open("/etc/passwd"))?;
        refused("make a file", File::create("/tmp/delaylab-lockdown"))?;
    }
    refused("bind", UdpSocket::bind("127.0.0.1:0"))?;
    refused("connect", TcpStream::connect(address))?;
    refused("execute", Command::new("/bin/true").spawn())?;
    Ok(())
}

/// A process that may open files answers one that may not, and ends with it.
fn attendant() -> Outcome {
    let mut asked = 0;
    let mut attendant = Attendant::start(move || {
        asked += 1;
        let file = fs::read("/etc/passwd").unwrap_or_default();
        format!("{asked} {}", file.is_empty()).into_bytes()
    })?;
    let holds = lock_down(Options::default())?;
    ensure(holds.is_safe(), &format!("{holds:?}"))?;
    refused("open a file", File::open("/etc/passwd"))?;
    ensure(attendant.ask()? == b"1 false", "the first answer")?;
    ensure(attendant.ask()? == b"2 false", "the second answer")
}

fn refused<T>(what: &str, result: std::io::Result<T>) -> Outcome {
    match result {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(format!("{what}: failed otherwise: {error}").into()),
        Ok(_) => Err(format!("{what}: must not work").into()),
    }
}

/// Independent of the code under test.
fn kernel_has_landlock() -> bool {
    // SAFETY: asks for the version only, as landlock_create_ruleset(2) says: no attribute is read.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, 1) > 0 }
}

/// Where violations kill, the first one does.
fn killed() -> Outcome {
    lock_down(Options {
        violation: Violation::Kills,
    })?;
    let _ = File::open("/etc/passwd");
    Err("opening a file did not kill".into())
}

/// A thread that was there before would keep what it has: refused, and nothing is dropped.
fn too_late() -> Outcome {
    let (_keep, wait) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || wait.recv());
    match lock_down(Options::default()) {
        Err(LockDownError::Threads(2)) => File::open("/etc/passwd").map(drop).map_err(Into::into),
        other => Err(format!("{other:?}").into()),
    }
}

fn ensure(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(what.into()) }
}
