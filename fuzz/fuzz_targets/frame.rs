//! Frames that a soft switch forwards: what it reads of them, whose packet it takes them for, its marks.
#![no_main]

use delaylab_model::record::Method;
use delaylab_switch::Item;
use delaylab_testbed::soft_switch::frame::{Frame, Read};
use delaylab_testbed::soft_switch::probes::{Probes, Watched};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let watched = |probe, method| Watched {
        probe,
        method,
        from: [10, 0, 0, 1].into(),
        to: [10, 0, 0, 2].into(),
        code_point: 0,
    };
    let methods = [Method::Icmp, Method::Udp, Method::Tcp];
    let mut probes = Probes::new((0..).zip(methods).map(|(n, m)| watched(n, m)).collect());
    let read = Read::new(data);
    let _ = probes.whose(&read, data);
    let mut frame = Frame::new(data, &read, 64, 0, 0, 0);
    let capable = frame.ecn_capable();
    assert_eq!(frame.mark(), capable);
    assert_eq!(frame.bytes.len(), data.len());
});
