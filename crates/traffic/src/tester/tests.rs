use super::*;
use crate::tester::self_check::SelfCheck;
use delaylab_model::frames::Frames;
use delaylab_model::probe::Pacing;

fn probe() -> Probe {
    Probe {
        pacing: Pacing::Frames {
            interval_ps: 67_200_000,
        },
        frames: Some(Frames::new(64)),
        count: Some(1),
        ..Probe::new("a", Method::Frame)
    }
}

fn ledger(sent: usize) -> Ledger {
    let mut ledger = Ledger::new(3, 1, &probe());
    for k in 0..sent as Nanos {
        ledger.sent(k * 67_200, k * 67_200 + 10);
    }
    ledger
}

fn outcomes(ledger: &Ledger) -> Vec<Outcome> {
    ledger.records().map(|record| record.outcome).collect()
}

#[test]
fn each_frame_has_its_record() {
    let mut ledger = ledger(4);
    ledger.arrived(1, 70_000, true);
    ledger.arrived(0, 72_000, true);
    ledger.arrived(1, 73_000, true);
    ledger.arrived(3, 300_000, false);
    ledger.arrived(9, 300_000, true);
    use Outcome::*;
    assert_eq!(outcomes(&ledger), [Ok, Ok, Lost, Corrupt]);
    let records: Vec<_> = ledger.records().collect();
    assert_eq!((records[0].reorder_extent, records[1].copies), (1, 1));
    assert_eq!(records[1].round_trip(), Some(2_790));
    assert_eq!((records[0].ip_size, records[0].r_rx), (Some(46), None));
    assert_eq!(ledger.strays(), 1);
    assert_eq!(ledger.missing(), 1, "frame 2");
}

#[test]
fn what_comes_after_the_drain_is_late() {
    let mut ledger = ledger(1);
    ledger.arrived(0, 2_000_000_000, true);
    assert_eq!(outcomes(&ledger), [Outcome::Late]);
}

fn check(t_send: impl Fn(Nanos) -> Nanos) -> Vec<String> {
    let mut ledger = Ledger::new(0, 0, &probe());
    for k in 0..10_000 {
        ledger.sent(k * 67_200, t_send(k * 67_200));
    }
    let mut check = SelfCheck::new(&probe()).expect("it sends frames");
    ledger.records().for_each(|record| check.see(&record));
    check.flaws("a", false)
}

#[test]
fn a_sender_that_kept_up_has_no_flaw() {
    assert_eq!(check(|at| at + 3_000), Vec::<String>::new());
}

#[test]
fn a_slow_sender_says_so() {
    let flaws = check(|at| at + at / 200);
    assert!(
        flaws[0].contains("was to send 14881 frames/s and sent 14807"),
        "{flaws:?}"
    );
}

#[test]
fn a_stalled_sender_says_so() {
    // Ten times kept from its CPU for 20 ms; what was due meanwhile goes at once.
    const EVERY: Nanos = 67_200_000;
    let flaws = check(|at| {
        let begins = at / EVERY * EVERY;
        at.max(begins + 20_000_000)
    });
    assert!(flaws[0].contains("kept from its CPU"), "{flaws:?}");
}

#[test]
fn a_burst_goes_as_fast_as_it_can() {
    let probe = Probe {
        frames: Some(Frames {
            paced: false,
            ..Frames::new(64)
        }),
        ..probe()
    };
    let mut ledger = Ledger::new(0, 0, &probe);
    for k in 0..10_000 {
        ledger.sent(k * 67_200, k * 80_000);
    }
    let mut check = SelfCheck::new(&probe).expect("it sends frames");
    ledger.records().for_each(|record| check.see(&record));
    assert_eq!(check.flaws("a", false), Vec::<String>::new());
}

#[test]
fn what_could_not_be_sent_is_not_lost() {
    let mut ledger = ledger(1);
    ledger.not_sent(67_200, Some(100));
    assert_eq!(outcomes(&ledger)[1], Outcome::LocalError);
    assert_eq!(ledger.missing(), 1, "the one that was sent");
    let mut check = SelfCheck::new(&probe()).expect("it sends frames");
    ledger.records().for_each(|record| check.see(&record));
    assert!(check.flaws("a", false)[0].contains("1 of 2 frames could not be sent"));
}

#[test]
fn a_sender_that_was_stopped_is_not_too_slow() {
    let probe = Probe {
        count: Some(100),
        ..probe()
    };
    let mut ledger = Ledger::new(0, 0, &probe);
    for k in 0..10 {
        ledger.sent(k * 67_200, k * 67_200);
    }
    let mut check = SelfCheck::new(&probe).expect("it sends frames");
    ledger.records().for_each(|record| check.see(&record));
    let [gave_up, stopped] = [false, true].map(|stopped| check.flaws("a", stopped));
    assert!(gave_up[0].contains("too slow"), "{gave_up:?}");
    assert_eq!(
        stopped,
        ["`a`: 10 of 100 frames were sent when the trial was stopped"]
    );
}
