//! ns-3's BulkSend: segments cut short by what has been written.

use super::super::*;
use super::MS;
use super::path::{FINE, Path};

fn sizes(settings: &Settings) -> Vec<u32> {
    let mut path = Path::new(settings, MS, |_, _| FINE);
    path.sent = Some(Vec::new());
    path.run(20 * MS);
    path.sent
        .unwrap()
        .iter()
        .map(|segment| segment.len)
        .collect()
}

#[test]
fn writes_of_8192_under_an_mss_of_9136() {
    let settings = Settings::ns3(9188);
    assert_eq!(settings.mss, 9136);
    let sizes = sizes(&settings);
    // Eight writes fill the buffer: seven segments and the rest.
    assert_eq!(sizes[..8], [9136, 9136, 9136, 9136, 9136, 9136, 9136, 1584]);
    // The first ACK, of one segment, makes room for one write.
    assert_eq!(sizes[8], 8192);
    // The next, of two, for two writes with the 944 bytes that were left over.
    assert_eq!(sizes[9..11], [9136, 7248]);
    assert!(sizes[8..].iter().all(|&size| size < 9137), "{sizes:?}");
    let full = sizes.iter().filter(|&&size| size == 9136).count();
    println!(
        "{full} of {} segments are full: {:?}",
        sizes.len(),
        &sizes[..24]
    );
}

#[test]
fn writes_of_a_segment_give_whole_segments() {
    let settings = Settings {
        application: Application::Writes {
            size: 9136,
            buffer: 65_536,
        },
        ..Settings::ns3(9188)
    };
    assert!(sizes(&settings).iter().all(|&size| size == 9136));
}
